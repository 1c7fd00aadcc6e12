"""The file of a compression result, kept until concepts are chosen from it."""

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
    """The functions shared by a store's programs, with their proofs."""

    learned: tuple[LearnedConcept, ...]
    """The learned concepts. Each comes after those it calls."""

    rewritings: tuple[Rewriting, ...]
    n_attempts: int
    """Number of matching successful attempts."""

    n_programs: int
    """Number of compressed programs."""

    tokens_before: int
    tokens_after: int
    """Size of the programs, without the library."""

    tokens_library: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Number of attempts without a program, keyed by reason."""

    refused: Mapping[str, int] = field(default_factory=dict)
    """Number of functions and programs that were left out, keyed by reason."""

    notes: tuple[str, ...] = ()
    engine: str = ""
    """Display name of the search: `Stitch`, or a language model's name."""

    where: Mapping[str, Any] = field(default_factory=dict)
    """The filter of the attempts."""

    revision: int = 0
    """Revision of the store before the attempts were read."""

    ledger_id: str = ""
    made_at: str = ""
    """Time in ISO 8601."""

    def origin_text(self, concepts: Collection[CodeConcept]) -> str:
        """Return the numbers of programs and attempts that concepts come from, such as `4 programs and 1 attempt`."""
        counts = list[tuple[int, str]]()
        if not all(map(is_workflow, concepts)):
            counts.append((self.n_programs, "program"))
        if any(map(is_workflow, concepts)):
            counts.append((self.n_attempts, "attempt"))
        return " and ".join(f"{count:,} {noun}{'' if count == 1 else 's'}" for count, noun in counts)

    def rewritings_with(self, concept_id: str) -> list[Rewriting]:
        """Return the programs that use a concept."""
        return [rewriting for rewriting in self.rewritings if concept_id in rewriting.concepts]

    def with_callees(self, ids: Collection[str]) -> list[CodeConcept]:
        """Return the concepts with these ids and all their callees, ordered so that callees come first."""
        needed_ids = set(ids)
        for learned in reversed(self.learned):
            if learned.concept.id in needed_ids:
                needed_ids.update(learned.concept.calls)
        return [
            learned.concept for learned in self.learned if learned.concept.id in needed_ids and not learned.is_known
        ]


class CompressionFile(ArtefactFile[CompressionResult]):
    """The latest result for one collection."""

    kind = "compression"

    def _header(self, artefact: CompressionResult) -> Mapping[str, Any]:
        return encode(artefact)

    def _decode(self, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> CompressionResult:
        """Return the result, or raise `ValueError` if it is malformed."""
        result = decode(CompressionResult, header, "compression", strict=True)
        for learned in result.learned:
            if not learned.is_known and learned.concept.source != "learned":
                raise ValueError(f"expected a learned concept, got a {learned.concept.source} one")
        return result
