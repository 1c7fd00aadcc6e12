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
    prefix: str,
    first_number: int,
    raise_if_cancelled: RaiseIfCancelled,
) -> int:
    """Add the candidates that make programs and library shorter, best first. Return the number of added candidates.

    Args:
        functions: Functions of the workspace, to which those of the added candidates are added.
        tasks: The task of each program.
        prefix: Prefix of the functions' names, which a number follows.
        first_number: The first number of the functions' names.
    """
    lengths = Lengths(workspace, functions)
    body_refusal = BodyGate(lengths, functions, limits).reason
    candidates = [candidate for candidate in candidates if not pattern_problem(candidate.pattern)]
    candidates = sorted(candidates, key=lambda candidate: REST not in candidate.pattern.hole_sorts)  # they fit more
    # The largest upper bound of the saving first, in tokens. The costs of heads are about 100 per token.
    queue = [(-candidate.bound / 100, index) for index, candidate in enumerate(candidates)]
    heapq.heapify(queue)
    n_added = n_rewritten = 0
    while queue and n_rewritten < MAX_REWRITTEN:
        raise_if_cancelled()
        negated_bound, index = heapq.heappop(queue)
        pattern, rewritten = candidates[index].pattern, _rewrite_programs(candidates[index], workspace)
        bound = min(-negated_bound, saving_bound(pattern, workspace.programs, rewritten) / 100)
        if bound <= 0 or len({tasks[name] for name in rewritten}) < limits.min_tasks:
            continue
        if queue and bound < -queue[0][0]:  # functions that were added since have lowered the bound
            heapq.heappush(queue, (-bound, index))
            continue
        n_rewritten += len(rewritten)
        effect = _try_function(
            pattern, rewritten, workspace, functions, f"{prefix}{first_number + len(functions)}", lengths
        )
        if effect is None:
            continue
        usage = FunctionUsage(n_tasks=len({tasks[name] for name in effect.programs}), saving=effect.saving)
        if usage_problem(usage, limits) or body_refusal(pattern.name, pattern):
            del functions[pattern.name]
        elif queue and effect.saving < -queue[0][0]:  # another candidate may save more
            del functions[pattern.name]
            heapq.heappush(queue, (-effect.saving, index))
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
    n_generalised, lengths = 0, Lengths(workspace, functions)
    for name in list(workspace.patterns):
        raise_if_cancelled()
        pattern = workspace.patterns[name]
        if (general_pattern := _as_expression(pattern) or _without_final_return(pattern)) is None:
            continue
        original = functions[name]
        saving = lengths.inlining_cost(name, workspace.callers()[name]) - lengths.of(name)  # imports stay the same
        trial = workspace.copy()
        trial.inline([name])
        candidate = Candidate(pattern=general_pattern, programs=tuple(workspace.programs), bound=0)
        rewritten = _rewrite_programs(candidate, trial)
        effect = _try_function(general_pattern, rewritten, trial, functions, original.name, Lengths(trial, functions))
        if effect is None or effect.saving < saving:
            functions[name] = original
            continue
        n_generalised += 1
        workspace.inline([name])
        workspace.patterns[name] = general_pattern
        for program, term in effect.programs.items():
            workspace.set_term(program, term)
        lengths = Lengths(workspace, functions)
    return n_generalised


def _as_expression(pattern: Pattern) -> Pattern | None:
    """Return a pattern for the expression that a pattern returns or assigns, or None if it does more than that."""
    statement, following = pattern.body, None
    if statement.head.startswith(THEN):
        statement, following = statement.children
    is_alone = following is None or following.head == END or is_hole(following)
    if not is_alone or not statement.head.startswith((_RETURN, _ASSIGN)):
        return None
    value = statement.children[-1]
    if not value.head.startswith(f"{EXPRESSION}:"):
        return None
    holes = dict.fromkeys(part.head for part in value.walk() if is_hole(part))
    renamed = {head: f"{HOLE}{number}" for number, head in enumerate(holes)}
    sorts = tuple(pattern.hole_sorts[int(head.removeprefix(HOLE))] for head in holes)
    return replace(pattern, body=replace_symbols(value, renamed), sort=EXPRESSION, hole_sorts=sorts)


def _without_final_return(pattern: Pattern) -> Pattern | None:
    """Return a pattern whose final `return variable` is replaced by a hole for the statements that follow.

    The result is None if the pattern ends otherwise, or has no other statement.
    """
    statements: list[Term] = []
    remainder = pattern.body
    while remainder.head.startswith(THEN):
        statements.append(remainder)
        remainder = remainder.children[1]
    if remainder.head != END or len(statements) < 2 or not _returns_variable(statements.pop().children[0]):
        return None
    body = Term(f"{HOLE}{len(pattern.hole_sorts)}")
    for statement in reversed(statements):
        body = Term(statement.head, (statement.children[0], body))
    return replace(pattern, body=body, hole_sorts=(*pattern.hole_sorts, REST))


def _returns_variable(statement: Term) -> bool:
    return statement.head == _RETURN and statement.children[0].head == "e:Name/sym"


def _rewrite_programs(candidate: Candidate, workspace: Workspace) -> dict[str, Term]:
    """Rewrite the programs of a candidate to call it. Return those in which it still occurs, keyed by name."""
    pattern = candidate.pattern
    rewritten = {program: rewrite(workspace.programs[program], [pattern]) for program in candidate.programs}
    return {program: term for program, term in rewritten.items() if pattern.name in term.calls}


def _try_function(
    pattern: Pattern,
    rewritten: Mapping[str, Term],
    workspace: Workspace,
    functions: dict[str, Function],
    name: str,
    lengths: Lengths,
) -> _Effect | None:
    """Add the function for a pattern to `functions`, and return its effect, or None if it cannot be a function.

    Args:
        rewritten: The programs with calls of the pattern, keyed by name.
    """
    originals = {program: workspace.originals[program] for program in rewritten}
    trial = Workspace(originals, rewritten, [*workspace.patterns.values(), pattern], trees=workspace.trees)
    fit = _inline_misfitting_calls(pattern, trial)
    if fit is None:
        return None
    interface, occurrences = fit
    functions[pattern.name] = Function(
        pattern=pattern,
        interface=interface,
        name=name,
        names=name_holes(pattern, interface, occurrences),
        is_async=contains_await(trial.expand(pattern.name)),
    )
    savings = {program: lengths.of(program) - lengths.of(program, term) for program, term in trial.programs.items()}
    shorter = {program: saving for program, saving in savings.items() if saving > 0}
    return _Effect(
        sum(shorter.values()) - lengths.of(pattern.name, pattern.body),
        {program: trial.programs[program] for program in shorter},
    )


def _inline_misfitting_calls(pattern: Pattern, trial: Workspace) -> tuple[Interface, list[Occurrence]] | None:
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
