"""The store as a whole in words: its location, number of records and embedding model."""

from __future__ import annotations

from collections.abc import Mapping

from atlas.core.imports.distribution import __version__
from atlas.core.ranking.level import LevelCosts
from atlas.embedding.sentence_transformers import SentenceTransformerEmbedder
from atlas.infra.actor import current_actor
from atlas.memory.journal import REFUSED_COLLECTION
from atlas.memory.journal.conversations import COLLECTION as TURNS
from atlas.memory.system import MemorySystem
from atlas.storage.marks.strictness import DEFAULT_STRICTNESS
from atlas.views.overview.index_state import index_state
from atlas.views.overview.summary import size_text
from atlas.views.shared.kinds import KINDS
from atlas.views.shared.state import location_fact
from atlas.views.shared.wording import percent, plural, utc_time_text

MANY_SHOWN, MANY_HIDDEN = 0.1, 0.05
"""Shares of off-topic queries with hits, and of own queries without hits. A level with more of both is bad."""

OVERLAP = (
    "The two overlap, as where the model does not know the language of the texts: shared words then tell more than "
    "meaning. To compare models: atlas evaluate --models NAME"
)


def store_facts(memory: MemorySystem, n_free_bytes: int | None) -> dict[str, str]:
    """Return the facts about a store, by label. The name of an actor is untrusted.

    Args:
        memory: The memories of the store.
        n_free_bytes: Free space on its disk, or None if that is unknown.
    """
    visitor = current_actor()
    last_changes = [f"{utc_time_text(operation.created_at)}, by {operation.actor}" for operation in memory.history(1)]
    free_text = "" if n_free_bytes is None else f", {size_text(n_free_bytes)} free"
    mode = {"Open for": "reading only"} if memory.storage.read_only else {}
    return location_fact(memory) | {
        "Size on disk": f"{size_text(memory.storage.n_bytes())}{free_text}",
        "Last change": last_changes[0] if last_changes else "none yet",
        "Your name in History": memory.storage.settings.actor if visitor is None else visitor.name,
        "Version of ATLAS": __version__,
        **mode,
    }


def search_facts(memory: MemorySystem) -> dict[str, str]:
    """Return the facts about how a store is searched, by label."""
    model = memory.storage.model
    name = {"Embedding model": model.name} if model else {}
    strictness = memory.strictness()
    return name | {
        "Search index": index_state(memory),
        "Strictness": f"{strictness:g}{' (default)' if strictness == DEFAULT_STRICTNESS else ''}",
    }


def embedding_facts(memory: MemorySystem) -> dict[str, str]:
    """Return the facts about the model that embeds the texts of a store."""
    model, embedder = memory.storage.model, memory.experience.embedder
    facts = {"Embedding model": model.name, "Dimensions": f"{model.dimension:,}"} if model else {}
    if isinstance(embedder, SentenceTransformerEmbedder):
        facts["Run by"] = embedder.engine
    return facts | {"Level of relevance": _level_fact(memory.experience.level_costs())}


def _level_fact(costs: LevelCosts | None) -> str:
    """Return the relevance threshold, and advice if it works badly. Evaluation has its error rates."""
    if costs is None or _is_overlapping(costs):
        return level_text(costs)
    return f"{costs.level:.2f}: without a hit that reaches it, nothing is shown"


def _is_overlapping(costs: LevelCosts) -> bool:
    """Return whether no level separates the store's own queries from off-topic ones."""
    return costs.foreign_shown > MANY_SHOWN and costs.own_hidden > MANY_HIDDEN


def level_text(costs: LevelCosts | None) -> str:
    """Return a sentence on the relevance threshold and its error rates.

    Args:
        costs: None before they were measured.
    """
    if costs is None:
        return "the usual one: it is not measured on this store yet"
    text = (
        f"{costs.level:.2f}, with which {percent(costs.foreign_shown)} of off-topic questions find something, and "
        f"{percent(costs.own_hidden)} of the store's own find nothing"
    )
    return f"{text}. {OVERLAP}" if _is_overlapping(costs) else text


def names_of_collections(memory: MemorySystem) -> dict[str, str]:
    """Return the label of each collection's records, in the order of the pages."""
    names = {kind.records(memory).collection_name: plural(kind.noun).capitalize() for kind in KINDS.values()}
    journal = memory.journal.collection_name
    return names | {
        journal: "Journal entries",
        REFUSED_COLLECTION: "Refused journal entries",
        TURNS: "Conversation turns",
    }


def record_counts(memory: MemorySystem) -> Mapping[str, int]:
    """Return the current number of records of each collection."""
    ledger = memory.storage.ledger
    return {name: ledger.count(name) for name in {*names_of_collections(memory), *ledger.collections()}}
