"""Compaction of a journal: entries of low worth move to colder tiers, and are summarised.

`read_subjects` reads the entries, the pure function `plan_compact` makes a plan from them, and `apply_compact` writes
the changes.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from atlas.core.errors import PlanOutdated
from atlas.core.filters import scope_of, shared_scope
from atlas.core.journal_codec import LINK_TYPES, TIERS
from atlas.core.json_values import dump
from atlas.core.types import JournalEntry, Link
from atlas.infra.bridge import run
from atlas.llm.prompts.journal_summary import JOURNAL_SUMMARY
from atlas.memory.base.memory import Row
from atlas.memory.journal.compact_plan import CompactPlan, Move, RetentionPolicy, Subject
from atlas.memory.journal.contexts import SUMMARY, TASK_TYPE, recency_of
from atlas.memory.journal.entries import EntryLog
from atlas.memory.journal.entry_types import EntryType, EntryTypes
from atlas.memory.journal.eviction import choose_evictions
from atlas.memory.journal.importance import importance_of, with_feedback
from atlas.memory.journal.neighbours import title_of
from atlas.memory.journal.records import SUMMARISED_AT, age_of, changed_row, from_row, instant, time_written
from atlas.memory.journal.summaries import EXTRACTION, Encode, Summariser, SummaryDraft, draft_summaries
from atlas.memory.loss import reason_with_loss
from atlas.protocols.infra import LLMClient, Progress
from atlas.storage.records import NO_MOMENT, Moment

HOT, WARM, COLD, ARCHIVED = TIERS

THRESHOLDS = ((HOT, 0.2), (WARM, 0.1), (COLD, 0.04), (ARCHIVED, 0.0))
"""Minimum worth of an entry in each tier."""

PERIOD = 50
"""Number of generations in a summary."""

MIN_GROUP = 5
"""Minimum number of entries of a type and period for a summary."""

USE_BONUS, LINK_BONUS = 0.5, 0.25
"""Relative increase of an entry's worth if it was used, and for each link to it, up to `MAX_LINKS` links."""

MAX_LINKS = 4

BATCH = 1_000
"""Number of full entries that are read at once."""

WORTHY, SUMMARISED = "its worth is high enough for its tier", "a new summary replaces it in prompts"

REQUEST_REASON = "it was requested by a person"
"""Reason for keeping tasks, unless `keep_types` has a number for tasks. With a cap, tasks are deleted last."""


def plan(
    log: EntryLog, types: EntryTypes, llm: LLMClient | None, policy: RetentionPolicy, on_progress: Progress | None
) -> CompactPlan:
    """Return a plan to compact a log, with summaries by a model if there is one. See `Journal.plan_compact`."""
    log.store.write_retrievals()
    with log.store.reading():
        moment, subjects = log.store.moment(), read_subjects(log)
    compact_plan = plan_compact(
        subjects,
        types,
        log.embedder.encode_batch,
        log.clock.now(),
        policy,
        moment=moment,
        on_progress=on_progress if llm is None else None,
    )
    if llm is None:
        return compact_plan
    entries = {subject.entry.id: subject.entry for subject in subjects}
    sources = [[entries[source] for source in draft.source_ids] for draft in compact_plan.summaries]
    return replace(
        compact_plan, summaries=run(Summariser(llm).write_all_with_model(compact_plan.summaries, sources, on_progress))
    )


def plan_compact(
    subjects: Sequence[Subject],
    types: EntryTypes,
    encode: Encode,
    now: datetime,
    policy: RetentionPolicy,
    *,
    moment: Moment = NO_MOMENT,
    on_progress: Progress | None = None,
) -> CompactPlan:
    """Return a plan to compact entries: moves to colder tiers, deletions for the cap, and summaries to write.

    Args:
        subjects: Every entry, newest first.
        encode: Function that embeds the candidate sentences of extractive summaries.
        on_progress: Called after each summary with the number drafted, and the total.

    Raises:
        InvalidInput: A number to keep is negative, or the cap is below 1.
    """
    policy.check()
    latest, lasting = _latest_reasons(subjects, policy), _lasting_reasons(subjects, types, policy)
    groups = _summary_groups(subjects, latest, lasting, types, now)
    summarised = {subject.entry.id for group in groups for subject in group}
    requested_ids = {entry_id for entry_id, reason in lasting.items() if reason == REQUEST_REASON} - latest.keys()
    reasons = lasting | latest
    n_excess = len(subjects) + len(groups) - policy.max_entries if policy.max_entries else 0
    evicted = choose_evictions(
        [subject for subject in subjects if subject.entry.id not in reasons or subject.entry.id in requested_ids],
        n_excess,
        summarised,
        requested_ids,
        lambda subject: (worth(subject, types, now), _reason(subject, types, now)),
    )
    evicted_ids = {eviction.id for eviction in evicted}
    judged = [subject for subject in subjects if subject.entry.id not in reasons.keys() | evicted_ids]
    moves = {subject.entry.id: _move(subject, types, now, subject.entry.id in summarised) for subject in judged}
    for subject in judged:
        if moves[subject.entry.id] is None:
            reasons[subject.entry.id] = SUMMARISED if _stays_searchable(subject, types, now) else WORTHY
    return CompactPlan(
        moves=tuple(move for move in moves.values() if move is not None),
        summaries=tuple(
            draft_summaries([[subject.entry for subject in group] for group in groups], encode, on_progress)
        ),
        n_total=len(subjects),
        kept=dict(Counter(reason for entry_id, reason in reasons.items() if entry_id not in evicted_ids)),
        keep_recent=policy.keep_recent,
        keep_types=dict(policy.keep_types),
        evictions=evicted,
        max_entries=policy.max_entries,
        n_above_cap=max(0, n_excess - len(evicted)),
        moment=moment,
    )


