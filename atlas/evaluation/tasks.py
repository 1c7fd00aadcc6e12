"""Evaluation of a memory's searches, on judged corpora or on the memory's own attempts."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from atlas.core.errors import NotFound
from atlas.core.hits import Hit
from atlas.core.settings import RankingWeights, Settings
from atlas.core.statistics import Estimate, estimates
from atlas.core.types import Experience
from atlas.embedding.cached import CachedEmbedder
from atlas.evaluation.baselines import PlainBM25
from atlas.evaluation.blocks import BlockResult, evaluate_blocks
from atlas.evaluation.cached_store import CachedStore
from atlas.evaluation.foreign import (
    BUNDLED_QUERIES,
    ForeignResult,
    StrictnessStep,
    ask_foreign,
    load_foreign_queries,
    sample_queries,
    select_foreign_queries,
)
from atlas.evaluation.judged import ONLY_WRONG, judged_queries, missed_queries, rejected_queries
from atlas.evaluation.leave_one_out import Attempt, leave_one_out, outcome_agreement
from atlas.evaluation.measures import (
    JudgedCorpus,
    Ranking,
    RetrievalTask,
    Retriever,
    TaskResult,
    answerable_queries,
    evaluate,
    relevant_ids,
)
from atlas.evaluation.metrics import DEPTH
from atlas.evaluation.report import Report
from atlas.evaluation.split import Half
from atlas.memory.context.block import make_counter
from atlas.memory.experience.memory import COLLECTION, ChromaExperienceMemory
from atlas.memory.open import open_memory
from atlas.memory.system import MemorySystem
from atlas.protocols.infra import Embedder, Progress, Where, WholeEmbedder

Watch = Callable[[str], Progress]
"""Callback that takes the name of a step, and returns a callback for its progress."""

FUSED_ROW = "fused"
AGENT = "as an agent gets it"
ATTEMPTS_TASK = "finding other attempts"
JUDGEMENTS_TASK = "finding what was judged right"
THIS_STORE = "this store"

STRICTNESS_STEPS = tuple(step / 10 for step in range(31))
"""Values of the strictness at which `measure_strictness` measures."""


Search = Callable[[str, int], Sequence[Experience]]
"""Function of a query and a number of records, which returns the best records."""


@dataclass(frozen=True, slots=True)
class SearchRow:
    """A retriever that searches a memory in one way, without a relevance threshold."""

    name: str
    about: str
    """One sentence on how the row ranks, and which parameters were tuned on which data."""

    search: Search

    id_field: str
    """The field that identifies an experience in judgements, such as `id`."""

    baselines: Sequence[str] = ()
    """Names of the rows with which this row is compared."""

    has_threshold = False

    def rank(self, text: str, excluded: Collection[str], depth: int) -> Ranking:
        """Return the ids of the best records for a query, without the excluded ones."""
        ids = [getattr(experience, self.id_field) for experience in self.search(text, depth + len(excluded))]
        return Ranking(tuple(record_id for record_id in ids if record_id not in excluded)[:depth])


@dataclass(frozen=True, slots=True)
class AgentRow:
    """A retriever that searches as an agent does: hits below the memory's relevance threshold are hidden."""

    experience: ChromaExperienceMemory

    id_field: str
    """The field that identifies an experience in judgements, as in `SearchRow`."""

    name = AGENT
    about = f"what `retrieve` gives an agent: {FUSED_ROW}, less what the memory hides as irrelevant"
    baselines = (FUSED_ROW, "BM25", "dense", "RRF")
    has_threshold = True

    def rank(self, text: str, excluded: Collection[str], depth: int) -> Ranking:
        """Return the ranking for a query as if the memory did not contain the excluded records.

        Excluded records are left out before ranking, because the threshold depends on the best hit.
        """
        return Ranking(tuple(getattr(hit.item, self.id_field) for hit in self.hits(text, excluded, depth)))

    def hits(
        self, text: str, excluded: Collection[str], depth: int, threshold: float | None = None
    ) -> Sequence[Hit[Experience]]:
        """Return the hits whose ids `rank` returns, or the hits above another threshold."""
        where = _exclusion_filter(self.id_field, excluded)
        return self.experience.retrieve(text, depth, where=where, threshold=threshold, count_retrieval=False).hits

    def hits_without_threshold(self, text: str, excluded: Collection[str]) -> list[Hit[str]]:
        """Return the hits for a query, each with an id as its item, including those that the threshold hides."""
        return [
            hit.with_item(getattr(hit.item, self.id_field)) for hit in self.hits(text, excluded, DEPTH, threshold=0.0)
        ]

    def first_shown_id(self, text: str, hits: Sequence[Hit[str]], strictness: float) -> str:
        """Return the id of the first hit of `hits_without_threshold` that a strictness shows, or an empty string."""
        return next((hit.item for hit in self.experience.shown_hits(text, hits, strictness)), "")


