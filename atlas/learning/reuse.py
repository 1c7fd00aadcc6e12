"""Measurement of how much a learned library saves on programs that it was not learned from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from atlas.learning.compression import compress, default_checks, describe_rewriting
from atlas.learning.reading import StarNames, Tools, make_tool_lookup, read_programs
from atlas.learning.results import Compression, Library, RewrittenProgram
from atlas.learning.rewrite.applying import apply_library
from atlas.learning.rewrite.executable import Executables
from atlas.learning.rewrite.lengths import Lengths
from atlas.learning.rewrite.sharing import SharedDefinitions, apply_definitions, parse_programs
from atlas.learning.rewrite.workspace import Workspace, inline_pattern
from atlas.learning.sandbox.runner import Sandbox
from atlas.learning.search.engines import Engine
from atlas.learning.search.limits import IsCancelled, Limits, StageProgress
from atlas.learning.terms.description_length import n_tokens
from atlas.learning.terms.programs import Program, half_of_tasks
from atlas.learning.whole_definitions import (
    Verify,
    sharing_verdicts,
    tools_and_definitions,
    verifier_with_definitions,
    with_preludes,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reuse:
    """The effect of a library on programs that it was not learned from."""

    n_programs: int
    n_functions: int
    """Functions in the library."""

    used: Mapping[str, int]
    """Number of programs that need each function, keyed by name."""

    saved: Mapping[str, int]
    """Tokens that each function saves in the programs that call it, keyed by name, largest saving first."""

    tokens_before: int
    tokens_after: int
    """Tokens of the rewritten programs. The library is not counted, because it existed before."""

    rewritten: Mapping[str, RewrittenProgram]
    n_refused: int
    """Programs that behaved differently with the functions, and were left unchanged."""

    @property
    def ratio(self) -> float:
        """The factor by which the programs got shorter, 1 if no function fits."""
        return self.tokens_before / self.tokens_after if self.tokens_after else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutResult:
    """A library learned from the programs of half of the tasks, and its effect on the programs of the other half."""

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
    """Learn a library from the programs of half of the tasks, and rewrite the programs of the other half.

    Raises:
        Cancelled: `cancelled` returned True.
        EngineError: The search ended without an answer.
    """
    verify, star_names = default_checks(sandbox, verify, star_names, cancelled)
    training = half_of_tasks(programs, seed)
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
    """Rewrite programs to call the functions of a library, wherever a call makes the program shorter.

    Args:
        sandbox: Provides `verify` and `star_names` where these are not given.
        tools: Names of an agent's tools, as in `compress`.
    """
    verify, star_names = default_checks(sandbox, verify, star_names)
    by_id = {program.id: program for program in programs}
    ids_with_calls = {name for name, program in by_id.items() if _name_prefix(library) in program.source}
    tool_lookup = make_tool_lookup(tools, are_run=verify is not None)
    sharing, n_changed = _apply_shared_definitions(
        [by_id[name] for name in by_id if name not in ids_with_calls], library, tool_lookup, verify
    )
    current = [sharing.programs.get(name, program) for name, program in by_id.items()]
    corpus = read_programs(
        current, limits or Limits(), Counter(), star_names, tools_and_definitions(tool_lookup, sharing)
    )
    originals = {name: term for name, term in corpus.terms.items() if name not in ids_with_calls}
    workspace = apply_library(library.workspace, library.functions, originals, corpus.removable_imports)
    verify_with_definitions = None if verify is None else verifier_with_definitions(sharing, by_id, verify)
    n_refused = n_changed + _revert_misbehaving(
        workspace, library, {program.id: program for program in current}, verify_with_definitions
    )
    called = [name for name, term in workspace.programs.items() if term.calls]
    executables = Executables(workspace, library.functions)
    rewritten_programs = {name: describe_rewriting(name, workspace, library.functions, executables) for name in called}
    with_definitions = with_preludes(rewritten_programs, originals, sharing, by_id)
    lengths = Lengths(workspace, library.functions)
    return Reuse(
        n_programs=len(originals),
        n_functions=len(library.workspace.patterns) + len(library.definitions),
        used=dict(
            Counter(function for rewritten in with_definitions.rewritten.values() for function in rewritten.functions)
        ),
        saved=_savings(workspace, library, with_definitions.rewritten),
        tokens_before=sum(lengths.of(name, term) for name, term in originals.items()) + with_definitions.n_tokens_less,
        tokens_after=sum(map(lengths.of, originals)),
        rewritten=with_definitions.rewritten,
        n_refused=n_refused,
    )


def _savings(workspace: Workspace, library: Library, rewritten: Mapping[str, RewrittenProgram]) -> dict[str, int]:
    """Return the number of tokens that calls of each function save, keyed by its name, largest first."""
    lengths = Lengths(workspace, library.functions)
    savings: Counter[str] = Counter()
    for name, term in workspace.programs.items():
        for head in term.calls:
            inlined = inline_pattern(term, workspace.patterns[head])
            savings[library.functions[head].name] += lengths.of(name, inlined) - lengths.of(name, term)
    for definition in library.definitions:
        n_users = sum(definition.name in program.functions for program in rewritten.values())
        if n_users:
            savings[definition.name] = n_users * n_tokens(definition.source)
    return dict(savings.most_common())


def _apply_shared_definitions(
    programs: Sequence[Program], library: Library, tools: Tools, verify: Verify | None
) -> tuple[SharedDefinitions, int]:
    """Replace the definitions of programs by equal definitions of a library.

    Returns:
        The changed programs, and the number of programs that were left out because they would behave differently.
    """
    parsed_programs = parse_programs(programs, tools) if library.definitions else []
    originals = {program.id: program for program in programs}
    verified_ids = set() if verify is None else set(originals)
    misbehaving: set[str] = set()
    while True:
        candidates = [parsed for parsed in parsed_programs if parsed.program.id not in misbehaving]
        sharing = apply_definitions(library.definitions, candidates, verified_ids)
        verdicts = sharing_verdicts(sharing, originals, verify)
        changed = {name for name, is_same in verdicts.items() if is_same is False}
        unverified = {name for name, is_same in verdicts.items() if is_same is None} & verified_ids
        if not (changed or unverified):
            return sharing, len(misbehaving)
        misbehaving |= changed
        verified_ids -= unverified


def _name_prefix(library: Library) -> str:
    """Return the prefix of a library's numbered names, or NUL, which no source contains, if none is numbered."""
    names = [
        *(function.name for function in library.functions.values()),
        *(definition.name for definition in library.definitions),
    ]
    return next((name.rstrip("0123456789") for name in names if name[-1:].isdigit()), "\0")


def _revert_misbehaving(
    workspace: Workspace, library: Library, programs: Mapping[str, Program], verify: Verify | None
) -> int:
    """Revert the programs that behave differently after rewriting, and return their number."""
    rewritten = [name for name, term in workspace.programs.items() if term.calls]
    if verify is None or not rewritten:
        return 0
    executables = Executables(workspace, library.functions)
    verdicts = verify([(programs[name], executables.standalone(name)) for name in rewritten])
    misbehaving = [name for name in rewritten if verdicts.get(name) is False]
    for name in misbehaving:
        workspace.set_term(name, workspace.originals[name])
    return len(misbehaving)
