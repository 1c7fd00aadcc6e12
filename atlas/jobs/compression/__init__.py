"""Job that compresses the programs of a store, without writing to the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.settings import Settings, parse_directories
from atlas.core.types import CodeConcept, Experience, Strategy
from atlas.infra.bridge import run
from atlas.infra.clock import SystemClock
from atlas.jobs.artefact import ArtefactFile
from atlas.jobs.compression_file import CompressionFile, CompressionResult
from atlas.jobs.live import LiveResult
from atlas.jobs.memory_job import MemoryJob, requested_model
from atlas.learning.search.limits import IsCancelled, Limits
from atlas.learning.strategies import (
    LLMCompressionStrategy,
    Proposal,
    ProvenCompression,
    StitchCompressionStrategy,
)
from atlas.learning.workflows import is_workflow, strategy_of_workflow
from atlas.llm.budget import operation
from atlas.maps.map import OnProgress
from atlas.memory.concepts.memory import COLLECTION
from atlas.memory.strategies.records import content_hash
from atlas.memory.system import MemorySystem
from atlas.protocols.infra import LLMClient
from atlas.storage.records import IS_NOT_TRUSTED

MAX_ATTEMPTS = 4_000
"""Maximum number of attempts read, newest first. The attempts' programs are sampled further if limits require it."""

