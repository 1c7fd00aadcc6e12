"""Findings at the head of the lists of records that agents use."""

from __future__ import annotations

from collections import Counter

from atlas.core.statistics import credible_interval
from atlas.memory.system import MemorySystem
from atlas.views.kinds.kind import Kind
from atlas.views.kinds.uses import WORSE, use_rates, worse_than
from atlas.views.kinds.verdicts import CLEARLY_WORSE, FAILING, MIXED, NOT_CLEAR, WORKS
from atlas.views.lists.queries import Count, Narrowing, Query
from atlas.views.shared.rates import NOT_USED, verdict_of
from atlas.views.shared.wording import look_at

RETIRED = "retired"

COUNTED = {
    WORKS: "mostly work",
    NOT_CLEAR: NOT_CLEAR,
    MIXED: MIXED,
    FAILING: "mostly fail",
    NOT_USED: NOT_USED,
    RETIRED: RETIRED,
}
"""Words for several records of a verdict, in the order of the head of a list. A button counts those clearly worse."""


def count_with_uses(memory: MemorySystem, kind: Kind, query: Query) -> Count:
    """Return the number of records. Of all records, also how sure it is that they work, and what to look at first."""
    n = kind.records(memory).count(query.where)
    if query.where or not n:
        return Count(n)
    records = kind.records(memory)
    retired = set(kind.left_out(memory))
    rates, worse = use_rates(records), worse_than(records, retired)
    if not rates:
        return Count(n, "none was used yet")
    verdicts = Counter(verdict_of(credible_interval(rate.n_succeeded, rate.n_known), rate.n_known)
                       for each, rate in rates.items() if each not in worse and each not in retired)  # fmt: skip
    verdicts[NOT_USED] = n - len(rates.keys() | retired)
    verdicts[RETIRED] = len(retired)
    note = " · ".join(_counted(each, verdicts[each]) for each in COUNTED if verdicts[each])
    return Count(n, note, _narrowing(len(worse)) if worse else None)


def _counted(verdict: str, n: int) -> str:
    return f"{n:,} {verdict if n == 1 else COUNTED[verdict]}"


def _narrowing(n_worse: int) -> Narrowing:
    """Return the records that do clearly worse than the others as the first to look at."""
    return Narrowing(f"{n_worse:,} {CLEARLY_WORSE}: {look_at(n_worse)}", "state", WORSE)
