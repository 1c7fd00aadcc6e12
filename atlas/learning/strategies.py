"""Learning of concepts from attempts: programs are compressed, functions are named, and the result is verified."""

from __future__ import annotations

import asyncio
import builtins
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from atlas.core.errors import Cancelled, InvalidInput
from atlas.core.filters import scope_of, shared_scope
from atlas.core.json_values import dump
from atlas.core.types import CodeConcept, Experience, Trajectory
from atlas.infra.bridge import call, in_thread
from atlas.learning.compression import compress
from atlas.learning.examples import N_RECORDED_KEY, find_examples
from atlas.learning.extraction import programs_of
from atlas.learning.naming.autodoc import LLMAutoDocumenter
from atlas.learning.naming.documenter import HeuristicDocumenter
from atlas.learning.reasons import explain_empty_result
from atlas.learning.results import Abstraction, Compression
from atlas.learning.rewrite.normal_forms import shape
from atlas.learning.rewrite.rename import rename_identifiers
from atlas.learning.rewritings import (
    Rewriting,
    find_identifiers,
    function_name,
    programs_to_record,
    verify_rewritten_programs,
    with_concept_names,
)
from atlas.learning.sandbox.modules import PublicNames
from atlas.learning.sandbox.runner import RunLimits, Sandbox
from atlas.learning.sandbox.verification import Verifier
from atlas.learning.search.engines import Engine
from atlas.learning.search.limits import IsCancelled, Limits, StageProgress
from atlas.learning.search.model_engine import ModelEngine
from atlas.learning.terms.names import defines_class, unused_name
from atlas.learning.terms.programs import Program
from atlas.learning.workflows import Workflow, find_workflows
from atlas.protocols.infra import LLMClient, Progress
from atlas.protocols.strategies import ConceptDocumenter

_log = logging.getLogger(__name__)

PROVEN = "proven"
"""Metadata key of a learned concept: whether it was verified by running programs."""

MAX_EXAMPLES = 10
"""Number of uses of a concept that are passed to its documenter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedConcept:
    """A concept that compression found, with its measurements."""

    concept: CodeConcept
    saving: int
    """Tokens that the concept saves in programs and library, minus its length."""

    arity: int
    n_tasks: int
    n_verified: int
    """Number of the `n_checked` programs that behaved the same as before."""

    n_checked: int
    """Number of programs whose tests run the concept."""

    is_known: bool
    """True if the library already contains the concept."""

    saving_elsewhere: int = 0
    """Tokens that the concept saves in the half of the tasks in which it saves less. Concepts are sorted by it."""

    @property
    def is_proven(self) -> bool:
        """True if the tests of at least one program run the concept, and all such programs behaved as before."""
        return 0 < self.n_checked == self.n_verified


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The additions to a library that compressing attempts found."""

    learned: tuple[LearnedConcept, ...]
    """Concepts, callees first."""

    rewritings: tuple[Rewriting, ...]
    compression: Compression
    dropped: Mapping[str, int]
    """Number of attempts without a program, keyed by reason."""

    @property
    def concepts(self) -> list[CodeConcept]:
        """New concepts, callees first."""
        return [learned.concept for learned in self.learned if not learned.is_known]

    @property
    def proven(self) -> list[CodeConcept]:
        """The new concepts that were verified by running programs."""
        return [learned.concept for learned in self.learned if not learned.is_known and learned.is_proven]


