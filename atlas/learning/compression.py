"""Compression: a library of functions, learned from programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from atlas.core.errors import Cancelled
from atlas.core.imports.distribution import missing_package
from atlas.learning.analysis.dataflow import find_tools
from atlas.learning.analysis.functions import Function, program_source
from atlas.learning.reading import (
    ReadablePrograms,
    StarNames,
    as_programs,
    make_tool_lookup,
    read_programs,
    unused_prefix,
)
from atlas.learning.results import Abstraction, Compression, Library, RewrittenProgram
from atlas.learning.rewrite.additions import add_functions, generalise_functions
from atlas.learning.rewrite.applying import apply_library, rewrite_from_originals
from atlas.learning.rewrite.executable import Executables, function_sources
from atlas.learning.rewrite.lengths import Lengths
from atlas.learning.rewrite.merging import merge
from atlas.learning.rewrite.pruning import prune
from atlas.learning.rewrite.sharing import parse_programs
from atlas.learning.rewrite.workspace import Workspace, drop_invalid, programs_by_pattern
from atlas.learning.sandbox.modules import PublicNames
from atlas.learning.sandbox.runner import Sandbox
from atlas.learning.sandbox.verification import Verifier
from atlas.learning.search.anti_unification import AntiUnificationEngine
from atlas.learning.search.engines import Corpus, Engine, PatternProposal
from atlas.learning.search.limits import IsCancelled, Limits, RaiseIfCancelled, StageProgress
from atlas.learning.search.sampling import sample
from atlas.learning.search.statements import statement_patterns
from atlas.learning.search.stitch import StitchEngine
from atlas.learning.terms.parsing import can_compile
from atlas.learning.terms.programs import Program, half_of_tasks
from atlas.learning.terms.terms import CALL, Term
from atlas.learning.whole_definitions import (
    Verify,
    tools_and_definitions,
    verifier_with_definitions,
    verify_sharing,
    with_definitions,
)

DIFFERENT_AS_TERM = "behaves differently without comments, docstrings and annotations"
DUPLICATE = "is the same as another function"
BEHAVIOUR_CHANGE = "changes the behaviour of a program"
DIFFERENT_WITH_FUNCTIONS = "behaves differently with functions that were found in other programs"


@dataclass(slots=True)
class _CompressionRun:
    programs: dict[str, Program]
    engine: Engine
    limits: Limits
    verify: Verify | None
    progress: StageProgress
    raise_if_cancelled: RaiseIfCancelled
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
    tools: Collection[str] = (),
    progress: StageProgress | None = None,
    cancelled: IsCancelled | None = None,
) -> Compression:
    """Find functions that several programs have in common, and rewrite the programs to call them.

    A function is kept only if it makes programs and library together shorter and does not change what the programs do.
    Data-flow analysis decides what may change behaviour, and `verify` checks behaviour by running the programs. A
    corpus larger than the limits is sampled for the search. The functions are then used in the other programs too.

    Args:
        programs: Programs with tests, or bare sources. A bare source counts as a task of its own.
        engine: The search. By default Stitch if it is installed.
        sandbox: Provides `verify` and `star_names` where these are not given.
        verify: Runs a program and its rewritten source, and compares them. Without it, no program is run.
        star_names: Returns the names of star imports. Without it, programs with star imports are excluded.
        tools: Names of an agent's tools, which functions may use. If a program's tests are run, functions may also use
            any other name that the program does not bind.

    Raises:
        Cancelled: `cancelled` returned True. No program was changed.
        EngineError: The search ended without an answer.
    """
    corpus = as_programs(programs)
    verify, star_names = default_checks(sandbox, verify, star_names, cancelled)
    originals_by_id = {program.id: program for program in corpus}
    tool_lookup = make_tool_lookup(tools, are_run=verify is not None)
    prefix = unused_prefix(corpus)
    limits = limits or Limits()
    parsed_programs = parse_programs(corpus, tool_lookup)
    sharing, n_changed = verify_sharing(parsed_programs, limits, prefix, verify)
    corpus = [sharing.programs.get(program.id, program) for program in corpus]
    run = _CompressionRun(
        programs={program.id: program for program in corpus},
        engine=engine or default_engine(),
        limits=limits,
        verify=None if verify is None else verifier_with_definitions(sharing, originals_by_id, verify),
        progress=progress or (lambda stage, share: None),
        raise_if_cancelled=_make_cancellation_check(cancelled),
    )
    if engine is None and (missing := missing_package("learning", "Stitch, which finds more,")):
        run.notes.append(f"the search was by {run.engine.name}; {missing}")
    run.refused[BEHAVIOUR_CHANGE] += n_changed
    readable = read_programs(
        corpus,
        run.limits,
        run.refused,
        star_names,
        tools_and_definitions(tool_lookup, sharing),
        modules={
            parsed.program.id: parsed.module for parsed in parsed_programs if parsed.program.id not in sharing.programs
        },
    )
    del parsed_programs  # syntax trees of perhaps thousands of programs
    run.notes += readable.notes
    compression = _compress_terms(readable, prefix, len(sharing.definitions), run, cancelled)
    return with_definitions(compression, sharing, originals_by_id, verify) if sharing.definitions else compression


def _compress_terms(
    readable: ReadablePrograms, prefix: str, first_number: int, run: _CompressionRun, cancelled: IsCancelled | None
) -> Compression:
    """Search the programs for functions, and rewrite all of them to call those that are worth keeping.

    Args:
        prefix: Prefix of the functions' names, which a number follows.
        first_number: The first number of the functions' names.
    """
    sampled = _sample(readable.terms, run)
    originals = _programs_unchanged_by_normalisation(sampled, readable, run)
    proposal = _search(originals, run, cancelled)
    rewritten = dict(zip(originals, proposal.terms, strict=True))
    workspace = Workspace(originals, rewritten, proposal.patterns, readable.removable_imports)
    functions = _keep_valid_functions(workspace, prefix, run, first_number)
    n_valid, n_added = len(workspace.patterns), 0
    _remove_unfit_functions(workspace, functions, run)
    if not proposal.is_by_model:
        n_added = _add_statement_functions(workspace, functions, prefix, first_number, run)
    unsearched = {name: term for name, term in readable.terms.items() if name not in sampled}
    _rewrite_unsearched_programs(workspace, functions, unsearched, run)
    return replace(
        _build_result(workspace, functions, run),
        n_searched=len(originals),
        n_found=len(proposal.patterns) + n_added,
        n_valid=n_valid + n_added,
    )


def _search(originals: Mapping[str, Term], run: _CompressionRun, cancelled: IsCancelled | None) -> PatternProposal:
    """Run the search, and return its proposal. Its notes are added to those of the run."""
    corpus = Corpus(terms=tuple(originals.values()), tasks=tuple(run.programs[name].task_id for name in originals))
    proposal = run.engine.abstractions(corpus, run.limits, progress=run.progress, cancelled=cancelled)
    run.notes += proposal.notes
    return proposal


def _keep_valid_functions(
    workspace: Workspace, prefix: str, run: _CompressionRun, first_number: int
) -> dict[str, Function]:
    """Inline the patterns that are not valid Python functions, and return the valid functions."""
    valid = drop_invalid(workspace, prefix, run.raise_if_cancelled, first_number)
    run.refused.update(valid.reasons)
    _inline_uncompilable(workspace, valid.functions, run)
    return valid.functions


def default_checks(
    sandbox: Sandbox | None, verify: Verify | None, star_names: StarNames | None, cancelled: IsCancelled | None = None
) -> tuple[Verify | None, StarNames | None]:
    """Return `verify` and `star_names`, each replaced by a function of the sandbox if it is None."""
    if sandbox is None:
        return verify, star_names
    verify = verify or Verifier(sandbox, is_cancelled=cancelled).compare_all
    return verify, star_names or PublicNames(sandbox, is_cancelled=cancelled)


def _inline_uncompilable(workspace: Workspace, functions: Mapping[str, Function], run: _CompressionRun) -> None:
    """Inline functions that Python does not compile, such as a function that awaits but is not async."""
    while uncompilable := [
        name for name, source in function_sources(workspace, functions).items() if not can_compile(source)
    ]:
        run.refused["does not compile"] += len(uncompilable)
        workspace.inline(uncompilable)


def default_engine() -> Engine:
    """Return a Stitch engine if Stitch is installed, otherwise an engine in pure Python."""
    return AntiUnificationEngine() if missing_package("learning", "Stitch") else StitchEngine()


def _make_cancellation_check(cancelled: IsCancelled | None) -> RaiseIfCancelled:
    """Return a callback that raises `Cancelled` once `cancelled` returns True."""

    def raise_if_cancelled() -> None:
        if cancelled is not None and cancelled():
            raise Cancelled("the compression was cancelled; nothing was changed")

    return raise_if_cancelled


def _sample(terms: dict[str, Term], run: _CompressionRun) -> dict[str, Term]:
    """Return the programs to search: all of them, or a sample if there are more than the limits permit."""
    names = sample(terms, run.limits)
    if len(names) < len(terms):
        run.notes.append(
            f"only a sample of {len(names):,} of {len(terms):,} programs was searched, to save time; the functions "
            "found in it are used in the others too"
        )
    return {name: terms[name] for name in names}


def _programs_unchanged_by_normalisation(
    terms: dict[str, Term], readable: ReadablePrograms, run: _CompressionRun
) -> dict[str, Term]:
    """Return the programs that behave the same in normalised form, each in this form.

    A program that behaves differently after its star imports were expanded is tried again with its star imports.
    """
    verified, changed = dict(terms), _programs_changed_by_normalisation(terms, run)
    with_star_imports = {name: readable.with_stars[name] for name in changed & readable.with_stars.keys()}
    changed = (changed - with_star_imports.keys()) | _programs_changed_by_normalisation(with_star_imports, run)
    verified |= with_star_imports
    readable.keep_star_imports(verified)
    run.refused[f"program: {DIFFERENT_AS_TERM}"] += len(changed)
    return {name: term for name, term in verified.items() if name not in changed}


def _programs_changed_by_normalisation(terms: Mapping[str, Term], run: _CompressionRun) -> set[str]:
    """Return the programs that behave differently in normalised form."""
    run.progress("verifying", 0)
    verdicts = _verify_all([(name, program_source(term, {})) for name, term in terms.items()], run)
    run.progress("verifying", 1)
    return {name for name, is_same in zip(terms, verdicts, strict=True) if is_same is False}


def _remove_unfit_functions(workspace: Workspace, functions: Mapping[str, Function], run: _CompressionRun) -> None:
    """Remove functions that save too little, are duplicates, or change behaviour. Repeat until there are none."""
    tasks = _task_ids(workspace, run)
    while True:
        prune(workspace, functions, tasks, run.limits, run.raise_if_cancelled, run.refused)
        if n_merged := merge(workspace, functions):
            run.refused[DUPLICATE] += n_merged
            continue
        misbehaving = _functions_changing_behaviour(workspace, functions, run)
        if not misbehaving:
            return
        run.refused[BEHAVIOUR_CHANGE] += len(misbehaving)
        workspace.inline(misbehaving)


def _add_statement_functions(
    workspace: Workspace, functions: dict[str, Function], prefix: str, first_number: int, run: _CompressionRun
) -> int:
    """Add functions for statements that the programs still have in common. Return the number of added functions."""
    run.progress("searching", 1)
    tasks = _task_ids(workspace, run)
    n_changed = generalise_functions(workspace, functions, run.raise_if_cancelled)
    n_changed += rewrite_from_originals(workspace, functions, run.raise_if_cancelled)
    candidates = statement_patterns(workspace.programs, tasks, f"{CALL}s")
    n_added = add_functions(
        workspace, functions, candidates, tasks, run.limits, prefix, first_number, run.raise_if_cancelled
    )
    if n_added or n_changed:
        _inline_uncompilable(workspace, functions, run)
        _remove_unfit_functions(workspace, functions, run)
    return n_added


def _task_ids(workspace: Workspace, run: _CompressionRun) -> dict[str, str]:
    return {name: run.programs[name].task_id for name in workspace.programs}


def _rewrite_unsearched_programs(
    workspace: Workspace, functions: Mapping[str, Function], terms: Mapping[str, Term], run: _CompressionRun
) -> None:
    """Rewrite the programs that were not searched. A program that would behave differently stays as it is."""
    rewritten = apply_library(workspace, functions, terms, workspace.removable_imports, run.raise_if_cancelled)
    calling_programs = [name for name, term in rewritten.programs.items() if term.calls]
    run.progress("verifying", 0)
    executables = Executables(rewritten, functions)
    verdicts = _verify_all([(name, executables.standalone(name)) for name in calling_programs], run)
    run.progress("verifying", 1)
    misbehaving = [name for name, is_same in zip(calling_programs, verdicts, strict=True) if is_same is False]
    run.refused[f"program: {DIFFERENT_WITH_FUNCTIONS}"] += len(misbehaving)
    for name in misbehaving:
        rewritten.set_term(name, rewritten.originals[name])
    workspace.add(rewritten)


def _functions_changing_behaviour(
    workspace: Workspace, functions: Mapping[str, Function], run: _CompressionRun
) -> set[str]:
    """Return the functions that change the behaviour of a program."""
    rewritten = [name for name, term in workspace.programs.items() if term.calls]
    run.progress("verifying", 0)
    executables = Executables(workspace, functions)
    verdicts = _verify_all([(name, executables.standalone(name)) for name in rewritten], run)
    run.progress("verifying", 1)
    culprits = set[str]()
    for name, is_same in zip(rewritten, verdicts, strict=True):
        if is_same is False:
            culprits.update(_responsible_functions(name, workspace, functions, run))
    return culprits


def _verify_all(pairs: Sequence[tuple[str, str]], run: _CompressionRun) -> list[bool | None]:
    """Return whether each rewritten source behaves as its program, in order. None if that cannot be verified.

    Verdicts are cached, so that no source is run twice.

    Args:
        pairs: Names of programs, each with a rewritten source.
    """
    run.raise_if_cancelled()
    new = {name: source for name, source in pairs if (name, source) not in run.verdicts}
    if run.verify is not None and new:
        verdicts = run.verify([(run.programs[name], source) for name, source in new.items()])
        run.verdicts |= {(name, source): verdicts.get(name) for name, source in new.items()}
    return [run.verdicts.get(key) for key in pairs]


def _responsible_functions(
    name: str, workspace: Workspace, functions: Mapping[str, Function], run: _CompressionRun
) -> set[str]:
    """Return the functions that change a program's behaviour by themselves, or all of its functions if none does."""
    called = workspace.called_patterns(name)
    if len(called) == 1:
        return set(called)
    responsible = set()
    for suspect in called:
        trial = workspace.copy()
        trial.inline([name for name in trial.patterns if name != suspect])
        if _verify_all([(name, Executables(trial, functions).standalone(name))], run) == [False]:
            responsible.add(suspect)
    return responsible or set(called)


