"""The selection: how much of it is still there, how well it went, and what can be made of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from atlas.core.exchange import encode_line
from atlas.core.statistics import SuccessRate
from atlas.memory.base.records import RecordMemory
from atlas.memory.system import MemorySystem
from atlas.views.shared.kinds import Kind
from atlas.views.shared.rates import interval_text, rate_text
from atlas.views.shared.texts import Text, text_of
from atlas.views.shared.wording import counted, moment, signed

COMPARED = 4
"""Experiences that fit side by side."""

LISTED = 500
MANY = 5_000
TITLE_CHARACTERS = 300
EXPORT_BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A selection, as the store is now."""

    ids: tuple[str, ...]
    """Ids that are still there, in the order of their selection."""

    n_gone: int
    rate: SuccessRate
    tags: tuple[str, ...]
    """Tags that any of them has: untrusted text."""

    is_all_pinned: bool
    is_all_buried: bool
    sentence: str
    """`14 selected from lasso on the map`."""

    figures: str
    """How well they went, and how many are gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One of a few experiences that are shown side by side. All texts are untrusted."""

    id: str
    outcome: str
    """In words of our own."""

    facts: str
    """The same: when, and how many steps."""

    task: Text
    feedback: Text | None
    solution: Text | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenRow:
    """One line of the list of what is selected."""

    outcome: str
    task: str
    """Untrusted text."""

    id: str


def chosen(memory: MemorySystem, ids: Sequence[str], origin: str) -> Chosen:
    """Return what a selection is now.

    Args:
        ids: Those that were selected, of which some may be gone.
        origin: Where they were selected, in our own words.
    """
    outcomes = _outcomes(memory, ids)
    kept = tuple(record_id for record_id in ids if record_id in outcomes)
    rate = SuccessRate.of(Counter(outcomes[record_id] for record_id in kept))
    return _chosen(memory.experience, ids, kept, rate, origin)


def chosen_used(memory: MemorySystem, ids: Sequence[str], origin: str, kind: Kind) -> Chosen:
    """Return what a selection of concepts or strategies is now.

    Its rate is that of the tasks that they were used for.
    """
    records = kind.records(memory)
    there = records.titles(ids)
    kept = tuple(record_id for record_id in ids if record_id in there)
    usage = records.usage(kept).values()
    n_uses, n_successes = sum(used.n_uses for used in usage), sum(used.n_successes for used in usage)
    rate = SuccessRate(n_succeeded=n_successes, n_failed=n_uses - n_successes)
    return _chosen(records, ids, kept, rate, origin)


def _chosen(records: RecordMemory, ids: Sequence[str], kept: tuple[str, ...], rate: SuccessRate, origin: str) -> Chosen:
    marks = records.marks(kept).values()
    n_gone = len(ids) - len(kept)
    return Chosen(
        ids=kept,
        n_gone=n_gone,
        rate=rate,
        tags=tuple(dict.fromkeys(tag for held in marks for tag in held.tags)),
        is_all_pinned=bool(kept) and all(held.pinned for held in marks),
        is_all_buried=bool(kept) and all(held.buried for held in marks),
        sentence=f"{len(ids):,} selected from {origin}" if origin else f"{len(ids):,} selected",
        figures=_figures(rate, n_gone, len(kept)),
    )


def _outcomes(memory: MemorySystem, ids: Sequence[str]) -> dict[str, str]:
    """Return the outcomes of those that are there and perhaps of others: asking for many by name is slow."""
    return memory.experience.column("outcome", {"id": {"$in": list(ids)}} if len(ids) <= MANY else None)


def compared(memory: MemorySystem, ids: Sequence[str]) -> tuple[Compared, ...]:
    """Return the first few of these experiences, to be shown side by side."""
    found = [memory.experience.get(record_id) for record_id in ids[:COMPARED]]
    return tuple(
        Compared(
            id=experience.id,
            outcome=signed(experience.outcome.label),
            facts=f"{moment(experience.created_at)} · {counted(len(experience.steps), 'step')}",
            task=Text(experience.task.description),
            feedback=text_of(experience.feedback),
            solution=text_of(experience.solution_output),
        )
        for experience in found
        if experience is not None
    )


def chosen_rows(memory: MemorySystem, ids: Sequence[str]) -> tuple[ChosenRow, ...]:
    """Return the first of these experiences, as lines of a list."""
    shown = list(ids[:LISTED])
    titles = memory.experience.titles(shown)
    outcomes = memory.experience.column("outcome", {"id": {"$in": shown}})
    return tuple(
        ChosenRow(
            outcome=signed(outcomes.get(record_id, "unknown")), task=titles[record_id][:TITLE_CHARACTERS], id=record_id
        )
        for record_id in shown
        if record_id in titles
    )


def exported_lines(memory: MemorySystem, ids: Sequence[str]) -> bytes:
    """Return these experiences as JSONL, one a line, as `atlas import` reads them."""
    return "".join(_lines(memory, ids)).encode()


def _lines(memory: MemorySystem, ids: Sequence[str]) -> Iterator[str]:
    for start in range(0, len(ids), EXPORT_BATCH):
        for exported in memory.experience.export(ids[start : start + EXPORT_BATCH]):
            yield encode_line(exported) + "\n"


def _figures(rate: SuccessRate, n_gone: int, n_there: int) -> str:
    said = []
    if n_gone:
        said.append(f"{n_there:,} still there, {n_gone:,} gone since")
    if rate.n_known:
        said.append(f"{rate_text(rate)} succeeded ({interval_text(rate)}, n = {rate.n_known:,})")
    elif rate.n:
        said.append("outcomes unknown")
    return " · ".join(said)