def read_subjects(log: EntryLog) -> list[Subject]:
    """Return the subjects of a compaction, newest first, without vectors."""
    rows = log.store.scan(order_by="created_at", descending=True)
    ids = [row["id"] for row in rows]
    usage, marks = log.store.usage(ids), log.store.marks(ids)
    linking = Counter[str]()
    for row in rows:
        for name in sorted(set(LINK_TYPES) - {"summarises"}):
            linking.update(_link_targets(row, name))
    entries = [entry for start in range(0, len(ids), BATCH) for entry in log.get(ids[start : start + BATCH])]
    summaries = _latest_summaries(entries)
    return [
        Subject(
            entry=entry,
            usage=usage[entry.id],
            marks=marks[entry.id],
            n_linking=linking[entry.id],
            summary=summaries.get(entry.id),
        )
        for entry in entries
    ]


def check_compact(log: EntryLog, plan: CompactPlan) -> None:
    """Raise `PlanOutdated` if an entry of the plan has changed, been deleted or been pinned."""
    changed_ids = plan.changed_ids
    with log.store.reading():
        n_gone = len(set(changed_ids) - log.store.existing_ids(changed_ids))
        n_pinned = sum(marks.pinned for marks in log.store.marks(changed_ids).values())
        if n_gone:
            raise PlanOutdated(
                f"{n_gone} of the entries have been deleted since the plan was made; nothing was done. Plan again"
            )
        if n_pinned:
            raise PlanOutdated(
                f"{n_pinned} of the entries have been pinned since the plan was made; nothing was done. Plan again"
            )
        log.store.check_unchanged(changed_ids, plan.moment)


def apply_compact(log: EntryLog, plan: CompactPlan, kind: EntryType) -> str | None:
    """Apply a plan as one operation, and return the operation's id.

    Args:
        kind: The type of summaries.

    Raises:
        PlanOutdated: See `check_compact`; the store was not changed.
    """
    deleted = f", {len(plan.evictions)} entries deleted" if plan.evictions else ""
    reason = reason_with_loss(
        f"{len(plan.moves)} entries moved, {len(plan.summaries)} summaries written{deleted}", plan.loss
    )
    scoped = log.ensure_operation("compact", reason)
    check_compact(log, plan)
    summaries = [_summary_entry(log, draft, kind) for draft in plan.summaries]
    rows = log.store.get([move.id for move in plan.moves])
    tiers = {move.id: move.to_tier for move in plan.moves}
    changed_rows = [changed_row(row, replace(from_row(row), tier=tiers[row["id"]])) for row in rows]
    evicted = [eviction.id for eviction in plan.evictions]
    if changed_rows or evicted:
        scoped.rewrite(changed_rows, plan.moment, "compact", reason, deleted_ids=evicted)
    scoped.add(summaries)
    return scoped.store.operation_id


def worth(subject: Subject, types: EntryTypes, now: datetime) -> float:
    """Return an entry's worth, in [0, 3]: importance × recency × use × links."""
    importance = with_feedback(subject.entry.importance, subject.usage)
    use_factor = 1 + USE_BONUS * (subject.usage.n_uses > 0)
    link_factor = 1 + LINK_BONUS * min(subject.n_linking, MAX_LINKS)
    return importance * recency_of(subject.entry, types, now) * use_factor * link_factor


def _latest_reasons(subjects: Sequence[Subject], policy: RetentionPolicy) -> dict[str, str]:
    """Return the reason to keep each of the latest entries, keyed by id. `keep_recent` does not count summaries."""
    entry_ids = [subject.entry.id for subject in subjects if subject.entry.entry_type != SUMMARY]
    reasons = dict.fromkeys(entry_ids[: policy.keep_recent], f"it is among the latest {policy.keep_recent}")
    n_seen: dict[str, int] = defaultdict(int)
    for subject in subjects:
        name = subject.entry.entry_type
        n_seen[name] += 1
        if n_seen[name] <= policy.keep_types.get(name, 0):
            reasons.setdefault(subject.entry.id, f"it is among the latest {policy.keep_types[name]} of type {name}")
    return reasons