class ProvenCompression:
    """A strategy that finds functions in several programs, names them, and verifies them by running the programs."""

    def __init__(
        self,
        documenter: ConceptDocumenter | None = None,
        *,
        engine: Engine | None = None,
        limits: Limits | None = None,
        run_limits: RunLimits | None = None,
        path: Sequence[Path] = (),
    ) -> None:
        """Store the settings. `compress` does the work.

        Args:
            documenter: Names the functions. By default, names are derived from code and uses.
            engine: The search. By default Stitch if it is installed.
            limits: Limits of the search.
            run_limits: Limits of each program that is run for verification.
            path: Directories of modules that the programs import.
        """
        self.documenter = documenter
        self._engine = engine
        self._limits = limits
        self._run_limits = run_limits
        self._path = path

    async def compress(self, trajectories: list[Trajectory]) -> list[CodeConcept]:
        """Return concepts that shorten the programs of the successful attempts, callees first.

        `proven` in a concept's metadata is True if it was verified by running programs, else False. The log reports the
        number of unverified concepts, or why no concept was found.
        """
        proposal = await self.propose(trajectories)
        n_found, n_unproven = len(proposal.concepts), len(proposal.concepts) - len(proposal.proven)
        if not n_found:
            compression = proposal.compression
            reason = explain_empty_result(
                len(trajectories), compression.n_programs, proposal.dropped, compression.refused
            )
            _log.warning("found no concept: %s", reason)
        if n_unproven:
            _log.warning(
                "%d of %d concepts are not proven, because no tests run them; see `metadata`", n_unproven, n_found
            )
        return proposal.concepts

    async def propose(
        self,
        attempts: Sequence[Trajectory | Experience],
        library: Sequence[CodeConcept] = (),
        *,
        progress: StageProgress | None = None,
        cancelled: IsCancelled | None = None,
    ) -> Proposal:
        """Return the concepts that `compress` finds, with savings, rewritten programs and results of verification.

        Args:
            library: Existing concepts. The concepts' names are reserved. A found concept with equal code is marked as
                known.

        Raises:
            Cancelled: `cancelled` returned True; the store was not changed.
            EngineError: The search ended without an answer.
        """
        extraction = await asyncio.to_thread(programs_of, attempts)
        programs = {program.id: program for program in extraction.programs}
        with Sandbox(self._run_limits, path=self._path) as sandbox:
            verifier = Verifier(sandbox, is_cancelled=cancelled)
            on_progress = _verification_progress(progress)
            compression = await asyncio.to_thread(
                compress,
                extraction.programs,
                engine=self._engine,
                limits=self._limits,
                verify=partial(verifier.compare_all, on_progress=on_progress),
                star_names=PublicNames(sandbox, is_cancelled=cancelled),
                progress=progress,
                cancelled=cancelled,
            )
            metadatas = {attempt.id: attempt.metadata for attempt in attempts}
            concepts, existing = await self._name_concepts(compression, programs, metadatas, library, cancelled)
            rewritings = await asyncio.to_thread(
                verify_rewritten_programs, compression, programs, concepts, verifier, on_progress
            )
            new = [concept for placeholder, concept in concepts.items() if placeholder not in existing]
            find = {concept.id: concept for concept in (*library, *concepts.values())}.get
            run_again = partial(find_examples, find=find, is_cancelled=cancelled)
            examples = await asyncio.to_thread(
                run_again, new, programs_to_record(compression, rewritings, concepts), sandbox
            )
            concepts |= {placeholder: _with_examples(item, examples) for placeholder, item in concepts.items()}
            reserved = [concept.name for concept in (*library, *concepts.values())]
            workflows = await asyncio.to_thread(find_workflows, attempts, reserved)
            replayed = await asyncio.to_thread(_replay_workflows, workflows, library, sandbox, cancelled)
        learned = [
            *(_measure_concept(item, concepts, existing, rewritings) for item in compression.abstractions),
            *replayed,
        ]
        return Proposal(
            learned=tuple(map(_record_proof, learned)),
            rewritings=tuple(rewritings),
            compression=compression,
            dropped=extraction.dropped,
        )

    async def _name_concepts(
        self,
        compression: Compression,
        programs: Mapping[str, Program],
        metadatas: Mapping[str, Mapping[str, Any]],
        library: Sequence[CodeConcept],
        cancelled: IsCancelled | None,
    ) -> tuple[dict[str, CodeConcept], set[str]]:
        """Return the concepts, keyed by placeholder, and the placeholders of those already in the library."""
        reserved = {concept.name for concept in library} | set(dir(builtins))
        for rewritten in compression.rewritten.values():
            reserved |= find_identifiers(rewritten.before)
        placeholders = {abstraction.name for abstraction in compression.abstractions}
        tasks = {program.description for program in programs.values()}
        documenter = self.documenter or HeuristicDocumenter(reserved, tasks, placeholders)
        by_shape = _index_by_shape(library)
        concepts: dict[str, CodeConcept] = {}
        existing: set[str] = set()
        for abstraction in compression.abstractions:
            if cancelled is not None and cancelled():
                raise Cancelled("naming the concepts was cancelled; nothing was changed")
            scope = shared_scope(metadatas.get(attempt_id, {}) for attempt_id in abstraction.uses)
            unnamed = _unnamed_concept(abstraction, concepts, scope)
            match = by_shape.get(_shape(unnamed))
            if match is not None:
                existing.add(abstraction.name)
                concepts[abstraction.name] = match
                continue
            concepts[abstraction.name] = unnamed
            with suppress(InvalidInput):  # a function that cannot be renamed keeps its placeholder
                examples = _usage_examples(abstraction, compression, programs, concepts)
                documented = await in_thread(call, documenter.document, unnamed, examples)
                concepts[abstraction.name] = _with_free_name(documented, reserved)
            reserved.add(concepts[abstraction.name].name)
        for abstraction in compression.abstractions:
            if abstraction.name not in existing:
                concepts[abstraction.name] = _with_later_calls(abstraction, concepts)
        return concepts, existing


