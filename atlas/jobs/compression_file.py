"""The result of compressing a store's programs, stored beside the store until concepts are chosen from it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from atlas.core.schema import decode, encode
from atlas.core.types import CodeConcept
from atlas.jobs.artefact import ArtefactFile
from atlas.learning.rewritings import Rewriting
from atlas.learning.strategies import LearnedConcept
from atlas.learning.workflows import is_workflow


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressionResult:
    """The functions that a store's programs have in common, and how far they were proven."""

    learned: tuple[LearnedConcept, ...]
    """Each after those that it calls."""

    rewritings: tuple[Rewriting, ...]
    n_attempts: int
    """Number of matching successful attempts."""

    n_programs: int
    """Programs that were compressed."""

    tokens_before: int
    tokens_after: int
    """Of the programs, without the library."""

    tokens_library: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    """How many attempts gave no program, by the reason why."""

    refused: Mapping[str, int] = field(default_factory=dict)
    """Number of functions and programs that were left out, by reason."""

    notes: tuple[str, ...] = ()
    engine: str = ""
    """Name of the search, for people: `Stitch`, or a language model's name."""

    where: Mapping[str, Any] = field(default_factory=dict)
    """The filter that the attempts passed."""

    revision: int = 0
    """The store's, before the attempts were read."""

    ledger_id: str = ""
    made_at: str = ""
    """As ISO 8601."""

    def origin(self, concepts: Collection[CodeConcept]) -> str:
        """Return where concepts were found: `4 programs`, `1 attempt` for workflows, or both."""
        kinds = {is_workflow(concept) for concept in concepts}
        counts = {False: (self.n_programs, "program"), True: (self.n_attempts, "attempt")}
        chosen = [counts[kind] for kind in sorted(kinds)]
        return " and ".join(f"{n:,} {noun}{'' if n == 1 else 's'}" for n, noun in chosen)

    def rewritings_with(self, concept_id: str) -> list[Rewriting]:
        """Return the programs that need a concept."""
        return [rewriting for rewriting in self.rewritings if concept_id in rewriting.concepts]

    def with_callees(self, ids: Collection[str]) -> list[CodeConcept]:
        """Return the concepts with these ids and all found with them that they call, each after its own callees."""
        needed = set(ids)
        for learned in reversed(self.learned):
            if learned.concept.id in needed:
                needed.update(learned.concept.calls)
        return [learned.concept for learned in self.learned if learned.concept.id in needed and not learned.is_known]


class CompressionFile(ArtefactFile[CompressionResult]):
    """The latest result for one collection."""

    kind = "compression"

    def _header(self, artefact: CompressionResult) -> Mapping[str, Any]:
        return encode(artefact)

    def _decode(self, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> CompressionResult:
        """Return the result of a header. Raise `ValueError` if it is not one that was saved."""
        result = decode(CompressionResult, header, "compression", strict=True)
        for learned in result.learned:
            if not learned.is_known and learned.concept.source != "learned":
                raise ValueError(f"expected a learned concept, got a {learned.concept.source} one")
        return result
