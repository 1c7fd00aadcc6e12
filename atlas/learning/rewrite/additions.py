"""Functions that are added to the result of a search if they make programs and library shorter."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, replace

from atlas.learning.analysis.dataflow import Interface, contains_await, find_interface, pattern_problem
from atlas.learning.analysis.functions import Function, name_holes
from atlas.learning.analysis.occurrences import Occurrence
from atlas.learning.rewrite.gates import FunctionUsage, usage_problem
from atlas.learning.rewrite.lengths import Lengths
from atlas.learning.rewrite.pruning import BodyGate
from atlas.learning.rewrite.workspace import Workspace, locate_occurrences
from atlas.learning.search.limits import Limits, RaiseIfCancelled
from atlas.learning.search.statements import Candidate, saving_bound
from atlas.learning.terms.heads import END, EXPRESSION, REST, THEN
from atlas.learning.terms.patterns import Pattern, rewrite
from atlas.learning.terms.symbols import replace_symbols
from atlas.learning.terms.terms import HOLE, Term, is_hole

_RETURN, _ASSIGN = "s:Return/e", "s:Assign/[lvalue]/e"

MAX_REWRITTEN = 10_000
"""Largest number of programs that are rewritten to try candidates. Those that may save most are tried first."""


@dataclass(frozen=True, slots=True)
class _Effect:
    """The effect of a new function on the programs."""

    saving: int
    """Tokens that the function saves in the programs, minus its length."""

    programs: Mapping[str, Term]
    """The programs that become shorter, rewritten to call the function, keyed by name."""


def add_functions(
    workspace: Workspace,
    functions: dict[str, Function],
    candidates: list[Candidate],
    tasks: Mapping[str, str],
    limits: Limits,
    names: str,
    first: int,
    raise_if_cancelled: RaiseIfCancelled,
) -> int:
    """Add the candidates that make programs and library shorter, best first. Return the number of added candidates.

    Args:
        functions: Functions of the workspace. The functions of the added candidates are inserted.
        tasks: The task of each program.
        names: Prefix of the functions' names, which a number follows.
        first: The first number of the functions' names.
    """
    lengths = Lengths(workspace, functions)
    body_refusal = BodyGate(lengths, functions, limits).reason
    candidates = [candidate for candidate in candidates if not pattern_problem(candidate.pattern)]
    candidates = sorted(candidates, key=lambda candidate: REST not in candidate.pattern.hole_sorts)  # they fit more
    waiting = [(-candidate.bound / 100, number) for number, candidate in enumerate(candidates)]
    heapq.heapify(waiting)
    n_added = n_rewritten = 0
    while waiting and n_rewritten < MAX_REWRITTEN:
        raise_if_cancelled()
        negative, number = heapq.heappop(waiting)
        pattern, rewritten = candidates[number].pattern, _rewritten(candidates[number], workspace)
        bound = min(-negative, saving_bound(pattern, workspace.programs, rewritten) / 100)
        if bound <= 0 or len({tasks[name] for name in rewritten}) < limits.min_tasks:
            continue
        if waiting and bound < -waiting[0][0]:  # functions that were added since have lowered the bound
            heapq.heappush(waiting, (-bound, number))
            continue
        n_rewritten += len(rewritten)
        effect = _add_on_trial(pattern, rewritten, workspace, functions, f"{names}{first + len(functions)}", lengths)
        if effect is None:
            continue
        usage = FunctionUsage(n_tasks=len({tasks[name] for name in effect.programs}), saving=effect.saving)
        if usage_problem(usage, limits) or body_refusal(pattern.name, pattern):
            del functions[pattern.name]
        elif waiting and effect.saving < -waiting[0][0]:  # another candidate may save more
            del functions[pattern.name]
            heapq.heappush(waiting, (-effect.saving, number))
        else:
            n_added += 1
            workspace.patterns[pattern.name] = pattern
            for name, term in effect.programs.items():
                workspace.set_term(name, term)
    return n_added


def generalise_functions(
    workspace: Workspace, functions: dict[str, Function], raise_if_cancelled: RaiseIfCancelled
) -> int:
    """Generalise functions, so that they match in more places. Return the number of changed functions.

    A function that returns or assigns one expression becomes that expression, and a function that ends by returning a
    variable becomes one that other statements may follow. A change that makes programs and library longer is not made.
    """
    n_widened, lengths = 0, Lengths(workspace, functions)
    for name in list(workspace.patterns):
        raise_if_cancelled()
        pattern = workspace.patterns[name]
        if (widened := _value_of(pattern) or _with_open_end(pattern)) is None:
            continue
        original = functions[name]
        saving = lengths.inlining_cost(name, workspace.callers()[name]) - lengths.of(name)  # imports stay the same
        trial_workspace = workspace.copy()
        trial_workspace.inline([name])
        candidate = Candidate(pattern=widened, programs=tuple(workspace.programs), bound=0)
        rewritten = _rewritten(candidate, trial_workspace)
        effect = _add_on_trial(
            widened, rewritten, trial_workspace, functions, original.name, Lengths(trial_workspace, functions)
        )
        if effect is None or effect.saving < saving:
            functions[name] = original
            continue
        n_widened += 1
        workspace.inline([name])
        workspace.patterns[name] = widened
        for program, term in effect.programs.items():
            workspace.set_term(program, term)
        lengths = Lengths(workspace, functions)
    return n_widened


def _value_of(pattern: Pattern) -> Pattern | None:
    """Return the expression that a pattern's only statement returns or assigns, as a pattern, or None."""
    statement, rest = pattern.body, None
    if statement.head.startswith(THEN):
        statement, rest = statement.children
    is_alone = rest is None or rest.head == END or is_hole(rest)
    if not is_alone or not statement.head.startswith((_RETURN, _ASSIGN)):
        return None
    value = statement.children[-1]
    if not value.head.startswith(f"{EXPRESSION}:"):
        return None
    holes = dict.fromkeys(part.head for part in value.walk() if is_hole(part))
    renamed = {head: f"{HOLE}{number}" for number, head in enumerate(holes)}
    sorts = tuple(pattern.hole_sorts[int(head.removeprefix(HOLE))] for head in holes)
    return replace(pattern, body=replace_symbols(value, renamed), sort=EXPRESSION, hole_sorts=sorts)


