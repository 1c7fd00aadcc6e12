"""The records of a plan as rows of a table, with what sets alike titles apart and the tasks that need them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from atlas.memory.experience.pruning import CHOSEN
from atlas.views.kinds.columns import Column, Columns
from atlas.views.lists.queries import Row
from atlas.views.shared.plans import CurationLoss, PlanRow, PlanView
from atlas.views.shared.wording import counted, signed

ALIKE = 0.5
"""Least share of common words, in [0, 1], of titles that are compared word by word."""

HOW_MEASURED = (
    "The task of each record that would leave is searched for twice, with the record and without it. A task loses its "
    "best record if no record that is as good is found in its place."
)

_WORD = re.compile(r"[\w'’.:/-]*\w")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLine(Row):
    """One record of a plan. Title, difference and reason are untrusted."""

    title: str
    sign: str
    """`goes` or `stays`."""

    outcomes: tuple[str, ...]
    at: datetime | None
    difference: str
    """The words of its title that alike titles do not share, or empty if none is alike."""

    needed_by: str
    """The number of tasks that it is the best record for, as `2 tasks`, or empty."""

    why: str = ""


def loss_sentence(loss: CurationLoss) -> str:
    """Return what tasks would lose, for a person who has not read how it is measured."""
    task = "sampled task" if loss.is_sampled else "task"
    if not loss.n_tasks:
        return "No task depends on these."
    if not loss.lost:
        return f"For {_every(loss.n_tasks, task)} agents would still find a record that is as good."
    n = len(loss.lost)
    one, them = (
        ("One of these is the best record", "it") if n == 1 else (f"{n:,} of these are the best records", "them")
    )
    best = f"{one} for {loss.n_losing:,} of {counted(loss.n_tasks, task)}"
    return f"{best}. Without {them}, agents find nothing as good."


def keeping_label(loss: CurationLoss, n_going: int) -> str:
    """Return `Keep 4, remove 11`: the choice that keeps the records that tasks need."""
    n_left = n_going - len(loss.lost)
    return f"Keep {len(loss.lost):,}" + (f", remove {n_left:,}" if n_left > 0 else "")


def _every(n: int, noun: str) -> str:
    return f"the {noun}" if n == 1 else f"all {counted(n, noun)}"


def plan_lines(view: PlanView, rows: Sequence[PlanRow]) -> tuple[PlanLine, ...]:
    """Return the lines of some rows of a plan. In a table of removals, records that tasks need come first."""
    needed = {record.id: len(record.tasks) for record in view.loss.lost} if view.loss is not None else {}
    if all(row.goes for row in rows):
        rows = sorted(rows, key=lambda row: -needed.get(row.id, 0))
    differences = distinct_words([row.title for row in rows])
    return tuple(
        PlanLine(
            id=row.id,
            title=row.title,
            sign="goes" if row.goes else "stays",
            outcomes=(signed(row.outcome),) if row.outcome else (),
            at=row.at.astimezone(UTC) if row.at else None,
            difference=difference,
            needed_by=f"best for {counted(needed[row.id], 'task')}" if needed.get(row.id) else "",
            why=row.why,
        )
        for row, difference in zip(rows, differences, strict=True)
    )


def plan_columns(lines: Sequence[PlanLine], subject: str) -> Columns:
    """Return the columns that tell lines apart, given the heading of their titles."""
    columns = (
        (Column("sign", "", 50), len({line.sign for line in lines}) > 1),
        (Column("outcomes", "Outcome", 105, "outcomes"), any(line.outcomes for line in lines)),
        (Column("needed_by", "Advised to keep", 130, "badge"), any(line.needed_by for line in lines)),
        (Column("title", subject, 400), True),
        (Column("difference", "What differs", 230, "badge"), any(line.difference for line in lines)),
        (Column("why", "Why", 300), any(line.why not in ("", CHOSEN) for line in lines)),
        (Column("at", "When (UTC)", 135, "time"), any(line.at for line in lines)),
    )
    return [column for column, is_shown in columns if is_shown]


def distinct_words(titles: Iterable[str]) -> list[str]:
    """Return for each title the words that alike titles do not share: `77404 · 02:40`, or an empty string."""
    words = [_WORD.findall(title) for title in titles]
    groups: list[list[int]] = []
    for number, found in enumerate(words):
        group = next((group for group in groups if _are_alike(words[group[0]], found)), None)
        if group is None:
            groups.append([number])
        else:
            group.append(number)
    shared = {number: set(words[group[0]]).intersection(*(words[other] for other in group))
              for group in groups for number in group}  # fmt: skip
    return [" · ".join(_runs(found, shared[number])) for number, found in enumerate(words)]


def _are_alike(first: Sequence[str], second: Sequence[str]) -> bool:
    either = {*first, *second}
    return bool(either) and len({*first} & {*second}) >= ALIKE * len(either)


def _runs(words: Sequence[str], shared: set[str]) -> Iterator[str]:
    """Yield the words that are not shared, those together that follow each other."""
    run: list[str] = []
    for word in [*words, ""]:
        if word and word not in shared:
            run.append(word)
        elif run:
            yield " ".join(run)
            run = []
