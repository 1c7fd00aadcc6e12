"""Review: the pending records of keys under review, until a curator accepts or rejects them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from atlas.core.errors import InvalidInput, NotFound, PlanOutdated, RecordChanged
from atlas.infra.actor import Role, check_role, has_role
from atlas.memory.system import MemorySystem
from atlas.storage.damage import stored_instant
from atlas.storage.records import IS_WAITING, REVIEW_KEY, Moment
from atlas.views.kinds.kind import Kind
from atlas.views.shared.kinds import KINDS
from atlas.views.shared.plans import PlanRow, PlanView
from atlas.views.shared.wording import counted, in_words, shortened

TITLE_CHARACTERS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRow:
    """A record that waits for review."""

    id: str
    noun: str
    """The kind that it is of."""

    title: str
    """Untrusted text."""

    writer: str
    stored_at: datetime
    moment: Moment
    """Moment when it was shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewQueue:
    """Pending records, newest first, optionally of one writer or since a time."""

    rows: tuple[WaitingRow, ...]
    n_by_writer: dict[str, int]
    """Number of pending records by writer, regardless of the filter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectRequest:
    """A request to delete records that wait for review."""

    rows: tuple[WaitingRow, ...]

    def propose(self, memory: MemorySystem) -> RejectProposal:
        """Return a plan to delete the records that still wait for review."""
        waiting_ids = {row.id for row in review_queue(memory).rows}
        rows = tuple(row for row in self.rows if row.id in waiting_ids)
        n_total = sum(len(kind.records(memory)) for kind in KINDS.values())
        words = words_of(rows)
        view = PlanView(
            title="Reject",
            headline=f"{words.capitalize()} would be deleted." if rows else "None of these waits any more.",
            button=f"Reject {words}" if rows else "",
            rows=tuple(PlanRow(id=row.id, title=row.title, goes=True, why=f"written by {row.writer}") for row in rows),
            subject="What was written",
            caption="Written under review",
            is_deletion=True,
            n_going=len(rows),
            share=len(rows) / n_total if n_total else 0.0,
        )
        return RejectProposal(request=self, rows=rows, view=view)


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectProposal:
    """The preview of a rejection: records that wait for review, and would be deleted."""

    request: RejectRequest
    rows: tuple[WaitingRow, ...]
    view: PlanView

    @property
    def removed_ids(self) -> tuple[str, ...]:
        """The ids of the records that it removes."""
        return tuple(row.id for row in self.rows)

    @property
    def done_sentence(self) -> str:
        """`Rejected 2 experiences`."""
        return f"Rejected {words_of(self.rows)}"

    def apply(self, memory: MemorySystem) -> str | None:
        """Delete the records as one operation and return its id.

        Raises:
            PlanOutdated: A record was accepted or changed since. No record of its kind was deleted.
        """
        if self.request.propose(memory).view != self.view:
            raise PlanOutdated(
                "some of these were accepted or changed since the list was read; nothing was done. Reload the list"
            )
        operation_id: str | None = None
        moments = {row.id: row.moment for row in self.rows}
        for kind, ids in _ids_by_kind(self.rows):
            scoped = kind.records(memory).as_operation(
                "delete", "rejected in review", operation_id=operation_id, unchanged_since=moments
            )
            try:
                scoped.delete(ids)
            except RecordChanged as error:
                raise PlanOutdated(str(error)) from error
            operation_id = scoped.operation_id
        return operation_id


def may_review() -> bool:
    """Return whether the visitor may accept and reject."""
    return has_role(Role.CURATOR)


def n_waiting(memory: MemorySystem) -> int:
    """Return how many records wait for review."""
    return sum(kind.records(memory).count(IS_WAITING) for kind in KINDS.values())


def review_queue(memory: MemorySystem, writer: str = "", since: datetime | None = None) -> ReviewQueue:
    """Return the pending records.

    Args:
        writer: Only records of this writer, empty for all.
        since: Only records stored at this time or later.
    """
    pending = [row for kind in KINDS.values() for row in _pending_rows(memory, kind)]
    selected = (row for row in pending if writer in ("", row.writer) and (since is None or row.stored_at >= since))
    return ReviewQueue(
        rows=tuple(sorted(selected, key=lambda row: row.stored_at, reverse=True)),
        n_by_writer=dict(Counter(row.writer for row in pending).most_common()),
    )


def select_pending(
    memory: MemorySystem,
    *,
    ids: Sequence[str] = (),
    writer: str = "",
    since: datetime | None = None,
    is_all: bool = False,
) -> tuple[WaitingRow, ...]:
    """Return the pending records with these ids, or all that are by the writer and not older than the time.

    Args:
        ids: Ids, or unique prefixes of ids. Empty for all records of the writer and time.
        writer: See `review_queue`, as for `since`.
        is_all: Whether to return all pending records if there is no id, writer or time.

    Raises:
        NotAllowed: The actor is not a curator.
        InvalidInput: There is no id, writer or time, and `is_all` is false.
        NotFound: An id matches no pending record, or several.
    """
    check_role(Role.CURATOR, "accept or reject records")
    if not (ids or writer or since or is_all):
        raise InvalidInput("select the records by ids, by a writer, by a time, or all of them")
    rows = review_queue(memory, writer, since).rows
    selected = []
    for prefix in dict.fromkeys(ids):
        matches = [row for row in rows if row.id.startswith(prefix)]
        if len(matches) != 1:
            raise NotFound(
                f"{len(matches)} pending records have an id that begins with {prefix!r:.80}; list the records that "
                "wait for review, and take an id from the list"
            )
        selected += matches
    return tuple(dict.fromkeys(selected)) if ids else rows


def accept(memory: MemorySystem, rows: Sequence[WaitingRow]) -> str:
    """Accept records of any kinds as one operation, and return its id.

    Raises:
        PlanOutdated: A record has changed since it was shown. No record of its kind was accepted.
    """
    moments = {row.id: row.moment for row in rows}
    operation_id: str | None = None
    for kind, ids in _ids_by_kind(rows):
        scoped = kind.records(memory).as_operation("accept", "accepted in review", operation_id=operation_id)
        oldest = min((moments[record_id] for record_id in ids), key=lambda moment: moment.change)
        scoped.release(ids, unchanged_since=oldest)
        operation_id = scoped.operation_id
    return str(operation_id)


def words_of(rows: Sequence[WaitingRow]) -> str:
    """Return `2 experiences and 1 strategy`."""
    counts = Counter(row.noun for row in rows)
    return in_words([counted(counts[kind.noun], kind.noun) for kind in KINDS.values() if counts[kind.noun]])


def _pending_rows(memory: MemorySystem, kind: Kind) -> list[WaitingRow]:
    records, moment = kind.records(memory), memory.storage.ledger.moment()
    ids = records.ids(IS_WAITING)
    if not ids:
        return []
    where = {"id": {"$in": ids}}
    writers, stored = records.column(REVIEW_KEY, where), records.column("stored_at", where)
    titles = records.titles(ids)
    return [
        WaitingRow(
            id=record_id,
            noun=kind.noun,
            title=shortened(" ".join(titles[record_id].split()), TITLE_CHARACTERS),
            writer=writers[record_id],
            stored_at=stored_instant(stored, record_id),
            moment=moment,
        )
        for record_id in ids
        if record_id in titles and record_id in writers and record_id in stored
    ]


def _ids_by_kind(rows: Sequence[WaitingRow]) -> list[tuple[Kind, list[str]]]:
    by_kind = [(kind, [row.id for row in rows if row.noun == kind.noun]) for kind in KINDS.values()]
    return [(kind, ids) for kind, ids in by_kind if ids]