def _evaluate_agent_blocks(
    tasks: Iterable[RetrievalTask],
    texts: Mapping[str, str],
    retrievers: Sequence[Retriever],
    *,
    half: Half,
    seed: int,
    watch: Watch,
) -> list[BlockResult]:
    """Return the figures of the context blocks that an agent gets. Empty if there is no `AgentRow`."""
    results = list[BlockResult]()
    agents = [agent for agent in retrievers if isinstance(agent, AgentRow)]
    for agent in agents:
        counter = make_counter(agent.experience.embedder)
        for task in tasks:
            on_progress = watch(f"context blocks of {task.name}")
            results += evaluate_blocks(
                task, texts, agent.hits, agent.id_field, counter, half=half, seed=seed, on_progress=on_progress
            )
    return results


def _exclusion_filter(key: str, values: Collection[str]) -> Where | None:
    """Return a filter for all values of a field but these, or None if there are none."""
    if not values:
        return None
    ordered = sorted(values)
    ranges_between = [{key: {"$gt": low, "$lt": high}} for low, high in pairwise(ordered)]
    return {"$or": [{key: {"$lt": ordered[0]}}, *ranges_between, {key: {"$gt": ordered[-1]}}]}


TUNING_NOTE = "its weights were chosen on the development half"


SIGNALS = ("meaning", "words", "success", "recency")
"""Signals to ablate, one at a time. The other signals need a memory with usage."""

OWN_SIGNALS = (*SIGNALS, "use", "pin")


def rows_of(memory: MemorySystem, id_field: str) -> tuple[Retriever, ...]:
    """Return the retrievers to compare on a memory. Searches by these retrievers do not count as retrievals."""
    return _make_rows(memory, id_field, RankingWeights(), f"what `search` does; {TUNING_NOTE}", SIGNALS)


def own_rows(memory: MemorySystem, id_field: str) -> tuple[Retriever, ...]:
    """Return the retrievers of a memory with its current weights, and with the other profiles of its store."""
    active_profile, weights = memory.storage.profiles.in_use(), memory.experience.weights
    has_profile_weights = weights == active_profile.weights
    label = f"profile {active_profile.name!r}" if has_profile_weights else "the weights that it was opened with"
    about = f"what `search` of this store does now: {label}"
    other_profiles = [
        profile for profile in memory.storage.profiles.all() if not profile.problem and profile.weights != weights
    ]
    return (
        *(
            row
            for row in _make_rows(memory, id_field, weights, about, OWN_SIGNALS)
            if row.name != "RRF"
        ),
        *(
            SearchRow(
                profile_row(profile.name), f"the same with profile {profile.name!r}",
                best_match_search(memory.experience.ranked_with(profile.weights)), id_field, (FUSED_ROW,),
            )
            for profile in other_profiles
        ),
    )  # fmt: skip


def profile_row(name: str) -> str:
    """Return the row name of an inactive profile."""
    return f"profile {name}"


