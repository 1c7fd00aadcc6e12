"""The overview: how much is remembered, how well it went, where it lies, and what was done to it lately."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from atlas.core.statistics import Day as Day
from atlas.core.statistics import SuccessRate as SuccessRate
from atlas.core.statistics import growth
from atlas.importers.sample import load_sample, n_sample, remove_sample
from atlas.memory.system import MemorySystem
from atlas.views.history.operations import OperationRow, operation_rows
from atlas.views.shared.done import Done
from atlas.views.shared.rates import interval_text, rate_text
from atlas.views.shared.wording import NOT_SAID, OUTCOMES, counted, import_command
from atlas.views.strategies.overview import StrategyOverview, strategy_overview

GROUPS_SHOWN = 50
OPERATIONS_SHOWN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """The attempts that share a source."""

    name: str
    """As the source gives it: untrusted text."""

    n: int
    percent_succeeded: float | None
    """Of the known outcomes, in [0, 100]; None where none is known."""

    interval: str


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups, largest first."""

    shown: tuple[GroupRow, ...]
    n_more: int
    """Groups beyond those shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What the overview shows."""

    rate: SuccessRate
    days: tuple[Day, ...]
    sources: Groups
    facts: Mapping[str, str]
    """What the store is, by our own words for it."""

    operations: tuple[OperationRow, ...]
    n_sample: int
    """Experiences that are sample data."""

    n_concepts: int
    n_entries: int
    """Of the journal."""

    strategies: StrategyOverview

    import_command: str
    """What to type to fill the store."""


def overview(memory: MemorySystem) -> Overview:
    """The overview of a memory as it is now."""
    counts = memory.experience.values("outcome")
    return Overview(
        rate=SuccessRate.of(counts),
        days=growth(memory.experience.counts_by_day()),
        sources=_groups(memory, "source", counts),
        facts=_facts(memory),
        operations=operation_rows(memory, OPERATIONS_SHOWN),
        n_sample=n_sample(memory),
        n_concepts=memory.concepts.count(),
        n_entries=memory.journal.count(),
        strategies=strategy_overview(memory),
        import_command=import_command(memory),
    )


def rate_words(rate: SuccessRate) -> tuple[str, str]:
    """A success rate, and its interval with the number of attempts behind it; both empty where nothing is known."""
    if not rate.n_known:
        return "–", ""
    return rate_text(rate), f"{interval_text(rate)} (n = {rate.n_known:,})"


def groups_caption(groups: Groups, noun: str) -> str:
    """What a table of groups does not say itself; empty where it says everything."""
    return f"and {counted(groups.n_more, f'more {noun}')}" if groups.n_more else ""


def has_sample(directory: Path) -> bool:
    """Whether there is sample data to load."""
    return any(directory.glob("*.jsonl"))


def load_sample_data(memory: MemorySystem, directory: Path) -> Done | None:
    """Import the sample data; None where the store held all of it."""
    loaded = load_sample(memory, directory, memory.storage.settings)
    if loaded.operation_id is None:
        return None
    return Done(loaded.operation_id, f"Loaded {counted(loaded.added, 'experience')} of sample data")


def remove_sample_data(memory: MemorySystem) -> Done | None:
    """Delete the sample data and nothing else; None where there is none."""
    n_removed = n_sample(memory)
    operation_id = remove_sample(memory)
    return Done(operation_id, f"Removed the sample data, {counted(n_removed, 'experience')}") if operation_id else None


def _groups(memory: MemorySystem, key: str, totals: Mapping[str, int]) -> Groups:
    tallies: dict[str, dict[str, int]] = {}
    for outcome in OUTCOMES:
        named = memory.experience.values(key, {"outcome": outcome}) if totals.get(outcome) else {}
        for value, n in [*named.items(), (NOT_SAID, totals.get(outcome, 0) - sum(named.values()))]:
            tally = tallies.setdefault(str(value), {})
            tally[outcome] = tally.get(outcome, 0) + max(n, 0)
    groups = [_group(name, SuccessRate.of(tally)) for name, tally in tallies.items() if any(tally.values())]
    groups.sort(key=lambda group: (-group.n, group.name))
    return Groups(tuple(groups[:GROUPS_SHOWN]), max(0, len(groups) - GROUPS_SHOWN))


def _group(name: str, rate: SuccessRate) -> GroupRow:
    return GroupRow(
        name=name,
        n=rate.n,
        percent_succeeded=None if rate.share is None else 100 * rate.share,
        interval=interval_text(rate),
    )


def _facts(memory: MemorySystem) -> dict[str, str]:
    store = memory.storage
    facts = {"Size on disk": size_text(_n_bytes(store.path)), "Search index": _index_state(memory)}
    if store.model is not None:
        facts = {"Embedding model": f"{store.model.name}, {store.model.dimension} dimensions", **facts}
    return facts


def size_text(n_bytes: int) -> str:
    """`4.2 MB`."""
    return f"{n_bytes / 2**20:,.1f} MB" if n_bytes < 2**30 else f"{n_bytes / 2**30:,.1f} GB"


def _n_bytes(directory: Path) -> int:
    total = 0
    for path in directory.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:  # gone between being listed and being looked at
            continue
    return total


def _index_state(memory: MemorySystem) -> str:
    """How searches by meaning are answered now."""
    store, name = memory.storage, memory.experience.collection_name
    if store.model is None or store.collection(name).parts.nearest.is_exact():
        return "not needed: every vector is compared"
    position = store.ledger.position(name)
    seal = store.collection(name).parts.nearest.seal()
    if seal.ledger_id != position.ledger_id:
        return "not built: every vector is compared"
    n_behind = max(0, position.revision - seal.revision)
    return "up to date" if not n_behind else f"{counted(n_behind, 'change')} behind, which searches add themselves"
