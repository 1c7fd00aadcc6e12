"""Strictness of searches: a factor on the relevance level of a store, with a preview of its effect on real queries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from atlas.core.errors import PlanOutdated
from atlas.core.hits import Hit
from atlas.core.operations import Operation
from atlas.core.ranking.level import LevelCosts
from atlas.core.types import Experience, Task
from atlas.infra.twin import twin
from atlas.memory.base.memory import Memory
from atlas.memory.loss import LostRecord, describe_loss
from atlas.storage.marks.strictness import COLLECTION, check_strictness, read_strictness, write_strictness
from atlas.storage.store import Store

N_QUERIES = 60
"""Largest number of queries of a preview. More would take seconds."""

N_ATTEMPTS = 400
"""Number of latest attempts whose tasks are queried."""

N_HITS = 10
"""Number of first hits of a query that are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictnessQuery:
    """A query on which a change of strictness is previewed, with all experiences that a search may return."""

    query: str
    """Untrusted text."""

    hits: tuple[Hit[str], ...]
    """Hits whose items are ids, best first.

    Attempts with the query's own text are left out, because every search finds such attempts.
    """

    best: str
    """Title of the first hit: untrusted text, or empty without a hit."""

    right: Mapping[str, int]
    """Worth of each hit that is right for the query: 2 for a success, 1 if unknown, 0 for a failure. Keyed by id."""

    titles: Mapping[str, str]
    """Titles of the right hits, keyed by id. Untrusted text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedQuery:
    """A query that has more or fewer hits at the new strictness."""

    query: str
    """Untrusted text."""

    best: str
    """Title of its best hit: untrusted text."""

    relevance: float
    """Relevance of the best hit, in [0, 1]."""

    n_before: int
    """Number of experiences currently shown, at most `N_HITS`."""

    n_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictnessPlan:
    """A plan to change the strictness of searches, with the effect on a sample of queries."""

    before: float
    after: float
    costs: Mapping[str, LevelCosts]
    """The new level and its costs for each measured memory, keyed by name."""

    n_queries: int
    """Number of queries that were run."""

    n_tasks: int
    """Number of these queries that currently show a right attempt."""

    lost: tuple[LostRecord, ...]
    """The best attempts that these queries lose, with no equally good attempt to replace them."""

    n_in_hits: int
    """Number of right attempts in the current hits, counted once for each query."""

    n_lost_from_hits: int

    changed: tuple[ChangedQuery, ...]
    """Queries with different hits. Queries that gain or lose all hits come first."""

    @property
    def n_losing(self) -> int:
        """Number of queries that lose their best attempt."""
        return sum(len(record.tasks) for record in self.lost)

    @property
    def loss_sentence(self) -> str:
        """The loss in words, without texts of records: `2 of 31 tasks lose their best record`."""
        return describe_loss(self.n_losing, self.n_tasks)


class StrictnessMixin(ABC):
    """Mixin of a memory system that shows and changes the strictness of its searches."""

    @property
    @abstractmethod
    def storage(self) -> Store:
        """The store that the memories share."""

    @property
    @abstractmethod
    def experience(self) -> Any:
        """The experience memory."""

    @property
    @abstractmethod
    def _memories(self) -> Mapping[str, Any]:
        """The memories that exist, keyed by name."""

    @abstractmethod
    def _worths_of_right_attempts(self, task: Task, attempts: Sequence[Experience]) -> dict[str, int]:
        """Return the worth of each attempt that is right for a task, keyed by id. See `StrictnessQuery.right`."""

    def strictness(self) -> float:
        """Return the factor on the measured relevance level of searches: 1 unless a person changed it."""
        return read_strictness(self.storage.ledger)

    def plan_strictness(self, strictness: float) -> StrictnessPlan:
        """Return a plan to change the strictness, with the queries whose hits change and the lost attempts.

        The queries are those with judgements, and the tasks of the latest attempts. No hit counts as retrieved.

        Args:
            strictness: From 0, which hides no hits, to 10. 1 is the measured level.
        """
        check_strictness(strictness)
        return strictness_plan(self, strictness, strictness_queries(self))

    aplan_strictness = twin(plan_strictness)

    def apply_strictness(self, plan: StrictnessPlan, *, reason: str = "") -> Operation:
        """Set the planned strictness as one operation, which can be undone. All processes use it immediately.

        Raises:
            PlanOutdated: The strictness has changed since the plan was made.
            ReadOnlyStore: The store was opened for reading only.
        """
        check_strictness(plan.after)
        full_reason = reason or f"strictness {plan.after:g}, before {plan.before:g}"
        if plan.n_tasks:
            full_reason = f"{full_reason}; {plan.loss_sentence}"
        with self.storage.locked():
            if self.strictness() != plan.before:
                raise PlanOutdated(
                    f"the strictness has changed from {plan.before:g} to {self.strictness():g} since the plan was "
                    "made; nothing was done. Plan again"
                )
            settings = self.storage.collection(COLLECTION).as_operation("strictness", full_reason)
            write_strictness(settings, self.experience.embedder.dimension, plan.after)
        assert settings.operation_id is not None  # `as_operation` began it
        return self.storage.operation(settings.operation_id)

    aapply_strictness = twin(apply_strictness)


def strictness_queries(memory: StrictnessMixin) -> tuple[StrictnessQuery, ...]:
    """Return the queries for strictness plans, each with all experiences that any strictness may show.

    The relevance level is measured first if necessary, as in an agent's first search.
    """
    memory.experience.level()
    return tuple(_search_for_task(memory, task) for task in islice(_sample_tasks(memory), N_QUERIES))


def strictness_plan(memory: StrictnessMixin, strictness: float, queries: Sequence[StrictnessQuery]) -> StrictnessPlan:
    """Return a plan to change the strictness, computed from the hits of queries without a further search.

    Args:
        queries: Result of `strictness_queries`.
    """
    before = memory.strictness()
    memories = {name: item for name, item in memory._memories.items() if isinstance(item, Memory)}
    costs = {name: item.level_costs(strictness) for name, item in memories.items()}
    shown_ids = [(query, _shown_ids(memory, query, before), _shown_ids(memory, query, strictness)) for query in queries]
    compared_queries = [_compare_hits(*row) for row in shown_ids]
    changed_queries = [query for query in compared_queries if query.n_before != query.n_after]
    return StrictnessPlan(
        before=before,
        after=strictness,
        costs={name: level_costs for name, level_costs in costs.items() if level_costs is not None},
        n_queries=len(queries),
        n_tasks=sum(not query.right.keys().isdisjoint(ids_before) for query, ids_before, _ in shown_ids),
        lost=_lost_records(shown_ids),
        n_in_hits=sum(len(query.right.keys() & ids_before) for query, ids_before, _ in shown_ids),
        n_lost_from_hits=sum(
            len((query.right.keys() & ids_before) - {*ids_after}) for query, ids_before, ids_after in shown_ids
        ),
        changed=tuple(sorted(changed_queries, key=lambda query: bool(query.n_before and query.n_after))),
    )


def _sample_tasks(memory: StrictnessMixin) -> Iterator[Task]:
    """Yield the distinct tasks to query: judged queries, as tasks without id, then tasks of the latest attempts."""
    rows = memory.experience.browse({"marks.buried": False}, limit=N_ATTEMPTS)
    ids_by_task = {row["metadata"]["task_id"]: row["id"] for row in reversed(rows)}
    attempts = memory.experience.get_many(list(reversed(ids_by_task.values()))[:N_QUERIES])
    tasks = {judgement.query: Task("", "", judgement.query) for judgement in memory.storage.judgements.all()}
    tasks |= {attempt.task.description: attempt.task for attempt in attempts}
    yield from tasks.values()


def _search_for_task(memory: StrictnessMixin, task: Task) -> StrictnessQuery:
    """Search for a task, and return the query with its hits. Attempts with the task's own description are left out."""
    query = task.description
    retrieval = memory.experience.retrieve(query, 2 * N_HITS, threshold=0.0, count_retrieval=False)
    hits = [hit for hit in retrieval.hits if hit.item.task.description != query]
    worth_by_id = memory._worths_of_right_attempts(task, [hit.item for hit in hits])
    return StrictnessQuery(
        query=query,
        hits=tuple(hit.with_item(hit.item.id) for hit in hits),
        best=hits[0].item.task.description if hits else "",
        right=worth_by_id,
        titles={hit.item.id: hit.item.task.description for hit in hits if hit.item.id in worth_by_id},
    )


