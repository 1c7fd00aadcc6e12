"""Strictness of searches: one number for a store, with a preview of its effect on real queries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from atlas.core.errors import PlanOutdated
from atlas.core.hits import Hit
from atlas.core.operations import Operation
from atlas.core.ranking.level import LevelCosts
from atlas.infra.twin import twin
from atlas.memory.base.memory import Memory
from atlas.storage.marks.strictness import COLLECTION, check_strictness, read_strictness, write_strictness
from atlas.storage.store import Store

N_QUERIES = 60
"""Largest number of queries of a preview. More would take seconds."""

N_LOOKED_AT = 400
"""Number of latest attempts whose tasks are queried."""

N_HITS = 10
"""Hits of a query that count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuery:
    """A query of the store, and all experiences that a search may show for it."""

    query: str
    """Untrusted text."""

    hits: tuple[Hit[str], ...]
    """Best first, by id. Attempts with the query's own text are left out, because every search finds them."""

    best: str
    """Title of the first hit: untrusted text, or empty without a hit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedQuery:
    """A query that another strictness answers otherwise."""

    query: str
    """Untrusted text."""

    best: str
    """Title of its best hit: untrusted text."""

    relevance: float
    """Relevance of the best hit, in [0, 1]."""

    n_before: int
    """Experiences that are shown now, at most `N_HITS`."""

    n_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictnessPlan:
    """A change of the strictness, and its effect."""

    before: float
    after: float
    costs: Mapping[str, LevelCosts]
    """The new level and its costs for each measured memory, by name."""

    n_queries: int
    """Queries of the store that were run."""

    changed: tuple[ChangedQuery, ...]
    """Queries that are answered otherwise. Those that gain or lose all hits are first."""


class StrictMemories(ABC):
    """The part of a memory system that shows and changes how strict its searches are."""

    @property
    @abstractmethod
    def storage(self) -> Store:
        """The store that the memories share."""

    @property
    @abstractmethod
    def experience(self) -> Any:
        """Attempts at tasks."""

    @property
    @abstractmethod
    def _memories(self) -> Mapping[str, Any]:
        """The memories that exist, by name."""

    def strictness(self) -> float:
        """Return how many times its measured level the best hit of a search needs: 1 unless a person changed it."""
        return read_strictness(self.storage.ledger)

    def plan_strictness(self, strictness: float) -> StrictnessPlan:
        """Return a plan to change the strictness, with the queries of the store whose answers change.

        The queries are the judged ones, and tasks of the latest attempts. They do not count as retrievals.

        Args:
            strictness: From 0, which hides no hits, to 10. 1 is the measured level.
        """
        check_strictness(strictness)
        return strictness_plan(self, strictness, asked_queries(self))

    aplan_strictness = twin(plan_strictness)

    def apply_strictness(self, plan: StrictnessPlan, *, reason: str = "") -> Operation:
        """Apply a plan, as one operation that can be undone. Searches of every process obey at once.

        Raises:
            PlanOutdated: The strictness was changed since.
            ReadOnlyStore: The store was opened for reading only.
        """
        check_strictness(plan.after)
        why = reason or f"strictness {plan.after:g}, before {plan.before:g}"
        with self.storage.one_at_a_time():
            if self.strictness() != plan.before:
                raise PlanOutdated(
                    f"the strictness was {plan.before:g} and is {self.strictness():g} now; nothing was changed. "
                    "Plan it again"
                )
            settings = self.storage.collection(COLLECTION).within("strictness", why)
            write_strictness(settings, self.experience.embedder.dimension, plan.after)
        assert settings.operation_id is not None  # `within` began it
        return self.storage.operation(settings.operation_id)

    aapply_strictness = twin(apply_strictness)


def asked_queries(memory: StrictMemories) -> tuple[AskedQuery, ...]:
    """Return queries of the store with the experiences that any strictness may show, to make plans of."""
    return tuple(_asked(memory, query) for query in islice(_queries(memory), N_QUERIES))


def strictness_plan(memory: StrictMemories, strictness: float, asked: Sequence[AskedQuery]) -> StrictnessPlan:
    """Return a plan from the results of queries, without a search.

    Args:
        asked: Result of `asked_queries`.
    """
    before = memory.strictness()
    own = {name: each for name, each in memory._memories.items() if isinstance(each, Memory)}
    costs = {name: each.level_costs(strictness) for name, each in own.items()}
    compared = [_compared(memory, each, before, strictness) for each in asked]
    changed = [query for query in compared if query.n_before != query.n_after]
    return StrictnessPlan(
        before=before,
        after=strictness,
        costs={name: known for name, known in costs.items() if known is not None},
        n_queries=len(asked),
        changed=tuple(sorted(changed, key=lambda query: bool(query.n_before and query.n_after))),
    )


def _queries(memory: StrictMemories) -> Iterator[str]:
    """Yield each query once: those that were judged, then tasks of the latest attempts."""
    rows = memory.experience.browse({"marks.buried": False}, limit=N_LOOKED_AT)
    of_task = {row["metadata"]["task_id"]: row["id"] for row in reversed(rows)}
    attempts = memory.experience.get_many(list(reversed(of_task.values()))[:N_QUERIES])
    judged = [judgement.query for judgement in memory.storage.judgements.all()]
    yield from dict.fromkeys([*judged, *(attempt.task.description for attempt in attempts)])


def _asked(memory: StrictMemories, query: str) -> AskedQuery:
    found = memory.experience.retrieve(query, 2 * N_HITS, threshold=0.0, count_retrieval=False)
    others = [hit for hit in found.hits if hit.item.task.description != query]
    best = others[0].item.task.description if others else ""
    return AskedQuery(query=query, hits=tuple(hit.of(hit.item.id) for hit in others), best=best)


def _compared(memory: StrictMemories, asked: AskedQuery, before: float, after: float) -> ChangedQuery:
    n_before, n_after = (
        min(memory.experience.n_shown(asked.query, asked.hits, each), N_HITS) for each in (before, after)
    )
    relevance = asked.hits[0].relevance if asked.hits else 0.0
    return ChangedQuery(query=asked.query, best=asked.best, relevance=relevance, n_before=n_before, n_after=n_after)