def _lasting_reasons(subjects: Sequence[Subject], types: EntryTypes, policy: RetentionPolicy) -> dict[str, str]:
    """Return the reason to keep each entry that stays at any age, keyed by id."""
    task_types = set(types.types_sharing_quota(TASK_TYPE)) - policy.keep_types.keys()
    reasons: dict[str, str] = {}
    for subject in subjects:
        name = subject.entry.entry_type
        if types.of(name).half_life_days is None:
            reasons[subject.entry.id] = f"no entry of type {name} is ever forgotten"
        elif subject.marks.pinned:
            reasons[subject.entry.id] = "it is pinned"
        elif name in task_types:
            reasons[subject.entry.id] = REQUEST_REASON
    return reasons


def _stays_searchable(subject: Subject, types: EntryTypes, now: datetime) -> bool:
    """Return whether an entry stays searchable because its summary is still used in prompts."""
    if subject.summary is None or TIERS.index(subject.summary.tier) >= TIERS.index(COLD):
        return False
    days = types.of(subject.entry.entry_type).half_life_days
    return days is None or age_of(subject.summary, now) < timedelta(days=days)


def _tier_for(subject: Subject, types: EntryTypes, now: datetime, is_summarised: bool = False) -> str:
    """Return the tier that corresponds to an entry's worth, but none warmer than the present tier.

    A summarised entry is not warmer than warm and, while its summary is new, not colder than cold.
    """
    value = worth(subject, types, now)
    tier = next(tier for tier, threshold in THRESHOLDS if value >= threshold)
    if is_summarised or subject.summary is not None:
        tier = max(tier, WARM, key=TIERS.index)
    if is_summarised or _stays_searchable(subject, types, now):
        tier = min(tier, COLD, key=TIERS.index)
    return max(tier, subject.entry.tier, key=TIERS.index)


def _move(subject: Subject, types: EntryTypes, now: datetime, is_summarised: bool) -> Move | None:
    """Return the planned move of an entry, or None if it keeps its tier."""
    entry, to_tier = subject.entry, _tier_for(subject, types, now, is_summarised)
    if to_tier == entry.tier:
        return None
    why = "; a summary replaces it" if is_summarised else ""
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


def _summary_groups(
    subjects: Sequence[Subject],
    latest: Mapping[str, str],
    lasting: Mapping[str, str],
    types: EntryTypes,
    now: datetime,
) -> list[list[Subject]]:
    """Return the sources of each new summary: groups of entries of one type and period, oldest first.

    All entries of a finished period are summarised, including the latest entries, which keep their tier. In the current
    period, only entries of low worth are summarised. A group needs `MIN_GROUP` entries that are not kept. Entries that
    wait for review or are in quarantine are left out, because searches would find their words in the summary.
    """
    current = max((_period(subject) for subject in subjects), default=0)
    groups: dict[tuple[str, int, str], list[Subject]] = defaultdict(list)
    for subject in reversed(subjects):
        if subject.marks.quarantine or subject.marks.held_for:
            continue
        is_over = _period(subject) < current
        is_cold = subject.entry.id not in latest and _is_cold(subject, types, now)
        if (is_over or is_cold) and subject.entry.id not in lasting and _is_unsummarised(subject):
            scope = dump(scope_of(subject.entry.metadata))  # a summary contains entries of one scope only
            groups[subject.entry.entry_type, _period(subject), scope].append(subject)
    return [
        group
        for _, group in sorted(groups.items())
        if sum(subject.entry.id not in latest for subject in group) >= MIN_GROUP
    ]


def _period(subject: Subject) -> int:
    """Return the number of the period of 50 generations that an entry belongs to. Generation 0 is in the first one."""
    generation = subject.entry.generation
    return (generation - (generation > 0)) // PERIOD


def _is_unsummarised(subject: Subject) -> bool:
    return subject.summary is None and subject.entry.entry_type != SUMMARY


def _is_cold(subject: Subject, types: EntryTypes, now: datetime) -> bool:
    """Return whether prompts leave out an entry now or after this compaction."""
    return TIERS.index(_tier_for(subject, types, now)) >= TIERS.index(COLD)


def _summary_entry(log: EntryLog, draft: SummaryDraft, kind: EntryType) -> JournalEntry:
    """Return a drafted summary as an entry with the generation and time of its last source."""
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
            **shared_scope(entry.metadata for entry in log.get(draft.source_ids)),
            **({"not_by_model": draft.problem} if draft.problem else {}),
            **({"prompt": JOURNAL_SUMMARY.version} if draft.written_by != EXTRACTION else {}),
        },
        links=tuple(Link("summarises", source_id) for source_id in draft.source_ids),
    )


def _summary_id(draft: SummaryDraft) -> str:
    """Return an id derived from the sources, so that concurrent compactions write the same summary only once."""
    return hashlib.sha256(dump(["summary", *draft.source_ids]).encode()).hexdigest()[:32]


def _latest_summaries(entries: Sequence[JournalEntry]) -> dict[str, JournalEntry]:
    """Return the latest summary of each summarised entry, keyed by the entry's id."""
    summaries = dict[str, JournalEntry]()
    for entry in sorted(entries, key=time_written):
        summaries.update((link.target_id, entry) for link in entry.links if link.type == "summarises")
    return summaries


def _link_targets(row: Row, link_type: str) -> Sequence[str]:
    targets: Sequence[str] = row["metadata"].get(link_type, ())
    return targets
