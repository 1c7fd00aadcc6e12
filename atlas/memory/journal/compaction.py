"""Forgetting: which entries move to a farther tier, why, and which summaries stand for them.

`plan_compact` is pure: from what is known of each entry to a plan. `read_subjects` reads what it has to know, and
`apply_compact` writes what the plan says.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from atlas.core.codec import dump
from atlas.core.errors import InvalidInput, PlanOutdated
from atlas.core.journal_codec import LINK_TYPES, TIERS
from atlas.core.operations import Usage
from atlas.core.types import JournalEntry, Link
from atlas.infra.bridge import run
from atlas.memory.base.memory import Row
from atlas.memory.journal.contexts import SUMMARY, recency_of
from atlas.memory.journal.entries import EntryLog
from atlas.memory.journal.entry_types import EntryType, EntryTypes
from atlas.memory.journal.importance import importance_of, with_feedback
from atlas.memory.journal.neighbours import title_of
from atlas.memory.journal.records import SUMMARISED_AT, age_of, changed_row, from_row, instant, told_at
from atlas.memory.journal.summaries import Encode, Summariser, SummaryDraft, drafts
from atlas.protocols.infra import LLMClient, Progress
from atlas.storage.records import NO_MOMENT, Moment

HOT, WARM, COLD, ARCHIVED = TIERS

THRESHOLDS = ((HOT, 0.2), (WARM, 0.1), (COLD, 0.04), (ARCHIVED, 0.0))
"""The value from which an entry stays in a tier."""

PERIOD = 50
"""Generations that one summary is about."""

FEWEST = 5
"""Entries of a type and period that are worth a summary."""

USED, LINKED = 0.5, 0.25
"""How much more an entry is worth that tasks used, and for each entry that links to it, up to `MOST_LINKS`."""

MOST_LINKS = 4

BATCH = 1_000
"""Entries that are read whole at once."""

WORTH_IT, HELD = "it is worth its tier", "a new summary stands for it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """An entry, as forgetting has to know it."""

    entry: JournalEntry
    usage: Usage
    is_pinned: bool
    n_linking: int
    """Entries that link to it, but for summaries."""

    summary: JournalEntry | None
    """The latest that stands for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """An entry that would go to a farther tier."""

    id: str
    title: str
    entry_type: str
    generation: int
    from_tier: str
    to_tier: str
    value: float
    """In [0, 3]: importance × recency × use × links."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactPlan:
    """A plan to compact. Applying it does exactly this, or nothing if one of the entries has changed."""

    moves: tuple[Move, ...]
    summaries: tuple[SummaryDraft, ...]
    n_total: int
    kept: Mapping[str, int]
    """How many entries stay where they are, by the reason why."""

    keep_recent: int
    """The latest entries that were to stay, so many."""

    keep_types: Mapping[str, int] = field(default_factory=dict)
    """Of which types the latest so many were to stay as well."""

    moment: Moment = NO_MOMENT
    """The point in the store's history that the plan holds for."""

    spent: str = ""
    """Calls, tokens and their price, or empty where no model was asked."""

    made_at: str = ""
    """As ISO 8601."""

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to do."""
        return not self.moves and not self.summaries

    @property
    def touched(self) -> tuple[str, ...]:
        """The ids of all that would move or be summarised."""
        ids = [move.id for move in self.moves]
        return tuple(dict.fromkeys([*ids, *(one for draft in self.summaries for one in draft.source_ids)]))

    @property
    def problems(self) -> tuple[str, ...]:
        """Why a language model did not write summaries that it should have, each reason once."""
        return tuple(dict.fromkeys(draft.problem for draft in self.summaries if draft.problem))

    @property
    def tiers(self) -> Mapping[str, int]:
        """How many entries would come to each tier."""
        return {tier: sum(move.to_tier == tier for move in self.moves) for tier in TIERS[1:]}


def plan(
    log: EntryLog,
    types: EntryTypes,
    llm: LLMClient | None,
    keep_recent: int,
    keep_types: Mapping[str, int],
    on_progress: Progress | None,
) -> CompactPlan:
    """Plan what to forget of a log. See `Journal.plan_compact`."""
    log.store.write_retrievals()
    with log.store.reading():
        moment, subjects = log.store.moment(), read_subjects(log)
    planned = plan_compact(
        subjects,
        types,
        log.embedder.encode_batch,
        log.clock.now(),
        keep_recent=keep_recent,
        keep_types=keep_types,
        moment=moment,
        on_progress=on_progress if llm is None else None,
    )
    if llm is None:
        return planned
    entries = {subject.entry.id: subject.entry for subject in subjects}
    sources = [[entries[one] for one in draft.source_ids] for draft in planned.summaries]
    return replace(planned, summaries=run(Summariser(llm).written_all(planned.summaries, sources, on_progress)))


def plan_compact(
    subjects: Sequence[Subject],
    types: EntryTypes,
    encode: Encode,
    now: datetime,
    *,
    keep_recent: int = 200,
    keep_types: Mapping[str, int] | None = None,
    moment: Moment = NO_MOMENT,
    on_progress: Progress | None = None,
) -> CompactPlan:
    """Return who would move to which tier, and which summaries would be written.

    Args:
        subjects: Every entry, the newest first.
        encode: Embeds the sentences among which those of a summary are picked.
        keep_recent: The latest entries stay as they are, so many.
        keep_types: Of each of these types the latest so many as well.
        on_progress: Told after each summary how many are drafted, and of how many.

    Raises:
        InvalidInput: A number to keep is negative.
    """
    _check_kept(keep_recent, keep_types or {})
    reasons = _kept(subjects, types, keep_recent, keep_types or {})
    judged = [subject for subject in subjects if subject.entry.id not in reasons]
    groups = _groups([subject for subject in judged if _is_past(subject, types, now)])
    summarised = {subject.entry.id for group in groups for subject in group}
    moves = [_move(subject, types, now, subject.entry.id in summarised) for subject in judged]
    moved = [move for move in moves if move is not None]
    kept: dict[str, int] = defaultdict(int)
    n_held = sum(move is None and _is_held(subject, types, now) for subject, move in zip(judged, moves, strict=True))
    for reason in reasons.values():
        kept[reason] += 1
    for reason, count in ((WORTH_IT, len(judged) - len(moved) - n_held), (HELD, n_held)):
        if count:
            kept[reason] = count
    return CompactPlan(
        moves=tuple(moved),
        summaries=tuple(drafts([[one.entry for one in group] for group in groups], encode, on_progress)),
        n_total=len(subjects),
        kept=dict(kept),
        keep_recent=keep_recent,
        keep_types=dict(keep_types or {}),
        moment=moment,
    )


def read_subjects(log: EntryLog) -> list[Subject]:
    """Return all that forgetting has to know of a journal's entries, newest first. Of their vectors nothing."""
    rows = log.store.scan(order_by="created_at", descending=True)
    ids = [row["id"] for row in rows]
    usage, marks = log.store.usage(ids), log.store.marks(ids)
    linking = Counter(
        target for row in rows for name in LINK_TYPES if name != "summarises" for target in _targets(row, name)
    )
    entries = [entry for start in range(0, len(ids), BATCH) for entry in log.get(ids[start : start + BATCH])]
    summaries = _summary_of_each(entries)
    return [
        Subject(
            entry=entry,
            usage=usage[entry.id],
            is_pinned=marks[entry.id].pinned,
            n_linking=linking[entry.id],
            summary=summaries.get(entry.id),
        )
        for entry in entries
    ]


