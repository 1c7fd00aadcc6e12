"""Changing the model that embeds the texts of a store."""

from __future__ import annotations

from atlas.core.settings import Settings
from atlas.embedding.choice import BUNDLED, DEFAULT_MODEL
from atlas.embedding.choice import canonical_name as canonical_name
from atlas.jobs.reembedding import Reembedding as Reembedding
from atlas.memory.system import MemorySystem
from atlas.views.settings.roles import ADMIN_ONLY, may_administer
from atlas.views.shared.wording import READ_ONLY

CHOICES = (DEFAULT_MODEL, BUNDLED)
"""Models that are suggested. Any other that sentence-transformers loads can be typed."""

ABOUT = (
    "Every text is embedded again, also in the history. The store changes in one step at the end, so it can be used "
    "meanwhile, and cancelling changes nothing. Agents that have the store open have to open it again. A model that "
    "is not on this machine is fetched first."
)


def why_not(memory: MemorySystem, settings: Settings, model: str) -> str:
    """Return why a store cannot be embedded with a model now, or an empty string if it can."""
    if memory.storage.read_only:
        return READ_ONLY
    if not may_administer():
        return ADMIN_ONLY
    if settings.embedding_model:
        return (
            f"ATLAS_EMBEDDING_MODEL sets {settings.embedding_model} for this dashboard. "
            "Start the dashboard without it to change the model of the store."
        )
    bound = memory.storage.model
    if not model.strip():
        return "Choose or type the name of a model."
    if bound is not None and canonical_name(model.strip()) == bound.name:
        return "The store uses this model already."
    return ""
