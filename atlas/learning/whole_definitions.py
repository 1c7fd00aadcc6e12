"""Compression by sharing whole definitions, before the remaining code is searched for abstractions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass, replace

from atlas.learning.reading import Tools
from atlas.learning.results import Abstraction, Compression, RewrittenProgram
from atlas.learning.rewrite.executable import raising_stub
from atlas.learning.rewrite.sharing import (
    ParsedProgram,
    SharedDefinition,
    SharedDefinitions,
    extract_shared_definitions,
)
from atlas.learning.search.limits import Limits
from atlas.learning.terms.description_length import n_tokens
from atlas.learning.terms.normalisation import normalise
from atlas.learning.terms.programs import Program, half_of_tasks

Verify = Callable[[Sequence[tuple[Program, str]]], Mapping[str, bool | None]]
"""Function that runs programs and their rewritten sources, and compares them.

It returns a value for each id: True if both behave the same, and None if that cannot be verified."""


class _UnionOfContainers:
    """A container of the names in two containers."""

    def __init__(self, first: Container[str], second: Container[str]) -> None:
        self._parts = (first, second)

    def __contains__(self, name: object) -> bool:
        return any(name in part for part in self._parts)


def tools_and_definitions(tools: Tools, sharing: SharedDefinitions) -> Tools:
    """Return a tool lookup that also contains the names of the shared definitions that a program uses."""
    return lambda program: _UnionOfContainers(tools(program), sharing.used.get(program.id, ()))


def verify_sharing(
    parsed_programs: Sequence[ParsedProgram], limits: Limits, prefix: str, verify: Verify | None
) -> tuple[SharedDefinitions, int]:
    """Return the shared definitions that change no program's behaviour, and the number of excluded definitions."""
    originals = {parsed.program.id: parsed.program for parsed in parsed_programs}
    excluded: set[str] = set()
    verified_ids = set[str]() if verify is None else set(originals)
    while True:
        sharing = extract_shared_definitions(parsed_programs, limits, prefix, excluded, verified_ids)
        verdicts = sharing_verdicts(sharing, originals, verify)
        misbehaving = {name for name, is_same in verdicts.items() if is_same is False}
        unverified = {name for name, is_same in verdicts.items() if is_same is None} & verified_ids
        if verify is None or not (misbehaving or unverified):
            return sharing, len(excluded)
        verified_ids -= unverified
        normalised_verdicts = verify(
            [(originals[name], ast.unparse(normalise(originals[name].source))) for name in misbehaving]
        )
        unreadable = {name for name in misbehaving if normalised_verdicts.get(name) is False}
        parsed_programs = [parsed for parsed in parsed_programs if parsed.program.id not in unreadable]
        changed_by_sharing = misbehaving - unreadable
        excluded |= {
            definition.form
            for definition in sharing.definitions
            for name in changed_by_sharing
            if definition.name in sharing.used[name]
        }


def sharing_verdicts(
    sharing: SharedDefinitions, originals: Mapping[str, Program], verify: Verify | None
) -> Mapping[str, bool | None]:
    """Return whether each program behaves the same with shared definitions, keyed by id. None if it is unverified."""
    if not sharing.programs:
        return {}
    if verify is None:
        return dict.fromkeys(sharing.programs)
    pairs = [(originals[name], sharing.prelude(name) + program.source) for name, program in sharing.programs.items()]
    verdicts = verify(pairs)
    return {name: verdicts.get(name) for name in sharing.programs}


def verifier_with_definitions(sharing: SharedDefinitions, originals: Mapping[str, Program], verify: Verify) -> Verify:
    """Return a function that calls `verify` with the shared definitions in front of each rewritten source."""

    def compare_all(pairs: Sequence[tuple[Program, str]]) -> Mapping[str, bool | None]:
        return verify([(originals[program.id], sharing.prelude(program.id) + source) for program, source in pairs])

    return compare_all


def _proofs(
    definition: SharedDefinition,
    sources: Mapping[str, str],
    sharing: SharedDefinitions,
    originals: Mapping[str, Program],
    verify: Verify | None,
) -> tuple[str, ...]:
    """Return the ids of the programs that pass with a definition, and fail if the definition raises.

    Args:
        sources: Rewritten programs that need the definition, without the code of shared definitions.
    """
    if verify is None:
        return ()
    stub = raising_stub(definition.name)
    verdicts = verify([(originals[name], sharing.prelude(name) + source) for name, source in sources.items()])
    passing_names = [name for name in sources if verdicts.get(name)]
    without_definition = verify(
        [(originals[name], sharing.prelude(name, stub) + sources[name]) for name in passing_names]
    )
    return tuple(name for name in passing_names if without_definition.get(name) is False)


