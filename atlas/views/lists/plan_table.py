"""The records of a plan as rows of a table, with what sets alike titles apart and the tasks that need them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from atlas.core.statistics import SuccessRate
from atlas.maps.domains import UNCLUSTERED
from atlas.maps.map import MemoryMap
from atlas.memory.experience.pruning import CHOICE_REASON
from atlas.memory.system import MemorySystem
from atlas.views.kinds.columns import Column, Columns
from atlas.views.kinds.titles import task_title
from atlas.views.lists.queries import Row
from atlas.views.shared.plans import N_FIGURE, RATE_FIGURE, CurationLoss, Figure, Offer, PlanRow
from atlas.views.shared.rates import rate_line, rate_of_rest
from atlas.views.shared.wording import counted, outcome_with_sign

ALIKE = 0.5
"""Least share of common words, in [0, 1], of titles that are compared word by word."""

NAMED_DOMAINS = 3
"""Most domains that have a row of their own."""

HOW_MEASURED = (
    "The task of each record that would leave is searched for twice, with the record and without it. A task loses its "
    "best record if no record that is as good is found in its place."
)

_ELLIPSES = re.compile(r"…(\W*…)+")
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
    """The words after its title that similar tasks do not share, or empty if there are none."""

    advice: str
    """`stays: best for 2 tasks`, or `goes, though best for 2 tasks`, or empty if no task needs it."""

    why: str = ""

    @property
    def facts(self) -> tuple[str, ...]:
        """The advice, which stands below the title."""
        return (self.advice,) if self.advice else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectRow(Row):
    """The change that a plan makes to a group of records. The name may be that of a domain, which is untrusted."""

    name: str
    experiences: str
    """`17 → 6`, or `unchanged`."""

    rate: str = ""
    """`25% of 16 (likely 10–49%)`, or empty if nothing changes."""

    rate_afterwards: str = ""
    """`50% of 4 (likely 15–85%), too few to judge`."""


EFFECT_COLUMNS = (
    Column("name", "Domain", 150),
    Column("experiences", N_FIGURE, 80),
    Column("rate", RATE_FIGURE, 160),
    Column("rate_afterwards", "Rate afterwards", 262),
)


def loss_words(loss: CurationLoss) -> str:
    """Return what tasks would lose: `2 of 31 tasks lose their best record`."""
    if loss.lost:
        return loss.sentence
    task = "sampled task" if loss.is_sampled else "task"
    return f"no {task} loses its best record" if loss.n_tasks else "no task depends on these"


def first_rows(offer: Offer, rows: Sequence[PlanRow], limit: int) -> Sequence[PlanRow]:
    """Return the first rows of a plan. Of removals, those that tasks need come first, then those that succeeded."""
    needed = _needed(offer)
    if all(row.goes for row in rows):
        rows = sorted(rows, key=lambda row: (-needed.get(row.id, 0), row.outcome != "succeeded"))
    return rows[:limit]


def _needed(offer: Offer) -> Mapping[str, int]:
    """Return the number of tasks whose best record it is, for each record of a plan that is one."""
    losses = [plan.view.loss for plan in (offer.whole, offer.plan)]
    return {record.id: len(record.tasks) for loss in losses if loss is not None for record in loss.lost}


def plan_lines(offer: Offer, rows: Sequence[PlanRow]) -> tuple[PlanLine, ...]:
    """Return rows of a plan as lines.

    Titles are whole, unless all tasks share the text after them, which `shared_text` returns.
    """
    needed = _needed(offer)
    tasks = [task_title(row.title) for row in rows]
    differences, is_shared = distinct_words([task.rest for task in tasks]), bool(shared_text(rows))
    return tuple(
        PlanLine(
            id=row.id,
            title=task.title if is_shared else row.title,
            sign="goes" if row.goes else "stays",
            outcomes=(outcome_with_sign(row.outcome),) if row.outcome else (),
            at=row.at.astimezone(UTC) if row.at else None,
            difference=difference,
            advice=_advice(needed.get(row.id, 0), is_kept=row.id in offer.kept),
            why=row.why,
        )
        for row, task, difference in zip(rows, tasks, differences, strict=True)
    )


def shared_text(rows: Sequence[PlanRow]) -> str:
    """Return the text after the titles of all tasks, with `…` for words that differ, or an empty string."""
    texts = [task_title(row.title).rest for row in rows]
    words = [_WORD.findall(text) for text in texts]
    if len(rows) < 2 or not all(words) or not all(_are_alike(words[0], other) for other in words):
        return ""
    shared = set(words[0]).intersection(*words)
    return _ELLIPSES.sub("…", _WORD.sub(lambda word: word.group() if word.group() in shared else "…", texts[0]))


def _advice(n_tasks: int, *, is_kept: bool) -> str:
    best = f"best for {counted(n_tasks, 'task')}"
    return "" if not n_tasks else f"stays: {best}" if is_kept else f"goes, though {best}"


def effect_rows(
    memory_map: MemoryMap, ids: Collection[str], succeeded: Mapping[str, bool], figures: Sequence[Figure]
) -> tuple[EffectRow, ...]:
    """Return what would change in all and in each domain of the map, or nothing if no record of the map would leave.

    Args:
        memory_map: The map of all records.
        ids: The records that would leave.
        succeeded: Known outcomes, keyed by record id.
        figures: Number and success rate of all records, if they are known.
    """
    groups: dict[int, list[str]] = defaultdict(list)
    for record_id, number in zip(memory_map.ids, memory_map.labels.tolist(), strict=True):
        groups[number].append(record_id)
    n_leaving = {number: sum(member in ids for member in members) for number, members in groups.items()}
    domains = sorted(memory_map.domains, key=lambda domain: -n_leaving.get(domain.number, 0))
    losing = [domain for domain in domains if n_leaving.get(domain.number)]
    named = [(domain.name, groups[domain.number]) for domain in losing[:NAMED_DOMAINS]]
    if more := losing[NAMED_DOMAINS:]:
        members = [member for domain in more for member in groups[domain.number]]
        named.append((f"{counted(len(more), 'other domain')} together", members))
    if n_leaving.get(UNCLUSTERED):
        named.append(("In no domain", groups[UNCLUSTERED]))
    if not named:
        return ()
    rows = [
        _effect_row(f"domain {index}", name, members, ids, succeeded) for index, (name, members) in enumerate(named)
    ]
    if n_same := len(domains) - len(losing):
        others = "The other domain" if n_same == 1 else f"The other {n_same:,} domains"
        rows.append(EffectRow(id="same", name=others, experiences="unchanged"))
    totals = {figure.name: figure for figure in figures}
    if not totals:
        return tuple(rows)
    number, rate = totals[N_FIGURE], totals[RATE_FIGURE]
    total = EffectRow(id="all", name="All", experiences=f"{number.before} → {number.value}", rate=rate.before,
                      rate_afterwards=rate.value)  # fmt: skip
    return (total, *rows)


def known_outcomes(memory: MemorySystem) -> dict[str, bool]:
    """Return whether each experience of known outcome succeeded, keyed by id."""
    return {record_id: bool(value) for record_id, value in memory.experience.column("success").items()}


def _effect_row(
    row_id: str, name: str, members: Sequence[str], leaving: Collection[str], succeeded: Mapping[str, bool]
) -> EffectRow:
    staying = [member for member in members if member not in leaving]
    return EffectRow(
        id=row_id,
        name=name,
        experiences=f"{len(members):,} → {len(staying):,}",
        rate=rate_line(_rate(members, succeeded)),
        rate_afterwards=rate_of_rest(_rate(staying, succeeded)),
    )


def _rate(ids: Sequence[str], succeeded: Mapping[str, bool]) -> SuccessRate:
    outcomes = Counter(succeeded.get(record_id) for record_id in ids)
    return SuccessRate(n_succeeded=outcomes[True], n_failed=outcomes[False], n_unknown=outcomes[None])


def plan_columns(lines: Sequence[PlanLine], subject: str) -> Columns:
    """Return the columns that tell lines apart, given the heading of their titles."""
    is_alike = 2 * sum(bool(line.difference) for line in lines) >= len(lines)
    columns = (
        (Column("sign", "", 65, "badge"), len({line.sign for line in lines}) > 1),
        (Column("outcomes", "Outcome", 105, "outcomes"), any(line.outcomes for line in lines)),
        (Column("title", subject, 400, "task" if subject == "Task" else "text"), True),
        (Column("difference", "What differs", 150, "badge"), is_alike),
        (Column("why", "Why", 300), any(line.why not in ("", CHOICE_REASON) for line in lines)),
        (Column("at", "When (UTC)", 135, "time"), any(line.at for line in lines)),
    )
    return [column for column, is_shown in columns if is_shown]


def distinct_words(texts: Iterable[str]) -> list[str]:
    """Return for each text the words that alike texts do not share, after the word before: `limit 900`, or nothing."""
    words = [_WORD.findall(text) for text in texts]
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
    """Yield the words that are not shared, those together that follow each other, after the word before them."""
    run: list[str] = []
    for before, word in pairwise(["", *words, ""]):
        if word and word not in shared:
            run = [*(run or filter(None, [before])), word]
        elif run:
            yield " ".join(run)
            run = []