def _make_rows(
    memory: MemorySystem,
    id_field: str,
    weights: RankingWeights,
    about: str,
    signals: Sequence[str],
) -> tuple[Retriever, ...]:
    experience = memory.experience
    dense = best_match_search(
        experience.ranked_with(replace(RELEVANCE_WEIGHTS, words=0.0), reranked=False, compares_tokens=False)
    )
    words = keyword_search(memory.experience)
    return (
        SearchRow("BM25", "ATLAS's keyword search alone; nothing was tuned", words, id_field),
        SearchRow("dense", "cosine similarity alone; nothing was tuned", dense, id_field, ("BM25",)),
        SearchRow(
            "RRF", "plain reciprocal rank fusion of the two, k = 60; nothing was tuned",
            reciprocal_rank_fusion(words, dense), id_field,
        ),
        SearchRow(
            FUSED_ROW, about, best_match_search(memory.experience.ranked_with(weights)), id_field,
            ("BM25", "dense", "RRF"),
        ),
        AgentRow(memory.experience, id_field),
        *(
            SearchRow(
                f"{FUSED_ROW} − {signal}", f"the same without {signal}",
                best_match_search(memory.experience.ranked_with(replace(weights, **{signal: 0.0}))),
                id_field, (FUSED_ROW,),
            )
            for signal in signals
            if getattr(weights, signal)
        ),
        *(
            [
                SearchRow(
                    f"{FUSED_ROW} − word pieces", "the same without comparing word pieces",
                    best_match_search(experience.ranked_with(weights, compares_tokens=False)), id_field, (FUSED_ROW,),
                )
            ]
            if experience.collection.has_token_vectors
            else []
        ),
    )  # fmt: skip


RELEVANCE_WEIGHTS = RankingWeights(success=0.0, use=0.0, recency=0.0, pin=0.0, importance=0.0)
"""Weights of meaning and words only."""

RRF_K = 60
RRF_DEPTH = 100


def reciprocal_rank_fusion(*searches: Search) -> Search:
    """Return a search that merges several searches by reciprocal rank fusion, the usual baseline.

    Source:
        Cormack, Clarke & Büttcher, SIGIR 2009.
    """

    def search(text: str, k: int) -> Sequence[Experience]:
        experiences: dict[str, Experience] = {}
        scores: dict[str, float] = {}
        for single_search in searches:
            for rank, experience in enumerate(single_search(text, max(k, RRF_DEPTH)), start=1):
                experiences[experience.id] = experience
                scores[experience.id] = scores.get(experience.id, 0.0) + 1 / (RRF_K + rank)
        best_ids = sorted(scores, key=lambda record_id: -scores[record_id])[:k]
        return [experiences[record_id] for record_id in best_ids]

    return search


Rows = Callable[[MemorySystem, str], Sequence[Retriever]]
"""Function that returns the rows of a report, such as `rows_of`. Pass another function to compare settings."""


def keyword_search(experience: ChromaExperienceMemory) -> Search:
    """Return a function that runs the memory's keyword search."""
    return lambda text, k: experience.search_words(text, k, as_typed=False)


def best_match_search(experience: ChromaExperienceMemory) -> Search:
    """Return a function that runs the memory's hybrid search without a relevance threshold."""
    return lambda text, k: [hit.item for hit in experience.search_hits(text, k, count_retrieval=False)]


def evaluate_corpora(
    corpora: Sequence[JudgedCorpus],
    embedder: Embedder,
    *,
    settings: Settings,
    half: Half,
    seed: int,
    watch: Watch,
    rows_of: Rows = rows_of,
) -> Report:
    """Store each corpus in a temporary store, and return the report on all retrievers.

    Args:
        corpora: The corpora: attempts, and the tasks on them.
        embedder: Embedding model of all stores.
        settings: Settings of the stores, except for the directory, which is ignored.
        half: The half of the tasks to evaluate.
        seed: Seed of the intervals.
        watch: Called with the name of each step, for a progress bar.
        rows_of: Function that returns the retrievers of a memory.
    """
    cached_embedder = CachedEmbedder(embedder)
    results: list[TaskResult] = []
    foreign: list[ForeignResult] = []
    blocks: list[BlockResult] = []
    descriptions: dict[str, str] = {}
    for corpus in corpora:
        with _fill_store(corpus, cached_embedder, settings, watch(f"storing {corpus.name}")) as memory:
            rows: list[Retriever] = [PlainBM25(corpus.texts), *rows_of(memory, "trajectory_id")]
            descriptions |= {row.name: row.about for row in rows}
            results += [
                evaluate(task, corpus.texts, rows, half=half, seed=seed, on_progress=watch(task.name))
                for task in corpus.tasks
            ]
            blocks += _evaluate_agent_blocks(corpus.tasks, corpus.texts, rows, half=half, seed=seed, watch=watch)
            queries_by_source = select_foreign_queries(corpus, corpora, half)
            foreign += ask_foreign(
                corpus.name, queries_by_source, rows, seed=seed, on_progress=watch("asking foreign queries")
            )
    return Report(
        model=cached_embedder.model_name,
        half=half,
        seed=seed,
        retrievers=descriptions,
        tasks=tuple(results),
        foreign=tuple(foreign),
        blocks=tuple(blocks),
    )


