"""Programs rewritten to call concepts by their names, for display, verification and recording examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from atlas.core.errors import InvalidInput
from atlas.core.types import CodeConcept
from atlas.learning.examples import RecordedProgram
from atlas.learning.results import Compression, RewrittenProgram
from atlas.learning.rewrite.rename import rename_identifiers
from atlas.learning.sandbox.verification import Verifier
from atlas.learning.terms.names import defined_name, defines_class, identifiers
from atlas.learning.terms.parsing import try_parse
from atlas.learning.terms.programs import Program
from atlas.protocols.infra import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewriting:
    """A program before and after it was rewritten."""

    program: Program
    before: str
    """Program without docstrings, annotations and comments."""

    after: str
    concepts: tuple[str, ...]
    """Ids of the concepts that the program needs."""

    does_the_same: bool | None
    """Result of the verification. None if no test runs the inserted calls."""


def verify_rewritten_programs(
    compression: Compression,
    programs: Mapping[str, Program],
    concepts: Mapping[str, CodeConcept],
    verifier: Verifier,
    on_progress: Progress | None,
) -> list[Rewriting]:
    """Run every rewritten program with the proposed concepts. Return the programs with the results."""
    renamed_programs = {
        name: with_concept_names(rewritten, concepts) for name, rewritten in compression.rewritten.items()
    }
    sources = {
        name: _standalone(after, compression.rewritten[name], concepts, names)
        for name, (after, names) in renamed_programs.items()
    }
    proof_ids = {name for abstraction in compression.abstractions for name in abstraction.proofs}
    pairs = [(programs[name], source) for name, source in sources.items()]
    verdicts = verifier.judge_all(pairs, on_progress=on_progress)
    return [
        Rewriting(
            program=programs[name],
            before=rewritten.before,
            after=renamed_programs[name][0],
            concepts=tuple(concepts[placeholder].id for placeholder in rewritten.functions),
            does_the_same=verdicts[name].is_proven if name in proof_ids else None,
        )
        for name, rewritten in compression.rewritten.items()
    ]


def programs_to_record(
    compression: Compression, rewritings: Sequence[Rewriting], concepts: Mapping[str, CodeConcept]
) -> list[RecordedProgram]:
    """Return the programs that behaved the same with the concepts, prepared to record calls of the concepts."""
    results = []
    for rewriting in rewritings:
        rewritten = compression.rewritten[rewriting.program.id]
        after, names = with_concept_names(rewritten, concepts)
        if rewriting.does_the_same and rewriting.program.tests:
            results.append(
                RecordedProgram(
                    functions=_concept_code(rewritten, concepts, names),
                    program=after,
                    tests=rewriting.program.tests,
                    called_by={
                        concepts[name].id: names.get(name, name)
                        for name in rewritten.functions
                        if not defines_class(concepts[name].code)  # instances of a class are not literals
                    },
                )
            )
    return results


def with_concept_names(rewritten: RewrittenProgram, concepts: Mapping[str, CodeConcept]) -> tuple[str, dict[str, str]]:
    """Replace placeholders in a rewritten program by the names of concepts, except names that the program uses already.

    Returns:
        The program's source, and the new name for each replaced placeholder.
    """
    names_in_program = find_identifiers(rewritten.after)
    names = {key: function_name(concepts[key]) for key in rewritten.functions if key in concepts}
    names = {placeholder: name for placeholder, name in names.items() if name not in names_in_program}
    with suppress(InvalidInput):  # the program looks up names by string
        return rename_identifiers(rewritten.after, names), names
    return rewritten.after, {}


def _standalone(
    after: str, rewritten: RewrittenProgram, concepts: Mapping[str, CodeConcept], names: Mapping[str, str]
) -> str:
    """Return the rewritten program, preceded by the code of the concepts that it calls."""
    return f"{_concept_code(rewritten, concepts, names)}\n\n\n{after}"


def _concept_code(rewritten: RewrittenProgram, concepts: Mapping[str, CodeConcept], names: Mapping[str, str]) -> str:
    """Return the code of the concepts that a program needs, each under the name by which the program calls it."""
    called_by = {
        function_name(concepts[placeholder]): names.get(placeholder, placeholder) for placeholder in rewritten.functions
    }
    code = []
    for placeholder in rewritten.functions:
        function = function_name(concepts[placeholder])
        try:
            code.append(rename_identifiers(concepts[placeholder].code, called_by))
        except InvalidInput:
            alias = f"{called_by[function]} = {function}\n" if called_by[function] != function else ""
            code.append(f"{concepts[placeholder].code}\n{alias}")
    return "\n\n\n".join(code)


def function_name(concept: CodeConcept) -> str:
    """Return the name of the function that a concept's code defines. It may differ from the concept's name."""
    return defined_name(concept.code, concept.name)


def find_identifiers(source: str) -> set[str]:
    """Return the names that a program uses. Empty if it does not parse."""
    tree = try_parse(source)
    return identifiers(tree) if tree is not None else set()
