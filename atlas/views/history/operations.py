"""The history of a store: all operations, their changes of each record, and deleted records."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from atlas.core.errors import NotFound
from atlas.core.operations import ANY_OPERATION, UNDO, Operation, Operations, RecordChange
from atlas.memory.system import MemorySystem
from atlas.views.history.sentences import (
    difference_of,
    only_kind,
    reason_of,
    sentence_of,
    undo_deletes_many,
    undo_label,
    undo_sentence,
)
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.kind import Kind
from atlas.views.kinds.titles import task_title
from atlas.views.lists.word_diff import word_diff
from atlas.views.shared.kinds import kind_of
from atlas.views.shared.texts import Text
from atlas.views.shared.wording import counted, outcome_with_sign, utc_time_text

PAGE_OPERATIONS = 25
PAGE_CHANGES = 50
PAGE_TRASH = 25
MAX_CHECKED = 50
"""Changes up to which an operation is checked for later changes of its records before it is undone."""

GONE = "Its content was erased for good"
"""Placeholder for the title of a purged record."""

_KIND_WORDS = {"compact": "shorten"}
"""Plain words for kinds of operations in the list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRecord:
    """The record that a sentence names, if it is in the store now."""

    words: str
    """Its title as the sentence has it: untrusted text."""

    id: str
    page: str
    """The page that shows records of its kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationRow:
    """An operation in a list."""

    id: str
    at: datetime
    what: str
    """Its kind in plain words, such as `prune`. Untrusted text, because other programs may use further kinds."""

    counts: str
    """`597 added`, `51 concepts added`, or several such. `concept crop added`, if it is one: untrusted text."""

    actor: str
    """Untrusted text, like the reason."""

    reason: str
    state: str
    """`undone`, or empty."""

    sentence: str
    """A sentence on the change, such as `Deleted 9 experiences by a rule`. It may contain a title: untrusted text."""

    change: str
    """The words that differ, if it changed one field of one record, or empty. Untrusted text."""

    kind: str
    """Its kind, as it is stored. Untrusted text."""

    undo_label: str
    """Label of the button that takes it back, or does it again if it was undone: `Undo: bring back 12`."""

    undo_deletes_many: bool
    """True if that deletes more than a few records."""

    undo_id: str
    """The operation to undo for that."""

    undo_sentence: str
    """The effect of that: `Undo brings back 12 experiences`, or empty if it changed no record."""

    is_final: bool
    """True if it cannot be undone: it was a purge."""

    named: NamedRecord | None = None
    """The record that the sentence names, or None if it names none, or a deleted one."""

    blocked: str = ""
    """Why it cannot be undone now: `Changed again on 31 Jan 2026, 09:05 UTC: undo that first`, or empty."""

    blocked_by: str = ""
    """The sentence on the later change, with a title, which is untrusted text."""

    @property
    def is_undone(self) -> bool:
        """True if it was undone, so that it can be done again."""
        return self.state != ""

    @property
    def is_undo(self) -> bool:
        """True if it took another operation back."""
        return self.kind == UNDO


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationPage:
    """A page of the history, newest first."""

    rows: tuple[OperationRow, ...]
    caption: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One field of a record, before and after."""

    name: str
    """The name of a field. Untrusted text, because metadata may have any names."""

    before: Text | None
    after: Text | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordDiff:
    """The change that an operation made to one record."""

    record_id: str
    title: str
    """Untrusted text."""

    kind: str
    """`added`, `changed`, `removed`, `marked`, or `purged`, which means that only the id of the record is left."""

    is_there: bool
    """True if the record is in the store now."""

    page: str
    """The page that shows records of its kind."""

    fields: tuple[FieldChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """One row of the changes of an operation: a field of a record, or an added or deleted record."""

    record_id: str
    change: str
    """`added`, `changed`, `deleted`, `marked` or `purged`."""

    title: str
    """Untrusted text, like the field and the difference."""

    field: str
    difference: str
    """The differing words, from `word_diff`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationDetail:
    """One operation in full."""

    row: OperationRow
    facts: tuple[tuple[str, str], ...]
    """Name and value. The values may be untrusted text."""

    n_pages: int
    """Pages of changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrashRow:
    """One deleted experience."""

    id: str
    outcome: str
    task: str
    """Untrusted text, like the reason."""

    deleted_at: datetime
    actor: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrashPage:
    """A page of the trash, latest deleted first."""

    rows: tuple[TrashRow, ...]
    caption: str


def operation_row(memory: MemorySystem, operation: Operation) -> OperationRow:
    """Return an operation as one line."""
    return _operation_row(memory, operation, _first_change(memory, operation))


def _row_with_blocker(memory: MemorySystem, operation: Operation) -> OperationRow:
    """Return an operation as one line. If a later operation must be undone before it, the line says which."""
    row = operation_row(memory, operation)
    if row.is_final or sum(operation.counts.values()) > MAX_CHECKED:
        return row
    later = memory.storage.ledger.history.blocker(row.undo_id)
    if later is None:
        return row
    blocked = f"Changed again on {utc_time_text(later.created_at)}: undo that first"
    return replace(row, blocked=blocked, blocked_by=operation_row(memory, later).sentence)


def actors_of(memory: MemorySystem) -> list[str]:
    """Return all actors, the most recent first. Untrusted texts."""
    return memory.actors()


def n_operation_pages(memory: MemorySystem, wanted: Operations = ANY_OPERATION) -> int:
    """Return how many pages the history has. At least one."""
    return _n_pages(memory.count_operations(wanted), PAGE_OPERATIONS)


def n_trash_pages(memory: MemorySystem, kind: Kind = EXPERIENCE) -> int:
    """Return how many pages the trash has. At least one."""
    return _n_pages(kind.records(memory).count_trash(), PAGE_TRASH)


def operation_page(memory: MemorySystem, page: int = 1, wanted: Operations = ANY_OPERATION) -> OperationPage:
    """Return one page of operations on the store. The first page is 1."""
    n_operations = memory.count_operations(wanted)
    operations = memory.history(PAGE_OPERATIONS, (page - 1) * PAGE_OPERATIONS, where=wanted)
    return OperationPage(
        rows=tuple(_row_with_blocker(memory, operation) for operation in operations),
        caption=f"{counted(n_operations, 'operation')}, newest first (UTC)",
    )


def operation_detail(memory: MemorySystem, operation_id: str) -> OperationDetail | None:
    """Return one operation in full, or None if there is no operation of this id."""
    try:
        operation = memory.operation(operation_id)
    except NotFound:
        return None
    n_changes = sum(operation.counts.values())
    return OperationDetail(
        row=_row_with_blocker(memory, operation),
        facts=_facts(operation),
        n_pages=_n_pages(n_changes, PAGE_CHANGES),
    )


def operation_diffs(memory: MemorySystem, operation_id: str, page: int = 1) -> tuple[RecordDiff, ...]:
    """Return one page of the changes of an operation, record by record. The first page is 1."""
    changes = memory.changes(operation_id, PAGE_CHANGES, (page - 1) * PAGE_CHANGES)
    kinds = [kind_of(memory, change.collection) for change in changes]
    existing = {
        (kind.noun, record_id)
        for kind in set(kinds)
        for record_id in kind.records(memory).titles([change.record_id for change in changes])
    }
    return tuple(
        RecordDiff(
            record_id=change.record_id,
            title=change.title if change.kind != "purged" else GONE,
            kind=change.kind,
            is_there=(kind.noun, change.record_id) in existing,
            page=kind.page,
            fields=tuple(
                FieldChange(name=_field_name(change, name), before=_text_or_none(before), after=_text_or_none(after))
                for name, before, after in change.fields
            ),
        )
        for change, kind in zip(changes, kinds, strict=True)
    )


def change_word(kind: str) -> str:
    """Return the word for a kind of change: `deleted` for `removed`, and the others as they are."""
    return "deleted" if kind == "removed" else kind


def _field_name(change: RecordChange, name: str) -> str:
    """Return the name of a field as pages show it: the mark `buried` is called `retired`."""
    return "retired" if change.kind == "marked" and name == "buried" else name


def change_rows(diffs: Sequence[RecordDiff]) -> tuple[ChangeRow, ...]:
    """Return the lines of a table of changes, at least one for each record."""
    return tuple(row for diff in diffs for row in _change_rows(diff))


def _change_rows(diff: RecordDiff) -> Iterator[ChangeRow]:
    for field in diff.fields or (None,):
        yield ChangeRow(
            record_id=diff.record_id,
            change=change_word(diff.kind),
            title=diff.title,
            field=field.name if field else "",
            difference=word_diff(_whole_text(field.before), _whole_text(field.after)) if field else "",
        )


def _whole_text(text: Text | None) -> str:
    return text.whole if text else ""


def trash_page(memory: MemorySystem, page: int = 1, kind: Kind = EXPERIENCE) -> TrashPage:
    """Return one page of the deleted records of a kind. The first page is 1."""
    n_records = kind.records(memory).count_trash()
    found = kind.records(memory).trash(PAGE_TRASH, (page - 1) * PAGE_TRASH)
    return TrashPage(
        rows=tuple(
            TrashRow(
                id=record.id,
                outcome=outcome_with_sign(record.outcome) if kind is EXPERIENCE else "",
                task=record.title,
                deleted_at=record.deleted_at,
                actor=record.actor,
                reason=record.reason,
            )
            for record in found
        ),
        caption=f"{counted(n_records, f'deleted {kind.noun}')}, latest first" if n_records else "The trash is empty",
    )


def _first_change(memory: MemorySystem, operation: Operation) -> RecordChange | None:
    """Return the first change of an operation, or None if it changed no record."""
    return next(iter(memory.changes(operation.id, 1)), None)


def _is_purge(operation: Operation, first_change: RecordChange | None) -> bool:
    return operation.kind == "purge" and first_change is not None and first_change.kind == "purged"


def _unless_experience(kind: Kind | None) -> Kind | None:
    """Return the kind, or None for experiences, whose meanings have no kind in them."""
    return None if kind is EXPERIENCE else kind


def _operation_row(memory: MemorySystem, operation: Operation, first_change: RecordChange | None) -> OperationRow:
    single_kind = only_kind(memory, operation)
    kind, sentence = _unless_experience(single_kind), sentence_of(memory, operation, first_change, single_kind)
    return OperationRow(
        id=operation.id,
        at=operation.created_at,
        what=_KIND_WORDS.get(operation.kind, operation.kind),
        counts=_counts_text(operation) if kind is None else _counts_of_kind(operation, first_change, kind),
        actor=operation.actor,
        reason=reason_of(operation),
        state="undone" if operation.undone_by else "",
        sentence=sentence,
        named=_named_record(memory, first_change, sentence),
        change=difference_of(operation, first_change),
        kind=operation.kind,
        undo_label=undo_label(operation, first_change),
        undo_deletes_many=undo_deletes_many(operation),
        undo_id=operation.undone_by or operation.id,
        undo_sentence="" if _is_purge(operation, first_change) else undo_sentence(operation, single_kind),
        is_final=_is_purge(operation, first_change),
    )


def _named_record(memory: MemorySystem, first_change: RecordChange | None, sentence: str) -> NamedRecord | None:
    if first_change is None:
        return None
    title, kind = task_title(first_change.title).title, kind_of(memory, first_change.collection)
    if f"“{title}”" not in sentence or not kind.records(memory).titles([first_change.record_id]):
        return None
    return NamedRecord(words=title, id=first_change.record_id, page=kind.page)


def _counts_text(operation: Operation) -> str:
    return ", ".join(f"{count:,} {change_word(change)}" for change, count in operation.counts.items())


def _counts_of_kind(operation: Operation, first_change: RecordChange | None, kind: Kind) -> str:
    """Return `51 concepts added`, or `concept crop added` if there is only one."""
    if first_change is not None and first_change.kind != "purged" and list(operation.counts.values()) == [1]:
        return f"{kind.noun} {task_title(first_change.title).title} {change_word(first_change.kind)}"
    return ", ".join(f"{counted(count, kind.noun)} {change_word(change)}" for change, count in operation.counts.items())


def _facts(operation: Operation) -> tuple[tuple[str, str], ...]:
    facts = {
        "When": utc_time_text(operation.created_at),
        "Who": operation.actor,
        "Why": reason_of(operation),
        "Records": _counts_text(operation),
        "Undoes": (operation.undoes or "")[:8],
        "Undone by": (operation.undone_by or "")[:8],
    }
    return tuple((name, value) for name, value in facts.items() if value)


def _text_or_none(value: str) -> Text | None:
    return Text(value) if value else None


def _n_pages(n_rows: int, page_size: int) -> int:
    return max(1, math.ceil(n_rows / page_size))