class StitchCompressionStrategy(ProvenCompression):
    """Symbolic compression: Stitch finds code that programs have in common, and functions are named as in LILO.

    Source:
        Bowers et al., Top-Down Synthesis for Library Learning, POPL 2023; Grand et al., LILO, ICLR 2024.
    """


class LLMCompressionStrategy(ProvenCompression):
    """A strategy in which a language model proposes and names functions. The functions are checked as for Stitch."""

    def __init__(
        self,
        llm_client: LLMClient,
        documenter: ConceptDocumenter | None = None,
        *,
        limits: Limits | None = None,
        run_limits: RunLimits | None = None,
        path: Sequence[Path] = (),
    ) -> None:
        """Store the settings. `compress` does the work.

        Args:
            documenter: Names the functions. By default, the same model names them.
            limits: Limits of the time for questions, and of the number of functions.
            run_limits: Limits of each program that is run for verification.
            path: Directories of modules that the programs import.
        """
        super().__init__(
            documenter or LLMAutoDocumenter(llm_client),
            engine=ModelEngine(llm_client),
            limits=limits,
            run_limits=run_limits,
            path=path,
        )


def _index_by_shape(library: Sequence[CodeConcept]) -> dict[tuple[str, str], CodeConcept]:
    """Return the Python concepts of a library, keyed by the shape of their code and their scope."""
    return {_shape(concept): concept for concept in library if concept.language == "python"}


def _shape(concept: CodeConcept) -> tuple[str, str]:
    """Return a key by which concepts are compared: the shape of the code, and the scope."""
    return shape(concept.code), dump(scope_of(concept.metadata))


def _verification_progress(progress: StageProgress | None) -> Progress | None:
    """Return a callback that reports the share of programs that have been run."""
    return None if progress is None else lambda done, total: progress("verifying", done / total)


def _rename_functions(code: str, names: Mapping[str, str]) -> str:
    """Return the code with functions renamed, or with aliases in front if they cannot be renamed."""
    try:
        return rename_identifiers(code, names)
    except InvalidInput:
        return "\n".join([*(f"{old} = {new}" for old, new in names.items() if old != new), "", "", code])


def _unnamed_concept(
    abstraction: Abstraction, concepts: Mapping[str, CodeConcept], scope: Mapping[str, Any]
) -> CodeConcept:
    """Return an abstraction as a concept, named by its placeholder, that calls earlier concepts by their names."""
    earlier = [placeholder for placeholder in abstraction.calls if placeholder in concepts]
    names = {placeholder: function_name(concepts[placeholder]) for placeholder in earlier}
    tools = {"tools": list(abstraction.needs)} if abstraction.needs else {}
    return CodeConcept(
        name=abstraction.name,
        description=abstraction.name,
        code=_rename_functions(abstraction.source, names),
        source="learned",
        calls=tuple(concepts[placeholder].id for placeholder in earlier),
        found_in=abstraction.uses,
        metadata={
            "n_tasks": abstraction.n_tasks,
            "saving": abstraction.saving,
            **tools,
            **scope,
        },
    )


