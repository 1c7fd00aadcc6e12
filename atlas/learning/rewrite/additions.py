"""Functions that are added to the result of a search if they make programs and library shorter."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, replace

from atlas.learning.analysis.dataflow import Interface, awaits, judge
from atlas.learning.analysis.functions import Function, name_holes
from atlas.learning.analysis.occurrences import Occurrence
from atlas.learning.rewrite.gates import Worth, use_problem
from atlas.learning.rewrite.lengths import Lengths
from atlas.learning.rewrite.pruning import BodyJudge
from atlas.learning.rewrite.shelf import Shelf, locate_occurrences
from atlas.learning.search.limits import Limits, RaiseIfCancelled
from atlas.learning.search.statements import Candidate
from atlas.learning.terms.heads import END, REST, THEN
from atlas.learning.terms.patterns import Pattern, rewrite
from atlas.learning.terms.terms import HOLE, Term

MAX_REWRITTEN = 10_000
"""Largest number of programs that are rewritten on trial. Candidates that may save most are tried first."""


@dataclass(frozen=True, slots=True)
class _Trial:
    """The effect of a function on the programs."""

    saving: int
    programs: Mapping[str, Term]
    """The programs that are shorter with it, by name."""


def add_functions(
    shelf: Shelf,
    functions: dict[str, Function],
    candidates: list[Candidate],
    tasks: Mapping[str, str],
    limits: Limits,
    names: str,
    first: int,
    raise_if_cancelled: RaiseIfCancelled,
) -> int:
    """Add the candidates that shorten programs and library, and return their number. The one that saves most is first.

    Args:
        functions: Functions of the shelf, to which those of the candidates are added.
        tasks: The task of each program.
        names: Prefix of the functions' names, which a number follows.
        first: The first number of the functions' names.
    """
    lengths = Lengths(shelf, functions)
    judge_body = BodyJudge(lengths, functions, limits).reason
    candidates = sorted(candidates, key=lambda candidate: REST not in candidate.pattern.hole_sorts)  # they fit more
    waiting = [(-candidate.bound / 100, number) for number, candidate in enumerate(candidates)]
    heapq.heapify(waiting)
    n_added = n_rewritten = 0
    while waiting and n_rewritten < MAX_REWRITTEN:
        raise_if_cancelled()
        _, number = heapq.heappop(waiting)
        candidate = candidates[number]
        n_rewritten += len(candidate.programs)
        pattern = candidate.pattern
        trial = _try(candidate, shelf, functions, f"{names}{first + len(functions)}", lengths)
        if trial is None:
            continue
        worth = Worth(n_tasks=len({tasks[name] for name in trial.programs}), saving=trial.saving)
        if use_problem(worth, limits) or judge_body(pattern.name, pattern):
            del functions[pattern.name]
        elif waiting and trial.saving < -waiting[0][0]:  # another candidate may save more
            del functions[pattern.name]
            heapq.heappush(waiting, (-trial.saving, number))
        else:
            n_added += 1
            shelf.patterns[pattern.name] = pattern
            for name, term in trial.programs.items():
                shelf.put(name, term)
    return n_added


def open_ends(shelf: Shelf, functions: dict[str, Function], raise_if_cancelled: RaiseIfCancelled) -> int:
    """Let functions that end by returning a variable be used before other statements too, and return how many.

    A function is changed if programs and library get no longer. Such a function fits more programs.
    """
    n_opened = 0
    for name in list(shelf.patterns):
        raise_if_cancelled()
        if (opened := _with_open_end(shelf.patterns[name])) is None:
            continue
        closed, lengths = functions[name], Lengths(shelf, functions)
        saving = lengths.saving_in(name, shelf.callers()[name]) - lengths.of(name)  # imports stay the same
        trial_shelf = shelf.copy()
        trial_shelf.inline([name])
        candidate = Candidate(pattern=opened, programs=tuple(shelf.programs), bound=0)
        trial = _try(candidate, trial_shelf, functions, closed.name, Lengths(trial_shelf, functions))
        if trial is None or trial.saving < saving:
            functions[name] = closed
            continue
        n_opened += 1
        shelf.inline([name])
        shelf.patterns[name] = opened
        for program, term in trial.programs.items():
            shelf.put(program, term)
    return n_opened


def _with_open_end(pattern: Pattern) -> Pattern | None:
    """Return a pattern of statements that ends before its last one, if that returns a variable."""
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
    return statement.head == "s:Return/e" and statement.children[0].head == "e:Name/sym"


def _try(
    candidate: Candidate, shelf: Shelf, functions: dict[str, Function], name: str, lengths: Lengths
) -> _Trial | None:
    """Return the effect of a candidate and add its function, or return None if it cannot be a function."""
    pattern = candidate.pattern
    found = {program: rewrite(shelf.programs[program], [pattern]) for program in candidate.programs}
    rewritten = {program: term for program, term in found.items() if pattern.name in term.calls}
    originals = {program: shelf.originals[program] for program in rewritten}
    trial = Shelf(originals, rewritten, [*shelf.patterns.values(), pattern])
    judged = _judged(pattern, trial)
    if judged is None:
        return None
    interface, occurrences = judged
    functions[pattern.name] = Function(
        pattern=pattern,
        interface=interface,
        name=name,
        names=name_holes(pattern, interface, occurrences),
        is_async=awaits(trial.expanded(pattern.name)),
    )
    saved = {program: lengths.of(program) - lengths.of(program, term) for program, term in trial.programs.items()}
    shorter = {program: n_tokens for program, n_tokens in saved.items() if n_tokens > 0}
    return _Trial(
        sum(shorter.values()) - lengths.of(pattern.name, pattern.body),
        {program: trial.programs[program] for program in shorter},
    )


def _judged(pattern: Pattern, trial: Shelf) -> tuple[Interface, list[Occurrence]] | None:
    """Return the interface of a pattern and its occurrences, after the calls that do not fit are inlined."""
    while True:
        by_pattern, programs = locate_occurrences(trial)
        occurrences = by_pattern.get(pattern.name, [])
        judgement = judge(pattern, occurrences, programs)
        if judgement.interface is None or not judgement.refused:
            return None if judgement.interface is None else (judgement.interface, occurrences)
        trial.inline_sites(judgement.refused)
