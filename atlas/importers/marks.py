"""Import of a marks file that was edited by hand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from atlas.core.errors import ImportFailed, InvalidInput
from atlas.core.operations import NO_MARKS, Marks
from atlas.memory.kinds.table import searchable_kinds
from atlas.memory.system import MemorySystem
from atlas.storage.marks.codec import decode_marks
from atlas.storage.marks.files import STATE_TABLE, TABLE
from atlas.storage.marks.reading import read_rows

_MARKS_PREFIX = re.compile(rf'\s*\{{\s*"({STATE_TABLE}|{TABLE})"\s*:\s*\{{')
"""Prefix of a marks file."""

_OPENING_CHARACTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkChange:
    """The marks of one record, in the store and in a file."""

    id: str
    title: str
    before: Marks
    after: Marks


@dataclass(frozen=True, slots=True, kw_only=True)
class MarksImport:
    """The result of an import of marks, or a preview of it."""

    n_listed: int
    """Number of records in the file."""

    changes: Sequence[MarkChange]
    n_missing: int
    """Number of records in the file that are missing in the store."""

    operation_id: str | None = None
    """The operation that changed the marks, or None for a preview or if nothing changed."""


def is_marks_file(path: Path) -> bool:
    """Return whether a file looks like a marks file."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return _MARKS_PREFIX.match(file.read(_OPENING_CHARACTERS)) is not None
    except OSError:
        return False


def plan_marks(memory: MemorySystem, path: Path) -> MarksImport:
    """Return a preview of the changes that an import would make.

    Raises:
        ImportFailed: The file cannot be read, or is not a marks file.
    """
    marks = _read_marks(path)
    changes: list[MarkChange] = []
    n_present = 0
    for records in _memories(memory):
        titles = records.titles(list(marks))
        n_present += len(titles)
        existing = records.marks(list(titles))
        changes += _changes(titles, existing, marks)
    return MarksImport(n_listed=len(marks), changes=changes, n_missing=len(marks) - n_present)


def import_marks(memory: MemorySystem, path: Path) -> MarksImport:
    """Apply the marks of a file as one operation, and return the changes.

    Records that are not in the file keep their marks.

    Raises:
        ImportFailed: The file cannot be read, or is not a marks file.
    """
    plan = plan_marks(memory, path)
    marks_after = {change.id: change.after for change in plan.changes}
    operation_id: str | None = None
    for records in _memories(memory):
        marks_by_id = {record_id: marks_after[record_id] for record_id in records.titles(list(marks_after))}
        if marks_by_id:
            scoped = records.as_operation("mark", f"imported {path.name}", operation_id=operation_id)
            scoped.mark(marks_by_id)
            operation_id = scoped.operation_id
    return replace(plan, operation_id=operation_id)


def _memories(memory: MemorySystem) -> list[Any]:
    return [kind.records(memory) for kind in searchable_kinds().values()]


def _changes(
    titles: Mapping[str, str], existing: Mapping[str, Marks], imported: Mapping[str, Marks]
) -> list[MarkChange]:
    """Return a change for each record whose marks differ. Review and quarantine stay as they are in the store."""
    changes = []
    for record_id, title in titles.items():
        before = existing.get(record_id, NO_MARKS)
        after = replace(imported[record_id], held_for=before.held_for, quarantine=before.quarantine)
        if after != before:
            changes.append(MarkChange(id=record_id, title=title, before=before, after=after))
    return changes


def _read_marks(path: Path) -> dict[str, Marks]:
    try:
        return {record_id: _validate_marks(record_id, row) for record_id, row in read_rows(path).items()}
    except InvalidInput as error:
        raise ImportFailed(str(error)) from error
    except OSError as error:
        raise ImportFailed(
            f"{path} cannot be read: {error.strerror or error}; check the path and its permissions"
        ) from error


def _validate_marks(record_id: str, row: Mapping[str, Any]) -> Marks:
    """Return the marks in a row after the same validation as for marks from other sources."""
    for name in ("pinned", "buried"):
        if not isinstance(value := row.get(name, False), bool):
            raise InvalidInput(f"expected true or false for {name} of {record_id!r}, got {value!r}")
    marks = decode_marks(row)
    tags = tuple(tag.strip() for tag in marks.tags)
    if "" in tags:
        raise InvalidInput(f"a tag of {record_id!r} is empty; give it at least one character, or remove it")
    return replace(marks, tags=tuple(dict.fromkeys(tags)))
