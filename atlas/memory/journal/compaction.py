"""Compaction of a journal: entries of low worth move to colder tiers, and are summarised.

`read_candidates` reads the entries, the pure function `plan_compact` makes a plan from them, and `apply_compact` writes
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
from atlas.memory.journal.compact_plan import CompactionCandidate, CompactPlan, Move, RetentionPolicy
from atlas.memory.journal.contexts import SUMMARY, TASK_TYPE, recency_of
from atlas.memory.journal.entries import EntryLog
from atlas.memory.journal.entry_types import EntryType, EntryTypes
from atlas.memory.journal.eviction import choose_evictions
from atlas.memory.journal.importance import adjust_by_feedback, importance_of
from atlas.memory.journal.neighbours import title_of
from atlas.memory.journal.records import SUMMARISED_AT, age_of, changed_row, from_row, sortable_time, time_written
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

WORTH_REASON, SUMMARY_REASON = "its worth is high enough for its tier", "a new summary replaces it in prompts"

REQUEST_REASON = "it was requested by a person"
"""Reason for keeping tasks, unless `keep_types` has a number for tasks. With a cap, tasks are deleted last."""


def make_plan(
    log: EntryLog, types: EntryTypes, llm: LLMClient | None, policy: RetentionPolicy, on_progress: Progress | None
) -> CompactPlan:
    """Return a plan to compact a log, with summaries by a model if there is one. See `Journal.plan_compact`."""
    log.store.write_retrievals()
    with log.store.reading():
        moment, candidates = log.store.moment(), read_candidates(log)
    compact_plan = plan_compact(
        candidates,
        types,
        log.embedder.encode_batch,
        log.clock.now(),
        policy,
        moment=moment,
        on_progress=on_progress if llm is None else None,
    )
    if llm is None:
        return compact_plan
    entries_by_id = {candidate.entry.id: candidate.entry for candidate in candidates}
    sources_of_drafts = [[entries_by_id[source] for source in draft.source_ids] for draft in compact_plan.summaries]
    return replace(
        compact_plan,
        summaries=run(Summariser(llm).write_all_with_model(compact_plan.summaries, sources_of_drafts, on_progress)),
    )


def plan_compact(
    candidates: Sequence[CompactionCandidate],
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
        candidates: Every entry, newest first.
        encode: Function that embeds the candidate sentences of extractive summaries.
        on_progress: Called after each summary with the number drafted, and the total.

    Raises:
        InvalidInput: A number to keep is negative, or the cap is below 1.
    """
    policy.check()
    latest_reasons = _reasons_to_keep_latest(candidates, policy)
    lasting_reasons = _reasons_to_keep_always(candidates, types, policy)
    groups = _summary_groups(candidates, latest_reasons, lasting_reasons, types, now)
    summarised_ids = {candidate.entry.id for group in groups for candidate in group}
    requested_ids = {
        entry_id for entry_id, reason in lasting_reasons.items() if reason == REQUEST_REASON
    } - latest_reasons.keys()
    reasons_to_keep = lasting_reasons | latest_reasons
    n_to_evict = len(candidates) + len(groups) - policy.max_entries if policy.max_entries else 0
    unevictable_ids = reasons_to_keep.keys() - requested_ids
    evictions = choose_evictions(
        [candidate for candidate in candidates if candidate.entry.id not in unevictable_ids],
        n_to_evict,
        summarised_ids,
        requested_ids,
        lambda candidate: (worth(candidate, types, now), _describe_worth(candidate, types, now)),
    )
    evicted_ids = {eviction.id for eviction in evictions}
    movable = [candidate for candidate in candidates if candidate.entry.id not in reasons_to_keep.keys() | evicted_ids]
    moves = {
        candidate.entry.id: _plan_move(candidate, types, now, candidate.entry.id in summarised_ids)
        for candidate in movable
    }
    for candidate in movable:
        if moves[candidate.entry.id] is None:
            reasons_to_keep[candidate.entry.id] = (
                SUMMARY_REASON if _stays_searchable(candidate, types, now) else WORTH_REASON
            )
    return CompactPlan(
        moves=tuple(move for move in moves.values() if move is not None),
        summaries=tuple(
            draft_summaries([[candidate.entry for candidate in group] for group in groups], encode, on_progress)
        ),
        n_total=len(candidates),
        kept=dict(Counter(reason for entry_id, reason in reasons_to_keep.items() if entry_id not in evicted_ids)),
        keep_recent=policy.keep_recent,
        keep_types=dict(policy.keep_types),
        evictions=evictions,
        max_entries=policy.max_entries,
        n_above_cap=max(0, n_to_evict - len(evictions)),
        moment=moment,
    )


