"""The loss to agents if some records are no longer found. Plans that remove records contain this loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from atlas.core.tables import TableRow, Tabular


@dataclass(frozen=True, slots=True, kw_only=True)
class LostRecord:
    """A record that is the best one for some tasks, and that no equally good record replaces."""

    id: str
    title: str
    """Untrusted text, like the tasks."""

    tasks: tuple[str, ...]
    """Descriptions of the tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurationLoss(Tabular):
    """The loss to agents if searches no longer find some records, measured by replaying the tasks of these records.

    A record is right for a task if it is an attempt at the task or was derived from one, if a successful attempt at the
    task used it, or if it was judged right for the task's text.
    """

    n_removed: int
    """Number of records that would leave the searches."""

    n_sampled: int
    """Number of these records whose tasks were replayed."""

    n_known: int
    """Number of distinct tasks and judged queries of the sampled records."""

    n_tasks: int
    """Number of these tasks that were replayed."""

    n_losing: int
    """Number of replayed tasks that lose their best record."""

    lost: tuple[LostRecord, ...]
    """Records to keep so that no task loses its best record. They are few, with successes first."""

    n_in_hits: int
    """Number of right records in the current hits of the replayed tasks, counted once for each task."""

    n_lost_from_hits: int
    n_in_blocks: int
    """Number of right records in the current context blocks of the replayed tasks, counted once for each task."""

    n_lost_from_blocks: int

    words: tuple[str, ...]
    """Words of the current context blocks that are missing from the blocks without the removed records."""

    conditions: tuple[str, ...]
    """Sentences missing from these blocks that state a condition, with words such as *if*, *unless* or *never*."""

    unproven: tuple[str, ...] = ()
    """Names of proven concepts that would leave, or that no remaining attempt could prove again."""

    @property
    def ids_to_keep(self) -> tuple[str, ...]:
        """The ids of the records to keep so that no replayed task loses its best record."""
        return tuple(record.id for record in self.lost)

    @property
    def sentence(self) -> str:
        """The loss in words, without texts of records: `2 of 31 tasks lose their best record`."""
        return describe_loss(self.n_losing, self.n_tasks, noun="sampled task" if self.is_sampled else "task")

    @property
    def is_sampled(self) -> bool:
        """True if only some of the records' tasks were replayed."""
        return self.n_sampled < self.n_removed or self.n_tasks < self.n_known

    @property
    def details(self) -> tuple[str, ...]:
        """Sentences about sampling, lost hits, lost evidence and unproven concepts, without texts of records."""
        if not self.n_tasks:
            return self._unproven_sentences
        sampling = (
            f"Sampled: {self.n_tasks:,} of {_count_noun(self.n_known, 'task')} of {self.n_sampled:,} of "
            f"{_count_noun(self.n_removed, 'record')}."
        )
        return (
            *([sampling] if self.is_sampled else []),
            f"Right records lost: {self.n_lost_from_hits:,} of {self.n_in_hits:,} in hits, "
            f"{self.n_lost_from_blocks:,} of {self.n_in_blocks:,} in context blocks.",
            f"Evidence lost from the blocks: {_count_noun(len(self.words), 'word')} and "
            f"{_count_noun(len(self.conditions), 'condition')}.",
            *self._unproven_sentences,
        )

    @property
    def _unproven_sentences(self) -> tuple[str, ...]:
        n_unproven = len(self.unproven)
        return (f"{_count_noun(n_unproven, 'proven concept')} would no longer be proven.",) if n_unproven else ()

    def _caption(self) -> str:
        return self.sentence

    def _rows(self) -> Iterator[TableRow]:
        for record in self.lost:
            yield {"record to keep": record.title, "tasks": "; ".join(record.tasks)}


NO_LOSS = CurationLoss(
    n_losing=0,
    n_removed=0,
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
"""The loss if no record leaves the searches."""


class MeasuredPlan(Protocol):
    """A plan that removes records from searches, so that its loss can be measured."""

    memory: ClassVar[str]
    """Name of the memory."""

    @property
    def replacements(self) -> Mapping[str, str]:
        """Id of the record that a removed one is merged into, or an empty string, keyed by the removed one's id."""
        ...

    @property
    def loss(self) -> CurationLoss | None:
        """Loss to agents, or None if it was not measured."""
        ...


def describe_loss(n_losing: int, n_tasks: int, *, noun: str = "task") -> str:
    """Return a sentence such as `2 of 31 tasks lose their best record`."""
    if not n_tasks:
        return f"no {noun} to replay"
    verb = "loses its" if 1 in (n_losing, n_tasks) else "lose their"
    return f"{n_losing:,} of {_count_noun(n_tasks, noun)} {verb} best record"


def reason_with_loss(reason: str, loss: CurationLoss | None) -> str:
    """Return a plan's reason for the history, with its loss added if it was measured."""
    if loss is None or not loss.n_removed:
        return reason
    return "; ".join(filter(None, (reason, loss.sentence)))


def _count_noun(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