def check_compact(log: EntryLog, plan: CompactPlan) -> None:
    """Raise `PlanOutdated` where an entry that a plan touches has changed, is gone, or is pinned now."""
    concerned = plan.touched
    with log.store.reading():
        n_gone = len(set(concerned) - log.store.present(concerned))
        n_pinned = sum(marks.pinned for marks in log.store.marks(concerned).values())
        if n_gone:
            raise PlanOutdated(
                f"{n_gone} of the entries were deleted since this was planned; nothing was done. Plan again"
            )
        if n_pinned:
            raise PlanOutdated(f"{n_pinned} of the entries are pinned now, so they stay; nothing was done. Plan again")
        log.store.check_unchanged(concerned, plan.moment)


def apply_compact(log: EntryLog, plan: CompactPlan, kind: EntryType) -> str | None:
    """Do exactly what a plan says, as one operation. Return its id.

    Args:
        kind: The type of summaries.

    Raises:
        PlanOutdated: See `check_compact`; nothing was done.
    """
    reason = f"{len(plan.moves)} entries moved, {len(plan.summaries)} summaries written"
    scoped = log.within("compact", reason)
    check_compact(log, plan)
    rows = log.store.get([move.id for move in plan.moves])
    tiers = {move.id: move.to_tier for move in plan.moves}
    moved = [changed_row(row, replace(from_row(row), tier=tiers[row["id"]])) for row in rows]
    if moved:
        scoped.rewrite(moved, plan.moment, "compact", reason)
    scoped.add([_summary_entry(log, draft, kind) for draft in plan.summaries])
    return scoped.store.operation_id


def worth(subject: Subject, types: EntryTypes, now: datetime) -> float:
    """Return importance × recency × use × links: how much an entry is worth keeping in mind."""
    importance = with_feedback(subject.entry.importance, subject.usage)
    used = 1 + USED * (subject.usage.n_uses > 0)
    linked = 1 + LINKED * min(subject.n_linking, MOST_LINKS)
    return importance * recency_of(subject.entry, types, now) * used * linked


def _check_kept(keep_recent: int, keep_types: Mapping[str, int]) -> None:
    for name, count in {"keep_recent": keep_recent, **keep_types}.items():
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise InvalidInput(f"the entries to keep should be a whole number from 0 up, but {name} is {count!r}")