def evaluate_own(memory: MemorySystem, *, half: Half, seed: int, watch: Watch, rows_of: Rows = own_rows) -> Report:
    """Return the report on all retrievers of a memory, evaluated on its own attempts and judged queries.

    Nothing is written, and no record counts as retrieved.

    Raises:
        NotFound: No task was tried twice, no outcome is known and no query was judged.
    """
    attempts = read_attempts(memory)
    rows = rows_of(_with_caches(memory), "id")
    texts = {attempt.id: attempt.text for attempt in attempts}
    judgements = memory.storage.judgements.all()
    queries_by_source = {**load_foreign_queries(half), ONLY_WRONG: rejected_queries(judgements, COLLECTION, texts)}
    tasks = own_tasks(memory, attempts, half=half, seed=seed)
    results = [
        evaluate(task, texts, rows, half=half, seed=seed, on_progress=watch(name)) for name, task in tasks.items()
    ]
    outcomes = outcome_agreement(attempts, rows, half=half, seed=seed, on_progress=watch("foretelling outcomes"))
    agents = [row for row in rows if isinstance(row, AgentRow)]
    steps = [
        measure_strictness(
            row, tasks, texts, [text for text, _ in sample_queries(queries_by_source[BUNDLED_QUERIES])],
            half=half, seed=seed, on_progress=watch("trying other strictness"),
        )
        for row in agents
    ]  # fmt: skip
    judged = answerable_queries(tasks[JUDGEMENTS_TASK], texts, half) if JUDGEMENTS_TASK in tasks else []
    missed = [missed_queries(row, judged, memory.strictness()) for row in agents]
    if not any(result.rows for result in results) and outcomes is None:
        raise NotFound(
            "an evaluation needs a task with several attempts, a known outcome, or a hit judged right, but the "
            f"{len(attempts):,} experiences have none; judge hits on the page Ask, or evaluate files: atlas "
            "evaluate PATH"
        )
    return Report(
        model=memory.experience.embedder.model_name,
        half=half,
        seed=seed,
        retrievers={row.name: row.about for row in rows},
        tasks=tuple(results),
        outcomes=outcomes,
        foreign=ask_foreign(
            THIS_STORE, queries_by_source, rows, seed=seed, on_progress=watch("asking foreign queries")
        ),
        blocks=tuple(_evaluate_agent_blocks(tasks.values(), texts, rows, half=half, seed=seed, watch=watch)),
        strictness=next(iter(steps), ()),
        missed=next(iter(missed), None),
    )


def measure_strictness(
    row: AgentRow,
    tasks: Mapping[str, RetrievalTask],
    texts: Mapping[str, str],
    foreign: Sequence[str],
    *,
    half: Half,
    seed: int,
    on_progress: Progress,
) -> tuple[StrictnessStep, ...]:
    """Return the error rates of an agent's search at each of the `STRICTNESS_STEPS`. Each query is searched once.

    Args:
        row: The search for agents.
        tasks: Result of `own_tasks`.
        texts: The description of each record, keyed by its id.
        foreign: Queries that should find nothing.
        half: The half of the own and judged queries to ask.
        seed: Seed of the intervals.
        on_progress: Called after each query.
    """
    own_queries = answerable_queries(tasks[ATTEMPTS_TASK], texts, half) if ATTEMPTS_TASK in tasks else []
    answerable_judged = answerable_queries(tasks[JUDGEMENTS_TASK], texts, half) if JUDGEMENTS_TASK in tasks else []
    if not own_queries or not foreign:
        return ()
    with_answer = [*own_queries, *answerable_judged]
    searches = [*((query.text, query.excluded) for query in with_answer), *((text, ()) for text in foreign)]
    first_ids = _first_ids(row, searches, on_progress)
    right_ids = [relevant_ids(query, texts) for query in with_answer]
    is_right = np.array([np.isin(ids, [*right]) for ids, right in zip(first_ids, right_ids, strict=False)], float)
    is_empty = np.array(first_ids == "", float)
    groups = [query.group for query in with_answer]
    n_own = len(own_queries)
    judged_shares: Sequence[Estimate | None] = [None] * len(STRICTNESS_STEPS)
    if answerable_judged:
        judged_shares = estimates(is_right[n_own:], groups[n_own:], seed=seed)
    rates = (
        estimates(is_right[:n_own], groups[:n_own], seed=seed),
        estimates(is_empty[:n_own], groups[:n_own], seed=seed),
        estimates(1 - is_empty[len(with_answer) :], foreign, seed=seed),
        judged_shares,
    )
    return tuple(
        StrictnessStep(
            strictness=step,
            first_right=right,
            found_nothing=empty,
            foreign_answered=answered,
            judged_right=judged_right,
            n_judged=len(answerable_judged),
        )
        for step, right, empty, answered, judged_right in zip(STRICTNESS_STEPS, *rates, strict=True)
    )


