"""Concepts found in attempts: their programs compressed, what was found named, and everything run once more."""

from __future__ import annotations

import asyncio
import builtins
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from atlas.core.errors import Cancelled, InvalidInput
from atlas.core.types import CodeConcept, Experience, Trajectory
from atlas.infra.bridge import call, in_thread
from atlas.learning.compression import Abstraction, Compression, compress
from atlas.learning.examples import RECORDED, examples_of
from atlas.learning.extraction import programs_of
from atlas.learning.naming.autodoc import LLMAutoDocumenter
from atlas.learning.naming.documenter import HeuristicDocumenter
from atlas.learning.reasons import why_nothing
from atlas.learning.rewrite.normal_forms import shape
from atlas.learning.rewrite.rename import renamed
from atlas.learning.rewritings import (
    Rewriting,
    calling_by_name,
    function_name,
    identifiers_in,
    recordings,
    rewritten_programs,
)
from atlas.learning.sandbox.modules import PublicNames
from atlas.learning.sandbox.runner import RunLimits, Sandbox
from atlas.learning.sandbox.verification import Verifier
from atlas.learning.search.engines import Engine
from atlas.learning.search.limits import IsCancelled, Limits, StageProgress
from atlas.learning.search.model_engine import ModelEngine
from atlas.learning.terms.names import unused
from atlas.learning.terms.programs import Program
from atlas.protocols.infra import LLMClient, Progress
from atlas.protocols.strategies import ConceptDocumenter

_log = logging.getLogger(__name__)

PROVEN = "proven"
"""Under which a learned concept's metadata says whether running programs has proven it."""

MAX_EXAMPLES = 10
"""Uses of a concept that its documenter is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """A concept that compression found, and what speaks for it."""

    concept: CodeConcept
    saving: int
    """Tokens by which programs and library are shorter for it, itself counted."""

    arity: int
    n_tasks: int
    n_verified: int
    """Programs of `n_checked` that did the same as before."""

    n_checked: int
    """Programs whose tests run it."""

    is_known: bool
    """True if the library has it already."""

    @property
    def is_proven(self) -> bool:
        """True if the tests of some program run it, and all such programs did the same as before."""
        return 0 < self.n_checked == self.n_verified


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The additions to a library that compressing attempts found."""

    learned: tuple[Learned, ...]
    """Concepts, each after those that it calls."""

    rewritings: tuple[Rewriting, ...]
    compression: Compression
    dropped: Mapping[str, int]
    """Number of attempts that gave no program, by the reason why."""

    @property
    def concepts(self) -> list[CodeConcept]:
        """Concepts that the library has not yet, each after those that it calls."""
        return [one.concept for one in self.learned if not one.is_known]

    @property
    def proven(self) -> list[CodeConcept]:
        """The part of `concepts` that programs were run with, and did the same as before."""
        return [one.concept for one in self.learned if not one.is_known and one.is_proven]


