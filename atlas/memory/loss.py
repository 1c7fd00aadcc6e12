"""The loss to agents if some records leave the searches, as plans carry it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from atlas.core.tables import TableRow, Tabular


@dataclass(frozen=True, slots=True, kw_only=True)
class LostRecord:
    """A record that is the best for some tasks, with no equally good record to replace it."""

    id: str
    title: str
    """Untrusted text, like the tasks."""

    tasks: tuple[str, ...]
    """Descriptions of these tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurationLoss(Tabular):
    """The loss to agents if some records are no longer found, measured by replaying the tasks of these records.

    A record is right for a task if it is an attempt at it, was drawn from one, was used at it with success, or was
    judged right for its text.
    """

    n_leaving: int
    """Records that would leave the searches."""

    n_sampled: int
    """Records among them whose tasks were replayed."""

    n_known: int
    """Distinct tasks of the sampled records, and queries that they were judged right for."""

    n_tasks: int
    """Tasks among them that were replayed."""

    n_losing: int
    """Tasks among these that lose their best record."""

    lost: tuple[LostRecord, ...]
    """Records to keep: successes first, then those that most tasks lose."""

    n_in_hits: int
    """Right records in the hits of these tasks now, one for each task that finds it."""

    n_lost_from_hits: int
    n_in_blocks: int
    """The same for the context blocks of these tasks."""

    n_lost_from_blocks: int

    words: tuple[str, ...]
    """Words in the full texts of the records in the blocks of these tasks now that the texts of later blocks lack."""

    conditions: tuple[str, ...]
    """Sentences lost like them that state a condition: with *if*, *unless*, *only*, *never* and the like."""

    unproven: tuple[str, ...] = ()
    """Names of proven concepts that would leave, or of whose attempts none would stay to prove them again."""

    @property
    def ids_to_keep(self) -> tuple[str, ...]:
        """The ids of the records to keep, so that no replayed task loses its best record."""
        return tuple(record.id for record in self.lost)

    @property
    def sentence(self) -> str:
        """The figure in words, without texts of records: `2 of 31 tasks lose their best record`."""
        return losing_sentence(self.n_losing, self.n_tasks, noun="sampled task" if self.is_sampled else "task")

    @property
    def is_sampled(self) -> bool:
        """True if not all tasks of all these records were replayed."""
        return self.n_sampled < self.n_leaving or self.n_tasks < self.n_known

    @property
    def details(self) -> tuple[str, ...]:
        """Further losses, in sentences without texts of records."""
        if not self.n_tasks:
            return self._proofs
        sampling = (
            f"Sampled: {self.n_tasks:,} of {_counted(self.n_known, 'task')} of {self.n_sampled:,} of "
            f"{_counted(self.n_leaving, 'record')}."
        )
        return (
            *([sampling] if self.is_sampled else []),
            f"Right records lost: {self.n_lost_from_hits:,} of {self.n_in_hits:,} in hits, "
            f"{self.n_lost_from_blocks:,} of {self.n_in_blocks:,} in context blocks.",
            f"Evidence lost from the blocks: {_counted(len(self.words), 'word')} and "
            f"{_counted(len(self.conditions), 'condition')}.",
            *self._proofs,
        )

    @property
    def _proofs(self) -> tuple[str, ...]:
        n = len(self.unproven)
        return (f"{_counted(n, 'proven concept')} would not be proven any more.",) if n else ()

    def _caption(self) -> str:
        return self.sentence

    def _rows(self) -> Iterator[TableRow]:
        for record in self.lost:
            yield {"record to keep": record.title, "tasks": "; ".join(record.tasks)}


NO_LOSS = CurationLoss(
    n_losing=0,
    n_leaving=0,
    n_sampled=0,
    n_known=0,
    n_tasks=0,
    lost=(),
    n_in_hits=0,
    n_lost_from_hits=0,
    n_in_blocks=0,
    n_lost_from_blocks=0,
    words=(),
    conditions=(),
)
"""The loss if no record leaves."""


class MeasuredPlan(Protocol):
    """A plan after which searches do not find some records."""

    memory: ClassVar[str]
    """Name of the memory."""

    @property
    def leaving(self) -> Mapping[str, str]:
        """The ids of these records, each with the id of the record that it is merged into, or an empty text."""
        ...

    @property
    def loss(self) -> CurationLoss | None:
        """Loss to agents, or None if it was not measured."""
        ...


def losing_sentence(n_losing: int, n_tasks: int, *, noun: str = "task") -> str:
    """Return how many tasks lose their best record: `2 of 31 tasks lose their best record`."""
    if not n_tasks:
        return f"no {noun} to replay"
    verb = "loses its" if n_losing == 1 else "lose their"
    return f"{n_losing:,} of {_counted(n_tasks, noun)} {verb} best record"


def with_loss(reason: str, loss: CurationLoss | None) -> str:
    """Return the reason of a plan for the history, with the loss if it was measured."""
    return reason if loss is None or not loss.n_leaving else "; ".join(filter(None, (reason, loss.sentence)))


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
