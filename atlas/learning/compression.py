"""Compression: a library of functions, learned from programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from atlas.core.errors import Cancelled
from atlas.learning.analysis.functions import Function, program_source
from atlas.learning.reading import Originals, StarNames, as_programs, free_prefix, read_programs
from atlas.learning.rewrite.applying import applied
from atlas.learning.rewrite.executable import rewritten_source, sources, standalone
from atlas.learning.rewrite.lengths import Lengths
from atlas.learning.rewrite.merging import merge
from atlas.learning.rewrite.pruning import prune
from atlas.learning.rewrite.shelf import Shelf, settle, users
from atlas.learning.sandbox.modules import PublicNames
from atlas.learning.sandbox.runner import Sandbox
from atlas.learning.sandbox.verification import Verifier
from atlas.learning.search.anti_unification import AntiUnificationEngine
from atlas.learning.search.engines import Corpus, Engine, Proposal
from atlas.learning.search.limits import IsCancelled, Limits, StageProgress
from atlas.learning.search.sampling import sample
from atlas.learning.search.stitch import StitchEngine, is_installed
from atlas.learning.terms.parsing import is_runnable
from atlas.learning.terms.programs import Program
from atlas.learning.terms.terms import Term

Verify = Callable[[Sequence[tuple[Program, str]]], Mapping[str, bool | None]]
"""Function that runs programs as they are and as rewritten sources.

Its result is by id: True if both do the same, None where nobody can tell."""

OTHERWISE = "does something else in the form that is searched, without comments and annotations"
SAME = "is the same as another function"
WITH_FUNCTIONS = "does something else with what was found in others"


@dataclass(frozen=True, slots=True, kw_only=True)
class Abstraction:
    """A Python function that several programs have in common."""

    name: str
    """Placeholder that the code uses, until documenting gives it a real name."""

    source: str
    """Code that calls the functions in `calls`, Python's own, and what it imports itself."""

    arity: int
    calls: tuple[str, ...]
    """Names of other abstractions."""

    uses: tuple[str, ...]
    """Ids of the programs that call it, themselves or through others."""

    n_tasks: int
    saving: int
    """Tokens by which the programs and the library are shorter for it, itself counted."""

    proofs: tuple[str, ...] = ()
    """Ids of those of its uses whose tests run it, and whose programs did the same as before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """A program that calls abstractions."""

    before: str
    """Program without docstrings, annotations and comments."""

    after: str
    standalone: str
    """Source of `after`, with the functions that it needs before it."""

    functions: tuple[str, ...]
    """Names of all abstractions that it needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """The learned functions, in the form in which they can be found in other programs."""

    shelf: Shelf
    functions: Mapping[str, Function]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compression:
    """A library of functions, and the programs that it was learned from."""

    abstractions: tuple[Abstraction, ...]
    """Functions, each after those that it calls."""

    rewritten: Mapping[str, Rewritten]
    """Programs that call any, by id."""

    n_programs: int
    """Programs that were compressed: all that can be."""

    n_searched: int = 0
    """Programs that were searched for functions. What was found was put into the others where it fits."""

    n_found: int = 0
    """Abstractions that the search proposed."""

    n_valid: int = 0
    """Found abstractions that are Python functions."""

    tokens_before: int
    """Tokens of all programs, in which star imports name what is read of them."""

    tokens_after: int
    """Tokens of all programs, the library not counted."""

    tokens_library: int
    """Tokens of the functions as one module, in which each import stands once."""

    refused: Mapping[str, int]
    """Number of abstractions and programs that were left out, by reason."""

    notes: tuple[str, ...]
    library: Library
    engine: str
    """Name of the search, to show."""

    @property
    def ratio(self) -> float:
        """The factor by which everything is shorter, the library counted, 1 where nothing was found."""
        after = self.tokens_after + self.tokens_library
        return self.tokens_before / after if after else 1.0


@dataclass(slots=True)
class _Run:
    programs: dict[str, Program]
    engine: Engine
    limits: Limits
    verify: Verify | None
    progress: StageProgress
    cancelled: IsCancelled
    refused: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    verdicts: dict[tuple[str, str], bool | None] = field(default_factory=dict)


