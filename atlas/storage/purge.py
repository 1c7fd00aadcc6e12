"""Forgetting for good: records leave the ledger, its history and every file of the store, and cannot be brought back.

All of the ledger's part is one transaction: a purge is committed whole or not at all. What is left to do then, in
files and free pages, is done at once, or by whoever opens the store next: see `atlas.storage.sqlite.history.erasing`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from atlas.core.errors import InvalidInput, NotFound
from atlas.core.types import Vectors
from atlas.storage.backup import Backup, read_backups
from atlas.storage.leftovers import copies, set_aside, strangers
from atlas.storage.marks.tinydb import encode_marks
from atlas.storage.records import Moment
from atlas.storage.sqlite.history import operations as history
from atlas.storage.sqlite.history.erasing import Left, note_unfinished
from atlas.storage.sqlite.history.operations import RECORD
from atlas.storage.sqlite.history.tombstones import GONE, purged_by
from atlas.storage.sqlite.mark_tables import read_marks
from atlas.storage.sqlite.records import FLOAT, LedgerWriter, text_hash
from atlas.storage.sqlite.stored import parsed
from atlas.storage.sqlite.words.quotes import Quote, Sought, quotes, sought
from atlas.storage.store import Store

Image = dict[str, Any]
"""A record, or its marks, as it is or was."""

Reword = Callable[[sqlite3.Connection, str, Sequence[Image]], Mapping[str, tuple[str, Vectors]]]
"""From a collection and what was purged of it: texts that others are found by and that hold some of it, each with the
one that takes its place, and its vectors."""

REASON_GONE = "(purged)"
"""In place of what somebody gave as the reason of an operation, where that quotes a record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doomed:
    """A record that would go."""

    collection: str
    id: str
    title: str
    is_live: bool
    """Whether it is in its memory; else it was deleted."""

    n_earlier: int
    """States of it, and of its marks, that the history holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgePlan:
    """What a purge would do, and what it cannot reach."""

    records: tuple[Doomed, ...]
    quotes: tuple[Quote, ...]
    """Other records that say the same, or name one of these: they stay."""

    n_reasons: int
    """Operations whose reason quotes one of them, and would lose it."""

    copies: tuple[str, ...]
    """Older copies of the ledger and of marks in the store's directory, which would go too."""

    strangers: tuple[str, ...]
    """Other files in that directory, which stay."""

    backups: tuple[Backup, ...]
    """Those made of this store so far as it knows; they stay."""

    moment: Moment
    """The point in the store's history that the plan holds for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """What a purge did."""

    operation_id: str
    n_records: int
    problem: str
    """Why what was purged is still in files of the store, and what to do; empty where it is not."""


def plan_purge(store: Store, ids: Sequence[str], *, collection: str = "") -> PurgePlan:
    """What purging records would do; nothing is touched.

    Args:
        ids: Ids, or beginnings that no other record's id shares; of records that are there or were deleted. One that
            records in several collections have means all of these.
        collection: Where they are looked for; empty for everywhere.

    Raises:
        NotFound: None, or several, begin with one of them, or it was purged already.
        InvalidInput: There are none, or one of them is empty.
    """
    if isinstance(ids, str) or not ids:
        raise InvalidInput(f"a purge should be given a list of at least one id, but got {ids!r}")
    with store.ledger.database.read() as connection:
        keys = dict.fromkeys(key for given in ids for key in _found(connection, given, collection))
        images = {key: list(_images(store, connection, *key)) for key in keys}
        what = sought(list(chain.from_iterable(images.values())), [record_id for _, record_id in keys])
        marked = ((name, i, {"marks": encode_marks(m)}) for name, i, m in _marks(connection))
        return PurgePlan(
            records=tuple(_doomed(connection, *key, images[key]) for key in keys),
            quotes=tuple(quotes(connection, what, set(keys), marked)),
            n_reasons=len(_quoting_reasons(connection, what)),
            copies=tuple(str(path) for path in copies(store.path)),
            strangers=tuple(str(path) for path in strangers(store.path)),
            backups=tuple(read_backups(store.ledger)),
            moment=history.read_moment(connection),
        )


def apply_purge(store: Store, plan: PurgePlan, *, reason: str = "", reword: Reword | None = None) -> Purged:
    """Purge exactly the records of a plan, as one operation, which cannot be undone.

    Raises:
        PlanOutdated: One of them, or its marks, has changed since; nothing was done.
    """
    draft, now = store.ledger.draft("purge", actor=store.settings.actor, reason=reason), store.ledger.clock.now()
    keys = [(record.collection, record.id) for record in plan.records]
    with store.ledger.database.write() as connection:
        for collection, record_id in keys:
            history.check_records_unchanged(connection, collection, [record_id], plan.moment, with_marks=True)
        images = {key: list(_images(store, connection, *key)) for key in keys}
        writer = LedgerWriter(connection, draft, now)
        for key in keys:
            writer.purge(*key)
        writer.close()
        _forget_traces(connection, images, [record_id for _, record_id in keys])
        for collection in {collection for collection, _ in keys} if reword else ():
            of_it = [image for key, held in images.items() if key[0] == collection for image in held]
            _replace_texts(connection, collection, reword(connection, collection, of_it))  # type: ignore[misc]
        # Another identity: whoever holds vectors, maps or plans of the ledger as it was drops them.
        connection.execute("UPDATE meta SET value = lower(hex(randomblob(16))) WHERE name = 'ledger_id'")
        aside = set_aside(store.path, (Path(path).name for path in plan.copies))
        left = Left(collections=sorted({collection for collection, _ in keys}), set_aside=aside)
        note_unfinished(connection, draft.id, left)
    return Purged(operation_id=draft.id, n_records=len(keys), problem=store.finish_purges())


def read_texts(connection: sqlite3.Connection, collection: str) -> Iterator[tuple[str, str]]:
    """What each record of a collection is found by, with its content: as it is, and as it was before each change."""
    held = "SELECT document, content FROM records WHERE collection = ? AND deleted = 0"
    yield from connection.execute(held, (collection,)).fetchall()
    for _, image in _images_of(connection, collection):
        yield image["document"], image["content"]


def _images_of(connection: sqlite3.Connection, collection: str = "") -> Iterator[tuple[int, Image]]:
    """Every before-image of the records of a collection, or of all, with the number of its change."""
    for seq, before in connection.execute(
        "SELECT seq, before FROM changes WHERE ? IN ('', collection) AND aspect = ? AND before <> ?",
        (collection, RECORD, GONE),
    ):
        yield seq, parsed(before)


def _found(connection: sqlite3.Connection, given: str, collection: str) -> list[tuple[str, str]]:
    """The records of an id, or of the one id that begins so."""
    if not given:
        raise InvalidInput("an id of a record, or a beginning of one, should say something, but is empty")
    select = "SELECT collection, id FROM records WHERE ? IN ('', collection) AND"
    rows = connection.execute(f"{select} id = ?", (collection, given)).fetchall()
    rows = rows or connection.execute(f"{select} substr(id, 1, ?) = ?", (collection, len(given), given)).fetchall()
    there = [row for row in rows if not purged_by(connection, *row)]
    if rows and not there:
        raise NotFound(f"the record {rows[0][1]!r} was purged already: nothing of it is left here")
    if len({record_id for _, record_id in there}) != 1:
        raise NotFound(
            f"{'no record, live or deleted,' if not there else 'more than one record'} has an id that begins with "
            f"{given!r}; see: atlas trash, atlas history"
        )
    return there


def _images(store: Store, connection: sqlite3.Connection, collection: str, record_id: str) -> Iterator[Image]:
    """A record as it is, as it was before each change, the latest first, and its marks."""
    names = ("metadata", "document", "search_text", "content", "content_hash")
    is_it = "collection = ? AND id = ? AND deleted = 0"
    for row in connection.execute(f"SELECT {', '.join(names)} FROM records WHERE {is_it}", (collection, record_id)):
        yield dict(zip(names, row, strict=True))
    for (before,) in connection.execute(
        "SELECT before FROM changes WHERE collection = ? AND record_id = ? AND before <> ? ORDER BY aspect = ? DESC, "
        "seq DESC",
        (collection, record_id, GONE, RECORD),
    ):
        yield parsed(before)
    yield {"marks": encode_marks(store.marks.read_within(connection, collection, [record_id])[record_id])}


def _marks(connection: sqlite3.Connection) -> Iterator[tuple[str, str, Any]]:
    for (name,) in connection.execute("SELECT DISTINCT collection FROM records").fetchall():
        for record_id, marks in read_marks(connection, name).items():
            yield name, record_id, marks


def _doomed(connection: sqlite3.Connection, collection: str, record_id: str, images: Sequence[Image]) -> Doomed:
    is_live = connection.execute(
        "SELECT deleted = 0 FROM records WHERE collection = ? AND id = ?", (collection, record_id)
    ).fetchone()[0]
    titles = (parsed(image["metadata"]).get("title", "") for image in images if "metadata" in image)
    return Doomed(
        collection=collection,
        id=record_id,
        title=str(next(titles, "")),
        is_live=bool(is_live),
        n_earlier=len(images) - 1 - bool(is_live),
    )


def _quoting_reasons(connection: sqlite3.Connection, what: Sought) -> list[str]:
    rows = connection.execute("SELECT id, reason FROM operations WHERE reason <> ''").fetchall()
    return [operation_id for operation_id, reason in rows if what.shared([reason])]


def _forget_traces(
    connection: sqlite3.Connection, images: Mapping[tuple[str, str], Sequence[Image]], ids: Sequence[str]
) -> None:
    """Take out what other rows hold of purged records though nobody wrote it there: hashes, names, ids of tasks."""
    every = list(chain.from_iterable(images.values()))
    for operation_id in _quoting_reasons(connection, sought(every, [])):
        connection.execute("UPDATE operations SET reason = ? WHERE id = ?", (REASON_GONE, operation_id))
    for collection, record_id in images:
        connection.execute(
            "UPDATE events SET task_id = '' WHERE collection = ? AND record_id = ?", (collection, record_id)
        )
    said = [parsed(image["metadata"]) for image in every if "metadata" in image]
    tasks = {str(one.get("task_id", "")) for one in said} - {""}
    hashes = {image.get("content_hash", "") for image in every} - {""}
    _forget_held_hashes(connection, hashes)
    _forget_tasks(connection, tasks - _forget_in_history(connection, hashes, tasks))
    connection.execute("DELETE FROM attribute_keys WHERE key NOT IN (SELECT key FROM attributes)")


def _forget_held_hashes(connection: sqlite3.Connection, hashes: Iterable[str]) -> None:
    """Empty hashes where a record that stands for a purged one keeps them: of a short secret one could be guessed."""
    holds = (
        "value IN (SELECT value FROM json_each(?)) AND key IN "
        "(SELECT key FROM attribute_keys WHERE name = 'merged_hashes')"
    )
    given = json.dumps(sorted(hashes))
    for seq, *texts in connection.execute(
        f"SELECT seq, metadata, content FROM records WHERE seq IN (SELECT seq FROM attributes WHERE {holds})", (given,)
    ).fetchall():
        emptied = (_without(text, hashes) for text in texts)
        connection.execute("UPDATE records SET metadata = ?, content = ? WHERE seq = ?", (*emptied, seq))
    connection.execute(f"UPDATE OR REPLACE attributes SET value = '' WHERE {holds}", (given,))


def _forget_in_history(connection: sqlite3.Connection, hashes: Iterable[str], tasks: set[str]) -> set[str]:
    """Empty hashes where an earlier state of a record keeps those of others; which of the tasks one was of."""
    emptied, named = [], set()
    for seq, image in _images_of(connection):
        metadata = parsed(image["metadata"])
        named |= {str(metadata.get("task_id", ""))} & tasks
        if not set(metadata.get("merged_hashes") or ()).isdisjoint(hashes):
            image |= {name: _without(image[name], hashes) for name in ("metadata", "content")}
            emptied.append((json.dumps(image, ensure_ascii=False), seq))
    connection.executemany("UPDATE changes SET before = ? WHERE seq = ?", emptied)
    return named


def _without(text: str, hashes: Iterable[str]) -> str:
    for one in hashes:
        text = text.replace(one, "")
    return text


def _forget_tasks(connection: sqlite3.Connection, tasks: Iterable[str]) -> None:
    """Take the ids of tasks, which may be made of their texts, from the uses of others, unless a record has one too."""
    connection.execute(
        "UPDATE events SET task_id = '' WHERE task_id IN (SELECT value FROM json_each(?)) AND task_id NOT IN "
        "(SELECT a.value FROM attributes a JOIN attribute_keys k ON k.key = a.key WHERE k.name = 'task_id')",
        (json.dumps(sorted(tasks)),),
    )


def _replace_texts(
    connection: sqlite3.Connection, collection: str, replaced: Mapping[str, tuple[str, Vectors]]
) -> None:
    """Put other texts, with their vectors, in the place of some, in a collection's records and their history."""
    for before, (after, vectors) in replaced.items():
        of_it = "collection = ? AND document = ? AND deleted = 0"
        for (seq,) in connection.execute(f"SELECT seq FROM records WHERE {of_it}", (collection, before)).fetchall():
            connection.execute(
                "UPDATE records SET document = ?, text_hash = ?, n_windows = max(n_windows, ?) WHERE seq = ?",
                (after, text_hash(after), len(vectors), seq),
            )
            connection.execute("DELETE FROM vectors WHERE seq = ?", (seq,))
            connection.executemany(
                "INSERT INTO vectors VALUES (?, ?, ?)",
                [(seq, window, vector.astype(FLOAT).tobytes()) for window, vector in enumerate(vectors)],
            )
    for seq, image in [one for one in _images_of(connection, collection) if one[1]["document"] in replaced]:
        image["document"], vectors = replaced[image["document"]]
        image["n_vectors"] = len(vectors)
        connection.execute(
            "UPDATE changes SET before = ?, vectors = ? WHERE seq = ?",
            (json.dumps(image, ensure_ascii=False), vectors.astype(FLOAT).tobytes(), seq),
        )
