"""ATLAS memory: see, trust and curate what an agent has learned.

import atlas

with atlas.open_memory("my-agent") as memory:
    memory.experience.store(trajectory)
    for experience in memory.experience.search(task):
        ...
"""

from pathlib import Path as _Path

from atlas.core.errors import (
    AtlasError,
    EmbeddingModelMismatch,
    EmbeddingUnavailable,
    ImportFailed,
    InvalidInput,
    LLMBudgetExceeded,
    LLMError,
    LLMReplyInvalid,
    LLMUnavailable,
    NotFound,
    PlanOutdated,
    ReadOnlyStore,
    SchemaTooNew,
    StoreDamaged,
    StoreError,
    StoreUnavailable,
    UndoRefused,
)
from atlas.core.hits import Hit, MemoryQueryResult
from atlas.core.operations import Marks, Operation, Usage
from atlas.core.settings import RankingWeights, Settings
from atlas.core.types import (
    CodeConcept,
    Experience,
    JournalEntry,
    Link,
    Outcome,
    Step,
    Strategy,
    Task,
    Trajectory,
    VerificationSpec,
)
from atlas.memory.base import tables as _tables
from atlas.memory.open import open_memory
from atlas.memory.recorder import Run, current_run, remember
from atlas.memory.system import MemorySystem

__all__ = [
    "AtlasError",
    "CodeConcept",
    "EmbeddingModelMismatch",
    "EmbeddingUnavailable",
    "Experience",
    "Hit",
    "ImportFailed",
    "InvalidInput",
    "JournalEntry",
    "LLMBudgetExceeded",
    "LLMError",
    "LLMReplyInvalid",
    "LLMUnavailable",
    "Link",
    "Marks",
    "MemoryQueryResult",
    "MemorySystem",
    "NotFound",
    "Operation",
    "Outcome",
    "PlanOutdated",
    "RankingWeights",
    "ReadOnlyStore",
    "Run",
    "SchemaTooNew",
    "Settings",
    "Step",
    "StoreDamaged",
    "StoreError",
    "StoreUnavailable",
    "Strategy",
    "Task",
    "Trajectory",
    "UndoRefused",
    "Usage",
    "VerificationSpec",
    "current_run",
    "open_memory",
    "remember",
]


def _kept_places(directory: _Path, collection: str) -> _tables.Places:
    from atlas.jobs.map import kept_places  # which takes a while to import, and lies above the memories

    return kept_places(directory, collection)


_tables.read_places = _kept_places
