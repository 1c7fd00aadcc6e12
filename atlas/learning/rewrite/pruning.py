"""Pruning of functions that do not pay: minimum description length, with the library counted."""

from __future__ import annotations

from collections.abc import Mapping

from atlas.learning.analysis.functions import Function
from atlas.learning.rewrite.lengths import Lengths
from atlas.learning.rewrite.shelf import Shelf, users
from atlas.learning.search.limits import IsCancelled, Limits


def prune(
    shelf: Shelf, functions: Mapping[str, Function], tasks: Mapping[str, str], limits: Limits, cancelled: IsCancelled
) -> dict[str, int]:
    """Take off what is too small, too rare, or does not pay, the worst first, and return the saving of each that stays.

    Args:
        tasks: The task of each program.
    """
    lengths = Lengths(shelf, functions)
    savings: dict[str, int] = {}
    callers = shelf.callers()
    used = users(shelf)
    rare = {name for name, programs in used.items() if len({tasks[each] for each in programs}) < limits.min_tasks}
    while True:
        for name in shelf.patterns:
            cancelled()
            if name not in savings:
                savings[name] = lengths.saving(name, callers[name])
        small = {name for name in shelf.patterns if lengths.body_of(name) < limits.min_body_tokens}
        dropped = rare | small | {name for name, saving in savings.items() if saving <= 0}
        worst = min(dropped & savings.keys(), key=lambda name: (savings[name], name), default=None)
        if worst is None:
            return savings
        changed, sharing = callers[worst], lengths.sharing_imports(worst)
        shelf.inline([worst])
        callers = shelf.callers()
        for caller in changed:  # what they call, and they themselves, save something else now
            for name in (caller, *shelf.term(caller).calls):
                savings.pop(name, None)
        for name in sharing | {worst}:
            savings.pop(name, None)
