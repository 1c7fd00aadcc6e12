"""Field-level diffs of the records in an operation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import Any

from atlas.core.operations import NO_MARKS, RecordChange
from atlas.storage.damage import UnreadableRow, parse_row
from atlas.storage.marks.codec import MARK_NAMES, encode_marks
from atlas.storage.sql.connection import Connection, Database, clamp_rows
from atlas.storage.sql.history.operations import read_operation
from atlas.storage.sql.marks import read_marks
from atlas.storage.sql.meta import read_purge_id
from atlas.storage.sql.records import MARKS, RECORD

MAX_CHARACTERS = 4_000
"""Maximum characters of a text in a diff."""

DERIVED_FIELDS = ("trajectory_summary", "embedding_text")
"""Derived fields, which diffs leave out."""


def read_changes(database: Database, operation_id: str, limit: int, offset: int) -> list[RecordChange]:
    """Return an operation's changes of records, oldest first.

    Raises:
        NotFound: No operation, or several, begin with this id.
    """
    with database.read() as connection:
        operation = read_operation(connection, operation_id)
        rows = connection.execute(
            "SELECT seq, aspect, collection, record_id, before FROM changes WHERE operation = ? ORDER BY seq "
            "LIMIT ? OFFSET ?",
            (operation.id, clamp_rows(limit), clamp_rows(offset)),
        ).fetchall()
        return [_make_record_change(connection, *row) for row in rows]


def _make_record_change(
    connection: Connection,
    seq: int,
    aspect: str,
    collection: str,
    record_id: str,
    before_text: str | None,
) -> RecordChange:
    """Return a change from its row, with the differences between the record or marks before and after it."""
    if read_purge_id(connection, collection, record_id):
        return RecordChange(collection=collection, record_id=record_id, title="", aspect=aspect, kind="purged")
    before = _decode_image(before_text, aspect)
    after = _read_after_image(connection, seq, aspect, collection, record_id)
    record = (after or before) if aspect == RECORD else _read_record_at(connection, seq, collection, record_id)
    differences: Iterable[tuple[str, str, str]] = ()
    if before is not None and after is not None:
        differences = _find_differences(_flatten_fields(aspect, before), _flatten_fields(aspect, after))
    return RecordChange(
        collection=collection,
        record_id=record_id,
        title=_title_of(record),
        aspect=aspect,
        kind=_change_kind(aspect, before, after),
        fields=tuple(differences),
    )


def _change_kind(aspect: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> str:
    """Return the kind of a change: `added`, `changed`, `removed` or `marked`."""
    if aspect == MARKS:
        return "marked"
    if before is None:
        return "added"
    return "changed" if after is not None else "removed"


def _read_after_image(
    connection: Connection, seq: int, aspect: str, collection: str, record_id: str
) -> Mapping[str, Any] | None:
    """Return the after-image of a change: the before-image of the next change, or the current row."""
    row = connection.execute(
        "SELECT before FROM changes WHERE collection = ? AND record_id = ? AND aspect = ? AND seq > ? "
        "ORDER BY seq LIMIT 1",
        (collection, record_id, aspect, seq),
    ).fetchone()
    if row:
        return _decode_image(row[0], aspect)
    if aspect == MARKS:
        return encode_marks(read_marks(connection, collection, [record_id]).get(record_id, NO_MARKS))
    return _read_live(connection, collection, record_id)


def _read_record_at(connection: Connection, seq: int, collection: str, record_id: str) -> Mapping[str, Any] | None:
    """Return a record as it was when its marks changed: the record's next before-image, or else its current state."""
    row = connection.execute(
        "SELECT before FROM changes WHERE collection = ? AND record_id = ? AND aspect = ? AND seq > ? "
        "AND before IS NOT NULL ORDER BY seq LIMIT 1",
        (collection, record_id, RECORD, seq),
    ).fetchone()
    return _decode_image(row[0], RECORD) if row else _read_live(connection, collection, record_id)


def _read_live(connection: Connection, collection: str, record_id: str) -> Mapping[str, Any] | None:
    """Return a record as it is now, in the form of a before-image, or None if it was deleted."""
    row = connection.execute(
        "SELECT metadata, document, search_text, content FROM records WHERE collection = ? AND id = ? AND deleted = 0",
        (collection, record_id),
    ).fetchone()
    return dict(zip(("metadata", "document", "search_text", "content"), row, strict=True)) if row else None


def _decode_image(text: str | None, aspect: str) -> Mapping[str, Any] | None:
    """Return the record or the marks in the JSON of a before-image, or None if there was no record."""
    if text is None:
        return None
    keys = ("metadata", "content") if aspect == RECORD else ()
    return parse_row(text, *keys)


def _title_of(record: Mapping[str, Any] | None) -> str:
    return str(parse_row(record["metadata"]).get("title", "")) if record else ""


def _flatten_fields(aspect: str, image: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the flattened fields of a record or of its marks, as strings, keyed by dotted name."""
    if image is None:
        return {}
    if aspect == MARKS:
        return dict(_flatten({name: image[name] for name in MARK_NAMES if name in image}))
    return dict(_flatten(_decode_content(image)))


def _decode_content(image: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record's content if it is a JSON object, else its metadata and texts."""
    with suppress(UnreadableRow):
        content = parse_row(image["content"])
        return {name: value for name, value in content.items() if name not in DERIVED_FIELDS}
    return {**parse_row(image["metadata"]), "document": image.get("document"), "content": image.get("content")}


def _flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the dotted name and the text of each value in nested objects."""
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", _to_text(value)


def _to_text(value: Any) -> str:
    """Return a JSON value as text for people. Empty values are empty texts."""
    if value is None or value == {} or value == []:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False)


def _find_differences(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the name of each field that differs, with its shortened text before and after."""
    for name in dict.fromkeys(chain(before, after)):
        text_before, text_after = before.get(name, ""), after.get(name, "")
        if text_before != text_after:
            yield name, _shorten(text_before), _shorten(text_after)


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS] + "…"