def compress(
    programs: Sequence[Program | str],
    *,
    engine: Engine | None = None,
    limits: Limits | None = None,
    sandbox: Sandbox | None = None,
    verify: Verify | None = None,
    star_names: StarNames | None = None,
    progress: StageProgress | None = None,
    cancelled: IsCancelled | None = None,
) -> Compression:
    """Find functions that several programs have in common, and rewrite the programs to call them.

    Only what makes programs and library together shorter is kept, and only what is a Python function for which the
    programs do the same: by an analysis of what each variable is used for, and by running them where `verify` does.
    A larger corpus than the limits allow is sampled for the search. The functions are then put into the others too.

    Args:
        programs: Each with its tests, or its source alone, which is then a task of its own.
        engine: What searches; Stitch where it is installed.
        sandbox: Takes the place of `verify` and of `star_names`, where these are not given.
        verify: Runs a program and its rewritten source. Without it nothing is run.
        star_names: Says what star imports bring. Without it nothing is found that needs it.

    Raises:
        Cancelled: `cancelled` said so. Nothing is changed by then or later.
        EngineFailed: The search ended without an answer.
    """
    held = as_programs(programs)
    verify, star_names = running(sandbox, verify, star_names, cancelled)
    run = _Run(
        programs={program.id: program for program in held},
        engine=engine or default_engine(),
        limits=limits or Limits(),
        verify=verify,
        progress=progress or (lambda stage, share: None),
        cancelled=_raising(cancelled),
    )
    read = read_programs(held, run.limits, run.refused, star_names)
    run.notes += read.notes
    chosen = _sampled(read.terms, run)
    originals = _as_before(chosen, read, run)
    found = _found(originals, run, cancelled)
    shelf = Shelf(originals, dict(zip(originals, found.terms, strict=True)), found.patterns, read.spare)
    functions = _functions(shelf, free_prefix(held), run)
    n_valid = len(shelf.patterns)
    _prove(shelf, functions, run)
    _rewrite_others(shelf, functions, {name: one for name, one in read.terms.items() if name not in chosen}, run)
    made = _result(shelf, functions, run)
    return replace(made, n_searched=len(originals), n_found=len(found.patterns), n_valid=n_valid)


def _found(originals: Mapping[str, Term], run: _Run, cancelled: IsCancelled | None) -> Proposal:
    """Return what the search finds in programs."""
    corpus = Corpus(terms=tuple(originals.values()), tasks=tuple(run.programs[name].task_id for name in originals))
    found = run.engine.abstractions(corpus, run.limits, progress=run.progress, cancelled=cancelled)
    run.notes += found.notes
    return found


def _functions(shelf: Shelf, prefix: str, run: _Run) -> dict[str, Function]:
    """Put back what is no Python function, and return the functions."""
    settled = settle(shelf, prefix, run.cancelled)
    run.refused.update(settled.reasons)
    _compile(shelf, settled.functions, run)
    return settled.functions


def running(
    sandbox: Sandbox | None, verify: Verify | None, star_names: StarNames | None, cancelled: IsCancelled | None = None
) -> tuple[Verify | None, StarNames | None]:
    """Return what is given, or else what a sandbox does in its place."""
    if sandbox is None:
        return verify, star_names
    verify = verify or Verifier(sandbox, is_cancelled=cancelled).same
    return verify, star_names or PublicNames(sandbox, is_cancelled=cancelled)


def _compile(shelf: Shelf, functions: Mapping[str, Function], run: _Run) -> None:
    """Put back what Python does not accept as a function by itself, such as an `await` in one that is not async."""
    while wrong := [name for name, source in sources(shelf, functions).items() if not is_runnable(source)]:
        run.refused["is no function that compiles"] += len(wrong)
        shelf.inline(wrong)


def default_engine() -> Engine:
    """Return Stitch where it is installed, the plain search where it is not."""
    return StitchEngine() if is_installed() else AntiUnificationEngine()


def _raising(cancelled: IsCancelled | None) -> IsCancelled:
    def ask() -> bool:
        if cancelled is not None and cancelled():
            raise Cancelled("the compression was cancelled; nothing was changed")
        return False

    return ask


def _sampled(terms: dict[str, Term], run: _Run) -> dict[str, Term]:
    chosen = sample(terms, run.limits)
    if len(chosen) < len(terms):
        run.notes.append(
            f"a sample of {len(chosen):,} of {len(terms):,} programs was searched, since more would take too long, and "
            "what was found was put into the others"
        )
    return {name: terms[name] for name in chosen}


def _as_before(terms: dict[str, Term], read: Originals, run: _Run) -> dict[str, Term]:
    """Return the programs in a form in which they do the same. No function is to blame for those that do in none."""
    found, changed = dict(terms), _changed(terms, run)
    again = {name: read.starred[name] for name in changed & read.starred.keys()}
    changed = (changed - again.keys()) | _changed(again, run)
    found |= again
    read.keep_stars(found)
    run.refused[f"program: {OTHERWISE}"] += len(changed)
    return {name: term for name, term in found.items() if name not in changed}


def _changed(terms: Mapping[str, Term], run: _Run) -> set[str]:
    """Return the programs that do something else in this form."""
    run.progress("verifying", 0)
    verdicts = _run_all([(name, program_source(term, {})) for name, term in terms.items()], run)
    run.progress("verifying", 1)
    return {name for name, same in zip(terms, verdicts, strict=True) if same is False}


def _prove(shelf: Shelf, functions: Mapping[str, Function], run: _Run) -> None:
    """Prune and merge, run every rewritten program, take off what changes any, and again until nothing does."""
    tasks = {name: run.programs[name].task_id for name in shelf.programs}
    while True:
        prune(shelf, functions, tasks, run.limits, run.cancelled, run.refused)
        if n_merged := merge(shelf, functions):
            run.refused[SAME] += n_merged
            continue
        wrong = _changing(shelf, functions, run)
        if not wrong:
            return
        run.refused["changes what a program does"] += len(wrong)
        shelf.inline(wrong)


