"""Journal: an agent's typed log with importance, links, forgetting and summaries (Protea)."""

from atlas.memory.journal.compact_plan import CompactPlan, Eviction, Move, RetentionPolicy
from atlas.memory.journal.entries import LIVE
from atlas.memory.journal.gates import ACCEPTED, GATES, REFUSED_COLLECTION, Gate, Refusals, RefusedEntry
from atlas.memory.journal.links import Edge, LinkGraph, LinkSuggestion
from atlas.memory.journal.memory import COLLECTION, Journal
from atlas.memory.journal.summaries import SummaryDraft

__all__ = [
    "ACCEPTED",
    "COLLECTION",
    "GATES",
    "LIVE",
    "REFUSED_COLLECTION",
    "CompactPlan",
    "Edge",
    "Eviction",
    "Gate",
    "Journal",
    "LinkGraph",
    "LinkSuggestion",
    "Move",
    "Refusals",
    "RefusedEntry",
    "RetentionPolicy",
    "SummaryDraft",
]