def _with_later_calls(abstraction: Abstraction, concepts: Mapping[str, CodeConcept]) -> CodeConcept:
    """Return the concept of an abstraction with its calls of later concepts added, as mutual recursion needs them."""
    concept = concepts[abstraction.name]
    missing = [placeholder for placeholder in abstraction.calls if concepts[placeholder].id not in concept.calls]
    if not missing:
        return concept
    names = {placeholder: function_name(concepts[placeholder]) for placeholder in missing}
    return replace(
        concept,
        code=_rename_functions(concept.code, names),
        calls=(*concept.calls, *(concepts[placeholder].id for placeholder in missing)),
    )


def _usage_examples(
    abstraction: Abstraction,
    compression: Compression,
    programs: Mapping[str, Program],
    concepts: Mapping[str, CodeConcept],
) -> list[tuple[str, str]]:
    """Return pairs of a task's text and the program that solves the task with the function."""
    direct_users = [name for name in abstraction.uses if abstraction.name in compression.rewritten[name].after]
    names = (direct_users or list(abstraction.uses))[:MAX_EXAMPLES]
    return [
        (programs[name].description, with_concept_names(compression.rewritten[name], concepts)[0]) for name in names
    ]


def _with_free_name(concept: CodeConcept, reserved: set[str]) -> CodeConcept:
    """Return the concept with a free name. A class keeps its name."""
    if defines_class(concept.code):
        return concept
    free = unused_name(concept.name, reserved)
    if free == concept.name:
        return concept
    return replace(
        concept,
        name=free,
        code=rename_identifiers(concept.code, {function_name(concept): free}),
        signature=concept.signature.replace(f"{function_name(concept)}(", f"{free}(", 1),
    )


def _with_examples(concept: CodeConcept, examples: Mapping[str, tuple[tuple[str, str], ...]]) -> CodeConcept:
    """Return the concept with its recorded examples, if it has any."""
    pairs = examples.get(concept.id, ())
    if not pairs:
        return concept
    return replace(concept, examples=pairs, metadata={**concept.metadata, N_RECORDED_KEY: len(pairs)})


def _record_proof(learned: LearnedConcept) -> LearnedConcept:
    """Return the concept with the result of its verification as metadata. An existing concept stays unchanged."""
    if learned.is_known:
        return learned
    return replace(
        learned, concept=replace(learned.concept, metadata={**learned.concept.metadata, PROVEN: learned.is_proven})
    )


def _replay_workflows(
    workflows: Sequence[Workflow], library: Sequence[CodeConcept], sandbox: Sandbox, cancelled: IsCancelled | None
) -> list[LearnedConcept]:
    """Return workflows as concepts, each proven by replaying the calls of its runs."""
    by_shape = _index_by_shape(library)
    tests = [(workflow.code, workflow.test(index)) for workflow in workflows for index in range(len(workflow.runs))]
    results = iter(sandbox.run_all(tests, is_cancelled=cancelled))
    learned = []
    for workflow in workflows:
        outcomes = [next(results).outcome for _ in workflow.runs]
        concept = workflow.concept()
        match = by_shape.get(_shape(concept))
        learned.append(
            LearnedConcept(
                concept=match or concept,
                saving=workflow.saving,
                saving_elsewhere=workflow.saving * (workflow.n_tasks // 2) // workflow.n_tasks,
                arity=len(workflow.arguments[0]),
                n_tasks=workflow.n_tasks,
                n_verified=outcomes.count("passed"),
                n_checked=len(outcomes),
                is_known=match is not None,
            )
        )
    return learned


def _measure_concept(
    abstraction: Abstraction, concepts: Mapping[str, CodeConcept], existing: set[str], rewritings: Sequence[Rewriting]
) -> LearnedConcept:
    """Return the concept of an abstraction with its measurements."""
    concept = concepts[abstraction.name]
    proofs = [rewriting.does_the_same for rewriting in rewritings if rewriting.program.id in abstraction.proofs]
    return LearnedConcept(
        concept=concept,
        saving=abstraction.saving,
        saving_elsewhere=abstraction.saving_elsewhere,
        arity=abstraction.arity,
        n_tasks=abstraction.n_tasks,
        n_verified=proofs.count(True),
        n_checked=len(proofs),
        is_known=abstraction.name in existing,
    )