def _rewrite_others(shelf: Shelf, functions: Mapping[str, Function], others: Mapping[str, Term], run: _Run) -> None:
    """Put the functions into the programs that were not searched, but where one would do something else."""
    found = applied(shelf, functions, others, shelf.spare, run.cancelled)
    calling = [name for name, term in found.programs.items() if term.calls]
    run.progress("verifying", 0)
    verdicts = _run_all([(name, standalone(name, found, functions)) for name in calling], run)
    run.progress("verifying", 1)
    wrong = [name for name, same in zip(calling, verdicts, strict=True) if same is False]
    run.refused[f"program: {WITH_FUNCTIONS}"] += len(wrong)
    for name in wrong:
        found.put(name, found.originals[name])
    shelf.add(found)


def _changing(shelf: Shelf, functions: Mapping[str, Function], run: _Run) -> set[str]:
    """Return the functions with which a program does something else."""
    rewritten = [name for name, term in shelf.programs.items() if term.calls]
    run.progress("verifying", 0)
    verdicts = _run_all([(name, standalone(name, shelf, functions)) for name in rewritten], run)
    run.progress("verifying", 1)
    return {
        culprit
        for name, same in zip(rewritten, verdicts, strict=True)
        if same is False
        for culprit in _culprits(name, shelf, functions, run)
    }


def _run_all(sources: Sequence[tuple[str, str]], run: _Run) -> list[bool | None]:
    """Return the verdict on each source of a program, without running any again."""
    run.cancelled()
    new = {name: source for name, source in sources if (name, source) not in run.verdicts}
    if run.verify is not None and new:
        found = run.verify([(run.programs[name], source) for name, source in new.items()])
        run.verdicts |= {(name, source): found.get(name) for name, source in new.items()}
    return [run.verdicts.get(key) for key in sources]


def _culprits(name: str, shelf: Shelf, functions: Mapping[str, Function], run: _Run) -> set[str]:
    """Return those functions of a program with which alone it already does something else, or else all of them."""
    needed = shelf.functions_of(name)
    if len(needed) == 1:
        return set(needed)
    wrong = set()
    for kept in needed:
        alone = shelf.copy()
        alone.inline([other for other in alone.patterns if other != kept])
        if _run_all([(name, standalone(name, alone, functions))], run) == [False]:
            wrong.add(kept)
    return wrong or set(needed)


def _result(shelf: Shelf, functions: Mapping[str, Function], run: _Run) -> Compression:
    """Return the result, without the counts of the search."""
    lengths = Lengths(shelf, functions)
    used, callers = users(shelf), shelf.callers()
    return Compression(
        abstractions=tuple(
            _abstraction(name, source, shelf, functions, lengths.saving(name, callers[name]), used[name], run)
            for name, source in sources(shelf, functions).items()
        ),
        rewritten={name: written(name, shelf, functions) for name, term in shelf.programs.items() if term.calls},
        n_programs=len(shelf.programs),
        tokens_before=sum(lengths.of(name, term) for name, term in shelf.originals.items()),
        tokens_after=sum(map(lengths.of, shelf.programs)),
        tokens_library=lengths.library(),
        refused=dict(+run.refused),
        notes=tuple(run.notes),
        library=Library(shelf=shelf, functions=functions),
        engine=run.engine.name,
    )


def written(name: str, shelf: Shelf, functions: Mapping[str, Function]) -> Rewritten:
    """Return a program as it was and as it is."""
    return Rewritten(
        before=program_source(shelf.originals[name], {}),
        after=rewritten_source(name, shelf, functions),
        standalone=standalone(name, shelf, functions),
        functions=tuple(functions[each].name for each in shelf.functions_of(name)),
    )


def _abstraction(
    name: str,
    source: str,
    shelf: Shelf,
    functions: Mapping[str, Function],
    saving: int,
    used: set[str],
    run: _Run,
) -> Abstraction:
    return Abstraction(
        name=functions[name].name,
        source=source,
        arity=len(functions[name].interface.parameters),
        calls=tuple(functions[each].name for each in shelf.patterns if each in shelf.term(name).calls),
        uses=tuple(sorted(used)),
        n_tasks=len({run.programs[program].task_id for program in used}),
        saving=saving,
        proofs=_proofs(name, sorted(used), shelf, functions, run),
    )


def _proofs(
    name: str, used: Sequence[str], shelf: Shelf, functions: Mapping[str, Function], run: _Run
) -> tuple[str, ...]:
    """Return the programs that did the same with a function and fail once it raises. Other tests do not run it."""
    same = [one for one in used if run.verdicts.get((one, standalone(one, shelf, functions)))]
    spoilt = _run_all([(one, standalone(one, shelf, functions, spoilt=name)) for one in same], run)
    return tuple(one for one, verdict in zip(same, spoilt, strict=True) if verdict is False)