def _first_ids(
    row: AgentRow, searches: Sequence[tuple[str, Collection[str]]], on_progress: Progress
) -> npt.NDArray[np.str_]:
    """Return the id of each query's first hit at each strictness, shape (n_queries, n_steps), or "" without a hit."""
    hits_of_queries = list[list[Hit[str]]]()
    for text, excluded in searches:
        hits_of_queries.append(row.hits_without_threshold(text, excluded))
        on_progress(len(hits_of_queries), len(searches))
    return np.array(
        [  # one strictness after another, because the memory caches the thresholds of the latest strictness only
            [row.first_shown_id(text, hits, step) for (text, _), hits in zip(searches, hits_of_queries, strict=True)]
            for step in STRICTNESS_STEPS
        ]
    ).T


def own_tasks(memory: MemorySystem, attempts: Sequence[Attempt], *, half: Half, seed: int) -> dict[str, RetrievalTask]:
    """Return the retrieval tasks that a memory's own attempts and judgements provide, keyed by name.

    Args:
        attempts: Result of `read_attempts`.
    """
    ids = [attempt.id for attempt in attempts]
    tasks = {
        ATTEMPTS_TASK: leave_one_out(attempts, half=half, seed=seed),
        JUDGEMENTS_TASK: judged_queries(memory.storage.judgements.all(), COLLECTION, ids),
    }
    return {name: task for name, task in tasks.items() if task is not None}


def _with_caches(memory: MemorySystem) -> MemorySystem:
    """Return a copy of a memory that caches query vectors and candidates.

    All rows run the same queries, so each is embedded and searched once.
    """
    experience, storage = memory.experience, memory.storage
    embedder = CachedEmbedder(experience.embedder)
    store = CachedStore(storage.collection(COLLECTION))
    return MemorySystem(experience.ranked_with(experience.weights, embedder=embedder, store=store), storage=storage)


def read_attempts(memory: MemorySystem) -> list[Attempt]:
    """Return every searchable experience as an `Attempt`, in order of storage.

    Experiences in quarantine, and those that wait for review, are left out, because a search does not find them.
    """
    hidden = {
        record_id
        for mark in ("marks.quarantine", "marks.held_for")
        for record_id, reason in memory.experience.column(mark).items()
        if reason
    }
    return [
        Attempt(
            id=row["id"],
            task_id=row["metadata"].get("task_id", ""),
            text=row["document"],
            success=row["metadata"].get("success"),
        )
        for row in memory.experience.browse({"marks.buried": False}, order_by="", descending=False)
        if row["id"] not in hidden
    ]


@contextmanager
def _fill_store(
    corpus: JudgedCorpus, embedder: WholeEmbedder, settings: Settings, on_progress: Progress
) -> Iterator[MemorySystem]:
    """Yield a temporary memory that contains the attempts of a corpus."""
    exact_settings = replace(settings, read_only=False, exact_max_rows=sys.maxsize)
    with (
        tempfile.TemporaryDirectory(prefix="atlas-evaluate-") as directory,
        open_memory(directory, embedder=embedder, settings=exact_settings) as memory,
    ):
        memory.experience.store_many(corpus.trajectories, on_progress)
        yield memory