def read_candidates(log: EntryLog) -> list[CompactionCandidate]:
    """Return all entries of a log with the data that compaction needs, newest first, without vectors."""
    rows = log.store.scan(order_by="created_at", descending=True)
    ids = [row["id"] for row in rows]
    usage, marks = log.store.usage(ids), log.store.marks(ids)
    n_links_by_target = Counter[str]()
    for row in rows:
        for name in sorted(set(LINK_TYPES) - {"summarises"}):
            n_links_by_target.update(_link_targets(row, name))
    entries = [entry for start in range(0, len(ids), BATCH) for entry in log.get(ids[start : start + BATCH])]
    summaries = _latest_summaries(entries)
    return [
        CompactionCandidate(
            entry=entry,
            usage=usage[entry.id],
            marks=marks[entry.id],
            n_linking=n_links_by_target[entry.id],
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


def apply_compact(log: EntryLog, plan: CompactPlan, summary_type: EntryType) -> str | None:
    """Apply a plan as one operation, and return the operation's id.

    Args:
        summary_type: The type of entries to write summaries as.

    Raises:
        PlanOutdated: See `check_compact`; the store was not changed.
    """
    deleted = f", {len(plan.evictions)} entries deleted" if plan.evictions else ""
    reason = reason_with_loss(
        f"{len(plan.moves)} entries moved, {len(plan.summaries)} summaries written{deleted}", plan.loss
    )
    operation_log = log.ensure_operation("compact", reason)
    check_compact(log, plan)
    summaries = [_summary_entry(log, draft, summary_type) for draft in plan.summaries]
    rows = log.store.get([move.id for move in plan.moves])
    new_tiers = {move.id: move.to_tier for move in plan.moves}
    changed_rows = [changed_row(row, replace(from_row(row), tier=new_tiers[row["id"]])) for row in rows]
    evicted_ids = [eviction.id for eviction in plan.evictions]
    if changed_rows or evicted_ids:
        operation_log.rewrite(changed_rows, plan.moment, "compact", reason, deleted_ids=evicted_ids)
    operation_log.add(summaries)
    return operation_log.store.operation_id


def worth(candidate: CompactionCandidate, types: EntryTypes, now: datetime) -> float:
    """Return an entry's worth, in [0, 3]: importance × recency × use × links."""
    importance = adjust_by_feedback(candidate.entry.importance, candidate.usage)
    use_factor = 1 + USE_BONUS * (candidate.usage.n_uses > 0)
    link_factor = 1 + LINK_BONUS * min(candidate.n_linking, MAX_LINKS)
    return importance * recency_of(candidate.entry, types, now) * use_factor * link_factor


def _reasons_to_keep_latest(candidates: Sequence[CompactionCandidate], policy: RetentionPolicy) -> dict[str, str]:
    """Return the reason to keep each of the latest entries, keyed by id. `keep_recent` does not count summaries."""
    entry_ids = [candidate.entry.id for candidate in candidates if candidate.entry.entry_type != SUMMARY]
    reasons = dict.fromkeys(entry_ids[: policy.keep_recent], f"it is among the latest {policy.keep_recent}")
    n_by_type: dict[str, int] = defaultdict(int)
    for candidate in candidates:
        type_name = candidate.entry.entry_type
        n_by_type[type_name] += 1
        if n_by_type[type_name] <= policy.keep_types.get(type_name, 0):
            reasons.setdefault(
                candidate.entry.id, f"it is among the latest {policy.keep_types[type_name]} of type {type_name}"
            )
    return reasons


def _reasons_to_keep_always(
    candidates: Sequence[CompactionCandidate], types: EntryTypes, policy: RetentionPolicy
) -> dict[str, str]:
    """Return the reason to keep each entry that stays at any age, keyed by id."""
    task_types = set(types.types_sharing_quota(TASK_TYPE)) - policy.keep_types.keys()
    reasons: dict[str, str] = {}
    for candidate in candidates:
        type_name = candidate.entry.entry_type
        if types.of(type_name).half_life_days is None:
            reasons[candidate.entry.id] = f"no entry of type {type_name} is ever forgotten"
        elif candidate.marks.pinned:
            reasons[candidate.entry.id] = "it is pinned"
        elif type_name in task_types:
            reasons[candidate.entry.id] = REQUEST_REASON
    return reasons


def _stays_searchable(candidate: CompactionCandidate, types: EntryTypes, now: datetime) -> bool:
    """Return whether an entry stays searchable while prompts use its summary instead."""
    if candidate.summary is None or TIERS.index(candidate.summary.tier) >= TIERS.index(COLD):
        return False
    half_life_days = types.of(candidate.entry.entry_type).half_life_days
    return half_life_days is None or age_of(candidate.summary, now) < timedelta(days=half_life_days)


def _tier_for(candidate: CompactionCandidate, types: EntryTypes, now: datetime, is_summarised: bool = False) -> str:
    """Return the tier of an entry according to its worth, but none warmer than its present tier.

    A summarised entry is at most warm. While prompts use its summary, it is at least cold.
    """
    value = worth(candidate, types, now)
    tier = next(tier for tier, threshold in THRESHOLDS if value >= threshold)
    if is_summarised or candidate.summary is not None:
        tier = max(tier, WARM, key=TIERS.index)
    if is_summarised or _stays_searchable(candidate, types, now):
        tier = min(tier, COLD, key=TIERS.index)
    return max(tier, candidate.entry.tier, key=TIERS.index)


def _plan_move(candidate: CompactionCandidate, types: EntryTypes, now: datetime, is_summarised: bool) -> Move | None:
    """Return the planned move of an entry, or None if it keeps its tier."""
    entry, to_tier = candidate.entry, _tier_for(candidate, types, now, is_summarised)
    if to_tier == entry.tier:
        return None
    note = "; a summary replaces it" if is_summarised else ""
    return Move(
        id=entry.id,
        title=title_of(entry.content),
        entry_type=entry.entry_type,
        generation=entry.generation,
        from_tier=entry.tier,
        to_tier=to_tier,
        value=worth(candidate, types, now),
        reason=_describe_worth(candidate, types, now) + note,
    )


def _describe_worth(candidate: CompactionCandidate, types: EntryTypes, now: datetime) -> str:
    importance = adjust_by_feedback(candidate.entry.importance, candidate.usage)
    recency = recency_of(candidate.entry, types, now)
    use_phrase = f"used {candidate.usage.n_uses}×" if candidate.usage.n_uses else "never used"
    return (
        f"worth {worth(candidate, types, now):.2f}: importance {importance:.2f} × recency {recency:.2f}, {use_phrase}, "
        f"linked from {candidate.n_linking}"
    )


def _summary_groups(
    candidates: Sequence[CompactionCandidate],
    latest_reasons: Mapping[str, str],
    lasting_reasons: Mapping[str, str],
    types: EntryTypes,
    now: datetime,
) -> list[list[CompactionCandidate]]:
    """Return the sources of each new summary: groups of entries of one type and period, oldest first.

    All entries of a finished period are summarised, including the latest entries, which keep their tier. In the current
    period, only entries of low worth are summarised. A group needs `MIN_GROUP` entries that are not kept. Entries that
    wait for review or are in quarantine are left out, because searches would find their words in the summary.
    """
    current_period = max((_period(candidate) for candidate in candidates), default=0)
    groups: dict[tuple[str, int, str], list[CompactionCandidate]] = defaultdict(list)
    for candidate in reversed(candidates):
        if candidate.marks.quarantine or candidate.marks.held_for:
            continue
        is_period_over = _period(candidate) < current_period
        is_cold = candidate.entry.id not in latest_reasons and _is_cold(candidate, types, now)
        if (is_period_over or is_cold) and candidate.entry.id not in lasting_reasons and _may_be_summarised(candidate):
            scope = dump(scope_of(candidate.entry.metadata))  # a summary contains entries of one scope only
            groups[candidate.entry.entry_type, _period(candidate), scope].append(candidate)
    return [
        group
        for _, group in sorted(groups.items())
        if sum(candidate.entry.id not in latest_reasons for candidate in group) >= MIN_GROUP
    ]


def _period(candidate: CompactionCandidate) -> int:
    """Return the number of the period of 50 generations that an entry belongs to. Generation 0 is in the first one."""
    generation = candidate.entry.generation
    return (generation - (generation > 0)) // PERIOD


def _may_be_summarised(candidate: CompactionCandidate) -> bool:
    return candidate.summary is None and candidate.entry.entry_type != SUMMARY


def _is_cold(candidate: CompactionCandidate, types: EntryTypes, now: datetime) -> bool:
    """Return whether prompts leave out an entry now or after this compaction."""
    return TIERS.index(_tier_for(candidate, types, now)) >= TIERS.index(COLD)


def _summary_entry(log: EntryLog, draft: SummaryDraft, summary_type: EntryType) -> JournalEntry:
    """Return a drafted summary as an entry with the generation and time of its last source."""
    [last_source] = log.get(draft.source_ids[-1:])
    return JournalEntry(
        id=_summary_id(draft),
        entry_type=SUMMARY,
        content=draft.content,
        generation=draft.last_generation,
        created_at=last_source.created_at,
        importance=importance_of(summary_type, draft.content),
        metadata={
            "of_type": draft.entry_type,
            "first_generation": draft.first_generation,
            "last_generation": draft.last_generation,
            "written_by": draft.written_by,
            SUMMARISED_AT: sortable_time(log.clock.now()),
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
