"""The list of strategies: a question, filters, an order and a page become rows that say how surely each works."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from atlas.core.hits import Hit
from atlas.core.operations import NO_MARKS
from atlas.core.statistics import SuccessRate
from atlas.core.types import Strategy
from atlas.memory.base.success_rates import Trend, credible_interval, lower_bound, trend
from atlas.memory.strategies.outcomes import StrategyRate
from atlas.memory.strategy_sources import tasks_without
from atlas.memory.system import MemorySystem
from atlas.views.charts.interval_bars import HEIGHT, TALL, interval_bar
from atlas.views.kinds.filters import known_tags
from atlas.views.lists.listing import (
    NEWEST,
    Listing,
    Question,
    Row,
    best_matches,
    explained,
    listed_caption,
    marks_text,
    on_page,
)
from atlas.views.shared.wording import counted, found_caption, percent
from atlas.views.strategies.titles import readable_title

SUREST, HIGHEST, MOST_TRIED = "Most reliable first", "Highest rate first", "Most tries first"

ORDERS = (SUREST, HIGHEST, MOST_TRIED, NEWEST, "Oldest first", "Title, A to Z")
"""Orders of the list. The most reliable has the highest lower end of the 95 % interval."""

STORED_ORDERS: Mapping[str, tuple[str, bool]] = {
    NEWEST: ("created_at", True),
    "Oldest first": ("created_at", False),
    "Title, A to Z": ("title", False),
}
"""Orders that the store sorts by: the key, and whether high values come first."""

ALL, READ, RETIRED = "All", "Read by agents", "Retired"
STATES = (ALL, READ, RETIRED)

BY_HAND = "by hand"
"""How a strategy was written that says nothing of what abstracted it."""

TEXT_CHARACTERS = 400

NOT_TRIED = "not tried yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyQuery(Question):
    """A person's question, and what narrows it."""

    written_by: tuple[Any, ...] = ()
    """Only these, or all if empty. The same holds for the next two."""

    domains: tuple[Any, ...] = ()
    tags: tuple[Any, ...] = ()
    state: str = ALL
    """One of `STATES`."""

    order: str = SUREST
    """One of `ORDERS`. A search has its own order."""

    @property
    def is_narrow(self) -> bool:
        """True if some strategies are left out."""
        return bool(self.written_by or self.domains or self.tags or self.state != ALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyOptions:
    """Values that narrow the list, with how many strategies have each, most frequent first. Untrusted text."""

    written_by: Mapping[Any, int]
    domains: Mapping[Any, int]
    tags: Mapping[Any, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyRow(Row):
    """One line of the list. Texts from the store are untrusted."""

    title: str
    situation: str
    suggestion: str
    succeeded: str
    """`36 % (25–48 %, n = 64)` of its tries, or `not tried yet`."""

    rate: float | None
    """Of the tries, in percent, or None if there is none."""

    n: int
    bar: str
    """A picture of the rate with its interval. Empty before any try."""

    trend: str
    without: str
    """The rate of attempts at its source tasks that were made without it, which its sources were."""

    n_sources: int
    retired: str
    """`by hand` or `by its outcomes`. Empty for one that agents are given."""

    written_by: str
    created_at: datetime | None
    """In UTC."""


def strategy_options(memory: MemorySystem) -> StrategyOptions:
    """Return the values that the list of strategies can be narrowed by."""
    bank = memory.strategies
    return StrategyOptions(written_by=bank.values("derived_by"), domains=bank.values("domain"), tags=known_tags(bank))


def search_strategies(memory: MemorySystem, query: StrategyQuery) -> tuple[Hit[Strategy], ...]:
    """Return everything that answers a question, best first, at most `SEARCH_ROWS`."""
    found = best_matches(memory.strategies, query.text, _where(memory, query), with_irrelevant=query.with_irrelevant)
    return tuple(found.hits)


def found_strategies(
    memory: MemorySystem, query: StrategyQuery, found: Sequence[Hit[Strategy]], page: int = 1
) -> Listing[StrategyRow]:
    """Return one page of what a search found, counted from 1."""
    rows = strategy_rows(memory, explained(on_page(found, page)))
    return Listing(rows=rows, n=len(found), caption=_search_caption(memory, query, len(found)))


def listed_strategies(memory: MemorySystem, query: StrategyQuery, page: int = 1) -> Listing[StrategyRow]:
    """Return one page of the list without a question, counted from 1."""
    where = _where(memory, query)
    ids = ordered_ids(memory, query.order, where)
    shown = memory.strategies.get_many(on_page(ids, page))
    return Listing(
        rows=strategy_rows(memory, [(strategy, None, "") for strategy in shown]),
        n=len(ids),
        caption=listed_caption(len(ids), memory.strategies.count(), "strategy", is_narrow=query.is_narrow),
    )


def similar_strategies(memory: MemorySystem, strategy_id: str, k: int = 8) -> tuple[StrategyRow, ...]:
    """Return the strategies whose situations are nearest to that of one."""
    return strategy_rows(memory, explained(memory.strategies.similar(strategy_id, k, with_buried=True)))


def ordered_ids(memory: MemorySystem, order: str, where: Mapping[str, Any] | None = None) -> list[str]:
    """Return the ids of strategies that pass a filter, in one of `ORDERS`.

    An order by tries puts strategies that were never tried last, the newest of them first.
    """
    if order in STORED_ORDERS:
        order_by, descending = STORED_ORDERS[order]
        return [row["id"] for row in memory.strategies.browse(where, order_by=order_by, descending=descending)]
    ids = [row["id"] for row in memory.strategies.browse(where)]
    n_uses = memory.strategies.column("usage.n_uses", where)
    n_good = memory.strategies.column("usage.n_successes", where)
    tried = [record_id for record_id in ids if n_uses.get(record_id)]
    tried.sort(key=lambda record_id: _WORTH[order](n_good.get(record_id, 0), n_uses[record_id]), reverse=True)
    return tried + [record_id for record_id in ids if not n_uses.get(record_id)]


def strategy_rows(memory: MemorySystem, found: Sequence[tuple[Strategy, float | None, str]]) -> tuple[StrategyRow, ...]:
    """Return lines of a list: strategies, each with its relevance to a question and why it stands where it does."""
    strategies = [strategy for strategy, _, _ in found]
    ids = [strategy.id for strategy in strategies]
    marks, rates = memory.strategies.marks(ids), memory.strategies.rates(ids)
    uses, without = memory.strategies.attempts_of(ids), tasks_without(memory.strategies, memory.experience, strategies)
    return tuple(
        StrategyRow(
            id=one.id,
            title=readable_title(one.title),
            situation=" ".join(one.situation[:TEXT_CHARACTERS].split()),
            suggestion=" ".join(one.suggestion[:TEXT_CHARACTERS].split()),
            succeeded=tries_text(rates[one.id]),
            rate=100 * rates[one.id].n_succeeded / rates[one.id].n if rates[one.id].n else None,
            n=rates[one.id].n,
            bar=rate_bar(rates[one.id], height=TALL),
            trend=trend_text(trend([use.success for use in uses[one.id]])),
            without=without_text(without[one.id]),
            n_sources=len(one.sources),
            retired=rates[one.id].retired,
            written_by=written_by(one),
            created_at=one.created_at.astimezone(UTC) if one.created_at else None,
            marks=marks_text(marks.get(one.id, NO_MARKS)),
            relevance=relevance,
            why=why,
        )
        for one, relevance, why in found
        if one.id in rates
    )


def tries_text(rate: StrategyRate) -> str:
    """Return `36 % (25–48 %, n = 64)`, or `not tried yet`."""
    return share_text(rate.n_succeeded, rate.n) or NOT_TRIED


def share_text(n_succeeded: int, n: int) -> str:
    """Return `36 % (25–48 %, n = 64)` with the interval that strategies are judged by. Empty without an attempt."""
    if not n:
        return ""
    interval = credible_interval(n_succeeded, n)
    return f"{percent(n_succeeded / n)} ({interval.low * 100:.0f}–{percent(interval.high)}, n = {n:,})"


def without_text(rate: SuccessRate) -> str:
    """Return `50 % (15–85 %, n = 4)`, or an empty text without an attempt of known outcome."""
    return share_text(rate.n_succeeded, rate.n_known)


def trend_text(found: Trend | None) -> str:
    """Return `↗ 40 to 80 %`, with a level arrow if the change may be chance. Empty after too few tries."""
    if found is None:
        return ""
    sign = {1: "↗", 0: "→", -1: "↘"}[found.direction]
    return f"{sign} {found.before * 100:.0f} to {percent(found.recent)}"


def written_by(strategy: Strategy) -> str:
    """Return `template`, the name of a language model, or `by hand`. It is untrusted text."""
    return str(strategy.metadata.get("derived_by") or BY_HAND)


def _where(memory: MemorySystem, query: StrategyQuery) -> dict[str, Any]:
    """Return the filter as the store takes it."""
    wanted = {"derived_by": query.written_by, "domain": query.domains, "marks.tags": query.tags}
    where: dict[str, Any] = {key: {"$in": list(values)} for key, values in wanted.items() if values}
    if query.state != ALL:
        retired = memory.strategies.retired()
        is_shown = retired.__contains__ if query.state == RETIRED else lambda one: one not in retired
        where["id"] = {"$in": [one for one in memory.strategies.ids() if is_shown(one)]}
    return where


_WORTH: Mapping[str, Callable[[int, int], tuple[float, ...]]] = {
    SUREST: lambda n_succeeded, n: (lower_bound(n_succeeded, n),),
    HIGHEST: lambda n_succeeded, n: (n_succeeded / n, n),
    MOST_TRIED: lambda n_succeeded, n: (n, n_succeeded),
}
"""Ranks of strategies with tries, from their successes and tries. High ones come first."""


def rate_bar(rate: StrategyRate, *, height: int = HEIGHT) -> str:
    """Return a picture of the rate of the tries. Empty before any."""
    return interval_bar(rate.interval, rate.n_succeeded / rate.n, height=height) if rate.n else ""


def _search_caption(memory: MemorySystem, query: StrategyQuery, n_found: int) -> str:
    among = counted(memory.strategies.count(_where(memory, query)), "strategy")
    return found_caption(n_found, among, with_irrelevant=query.with_irrelevant)