def _build_result(workspace: Workspace, functions: Mapping[str, Function], run: _CompressionRun) -> Compression:
    """Return the result of the compression. The caller fills in the counts of the search."""
    lengths, executables = Lengths(workspace, functions), Executables(workspace, functions)
    programs_of, callers = programs_by_pattern(workspace), workspace.callers()
    half = half_of_tasks(run.programs.values())
    abstractions = []
    for name in workspace.patterns:
        saving = lengths.saving(name, callers[name])
        abstraction = _build_abstraction(name, workspace, functions, executables, saving, programs_of[name], run)
        calling_programs = callers[name] & workspace.programs.keys()
        callers_in_half = {caller for caller in calling_programs if run.programs[caller].task_id in half}
        smaller_saving = min(
            lengths.inlining_cost(name, callers_in_half),
            lengths.inlining_cost(name, calling_programs - callers_in_half),
        )
        abstractions.append(replace(abstraction, saving_elsewhere=smaller_saving))
    return Compression(
        abstractions=tuple(abstractions),
        rewritten={
            name: describe_rewriting(name, workspace, functions, executables)
            for name, term in workspace.programs.items()
            if term.calls
        },
        n_programs=len(workspace.programs),
        tokens_before=sum(lengths.of(name, term) for name, term in workspace.originals.items()),
        tokens_after=sum(map(lengths.of, workspace.programs)),
        tokens_library=lengths.library(),
        refused=dict(+run.refused),
        notes=tuple(run.notes),
        library=Library(workspace=workspace, functions=functions),
        engine=run.engine.name,
    )


