"""Pruning of functions by minimum description length, which includes the length of the library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from atlas.learning.analysis.functions import Function, function_body
from atlas.learning.rewrite.gates import FunctionBody, FunctionUsage, body_problem, usage_problem
from atlas.learning.rewrite.lengths import Lengths
from atlas.learning.rewrite.workspace import Workspace, programs_by_pattern
from atlas.learning.search.limits import Limits, RaiseIfCancelled
from atlas.learning.terms.patterns import Pattern


def prune(
    workspace: Workspace,
    functions: Mapping[str, Function],
    tasks: Mapping[str, str],
    limits: Limits,
    raise_if_cancelled: RaiseIfCancelled,
    refused: Counter[str],
) -> dict[str, int]:
    """Remove functions that fail a gate, the worst first. Return the savings of the others in tokens, keyed by name.

    Args:
        tasks: The task of each program.
        refused: Counter of removed functions, keyed by reason, which is updated.
    """
    lengths = Lengths(workspace, functions)
    savings: dict[str, int] = {}
    callers = workspace.callers()
    n_tasks = {
        name: len({tasks[program] for program in programs}) for name, programs in programs_by_pattern(workspace).items()
    }
    body_gate = BodyGate(lengths, functions, limits)
    while True:
        for name in workspace.patterns:
            raise_if_cancelled()
            if name not in savings:
                savings[name] = lengths.saving(name, callers[name])
        reasons = {
            name: usage_problem(FunctionUsage(n_tasks=n_tasks[name], saving=savings[name]), limits)
            or body_gate.reason(name, pattern)
            for name, pattern in workspace.patterns.items()
        }
        worst = min(filter(reasons.get, reasons), key=lambda name: (savings[name], name), default=None)
        if worst is None:
            return savings
        refused[reasons[worst]] += 1
        changed_callers, sharing = callers[worst], lengths.functions_sharing_imports(worst)
        workspace.inline([worst])
        callers = workspace.callers()
        for caller in changed_callers:  # the savings of these callers and of their callees have changed
            for name in (caller, *workspace.term(caller).calls):
                savings.pop(name, None)
        for name in sharing | {worst}:
            savings.pop(name, None)


class BodyGate:
    """The gate that checks a function's body (see `body_problem`), with cached results."""

    def __init__(self, lengths: Lengths, functions: Mapping[str, Function], limits: Limits) -> None:
        self._lengths = lengths
        self._functions = functions
        self._limits = limits
        self._problems: dict[Pattern, str] = {}

    def reason(self, name: str, pattern: Pattern) -> str:
        """Return the reason why a function's body is refused. Empty if it is accepted."""
        if pattern not in self._problems:
            function = replace(self._functions[name], pattern=pattern)
            body = FunctionBody(
                statements=function_body(function, self._functions),
                parameters={function.names[parameter.hole] for parameter in function.interface.parameters},
                n_tokens=self._lengths.body_length(name, pattern.body),
            )
            self._problems[pattern] = body_problem(body, self._limits)
        return self._problems[pattern]
