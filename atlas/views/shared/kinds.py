"""The kinds of memories that a page can be about."""

from __future__ import annotations

from atlas.memory.journal import REFUSED_COLLECTION
from atlas.memory.system import MemorySystem
from atlas.views.kinds.concept import CONCEPT
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.journal import JOURNAL
from atlas.views.kinds.kind import Kind
from atlas.views.kinds.strategy import STRATEGY

KINDS: dict[str, Kind] = {kind.page: kind for kind in (EXPERIENCE, CONCEPT, STRATEGY, JOURNAL)}
"""The kinds that have a page, by name. Others are added here before the first page is drawn."""


def kind_of(memory: MemorySystem, collection: str) -> Kind:
    """Return the kind that keeps its records in a collection, or experiences if no page shows it."""
    if collection == REFUSED_COLLECTION:
        return JOURNAL
    return next((kind for kind in KINDS.values() if kind.records(memory).collection_name == collection), EXPERIENCE)
