"""The lines of the list of concepts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC

from atlas.core.hits import Hit
from atlas.core.operations import NO_MARKS
from atlas.core.types import CodeConcept
from atlas.memory.system import MemorySystem
from atlas.views.concepts.purpose import purpose_of
from atlas.views.concepts.saving import saving_text
from atlas.views.kinds.concept import source_word
from atlas.views.lists.cells import Excerpt, Heading
from atlas.views.lists.queries import Row, marks_text, ranking
from atlas.views.shared.rates import Record, record_of
from atlas.views.shared.wording import day_text

DESCRIPTION_CHARACTERS = 400
MAX_CODE_LINES, CODE_CHARACTERS = 5, 200
"""The part of the code that is listed."""

_IMPORTS = re.compile(r"^(?:from\s+\S+\s+)?import\s.*\n", re.M)
_DOCSTRING = re.compile(r'^[ \t]*"""[\s\S]*?"""[ \t]*\n', re.M)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptRow(Row):
    """One line of the list. Texts from the store are untrusted."""

    name: str
    description: str
    code: Excerpt
    """The first lines of its code."""

    record: Record
    """How the tasks went that it was used for."""

    story: str
    """Its saving: `from 12 programs, 25 % shorter`."""

    origin: str
    """`learned · 2026-10-27`, with its language if it is not Python."""

    @property
    def heading(self) -> Heading:
        """Its name, and what stands below it."""
        return Heading(
            title=self.name,
            lead=self.description,
            story=self.story,
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
    marks, usage = memory.concepts.marks(ids), memory.concepts.usage(ids)
    return tuple(
        ConceptRow(
            id=concept.id,
            name=concept.name,
            description=" ".join(purpose_of(concept.description)[0][:DESCRIPTION_CHARACTERS].split()),
            code=code_excerpt(concept.code),
            record=record_of(usage[concept.id].n_successes, usage[concept.id].n_uses),
            story=saving_text(memory, concept, len(_lines(concept.code))),
            origin=_origin(concept),
            marks=marks_text(marks.get(concept.id, NO_MARKS)),
            **ranking(hits, concept.id),
        )
        for concept in concepts
    )


def code_excerpt(code: str) -> Excerpt:
    """Return the first lines of code that do something: without imports, a docstring, and empty lines."""
    return Excerpt.of(_lines(code), MAX_CODE_LINES)


def _lines(code: str) -> list[str]:
    return [_beginning(line) for line in _body(code).splitlines() if line.strip()]


def _beginning(line: str) -> str:
    return line if len(line) <= CODE_CHARACTERS else f"{line[:CODE_CHARACTERS]}…"


def _body(code: str) -> str:
    without = _IMPORTS.sub("", _DOCSTRING.sub("", code))
    return without if without.strip() else code


def _origin(concept: CodeConcept) -> str:
    language = concept.language if concept.language.lower() != "python" else ""
    on = day_text(concept.created_at.astimezone(UTC)) if concept.created_at else ""
    return " · ".join(filter(None, [source_word(concept.source), language, on]))
