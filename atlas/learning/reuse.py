"""The effect of a learned library on programs that it was not learned from."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from atlas.learning.compression import (
    Compression,
    Library,
    RewrittenProgram,
    Verify,
    compress,
    default_checks,
    describe_rewriting,
)
from atlas.learning.reading import StarNames, read_programs, tools_by
from atlas.learning.rewrite.applying import apply_library
from atlas.learning.rewrite.executable import standalone
from atlas.learning.rewrite.lengths import Lengths
from atlas.learning.rewrite.shelf import Shelf
from atlas.learning.sandbox.runner import Sandbox
from atlas.learning.search.engines import Engine
from atlas.learning.search.limits import IsCancelled, Limits, StageProgress
from atlas.learning.terms.programs import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Reuse:
    """The effect of a library on programs that it has not seen."""

    n_programs: int
    n_functions: int
    """Functions in the library."""

    used: Mapping[str, int]
    """Number of programs that need each function, by name."""

    tokens_before: int
    tokens_after: int
    """Tokens of the programs. The library is not counted, for it was there before."""

    rewritten: Mapping[str, RewrittenProgram]
    n_refused: int
    """Programs that behaved differently with the functions, and were left unchanged."""

    @property
    def ratio(self) -> float:
        """The factor by which the programs are shorter, 1 if no function fits."""
        return self.tokens_before / self.tokens_after if self.tokens_after else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutResult:
    """A library learned from the programs of half of the tasks, and its effect on the others."""

    learned: Compression
    reuse: Reuse


def evaluate_held_out(
    programs: Sequence[Program],
    *,
    engine: Engine | None = None,
    limits: Limits | None = None,
    sandbox: Sandbox | None = None,
    verify: Verify | None = None,
    star_names: StarNames | None = None,
    tools: Collection[str] = (),
    progress: StageProgress | None = None,
    cancelled: IsCancelled | None = None,
    seed: int = 0,
) -> HeldOutResult:
    """Learn from one half, and rewrite the other. All programs of a task are in the same half.

    Raises:
        Cancelled: `cancelled` returned True.
        EngineFailed: The search ended without an answer.
    """
    tasks = sorted({program.task_id for program in programs})
    random.Random(seed).shuffle(tasks)
    verify, star_names = default_checks(sandbox, verify, star_names, cancelled)
    training = set(tasks[: (len(tasks) + 1) // 2])
    learned = compress(
        [program for program in programs if program.task_id in training],
        engine=engine,
        limits=limits,
        verify=verify,
        star_names=star_names,
        tools=tools,
        progress=progress,
        cancelled=cancelled,
    )
    test = [program for program in programs if program.task_id not in training]
    return HeldOutResult(
        learned=learned,
        reuse=reuse(learned.library, test, limits=limits, verify=verify, star_names=star_names, tools=tools),
    )


def reuse(
    library: Library,
    programs: Sequence[Program],
    *,
    limits: Limits | None = None,
    sandbox: Sandbox | None = None,
    verify: Verify | None = None,
    star_names: StarNames | None = None,
    tools: Collection[str] = (),
) -> Reuse:
    """Rewrite programs with a library, wherever one of its functions stands in them and makes them shorter.

    Args:
        sandbox: Takes the place of `verify` and of `star_names`, where these are not given.
        tools: Names of an agent's tools, as in `compress`.
    """
    verify, star_names = default_checks(sandbox, verify, star_names)
    corpus = read_programs(
        programs, limits or Limits(), Counter(), star_names, tools_by(tools, are_run=verify is not None)
    )
    names = {program.id for program in programs if _prefix(library) in program.source}
    originals = {name: term for name, term in corpus.terms.items() if name not in names}
    shelf = apply_library(library.shelf, library.functions, originals, corpus.removable_imports)
    n_refused = _verify(shelf, library, {program.id: program for program in programs}, verify)
    rewritten = [name for name, term in shelf.programs.items() if term.calls]
    used = Counter(library.functions[each].name for name in rewritten for each in shelf.functions_of(name))
    lengths = Lengths(shelf, library.functions)
    return Reuse(
        n_programs=len(originals),
        n_functions=len(library.shelf.patterns),
        used=dict(used),
        tokens_before=sum(lengths.of(name, term) for name, term in originals.items()),
        tokens_after=sum(map(lengths.of, originals)),
        rewritten={name: describe_rewriting(name, shelf, library.functions) for name in rewritten},
        n_refused=n_refused,
    )


def _prefix(library: Library) -> str:
    """Return the prefix of the functions' names. Programs that already use it are left out."""
    return next((function.name.rstrip("0123456789") for function in library.functions.values()), "\0")


def _verify(shelf: Shelf, library: Library, programs: Mapping[str, Program], verify: Verify | None) -> int:
    """Restore the programs that behave differently, and return how many."""
    rewritten = [name for name, term in shelf.programs.items() if term.calls]
    if verify is None or not rewritten:
        return 0
    verdicts = verify([(programs[name], standalone(name, shelf, library.functions)) for name in rewritten])
    wrong = [name for name in rewritten if verdicts.get(name) is False]
    for name in wrong:
        shelf.put(name, shelf.originals[name])
    return len(wrong)