def _needed_tools(definitions: Sequence[SharedDefinition], names: Collection[str]) -> set[str]:
    """Return the tools that definitions need, directly or through other definitions."""
    by_name = {definition.name: definition for definition in definitions}
    reached: set[str] = set()
    stack = [name for name in names if name in by_name]
    while stack:
        name = stack.pop()
        if name not in reached:
            reached.add(name)
            stack += by_name[name].calls
    return {tool for name in reached for tool in by_name[name].tools}


def with_definitions(
    compression: Compression, sharing: SharedDefinitions, originals: Mapping[str, Program], verify: Verify | None
) -> Compression:
    """Return a compression whose functions are preceded by the shared definitions."""
    names = {definition.name for definition in sharing.definitions}
    standalone = with_preludes(compression.rewritten, compression.library.workspace.programs, sharing, originals)
    rewritten = standalone.rewritten
    shared_abstractions = tuple(
        _shared_abstraction(definition, rewritten, sharing, originals, verify) for definition in sharing.definitions
    )
    functions = tuple(
        _with_shared_definitions(abstraction, names, sharing.definitions) for abstraction in compression.abstractions
    )
    return replace(
        compression,
        abstractions=(*shared_abstractions, *functions),
        rewritten=rewritten,
        n_found=compression.n_found + len(shared_abstractions),
        n_valid=compression.n_valid + len(shared_abstractions),
        tokens_before=compression.tokens_before + standalone.n_tokens_less,
        tokens_library=compression.tokens_library
        + sum(n_tokens(definition.source) for definition in sharing.definitions),
        library=replace(compression.library, definitions=sharing.definitions),
    )


def _with_shared_definitions(
    abstraction: Abstraction, names: set[str], definitions: Sequence[SharedDefinition]
) -> Abstraction:
    """Return an abstraction with shared definitions moved from its needed tools to its calls."""
    calls = [definition.name for definition in definitions if definition.name in abstraction.needs]
    needs = {*abstraction.needs} - names | _needed_tools(definitions, abstraction.needs)
    return replace(abstraction, needs=tuple(sorted(needs)), calls=(*calls, *abstraction.calls))


@dataclass(frozen=True, slots=True, kw_only=True)
class StandalonePrograms:
    """Rewritten programs with the shared definitions that they need."""

    rewritten: dict[str, RewrittenProgram]
    n_tokens_less: int
    """Tokens that the shared definitions save in the programs."""


def with_preludes(
    rewritten: Mapping[str, RewrittenProgram],
    searched_ids: Collection[str],
    sharing: SharedDefinitions,
    originals: Mapping[str, Program],
) -> StandalonePrograms:
    """Return rewritten programs, each preceded by the shared definitions that it uses.

    Args:
        rewritten: Programs that call functions, without the code of shared definitions.
        searched_ids: Ids of all programs that were searched.
    """
    with_prelude, n_saved = dict(rewritten), 0
    for name in sharing.programs.keys() & set(searched_ids):
        normalised_original = ast.unparse(normalise(originals[name].source))
        source = ast.unparse(normalise(sharing.programs[name].source))
        with_functions = rewritten.get(name)
        n_saved += n_tokens(normalised_original) - n_tokens(source)
        with_prelude[name] = RewrittenProgram(
            before=normalised_original,
            after=with_functions.after if with_functions else source,
            standalone=sharing.prelude(name) + (with_functions.standalone if with_functions else source),
            functions=(*sharing.used[name], *(with_functions.functions if with_functions else ())),
        )
    return StandalonePrograms(rewritten=with_prelude, n_tokens_less=n_saved)


def _shared_abstraction(
    definition: SharedDefinition,
    rewritten: Mapping[str, RewrittenProgram],
    sharing: SharedDefinitions,
    originals: Mapping[str, Program],
    verify: Verify | None,
) -> Abstraction:
    """Return a shared definition as an abstraction, with the programs that use it."""
    program_ids = [
        name for name, used_names in sharing.used.items() if definition.name in used_names and name in rewritten
    ]
    sources = {name: rewritten[name].standalone.removeprefix(sharing.prelude(name)) for name in program_ids}
    half, length = half_of_tasks(originals.values()), n_tokens(definition.source)
    n_in_half = sum(originals[name].task_id in half for name in program_ids)
    return Abstraction(
        name=definition.name,
        source=definition.source,
        arity=definition.arity,
        calls=definition.calls,
        needs=tuple(sorted(_needed_tools(sharing.definitions, [definition.name]))),
        uses=tuple(sorted(program_ids)),
        n_tasks=len({originals[name].task_id for name in program_ids}),
        saving=(len(program_ids) - 1) * length,
        saving_elsewhere=min(n_in_half, len(program_ids) - n_in_half) * length,
        proofs=_proofs(definition, sources, sharing, originals, verify),
    )
