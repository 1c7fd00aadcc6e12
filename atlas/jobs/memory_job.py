"""Base class of jobs that read a memory, and the reported cost of a language model."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass, replace

from atlas.core.settings import Settings
from atlas.jobs.job import StoreJob
from atlas.llm.budget import TokenUsage
from atlas.llm.client import ModelClient
from atlas.maps.map import OnProgress
from atlas.memory.open import open_memory
from atlas.memory.system import MemorySystem
from atlas.protocols.infra import LLMClient


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryJob(StoreJob, ABC):
    """A job that reads a memory and only writes its result."""

    def open_read_only(self, on_progress: OnProgress, llm: LLMClient | None = None) -> MemorySystem:
        """Open the memory for reading, with the embedding model of the store regardless of the settings."""
        on_progress(0, 0, "opening the memory")
        settings = replace(Settings.from_environment(), embedding_model="")
        return open_memory(self.store, read_only=True, create=False, settings=settings, llm=llm)


def requested_model(is_requested: bool, on_progress: OnProgress) -> ModelClient | None:
    """Return the configured language model if it is requested, else None. The job waits for an unavailable server.

    Raises:
        LLMUnavailable: The model is requested, but not configured.
    """
    if not is_requested:
        return None
    return ModelClient(Settings.from_environment(), on_wait=lambda message: on_progress(0, 0, message))


def usage_text(llm: LLMClient | None) -> str:
    """Return the usage of a model so far: calls, tokens and cost, or an empty string if there is no model."""
    if llm is None:
        return ""
    spent = getattr(llm, "spent", None)
    return str(spent if isinstance(spent, TokenUsage) else TokenUsage())


def append_usage(message: str, llm: LLMClient | None) -> str:
    """Return a job's progress message, followed by the model's usage so far."""
    return f"{message} ({usage_text(llm)})" if llm is not None else message
