"""Journal: an agent's typed log with importance, links, forgetting and summaries (Protea)."""

from typing import TYPE_CHECKING

from atlas.core.imports.lazy import lazy_names

if TYPE_CHECKING:
    from atlas.memory.journal.compact_plan import CompactPlan as CompactPlan
    from atlas.memory.journal.compact_plan import Eviction as Eviction
    from atlas.memory.journal.compact_plan import Move as Move
    from atlas.memory.journal.compact_plan import RetentionPolicy as RetentionPolicy
    from atlas.memory.journal.entries import PROMPT_TIERS as PROMPT_TIERS
    from atlas.memory.journal.gates import ACCEPTANCE_REASON as ACCEPTANCE_REASON
    from atlas.memory.journal.gates import GATES as GATES
    from atlas.memory.journal.gates import REFUSED_COLLECTION as REFUSED_COLLECTION
    from atlas.memory.journal.gates import Gate as Gate
    from atlas.memory.journal.gates import Refusals as Refusals
    from atlas.memory.journal.gates import RefusedEntry as RefusedEntry
    from atlas.memory.journal.links import Edge as Edge
    from atlas.memory.journal.links import LinkGraph as LinkGraph
    from atlas.memory.journal.links import LinkSuggestion as LinkSuggestion
    from atlas.memory.journal.memory import COLLECTION as COLLECTION
    from atlas.memory.journal.memory import Journal as Journal
    from atlas.memory.journal.summaries import SummaryDraft as SummaryDraft

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "atlas.memory.journal.compact_plan": ("CompactPlan", "Eviction", "Move", "RetentionPolicy"),
        "atlas.memory.journal.entries": ("PROMPT_TIERS",),
        "atlas.memory.journal.gates": (
            "ACCEPTANCE_REASON",
            "GATES",
            "Gate",
            "REFUSED_COLLECTION",
            "Refusals",
            "RefusedEntry",
        ),
        "atlas.memory.journal.links": ("Edge", "LinkGraph", "LinkSuggestion"),
        "atlas.memory.journal.memory": ("COLLECTION", "Journal"),
        "atlas.memory.journal.summaries": ("SummaryDraft",),
    },
)