PROGRAM_PATH = "the path of modules"
BATCH = 500
MODEL_SECONDS = 600
"""Time limit of a language model's proposals. Later answers are ignored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressionJob(MemoryJob):
    """Job that searches for functions shared by successful programs. The result is saved as a `CompressionFile`."""

    where: Mapping[str, Any] = field(default_factory=dict)
    """The filter of the attempts."""

    max_programs: int = Limits().max_programs
    path: str = ""
    """Directories of modules that programs import, separated as in PATH."""

    with_model: bool = False
    """True if the configured language model proposes the functions, instead of Stitch."""

    def file(self) -> CompressionFile:
        """Return the file of the result."""
        return CompressionFile(Path(self.output), COLLECTION)

    def make(self, on_progress: OnProgress, file: ArtefactFile[Any]) -> CompressionResult:
        """Search for functions.

        Raises:
            LLMUnavailable: A model is required, but not configured.
        """
        path = parse_directories(PROGRAM_PATH, self.path)
        seconds = Settings.from_environment().compress_seconds
        strategy = choose_strategy(requested_model(self.with_model, on_progress), self.max_programs, path, seconds)
        with self.open_read_only(on_progress) as memory:
            return compress_now(memory, self.where, strategy=strategy, on_progress=on_progress)


def compress_now(
    memory: MemorySystem,
    where: Mapping[str, Any] | None = None,
    *,
    on_progress: OnProgress = lambda done, total, message: None,
    cancelled: IsCancelled | None = None,
    strategy: ProvenCompression | None = None,
) -> CompressionResult:
    """Return the functions shared by the programs of matching successful attempts. The library is not changed.

    Args:
        strategy: By default Stitch.

    Raises:
        Cancelled: `cancelled` returned True.
        EngineError, LLMError: The search failed.
    """
    where = dict(where or {})
    ledger = memory.storage.ledger
    revision = ledger.revision()
    on_progress(0, 100, "reading attempts")
    ids = successful_ids(memory, where)
    strategy = strategy or choose_strategy()
    proposal_coroutine = strategy.propose(
        read_attempts(memory, ids[:MAX_ATTEMPTS]),
        memory.concepts.get_many(memory.concepts.ids()),
        progress=lambda stage, share: on_progress(round(100 * share), 100, stage),
        cancelled=cancelled,
    )
    with operation():
        proposal = run(proposal_coroutine)
    result = _make_result(proposal, len(ids))
    return replace(
        result,
        where=where,
        revision=revision,
        ledger_id=ledger.position(memory.experience.collection_name).ledger_id,
        made_at=SystemClock().now().isoformat(timespec="seconds"),
    )


def choose_strategy(
    llm: LLMClient | None = None,
    max_programs: int = Limits().max_programs,
    path: Sequence[Path] = (),
    seconds: float = Limits().seconds,
) -> ProvenCompression:
    """Return the compression strategy: a language model, or Stitch by default.

    Args:
        path: Directories of modules that the programs import.
        seconds: Processor time of Stitch's search.
    """
    if llm is None:
        return StitchCompressionStrategy(limits=Limits(max_programs=max_programs, seconds=seconds), path=path)
    return LLMCompressionStrategy(llm, limits=Limits(max_programs=max_programs, seconds=MODEL_SECONDS), path=path)


def successful_ids(memory: MemorySystem, where: Mapping[str, Any]) -> list[str]:
    """Return the ids of successful attempts that match a filter, newest first, without pending ones."""
    created_at = memory.experience.column("created_at", restrict_to_successes(where))
    trusted_ids = created_at.keys() - set(memory.experience.ids(IS_NOT_TRUSTED))
    return sorted(trusted_ids, key=lambda record_id: created_at[record_id] or "", reverse=True)


def restrict_to_successes(where: Mapping[str, Any]) -> dict[str, Any]:
    """Return a filter restricted to successful attempts."""
    return {"$and": [dict(where), {"outcome": "succeeded"}]} if where else {"outcome": "succeeded"}


def read_attempts(memory: MemorySystem, ids: Sequence[str]) -> list[Experience]:
    """Return the attempts that still exist, read in batches."""
    starts = range(0, len(ids), BATCH)
    return [attempt for start in starts for attempt in memory.experience.get_many(list(ids[start : start + BATCH]))]


def add_concepts(
    memory: MemorySystem, result: CompressionResult, ids: Sequence[str], *, with_strategies: bool = False
) -> str | None:
    """Add learned concepts with the concepts they call, and return the operation's id, or None if all exist already.

    Args:
        with_strategies: Also add each new workflow as a strategy, unless the bank contains its advice.

    Raises:
        InvalidInput: A called concept was deleted, or a different concept has the same name.
    """
    concepts = result.with_callees(ids)
    _check_additions(memory, concepts)
    reason = f"found in {result.origin_text(concepts)}"
    concepts_in_operation = memory.concepts.as_operation("compress", reason)
    added_ids = set(concepts_in_operation.add_many(concepts, reason))
    if with_strategies:
        strategies = memory.strategies.as_operation("compress", reason, operation_id=concepts_in_operation.operation_id)
        for strategy in new_strategies(memory, [concept for concept in concepts if concept.id in added_ids]):
            strategies.add(strategy)
    return concepts_in_operation.operation_id if added_ids else None


def new_strategies(memory: MemorySystem, concepts: Sequence[CodeConcept]) -> list[Strategy]:
    """Return the workflows among some concepts as strategies, without those whose advice the bank has."""
    workflows = [concept for concept in concepts if is_workflow(concept)]
    if not workflows:
        return []
    experience_ids = sorted({experience_id for workflow in workflows for experience_id in workflow.found_in})
    attempt_ids = memory.experience.column("trajectory_id", {"id": {"$in": experience_ids}})
    strategies = {
        content_hash(strategy): strategy
        for strategy in (strategy_of_workflow(workflow, attempt_ids) for workflow in workflows)
    }
    existing_hashes = set(map(content_hash, memory.strategies.get_many(memory.strategies.ids())))
    return [strategy for hash_of_content, strategy in strategies.items() if hash_of_content not in existing_hashes]


class LiveCompression(LiveResult[CompressionResult]):
    """The latest compression result of a store, made by the worker and shared by all viewers."""

    def submit(self, where: Mapping[str, Any], max_programs: int, *, path: str = "", with_model: bool = False) -> None:
        """Submit a job for the successful attempts that match a filter.

        Args:
            path: Directories of modules that programs import, separated as in PATH.

        Raises:
            InvalidInput: A path is not a directory.
        """
        parse_directories(PROGRAM_PATH, path)
        options: dict[str, Any] = {
            "where": dict(where),
            "max_programs": max_programs,
            "path": path,
            "with_model": with_model,
        }
        self._submit(CompressionJob(**self._job_arguments, **options))

    def file(self, directory: Path) -> CompressionFile:
        """Return the file of the result."""
        return CompressionFile(directory, COLLECTION)


def _check_additions(memory: MemorySystem, additions: Sequence[CodeConcept]) -> None:
    """Raise `InvalidInput` if a name is taken by another concept, or a called concept does not exist."""
    titles = memory.concepts.column("title")
    ids_by_name = {name: concept_id for concept_id, name in titles.items()}
    available_ids = {*titles, *(concept.id for concept in additions)}
    for concept in additions:
        if ids_by_name.get(concept.name, concept.id) != concept.id:
            raise InvalidInput(f"another concept is now named {concept.name!r}; compress again, or rename that one")
        if not available_ids.issuperset(concept.calls):
            raise InvalidInput(
                f"{concept.name!r} calls a concept that has been deleted since the search; compress again"
            )


def _make_result(proposal: Proposal, n_attempts: int) -> CompressionResult:
    compression = proposal.compression
    limit_note = [f"only the newest {MAX_ATTEMPTS:,} of {n_attempts:,} successful attempts were read"]
    return CompressionResult(
        learned=proposal.learned,
        rewritings=proposal.rewritings,
        n_attempts=n_attempts,
        n_programs=compression.n_programs,
        tokens_before=compression.tokens_before,
        tokens_after=compression.tokens_after,
        tokens_library=compression.tokens_library,
        dropped=dict(proposal.dropped),
        refused=dict(compression.refused),
        engine=compression.engine,
        notes=(*(limit_note if n_attempts > MAX_ATTEMPTS else []), *compression.notes),
    )