def _shown_ids(memory: StrictnessMixin, query: StrictnessQuery, strictness: float) -> list[str]:
    """Return the ids of the hits that are shown at a strictness, best first."""
    return [hit.item for hit in memory.experience.shown_hits(query.query, query.hits, strictness)][:N_HITS]


def _compare_hits(query: StrictnessQuery, ids_before: Sequence[str], ids_after: Sequence[str]) -> ChangedQuery:
    relevance = query.hits[0].relevance if query.hits else 0.0
    return ChangedQuery(
        query=query.query, best=query.best, relevance=relevance, n_before=len(ids_before), n_after=len(ids_after)
    )


def _lost_records(shown_ids: Sequence[tuple[StrictnessQuery, Sequence[str], Sequence[str]]]) -> tuple[LostRecord, ...]:
    """Return the best attempts that queries lose without an equally good replacement.

    Successes come first, then attempts that more queries lose.
    """
    queries, worths = defaultdict[str, list[str]](list), dict[str, int]()
    titles = dict[str, str]()
    for query, ids_before, ids_after in shown_ids:
        best_id = max(
            (record_id for record_id in ids_before if record_id in query.right),
            key=query.right.__getitem__,
            default=None,
        )
        if best_id is not None and all(
            query.right.get(record_id, -1) < query.right[best_id] for record_id in ids_after
        ):
            queries[best_id].append(query.query)
            worths[best_id], titles[best_id] = query.right[best_id], query.titles[best_id]
    by_worth = sorted(queries, key=lambda record_id: (-worths[record_id], -len(queries[record_id]), record_id))
    return tuple(
        LostRecord(id=record_id, title=titles[record_id], tasks=tuple(queries[record_id])) for record_id in by_worth
    )