class ProvenCompression:
    """Functions that an engine finds in several programs, named, each proven by running the programs with it."""

    def __init__(
        self,
        documenter: ConceptDocumenter | None = None,
        *,
        engine: Engine | None = None,
        limits: Limits | None = None,
        run_limits: RunLimits | None = None,
        path: Sequence[Path] = (),
    ) -> None:
        """Compress later.

        Args:
            documenter: Names what is found; names are derived from code and uses where there is none.
            engine: What searches; Stitch where it is installed.
            limits: Of the search.
            run_limits: Of each program that is run to prove that it still does the same.
            path: Directories of modules that the programs import.
        """
        self.documenter = documenter
        self._engine = engine
        self._limits = limits
        self._run_limits = run_limits
        self._path = path

    async def compress(self, trajectories: list[Trajectory]) -> list[CodeConcept]:
        """Return concepts that shorten the successful programs of these attempts, each after those that it calls.

        The `proven` in a concept's metadata is True where running programs has proven it, else False. The log says how
        many are not proven, or why there is no concept at all.
        """
        proposal = await self.propose(trajectories)
        n, n_unproven = len(proposal.concepts), len(proposal.concepts) - len(proposal.proven)
        if not n:
            made = proposal.compression
            why = why_nothing(len(trajectories), made.n_programs, proposal.dropped, made.refused)
            _log.warning("found no concept: %s", why)
        if n_unproven:
            _log.warning(
                "%d of %d concepts are not proven, since no program's tests run them; see `metadata`", n_unproven, n
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
        """Return what `compress` finds, with the savings, the rewritten programs and how far they were proven.

        Args:
            library: Concepts that are there: their names are not given again, and one that is found again is known.

        Raises:
            Cancelled: `cancelled` said so; nothing was changed.
            EngineFailed: The search ended without an answer.
        """
        extraction = await asyncio.to_thread(programs_of, attempts)
        programs = {program.id: program for program in extraction.programs}
        with Sandbox(self._run_limits, path=self._path) as sandbox:
            verifier = Verifier(sandbox, is_cancelled=cancelled)
            verifying = _verifying(progress)
            compression = await asyncio.to_thread(
                compress,
                extraction.programs,
                engine=self._engine,
                limits=self._limits,
                verify=partial(verifier.same, on_progress=verifying),
                star_names=PublicNames(sandbox, is_cancelled=cancelled),
                progress=progress,
                cancelled=cancelled,
            )
            concepts, known = await self._named(compression, programs, library, cancelled)
            shown = await asyncio.to_thread(rewritten_programs, compression, programs, concepts, verifier, verifying)
            new = [concept for placeholder, concept in concepts.items() if placeholder not in known]
            find = {concept.id: concept for concept in (*library, *concepts.values())}.get
            run_again = partial(examples_of, find=find, is_cancelled=cancelled)
            examples = await asyncio.to_thread(run_again, new, recordings(compression, shown, concepts), sandbox)
            concepts |= {placeholder: _with_examples(one, examples) for placeholder, one in concepts.items()}
        return Proposal(
            learned=tuple(_marked(_learned(one, concepts, known, shown)) for one in compression.abstractions),
            rewritings=tuple(shown),
            compression=compression,
            dropped=extraction.dropped,
        )

    async def _named(
        self,
        compression: Compression,
        programs: Mapping[str, Program],
        library: Sequence[CodeConcept],
        cancelled: IsCancelled | None,
    ) -> tuple[dict[str, CodeConcept], set[str]]:
        """Return concepts by placeholder, and the placeholders of those that the library has."""
        taken = {concept.name for concept in library} | set(dir(builtins))
        for rewritten in compression.rewritten.values():
            taken |= identifiers_in(rewritten.before)
        placeholders = {abstraction.name for abstraction in compression.abstractions}
        tasks = {program.description for program in programs.values()}
        documenter = self.documenter or HeuristicDocumenter(taken, tasks, placeholders)
        held = {shape(concept.code): concept for concept in library if concept.language == "python"}
        concepts: dict[str, CodeConcept] = {}
        known: set[str] = set()
        for abstraction in compression.abstractions:
            if cancelled is not None and cancelled():
                raise Cancelled("naming what was found was cancelled; nothing was changed")
            found = _concept(abstraction, concepts)
            there = held.get(shape(found.code))
            if there is not None:
                known.add(abstraction.name)
                concepts[abstraction.name] = there
                continue
            concepts[abstraction.name] = found
            with suppress(InvalidInput):  # its code cannot be given another name, and keeps the placeholder
                examples = _examples(abstraction, compression, programs, concepts)
                named = await in_thread(call, documenter.document, found, examples)
                concepts[abstraction.name] = _with_free_name(named, taken)
            taken.add(concepts[abstraction.name].name)
        return concepts, known


class StitchCompressionStrategy(ProvenCompression):
    """Symbolic compression: Stitch finds what programs have in common, and it is named as in LILO.

    Source:
        Bowers et al., Top-Down Synthesis for Library Learning, POPL 2023; Grand et al., LILO, ICLR 2024.
    """


class LLMCompressionStrategy(ProvenCompression):
    """A language model that proposes functions, and names those that pass the same checks as Stitch's."""

    def __init__(
        self,
        llm_client: LLMClient,
        documenter: ConceptDocumenter | None = None,
        *,
        limits: Limits | None = None,
        run_limits: RunLimits | None = None,
        path: Sequence[Path] = (),
    ) -> None:
        """Ask later.

        Args:
            documenter: Names what is found; the same model where there is none.
            limits: Of the questions' time, and of how many functions may be proposed.
            run_limits: Of each program that is run to prove that it still does the same.
            path: Directories of modules that the programs import.
        """
        super().__init__(
            documenter or LLMAutoDocumenter(llm_client),
            engine=ModelEngine(llm_client),
            limits=limits,
            run_limits=run_limits,
            path=path,
        )


def _verifying(progress: StageProgress | None) -> Progress | None:
    """Return a callback that tells which share of the programs was run."""
    return None if progress is None else lambda done, total: progress("verifying", done / total)


def _calling(code: str, names: Mapping[str, str]) -> str:
    """Return the code with other names for functions: renamed, or by an alias where a name means something else."""
    try:
        return renamed(code, names)
    except InvalidInput:
        return "\n".join([*(f"{old} = {new}" for old, new in names.items() if old != new), "", "", code])


def _concept(abstraction: Abstraction, concepts: Mapping[str, CodeConcept]) -> CodeConcept:
    """Return what was found, under its placeholder, calling the others by their names."""
    names = {placeholder: function_name(concepts[placeholder]) for placeholder in abstraction.calls}
    return CodeConcept(
        name=abstraction.name,
        description=abstraction.name,
        code=_calling(abstraction.source, names),
        source="learned",
        calls=tuple(concepts[placeholder].id for placeholder in abstraction.calls),
        found_in=abstraction.uses,
        metadata={"n_tasks": abstraction.n_tasks, "saving": abstraction.saving},
    )


def _examples(
    abstraction: Abstraction,
    compression: Compression,
    programs: Mapping[str, Program],
    concepts: Mapping[str, CodeConcept],
) -> list[tuple[str, str]]:
    """Return tasks, and the programs that solved them with this function."""
    direct = [name for name in abstraction.uses if abstraction.name in compression.rewritten[name].after]
    shown = (direct or list(abstraction.uses))[:MAX_EXAMPLES]
    return [(programs[name].description, calling_by_name(compression.rewritten[name], concepts)[0]) for name in shown]


def _with_free_name(concept: CodeConcept, taken: set[str]) -> CodeConcept:
    """Return the concept with a free name. A documenter knows only the names that it gave."""
    free = unused(concept.name, taken)
    if free == concept.name:
        return concept
    return replace(
        concept,
        name=free,
        code=renamed(concept.code, {function_name(concept): free}),
        signature=concept.signature.replace(f"{function_name(concept)}(", f"{free}(", 1),
    )


def _with_examples(concept: CodeConcept, examples: Mapping[str, tuple[tuple[str, str], ...]]) -> CodeConcept:
    found = examples.get(concept.id, ())
    if not found:
        return concept
    return replace(concept, examples=found, metadata={**concept.metadata, RECORDED: len(found)})


def _marked(one: Learned) -> Learned:
    """Return the same with a concept that says itself whether it is proven. One of the library stays as it is."""
    if one.is_known:
        return one
    return replace(one, concept=replace(one.concept, metadata={**one.concept.metadata, PROVEN: one.is_proven}))


def _learned(
    abstraction: Abstraction, concepts: Mapping[str, CodeConcept], known: set[str], rewritings: Sequence[Rewriting]
) -> Learned:
    concept = concepts[abstraction.name]
    proofs = [one.does_the_same for one in rewritings if one.program.id in abstraction.proofs]
    return Learned(
        concept=concept,
        saving=abstraction.saving,
        arity=abstraction.arity,
        n_tasks=abstraction.n_tasks,
        n_verified=proofs.count(True),
        n_checked=len(proofs),
        is_known=abstraction.name in known,
    )
