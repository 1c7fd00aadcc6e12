"""The effects of a purge, in the words that the command line and the pages share, and confirming it by typing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from atlas.memory.journal import REFUSED_COLLECTION
from atlas.memory.journal.conversations import COLLECTION as CONVERSATIONS
from atlas.memory.system import MemorySystem
from atlas.storage.history import QuotingRecord, Removal
from atlas.storage.maintenance.purge import PurgePlan, PurgeResult
from atlas.views.kinds.kind import Kind
from atlas.views.shared.kinds import kind_of
from atlas.views.shared.wording import counted, in_words, stored_time_text

WORD = "PURGE"
"""Word that a person types as confirmation, unless it is the start of a single id."""

FINAL = "This cannot be undone."

COPIES_ELSEWHERE = (
    "ATLAS cannot erase it from backups, exports, files that it was imported from, marks files under version control, "
    "or programs that have read it. Remove it there yourself. Importing such a file again brings it back as a new "
    "record, unless the file gives it the same id."
)

NOUNS = {CONVERSATIONS: "conversation turn", REFUSED_COLLECTION: "refused entry"}
"""Nouns of the collections without a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeRow:
    """One record of a plan."""

    id: str
    title: str
    """Untrusted text."""

    kind: str
    why: str
    """Parts that are removed, or the location of the same text in a remaining record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeView:
    """The preview of a purge."""

    headline: str
    """Contains no text of memories, nor do the notes."""

    erased: tuple[PurgeRow, ...]
    remaining: tuple[PurgeRow, ...]
    """Other records with the same text, or with a reference to a removed one."""

    notes: tuple[str, ...]
    removed: tuple[str, ...]
    """Further files that would be deleted: paths, which are untrusted text."""

    files: tuple[str, ...]
    """Names of remaining files and remote indexes that may contain it, which are untrusted text."""

    words: tuple[str, ...]
    """Words that confirm it when typed."""

    def is_confirmed_by(self, typed: str) -> bool:
        """Return whether a typed string is the confirmation."""
        return typed.strip() in self.words


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeProposal:
    """The preview of a purge."""

    plan: PurgePlan
    view: PurgeView

    def apply(self, memory: MemorySystem, reason: str = "") -> PurgeResult:
        """Apply exactly this plan. `PlanOutdated` if one of the records has changed since."""
        return memory.apply_purge(self.plan, reason=reason)


def propose_purge(memory: MemorySystem, ids: Sequence[str], kind: Kind | None = None) -> PurgeProposal:
    """Return the plan of purging these now.

    Args:
        kind: Their kind; None for records of any memory.
    """
    collection = kind.records(memory).collection_name if kind is not None else ""
    plan = memory.plan_purge(ids, collection=collection)
    return PurgeProposal(plan=plan, view=purge_view(memory, plan))


def purge_view(memory: MemorySystem, plan: PurgePlan) -> PurgeView:
    """Return the view of a purge's plan."""
    nouns = Counter(_noun(memory, record.collection) for record in plan.records)
    beginnings = {record.id[:8] for record in plan.records}
    return PurgeView(
        headline=f"{in_words([counted(n, noun) for noun, n in nouns.items()])} would be erased for good.",
        erased=tuple(_erased_row(memory, record) for record in plan.records),
        remaining=tuple(_remaining_row(memory, quote) for quote in plan.quotes),
        notes=tuple(_notes(plan)),
        removed=plan.copies,
        files=tuple(_files(plan)),
        words=(WORD, *(beginnings if len(beginnings) == 1 else ())),
    )


def done_sentence(done: PurgeResult) -> str:
    """Return the result of a purge, as trusted text."""
    return f"Purged {counted(done.n_records, 'record')}. This cannot be undone."


def _notes(plan: PurgePlan) -> Iterator[str]:
    yield (
        "It is erased from its memory, the trash, the history, the marks, keyword search, the index, the cache and "
        "free pages of the store's file. The history keeps that it was purged, by whom, when and why, and the ids."
    )
    yield "The index, the map, near-duplicates, plans and measurements are made again when they are next needed."
    if plan.n_reasons:
        yield f"The reason of {counted(plan.n_reasons, 'operation')} in the history quotes it, and is emptied."
    if plan.n_judged:
        yield f"{counted(plan.n_judged, 'judgement')} of it, or of a query that quotes it, would go too."
    yield COPIES_ELSEWHERE
    yield FINAL


def _files(plan: PurgePlan) -> Iterator[str]:
    for backup in plan.backups:
        yield f"{backup.path} (backup of {stored_time_text(backup.made_at)})"
    yield from (f"{path} (in the store's directory, but not written by ATLAS)" for path in plan.foreign_files)
    yield from (f"{index} (an index of another store, or in a service that was left)" for index in plan.indexes)


def _erased_row(memory: MemorySystem, record: Removal) -> PurgeRow:
    where = "" if record.is_live else "deleted"
    earlier = counted(record.n_earlier, "earlier state") if record.n_earlier else ""
    return PurgeRow(
        id=record.id,
        title=record.title,
        kind=_noun(memory, record.collection),
        why=", ".join(part for part in (where, earlier) if part),
    )


def _remaining_row(memory: MemorySystem, quote: QuotingRecord) -> PurgeRow:
    how = f"shares {counted(quote.n_shared, 'passage')}" if quote.n_shared else "names it"
    return PurgeRow(
        id=quote.record_id,
        title=quote.title,
        kind=_noun(memory, quote.collection),
        why=f"{how} {quote.where}".strip(),
    )


def _noun(memory: MemorySystem, collection: str) -> str:
    return NOUNS.get(collection) or kind_of(memory, collection).noun
