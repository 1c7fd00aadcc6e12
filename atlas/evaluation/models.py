"""Comparison of embedding models on a store's own records."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from atlas.core.errors import AtlasError, NotFound
from atlas.core.settings import Settings
from atlas.core.statistics import Estimate
from atlas.embedding.choice import model_size
from atlas.evaluation.measures import Ranking, RetrievalTask, RowResult, TaskResult, evaluate
from atlas.evaluation.report import to_lines, to_markdown
from atlas.evaluation.split import Half, sample
from atlas.evaluation.tasks import AgentRow, Watch, own_tasks, read_attempts
from atlas.memory.open import open_memory
from atlas.memory.system import MemorySystem
from atlas.protocols.infra import WholeEmbedder

N_TIMED = 20
"""Number of timed queries."""

BATCH_SIZE = 256
METRICS = ("hit@1", "hit@10", "MRR@10")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCost:
    """The costs of one embedding model for a store: time and disk space."""

    model: str
    embedding_seconds: float = 0.0
    """Time to embed and store all records."""

    query_ms: float = 0.0
    """Median time to embed a query."""

    search_ms: float = 0.0
    """Median time of `retrieve`, without embedding the query."""

    model_mb: float = 0.0
    """Size of the model's files on this machine, in MB of 1,000,000 bytes. 0 for a remote model."""

    problem: str = ""
    """Sentence on why the model could not be measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReport:
    """The figures of several embedding models, the store's own model first."""

    own: str
    n_records: int
    half: Half
    seed: int
    costs: tuple[ModelCost, ...]
    tasks: tuple[TaskResult, ...]


@dataclass(frozen=True, slots=True)
class _ModelRow:
    name: str
    agent: AgentRow
    baselines: Sequence[str]
    has_threshold = True
    about = "what `retrieve` gives an agent with this model"

    def rank(self, text: str, excluded: Collection[str], depth: int) -> Ranking:
        return self.agent.rank(text, excluded, depth)


def compare_models(
    memory: MemorySystem,
    models: Sequence[str],
    embedder_of: Callable[[str], WholeEmbedder],
    *,
    settings: Settings,
    half: Half,
    seed: int,
    watch: Watch,
) -> ModelReport:
    """Return the figures of several embedding models, each on a temporary copy of a store.

    Args:
        models: Names of models. The store's own model is always added, as the first one.
        embedder_of: Function that returns the embedder with a name.
        settings: Settings of the stores, except for the directory, which is ignored.

    Raises:
        NotFound: No task was tried twice and no query was judged, so there is no data to evaluate.
    """
    attempts = read_attempts(memory)
    tasks = own_tasks(memory, attempts, half=half, seed=seed)
    if not any(task.queries for task in tasks.values()):
        raise NotFound(
            "comparing models needs a task with several attempts, or a hit judged right, but the "
            f"{len(attempts)} experiences have none; judge hits on the page Ask, or evaluate files: atlas evaluate "
            "PATH --model NAME"
        )
    store_model = memory.experience.embedder.model_name
    texts = {attempt.id: attempt.text for attempt in attempts}
    costs, rows = [], []
    with ExitStack() as stack:
        for model in dict.fromkeys([store_model, *models]):
            try:
                memory_copy, seconds = _copy_memory(
                    memory, embedder_of(model), settings, stack, watch(f"storing with {model}")
                )
            except (AtlasError, OSError) as error:
                costs.append(ModelCost(model=model, problem=str(error)))
                continue
            times = _measure_query_times(memory_copy, tasks, seed)
            costs.append(
                ModelCost(
                    model=model,
                    embedding_seconds=seconds,
                    query_ms=times.embedding_ms,
                    search_ms=times.searching_ms,
                    model_mb=model_size(memory_copy.experience.embedder.model_name) / 1e6,
                )
            )
            rows.append(
                _ModelRow(model, AgentRow(memory_copy.experience, "id"), () if model == store_model else (store_model,))
            )
        results = tuple(
            evaluate(task, texts, rows, half=half, seed=seed, on_progress=watch(name)) for name, task in tasks.items()
        )
    return ModelReport(
        own=store_model, n_records=len(attempts), half=half, seed=seed, costs=tuple(costs), tasks=results
    )


