"""Queries over several memories. If one memory fails, the others still answer. A query reads one snapshot."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from typing import Any, ParamSpec, TypeVar

from atlas.core.errors import InvalidInput
from atlas.core.filters import parse_where
from atlas.core.hits import MemoryQueryResult, Retrieval, check_limit
from atlas.core.json_values import check_text
from atlas.core.types import Task, Vector
from atlas.infra.actor import restrict_to_actor_scope
from atlas.memory.base.memory import Memory
from atlas.memory.base.ranking import check_diversity, check_threshold
from atlas.memory.base.retriever import Search
from atlas.memory.plugged import PluggedMemory
from atlas.protocols.infra import Where
from atlas.storage.store import Store

AnyMemory = Memory[Any] | PluggedMemory
"""A memory of ATLAS, or an adapter of a plugged-in one."""

Ids = Mapping[str, Sequence[str]]
"""Ids of records, keyed by memory: `experience`, `concepts`, `strategies`, `journal`."""

Texts = Mapping[tuple[str, str], str]
"""Texts of records, keyed by memory and id, best first."""

P = ParamSpec("P")
T = TypeVar("T")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryFilters:
    """The options of `Memory.retrieve` that select hits."""

    where: Where | None = None
    threshold: float | None = None
    distinct: bool = False
    diversity: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedMemories:
    """The memories of a system, restricted to records of at least a requested trust class."""

    memories: Mapping[str, AnyMemory]
    origins: Mapping[str, str] = field(default_factory=dict)
    """Label of the trust class of each remaining record, keyed by id. Empty if no class was requested."""


@dataclass(frozen=True, slots=True)
class AnswersAndErrors:
    """The results of the memories that succeeded and the errors of the others, keyed by memory."""

    answers: Mapping[str, Any]
    errors: Mapping[str, str]


def result_or_error(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | Exception:
    """Return the result of a call, or the exception that it raised."""
    try:
        return function(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - `split_errors` logs it
        return error


def split_errors(outcomes: Mapping[str, Any]) -> AnswersAndErrors:
    """Return results and exceptions of memories as separate mappings. Log the exceptions."""
    answers, errors = dict[str, Any](), dict[str, str]()
    for name, result in outcomes.items():
        if isinstance(result, Exception):
            logger.warning("the memory %r failed, and its hits are missing from the answer", name, exc_info=result)
            errors[name] = error_text(result)
        elif isinstance(result, BaseException):
            raise result
        else:
            answers[name] = result
    return AnswersAndErrors(answers, errors)


def error_text(error: BaseException) -> str:
    """Return the type and message of an error."""
    return f"{type(error).__name__}: {error}"


def join_errors(*errors: Mapping[str, str]) -> dict[str, str]:
    """Return the distinct errors of several steps, joined, keyed by memory."""
    problems = dict[str, list[str]]()
    for errors_of_step in errors:
        for name, problem in errors_of_step.items():
            problems.setdefault(name, []).append(problem)
    return {name: "; ".join(dict.fromkeys(texts)) for name, texts in problems.items()}


def prepare_searches(
    memories: Mapping[str, AnyMemory], task: Task, k: int, filters: QueryFilters
) -> dict[str, Search | Exception | None]:
    """Return the prepared search or the error of each memory, keyed by name. Each embedder embeds the task once."""
    check_limit(k)
    check_text(task.description, "the task's description")
    check_diversity(filters.diversity)
    parse_where(filters.where)
    if filters.threshold is not None:
        check_threshold(filters.threshold)
    vectors: dict[int, Vector | None] = {}

    def prepare(memory: AnyMemory) -> Search | None:
        if isinstance(memory, PluggedMemory):
            _check_unfiltered(memory, filters.where)
            return None
        vector = vectors.get(id(memory.embedder))
        search = Search(query=task.description, k=k, domain=task.domain, vector=vector, **asdict(filters))
        prepared = memory._prepare(search)
        vectors[id(memory.embedder)] = prepared.vector if vector is None else vector
        return prepared

    return {name: result_or_error(prepare, memory) for name, memory in memories.items()}


def search_memory(memory: AnyMemory, search: Any, task: Task, k: int, count_retrieval: bool) -> Retrieval[Any]:
    """Return the hits of one memory for a task, read in a snapshot of its own."""
    if isinstance(search, Exception):
        raise search
    if isinstance(memory, PluggedMemory):
        return memory.retrieve(task, k)
    return memory._search(search, count_retrieval=count_retrieval)


def search_all(
    memories: Mapping[str, AnyMemory],
    storage: Store | None,
    task: Task,
    k: int,
    filters: QueryFilters,
    count_retrieval: bool = True,
) -> dict[str, Retrieval[Any] | Exception]:
    """Return the hits or the error of each memory, keyed by name. All memories are read in one snapshot.

    Plugged-in memories and language models are called outside of the snapshot.
    """
    searches: Mapping[str, Any] = prepare_searches(memories, task, k, filters)
    searchable = {name: memory for name, memory in memories.items() if not isinstance(memory, PluggedMemory)}
    with storage.reading() if storage is not None else nullcontext():
        results = {name: result_or_error(_find_or_raise, memory, searches[name]) for name, memory in searchable.items()}

    def finish_search(name: str, memory: AnyMemory) -> Retrieval[Any]:
        if isinstance(memory, PluggedMemory):
            return search_memory(memory, searches[name], task, k, count_retrieval)
        result = results[name]
        if isinstance(result, Exception):
            raise result
        return memory._finish(searches[name], result, count_retrieval=count_retrieval)

    return {name: result_or_error(finish_search, name, memory) for name, memory in memories.items()}


def search_all_by_words(
    memories: Mapping[str, AnyMemory], storage: Store | None, task: Task, k: int, where: Where | None = None
) -> dict[str, Retrieval[Any] | Exception]:
    """Return the hits by keywords, or the error, of each memory, keyed by name. No text is embedded."""
    check_limit(k)
    parse_where(where)

    def search(memory: AnyMemory) -> Retrieval[Any]:
        if isinstance(memory, PluggedMemory):
            _check_unfiltered(memory, where)
            return memory.retrieve(task, k)
        return memory.retrieve_words(task.description, k, where=where, domain=task.domain)

    with storage.reading() if storage is not None else nullcontext():
        return {name: result_or_error(search, memory) for name, memory in memories.items()}


def combine_results(outcomes: Mapping[str, Retrieval[Any] | BaseException]) -> MemoryQueryResult:
    """Return the hits and errors of several memories as one query result."""
    retrievals = split_errors(outcomes)
    hits = {name: tuple(retrieval.hits) for name, retrieval in retrievals.answers.items()}
    return MemoryQueryResult(
        experience_hits=hits.pop("experience", ()),
        concept_hits=hits.pop("concepts", ()),
        strategy_hits=hits.pop("strategies", ()),
        journal_hits=hits.pop("journal", ()),
        further_hits=hits,
        n_hidden={name: retrieval.n_hidden for name, retrieval in retrievals.answers.items()},
        thresholds={name: retrieval.threshold for name, retrieval in retrievals.answers.items()},
        errors=retrievals.errors,
    )


def _check_unfiltered(memory: PluggedMemory, where: Where | None) -> None:
    """Raise `InvalidInput` if there is a filter, because a plugged-in memory would ignore it."""
    if where := restrict_to_actor_scope(where):
        raise InvalidInput(
            f"{type(memory.memory).__name__} cannot filter its records by {dict(where)!r}; omit the filter"
        )


def _find_or_raise(memory: Memory[Any], search: Any) -> Any:
    if isinstance(search, Exception):
        raise search
    return memory._find(search)
