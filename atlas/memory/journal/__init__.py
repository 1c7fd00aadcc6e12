"""Journal: an agent's typed log with importance, links, forgetting and summaries (Protea)."""

from atlas.memory.journal.memory import (
    ACCEPTED,
    COLLECTION,
    GATES,
    LIVE,
    REFUSED_COLLECTION,
    CompactPlan,
    Edge,
    Gate,
    Journal,
    LinkGraph,
    LinkSuggestion,
    Move,
    Refusals,
    RefusedEntry,
    SummaryDraft,
)

__all__ = [
    "ACCEPTED",
    "COLLECTION",
    "GATES",
    "LIVE",
    "REFUSED_COLLECTION",
    "CompactPlan",
    "Edge",
    "Gate",
    "Journal",
    "LinkGraph",
    "LinkSuggestion",
    "Move",
    "Refusals",
    "RefusedEntry",
    "SummaryDraft",
]
