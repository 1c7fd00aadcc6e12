"""Views of a compaction: who writes the summaries, and the latest plan."""

from __future__ import annotations

from collections.abc import Mapping

from atlas.core.errors import PlanOutdated
from atlas.core.settings import Settings
from atlas.jobs.compaction import KEEP_RECENT as KEEP_RECENT
from atlas.jobs.compaction import LiveCompaction as LiveCompaction
from atlas.llm.client import is_configured
from atlas.memory.journal.compact_plan import CompactPlan as CompactPlan
from atlas.memory.journal.compact_plan import RetentionPolicy as RetentionPolicy
from atlas.memory.system import MemorySystem
from atlas.views.shared.wording import counted, stored_time_text


def writers(settings: Settings) -> dict[bool, str]:
    """Return the choices for writing summaries: a language model (True) first, if there is one, and extraction."""
    model = {True: settings.llm_model} if is_configured(settings) else {}
    return model | {False: "Sentences of the entries"}


def made_caption(plan: CompactPlan) -> str:
    """Return the time, the kept entries and the cost of a plan. It may contain a type's name, which is untrusted."""
    time = stored_time_text(plan.made_at)
    kept = ", ".join(_kept_texts(plan.keep_recent, plan.keep_types, plan.max_entries))
    return f"Planned{f' {time}' if time else ''}, keeping {kept}{f'; {plan.spent}' if plan.spent else ''}."


def why_outdated(memory: MemorySystem, plan: CompactPlan) -> str:
    """Return why a plan cannot be applied any more, as trusted text, or an empty string if it can."""
    try:
        memory.journal.check_compact(plan)
    except PlanOutdated:
        if _is_applied(memory, plan):
            return "The entries are where it would move them. The plan may have been applied."
        return "An entry that it touches has changed since the plan was made, so it cannot be applied. Plan again."
    return ""


def matches_policy(plan: CompactPlan, policy: RetentionPolicy) -> bool:
    """Return whether a plan was made with the currently chosen limits."""
    planned = RetentionPolicy(
        keep_recent=plan.keep_recent, keep_types=dict(plan.keep_types), max_entries=plan.max_entries
    )
    return planned == policy


def _is_applied(memory: MemorySystem, plan: CompactPlan) -> bool:
    to_tier = {move.id: move.to_tier for move in plan.moves}
    evicted = [eviction.id for eviction in plan.evictions]
    tiers = memory.journal.column("tier", {"id": {"$in": [*to_tier, *evicted]}}) if to_tier or evicted else {}
    is_moved = all(tiers.get(entry_id) == tier for entry_id, tier in to_tier.items())
    return bool(to_tier or evicted) and is_moved and tiers.keys().isdisjoint(evicted)


def _kept_texts(keep_recent: int, keep_types: Mapping[str, int], max_entries: int | None) -> list[str]:
    recent = f"the latest {counted(keep_recent, 'entry')}" if keep_recent else "none for being recent"
    cap = [f"at most {counted(max_entries, 'entry')}"] if max_entries else []
    return [recent, *(f"the latest {count:,} of type {entry_type}" for entry_type, count in keep_types.items()), *cap]