def _copy_memory(
    memory: MemorySystem,
    embedder: WholeEmbedder,
    settings: Settings,
    stack: ExitStack,
    on_progress: Callable[[int, int], None],
) -> tuple[MemorySystem, float]:
    """Return a temporary memory with the same experiences, embedded by another model, and the seconds it took."""
    directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="atlas-models-"))
    exact_settings = replace(settings, store=Path(directory), read_only=False, exact_max_rows=sys.maxsize)
    memory_copy = stack.enter_context(open_memory(directory, embedder=embedder, settings=exact_settings))
    embedder.encode("a text that loads the model before timing")
    ids = memory.experience.ids({"marks.buried": False})
    start = time.perf_counter()
    for start_index in range(0, len(ids), BATCH_SIZE):
        memory_copy.experience.restore_many(memory.experience.export(ids[start_index : start_index + BATCH_SIZE]))
        on_progress(min(start_index + BATCH_SIZE, len(ids)), len(ids))
    seconds = time.perf_counter() - start
    memory_copy.experience.calibrate()
    return memory_copy, seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class _QueryTimes:
    """Median times of a query, in milliseconds."""

    embedding_ms: float
    searching_ms: float


def _measure_query_times(memory: MemorySystem, tasks: dict[str, RetrievalTask], seed: int) -> _QueryTimes:
    """Return the median times to embed a query and to search with it."""
    queries = [query.text for task in tasks.values() for query in task.queries]
    embedder = memory.experience.embedder
    encode = getattr(embedder, "encode_query", embedder.encode)
    embedding_seconds, search_seconds = [], []
    for text in sample(list(dict.fromkeys(queries)), N_TIMED, seed=seed):
        started_at = time.perf_counter()
        encode(text)
        embedded_at = time.perf_counter()
        memory.experience.retrieve(text, 10, count_retrieval=False)
        search_seconds.append(time.perf_counter() - embedded_at)
        embedding_seconds.append(embedded_at - started_at)
    return _QueryTimes(
        embedding_ms=statistics.median(embedding_seconds) * 1e3, searching_ms=statistics.median(search_seconds) * 1e3
    )


def models_as_json(report: ModelReport) -> str:
    """Return the report as JSON."""
    return json.dumps(asdict(report), ensure_ascii=False, indent=1)


def models_as_text(report: ModelReport) -> str:
    """Return the report as aligned columns."""
    return "\n".join(_report_lines(report, to_lines, "{}"))


def models_as_markdown(report: ModelReport) -> str:
    """Return the report as headings and tables."""
    return "\n".join(_report_lines(report, to_markdown, "### {}\n"))


def _report_lines(report: ModelReport, format_grid: Callable[[list[list[str]]], list[str]], heading: str) -> list[str]:
    lines = [
        f"{report.n_records:,} experiences of the store, searched with default settings by each model. "
        f"The store has {report.own}, and was not changed."
    ]
    for task in report.tasks:
        grid = [["model", *METRICS, f"{METRICS[-1]} − that of the store's own"]]
        grid += [
            [row.name, *(f"{row.estimates[name].mean:.3f}" for name in METRICS), _format_difference(row)]
            for row in task.rows
        ]
        lines += ["", heading.format(f"{task.name}, {task.n_queries:,} queries"), *format_grid(grid)]
    grid = [["model", "embedding a query", "searching with it", "embedding the store", "its files"]]
    grid += [
        [
            cost.model,
            f"{cost.query_ms:.1f} ms",
            f"{cost.search_ms:.1f} ms",
            f"{cost.embedding_seconds:.1f} s",
            f"{cost.model_mb:,.0f} MB" if cost.model_mb else "",
        ]
        for cost in report.costs
        if not cost.problem
    ]
    lines += ["", heading.format("cost"), *format_grid(grid)]
    lines += [f"{cost.model} was not measured: {cost.problem}" for cost in report.costs if cost.problem]
    return lines


def _format_difference(row: RowResult) -> str:
    """Return `+0.020 [+0.004, +0.036]`, or an empty string for the store's own model."""
    estimate: Estimate | None = next((by_metric[METRICS[-1]] for by_metric in row.differences.values()), None)
    if estimate is None:
        return ""
    interval = f" [{estimate.interval.low:+.3f}, {estimate.interval.high:+.3f}]" if estimate.interval else ""
    return f"{estimate.mean:+.3f}{interval}"