def describe_rewriting(
    name: str, workspace: Workspace, functions: Mapping[str, Function], executables: Executables
) -> RewrittenProgram:
    """Return a program before and after it was rewritten."""
    return RewrittenProgram(
        before=program_source(workspace.originals[name], {}),
        after=executables.program(name),
        standalone=executables.standalone(name),
        functions=tuple(functions[head].name for head in workspace.called_patterns(name)),
    )


def _build_abstraction(
    name: str,
    workspace: Workspace,
    functions: Mapping[str, Function],
    executables: Executables,
    saving: int,
    program_ids: set[str],
    run: _CompressionRun,
) -> Abstraction:
    return Abstraction(
        name=functions[name].name,
        source=executables.function(name),
        arity=len(functions[name].interface.parameters),
        calls=tuple(functions[head].name for head in workspace.patterns if head in workspace.term(name).calls),
        needs=find_tools(workspace.expand(name)),
        uses=tuple(sorted(program_ids)),
        n_tasks=len({run.programs[program].task_id for program in program_ids}),
        saving=saving,
        proofs=_proofs(name, sorted(program_ids), executables, run),
    )


def _proofs(name: str, program_ids: Sequence[str], executables: Executables, run: _CompressionRun) -> tuple[str, ...]:
    """Return the ids of the programs that prove a function: their tests pass, and fail once it only raises."""
    passing = [
        program_id for program_id in program_ids if run.verdicts.get((program_id, executables.standalone(program_id)))
    ]
    verdicts = _verify_all(
        [(program_id, executables.standalone(program_id, disabled=name)) for program_id in passing], run
    )
    return tuple(program_id for program_id, verdict in zip(passing, verdicts, strict=True) if verdict is False)
