"""The kinds of memories that a page can be about: one value each, which all that draws them reads."""

from __future__ import annotations

from atlas.memory.journal import REFUSED_COLLECTION
from atlas.memory.system import MemorySystem
from atlas.views.kinds.filters import TAGS, Choices, Day, Number, Switch
from atlas.views.kinds.kind import Kind as Kind
from atlas.views.shared.wording import OUTCOMES

EXPERIENCE = Kind(
    noun="experience",
    page="experiences",
    records=lambda memory: memory.experience,
    when_pinned="Pinned experiences are never pruned.",
    filters=(
        Choices(name="outcomes", label="Outcome", key="outcome", noun="outcome", values=OUTCOMES, is_foremost=True),
        Choices(name="tags", label="Tag", key=TAGS, noun="tag"),
        Choices(name="sources", label="Source", key="source", noun="source"),
        Choices(name="agents", label="Agent", key="agent_id", noun="agent"),
        Day(name="since", label="From", key="created_at", noun="date"),
        Day(name="until", label="Until", key="created_at", noun="date", is_last=True),
        Number(name="steps", label="More steps than", key="n_steps", noun="step count", operator="$gt", least=0),
        Switch(name="pinned", label="Pinned only", key="marks.pinned"),
    ),
)
CONCEPT = Kind(
    noun="concept",
    page="concepts",
    records=lambda memory: memory.concepts,
    when_pinned="Pinned concepts are never pruned.",
)
STRATEGY = Kind(
    noun="strategy",
    page="strategies",
    records=lambda memory: memory.strategies,
    when_pinned="Outcomes alone never retire pinned strategies.",
)
JOURNAL = Kind(
    noun="entry",
    page="journal",
    records=lambda memory: memory.journal,
    when_pinned="Pinned entries are never pruned.",
)
KINDS = (EXPERIENCE, CONCEPT, STRATEGY, JOURNAL)
"""The kinds that have a page."""


def kind_of(memory: MemorySystem, collection: str) -> Kind:
    """Return the kind that keeps its records in a collection, or experiences if no page knows it."""
    if collection == REFUSED_COLLECTION:
        return JOURNAL
    return next((kind for kind in KINDS if kind.records(memory).collection_name == collection), EXPERIENCE)


def kind_on(page: str) -> Kind:
    """Return the kind that a page is about, or experiences if it is about none alone."""
    return next((kind for kind in KINDS if kind.page == page), EXPERIENCE)
