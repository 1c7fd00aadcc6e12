"""ATLAS memory: see, trust and curate what an agent has learned.

import atlas

with atlas.open_memory("my-agent") as memory:
    memory.experience.store(trajectory)
    for experience in memory.experience.search(task):
        ...
"""

from typing import TYPE_CHECKING

from atlas.core.imports.lazy import lazy_names

if TYPE_CHECKING:
    from atlas.core.errors import AtlasError as AtlasError
    from atlas.core.errors import EmbeddingModelMismatch as EmbeddingModelMismatch
    from atlas.core.errors import EmbeddingUnavailable as EmbeddingUnavailable
    from atlas.core.errors import ExtraMissing as ExtraMissing
    from atlas.core.errors import ImportFailed as ImportFailed
    from atlas.core.errors import InvalidInput as InvalidInput
    from atlas.core.errors import LLMBudgetExceeded as LLMBudgetExceeded
    from atlas.core.errors import LLMError as LLMError
    from atlas.core.errors import LLMReplyInvalid as LLMReplyInvalid
    from atlas.core.errors import LLMUnavailable as LLMUnavailable
    from atlas.core.errors import NotAllowed as NotAllowed
    from atlas.core.errors import NotFound as NotFound
    from atlas.core.errors import PlanOutdated as PlanOutdated
    from atlas.core.errors import ReadOnlyStore as ReadOnlyStore
    from atlas.core.errors import RecordChanged as RecordChanged
    from atlas.core.errors import SchemaTooNew as SchemaTooNew
    from atlas.core.errors import StoreDamaged as StoreDamaged
    from atlas.core.errors import StoreError as StoreError
    from atlas.core.errors import StoreUnavailable as StoreUnavailable
    from atlas.core.errors import UndoRefused as UndoRefused
    from atlas.core.hits import Hit as Hit
    from atlas.core.hits import MemoryQueryResult as MemoryQueryResult
    from atlas.core.imports.distribution import __version__ as __version__
    from atlas.core.operations import Marks as Marks
    from atlas.core.operations import Operation as Operation
    from atlas.core.operations import Operations as Operations
    from atlas.core.operations import Usage as Usage
    from atlas.core.settings import RankingWeights as RankingWeights
    from atlas.core.settings import Settings as Settings
    from atlas.core.types import CodeConcept as CodeConcept
    from atlas.core.types import Experience as Experience
    from atlas.core.types import JournalEntry as JournalEntry
    from atlas.core.types import Link as Link
    from atlas.core.types import Outcome as Outcome
    from atlas.core.types import Step as Step
    from atlas.core.types import Strategy as Strategy
    from atlas.core.types import Task as Task
    from atlas.core.types import Trajectory as Trajectory
    from atlas.core.types import VerificationSpec as VerificationSpec
    from atlas.infra.secrets import counting_secrets as counting_secrets
    from atlas.memory.open import open_memory as open_memory
    from atlas.memory.recorder import Run as Run
    from atlas.memory.recorder import current_run as current_run
    from atlas.memory.recorder import remember as remember
    from atlas.memory.system import MemorySystem as MemorySystem
    from atlas.remote.system import RemoteMemory as RemoteMemory
    from atlas.remote.system import connect as connect

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "atlas.core.errors": (
            "AtlasError",
            "EmbeddingModelMismatch",
            "EmbeddingUnavailable",
            "ExtraMissing",
            "ImportFailed",
            "InvalidInput",
            "LLMBudgetExceeded",
            "LLMError",
            "LLMReplyInvalid",
            "LLMUnavailable",
            "NotAllowed",
            "NotFound",
            "PlanOutdated",
            "ReadOnlyStore",
            "RecordChanged",
            "SchemaTooNew",
            "StoreDamaged",
            "StoreError",
            "StoreUnavailable",
            "UndoRefused",
        ),
        "atlas.core.imports.distribution": ("__version__",),
        "atlas.core.hits": ("Hit", "MemoryQueryResult"),
        "atlas.core.operations": ("Marks", "Operation", "Operations", "Usage"),
        "atlas.core.settings": ("RankingWeights", "Settings"),
        "atlas.core.types": (
            "CodeConcept",
            "Experience",
            "JournalEntry",
            "Link",
            "Outcome",
            "Step",
            "Strategy",
            "Task",
            "Trajectory",
            "VerificationSpec",
        ),
        "atlas.infra.secrets": ("counting_secrets",),
        "atlas.memory.open": ("open_memory",),
        "atlas.memory.recorder": ("Run", "current_run", "remember"),
        "atlas.memory.system": ("MemorySystem",),
        "atlas.remote.system": ("RemoteMemory", "connect"),
    },
)
