"""The lines of the list of concepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from atlas.core.hits import Hit
from atlas.core.operations import NO_MARKS
from atlas.core.types import CodeConcept
from atlas.memory.system import MemorySystem
from atlas.views.concepts.parameters import parameters_of
from atlas.views.concepts.purpose import purpose_of
from atlas.views.concepts.saving import saving_text
from atlas.views.kinds.concept import source_word
from atlas.views.kinds.uses import worse_ids
from atlas.views.lists.cells import Heading
from atlas.views.lists.queries import Row, last_use, marks_text, ranking, row_state
from atlas.views.shared.rates import Record, record_of
from atlas.views.shared.wording import day_text

DESCRIPTION_CHARACTERS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptRow(Row):
    """One line of the list. Texts from the store are untrusted."""

    name: str
    parameters: str
    """`(items, size)`, or empty."""

    description: str
    record: Record
    """How the tasks went that it was used for."""

    last_used: datetime | None
    """Time in UTC, or None before any use."""

    origin: str
    """`learned 27 Oct 2026 from 12 programs, 25% shorter`, with its language if it is not Python."""

    @property
    def heading(self) -> Heading:
        """Its name, and what stands below it."""
        return Heading(
            title=self.name,
            parameters=self.parameters,
            lead=self.description,
            origin=self.origin,
            marks=self.marks,
            relevance=self.relevance,
            why=self.why,
        )


def concept_rows(
    memory: MemorySystem, concepts: Sequence[CodeConcept], hits: Mapping[str, Hit[str]]
) -> tuple[ConceptRow, ...]:
    """Return lines of concepts, given the hits that found them by id."""
    ids = [concept.id for concept in concepts]
    marks, usage, worse = memory.concepts.marks(ids), memory.concepts.usage(ids), worse_ids(memory.concepts)
    return tuple(
        ConceptRow(
            id=concept.id,
            name=concept.name,
            parameters=parameters_of(concept),
            description=" ".join(purpose_of(concept.description)[0][:DESCRIPTION_CHARACTERS].split()),
            record=record_of(usage[concept.id].n_successes, usage[concept.id].n_uses, is_worse=concept.id in worse),
            last_used=last_use(usage[concept.id]),
            origin=_origin(memory, concept),
            marks=marks_text(marks.get(concept.id, NO_MARKS)),
            state=row_state(marks.get(concept.id, NO_MARKS), is_problem=concept.id in worse),
            **ranking(hits, concept.id),
        )
        for concept in concepts
    )


def _origin(memory: MemorySystem, concept: CodeConcept) -> str:
    language = f"{concept.language}, " if concept.language.lower() != "python" else ""
    on = f" {day_text(concept.created_at.astimezone(UTC))}" if concept.created_at else ""
    return f"{language}{source_word(concept.source)}{on} {saving_text(memory, concept)}".rstrip()
