"""The lines of the list of concepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from atlas.core.hits import Hit
from atlas.core.operations import NO_MARKS, Usage
from atlas.core.types import CodeConcept
from atlas.memory.system import MemorySystem
from atlas.views.concepts.purpose import purpose_of
from atlas.views.concepts.saving import saving_text
from atlas.views.kinds.concept import source_word
from atlas.views.lists.queries import Row, marks_text, ranking

DESCRIPTION_CHARACTERS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptRow(Row):
    """One line of the list. Texts from the store are untrusted."""

    name: str
    description: str
    source: str
    language: str
    n_uses: int
    succeeded: str
    """`3 of 4` tasks that it was used for, or `not tried yet`."""

    saves: str
    """`12 programs, 340 tokens less`, or empty."""

    created_at: datetime | None
    """Time in UTC."""


def uses_text(usage: Usage) -> str:
    """Return `3 of 4`, or `not tried yet`."""
    return f"{usage.n_successes:,} of {usage.n_uses:,}" if usage.n_uses else "not tried yet"


def concept_rows(
    memory: MemorySystem, concepts: Sequence[CodeConcept], hits: Mapping[str, Hit[str]]
) -> tuple[ConceptRow, ...]:
    """Return lines of concepts, given the hits that found them by id."""
    ids = [concept.id for concept in concepts]
    marks, usage = memory.concepts.marks(ids), memory.concepts.usage(ids)
    return tuple(
        ConceptRow(
            id=concept.id,
            name=concept.name,
            description=" ".join(purpose_of(concept.description)[0][:DESCRIPTION_CHARACTERS].split()),
            source=source_word(concept.source),
            language=concept.language,
            n_uses=usage[concept.id].n_uses,
            succeeded=uses_text(usage[concept.id]),
            saves=saving_text(concept),
            created_at=concept.created_at.astimezone(UTC) if concept.created_at else None,
            marks=marks_text(marks.get(concept.id, NO_MARKS)),
            **ranking(hits, concept.id),
        )
        for concept in concepts
    )