def _kept(
    subjects: Sequence[Subject], types: EntryTypes, keep_recent: int, keep_types: Mapping[str, int]
) -> dict[str, str]:
    """Return why entries stay whatever they are worth, by id."""
    reasons: dict[str, str] = {}
    n_seen: dict[str, int] = defaultdict(int)
    for position, subject in enumerate(subjects):
        name = subject.entry.entry_type
        n_seen[name] += 1
        if position < keep_recent:
            reasons[subject.entry.id] = f"it is among the latest {keep_recent}"
        elif n_seen[name] <= keep_types.get(name, 0):
            reasons[subject.entry.id] = f"it is among the latest {keep_types[name]} of type {name}"
        elif types.of(name).half_life_days is None:
            reasons[subject.entry.id] = f"no entry of type {name} is ever forgotten"
        elif subject.is_pinned:
            reasons[subject.entry.id] = "it is pinned"
    return reasons


def _is_past(subject: Subject, types: EntryTypes, now: datetime) -> bool:
    """Return whether an entry goes, or went, out of prompts, and no summary stands for it yet."""
    is_low = TIERS.index(_tier_for(subject, types, now)) >= TIERS.index(COLD)
    return is_low and subject.summary is None and subject.entry.entry_type != SUMMARY


def _is_held(subject: Subject, types: EntryTypes, now: datetime) -> bool:
    """Return whether a search still reaches an entry beside its summary, while that is in prompts."""
    if subject.summary is None or TIERS.index(subject.summary.tier) >= TIERS.index(COLD):
        return False
    days = types.of(subject.entry.entry_type).half_life_days
    return days is None or age_of(subject.summary, now) < timedelta(days=days)


def _tier_for(subject: Subject, types: EntryTypes, now: datetime) -> str:
    """Return the tier of an entry's worth, never nearer than its own, nor farther than a new summary lets it go."""
    value = worth(subject, types, now)
    by_worth = next(tier for tier, least in THRESHOLDS if value >= least)
    if _is_held(subject, types, now):
        by_worth = min(by_worth, COLD, key=TIERS.index)
    return max(by_worth, subject.entry.tier, key=TIERS.index)


def _move(subject: Subject, types: EntryTypes, now: datetime, is_summarised: bool) -> Move | None:
    """Return what becomes of an entry.

    One that a summary is written of goes to the cold tier and no farther for now.
    """
    entry, to_tier = subject.entry, _tier_for(subject, types, now)
    if is_summarised:
        to_tier = max(COLD, entry.tier, key=TIERS.index)
    if to_tier == entry.tier:
        return None
    why = "; a summary takes its place" if is_summarised else ""
    return Move(
        id=entry.id,
        title=title_of(entry.content),
        entry_type=entry.entry_type,
        generation=entry.generation,
        from_tier=entry.tier,
        to_tier=to_tier,
        value=worth(subject, types, now),
        reason=_reason(subject, types, now) + why,
    )


def _reason(subject: Subject, types: EntryTypes, now: datetime) -> str:
    importance = with_feedback(subject.entry.importance, subject.usage)
    recency = recency_of(subject.entry, types, now)
    used = f"used {subject.usage.n_uses}×" if subject.usage.n_uses else "never used"
    return (
        f"worth {worth(subject, types, now):.2f}: importance {importance:.2f} × recency {recency:.2f}, {used}, "
        f"linked from {subject.n_linking}"
    )


def _groups(subjects: Sequence[Subject]) -> list[list[Subject]]:
    """Return entries of one type and period, where there are enough of them, each group by time."""
    groups: dict[tuple[str, int], list[Subject]] = defaultdict(list)
    for subject in reversed(subjects):
        generation = subject.entry.generation
        period = (generation - (generation > 0)) // PERIOD  # the first is from 0, which counts none, to 50
        groups[subject.entry.entry_type, period].append(subject)
    return [group for _, group in sorted(groups.items()) if len(group) >= FEWEST]


def _summary_entry(log: EntryLog, draft: SummaryDraft, kind: EntryType) -> JournalEntry:
    """Return the entry that stands for others, in the log where the last of them is."""
    [last] = log.get(draft.source_ids[-1:])
    return JournalEntry(
        id=_summary_id(draft),
        entry_type=SUMMARY,
        content=draft.content,
        generation=draft.last_generation,
        created_at=last.created_at,
        importance=importance_of(kind, draft.content),
        metadata={
            "of_type": draft.entry_type,
            "first_generation": draft.first_generation,
            "last_generation": draft.last_generation,
            "written_by": draft.written_by,
            SUMMARISED_AT: instant(log.clock.now()),
            **({"not_by_model": draft.problem} if draft.problem else {}),
        },
        links=tuple(Link("summarises", source_id) for source_id in draft.source_ids),
    )


def _summary_id(draft: SummaryDraft) -> str:
    """Return one id for all summaries of the same entries, so that processes which compact at once write one."""
    return hashlib.sha256(dump(["summary", *draft.source_ids]).encode()).hexdigest()[:32]


def _summary_of_each(entries: Sequence[JournalEntry]) -> dict[str, JournalEntry]:
    """Return the latest summary that stands for each entry, by the id of the entry."""
    return {link.target_id: e for e in sorted(entries, key=told_at) for link in e.links if link.type == "summarises"}


def _targets(row: Row, link_type: str) -> Sequence[str]:
    held: Sequence[str] = row["metadata"].get(link_type, ())
    return held
