"""ATLAS memory: see, trust and curate what an agent has learned.

import atlas

with atlas.open_memory("my-agent") as memory:
    memory.experience.store(trajectory)
    for experience in memory.experience.search(task):
        ...
"""

from importlib import import_module as _import_module
from pathlib import Path as _Path
from typing import TYPE_CHECKING, Any

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
    NotAllowed,
    NotFound,
    PlanOutdated,
    ReadOnlyStore,
    RecordChanged,
    SchemaTooNew,
    StoreDamaged,
    StoreError,
    StoreUnavailable,
    UndoRefused,
)
from atlas.core.hits import Hit, MemoryQueryResult
from atlas.core.operations import Marks, Operation, Operations, Usage
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
from atlas.infra.secrets import counting_secrets
from atlas.memory.base import tables as _tables

if TYPE_CHECKING:
    from atlas.memory.open import open_memory
    from atlas.memory.recorder import Run, current_run, remember
    from atlas.memory.system import MemorySystem
    from atlas.remote.system import RemoteMemory, connect

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
    "NotAllowed",
    "NotFound",
    "Operation",
    "Operations",
    "Outcome",
    "PlanOutdated",
    "RankingWeights",
    "ReadOnlyStore",
    "RecordChanged",
    "RemoteMemory",
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
    "connect",
    "counting_secrets",
    "current_run",
    "open_memory",
    "remember",
]

_LATER = {
    "MemorySystem": "atlas.memory.system",
    "RemoteMemory": "atlas.remote.system",
    "Run": "atlas.memory.recorder",
    "connect": "atlas.remote.system",
    "current_run": "atlas.memory.recorder",
    "open_memory": "atlas.memory.open",
    "remember": "atlas.memory.recorder",
}
"""Modules that are imported where one of these names is first asked for: a client of a server needs few of them."""


def __getattr__(name: str) -> Any:
    """Import what is asked for the first time."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(_import_module(_LATER[name]), name)
    return value


def _kept_places(directory: _Path, collection: str) -> _tables.Places:
    from atlas.jobs.map import kept_places  # which takes a while to import, and lies above the memories

    return kept_places(directory, collection)


_tables.read_places = _kept_places