def _with_open_end(pattern: Pattern) -> Pattern | None:
    """Return a pattern without its last statement, or None if this statement does more than return a variable."""
    links: list[Term] = []
    rest = pattern.body
    while rest.head.startswith(THEN):
        links.append(rest)
        rest = rest.children[1]
    if rest.head != END or len(links) < 2 or not _returns_variable(links.pop().children[0]):
        return None
    body = Term(f"{HOLE}{len(pattern.hole_sorts)}")
    for link in reversed(links):
        body = Term(link.head, (link.children[0], body))
    return replace(pattern, body=body, hole_sorts=(*pattern.hole_sorts, REST))


def _returns_variable(statement: Term) -> bool:
    return statement.head == _RETURN and statement.children[0].head == "e:Name/sym"


def _rewritten(candidate: Candidate, workspace: Workspace) -> dict[str, Term]:
    """Return the programs in which a candidate still occurs, rewritten to call it, keyed by name."""
    pattern = candidate.pattern
    rewritten = {program: rewrite(workspace.programs[program], [pattern]) for program in candidate.programs}
    return {program: term for program, term in rewritten.items() if pattern.name in term.calls}


def _add_on_trial(
    pattern: Pattern,
    rewritten: Mapping[str, Term],
    workspace: Workspace,
    functions: dict[str, Function],
    name: str,
    lengths: Lengths,
) -> _Effect | None:
    """Add a pattern to `functions` and return its effect, or return None if it cannot be a function."""
    originals = {program: workspace.originals[program] for program in rewritten}
    trial = Workspace(originals, rewritten, [*workspace.patterns.values(), pattern], trees=workspace.trees)
    valid = _inline_misfits(pattern, trial)
    if valid is None:
        return None
    interface, occurrences = valid
    functions[pattern.name] = Function(
        pattern=pattern,
        interface=interface,
        name=name,
        names=name_holes(pattern, interface, occurrences),
        is_async=contains_await(trial.expand(pattern.name)),
    )
    saved = {program: lengths.of(program) - lengths.of(program, term) for program, term in trial.programs.items()}
    shorter = {program: n_tokens for program, n_tokens in saved.items() if n_tokens > 0}
    return _Effect(
        sum(shorter.values()) - lengths.of(pattern.name, pattern.body),
        {program: trial.programs[program] for program in shorter},
    )


def _inline_misfits(pattern: Pattern, trial: Workspace) -> tuple[Interface, list[Occurrence]] | None:
    """Inline the calls of a pattern that do not fit an interface. Return the interface and the remaining occurrences.

    The result is None if the pattern cannot be a function.
    """
    while True:
        by_pattern, programs = locate_occurrences(trial)
        occurrences = by_pattern.get(pattern.name, [])
        decision = find_interface(pattern, occurrences, programs)
        if decision.interface is None or not decision.refused:
            return None if decision.interface is None else (decision.interface, occurrences)
        trial.inline_sites(decision.refused)
