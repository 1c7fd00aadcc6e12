"""The lines of the list of concepts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from atlas.core.hits import Hit
from atlas.core.operations import NO_MARKS
from atlas.core.types import CodeConcept
from atlas.memory.system import MemorySystem
from atlas.views.concepts.parameters import parameters_of
from atlas.views.concepts.purpose import purpose_of
from atlas.views.concepts.saving import n_lines, saving_text
from atlas.views.kinds.concept import source_word
from atlas.views.kinds.uses import average_rate, worse_than
from atlas.views.lists.cells import Heading
from atlas.views.lists.queries import Row, last_use, marks_text, ranking, row_state
from atlas.views.shared.rates import Record, record_of
from atlas.views.shared.wording import counted

DESCRIPTION_CHARACTERS = 400
LINE_CHARACTERS, EXAMPLE_CHARACTERS = 72, 130
"""Most characters of an example that takes one line of the list, and of one that is listed."""

LEARNED = "learned"
"""Source of a concept that was found in programs of agents."""

PLAIN_RESULTS = ("False", "None", "[]", "()", "{}", "''", "0", "0.0")
"""Results that show little of what a function does."""

_IMPORT = re.compile(r"__import__\('(\w+)'\)")
"""An import within a call, which is listed as the name of its module."""


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
    """`7 lines, learned from 12 attempts, 25% shorter with it` or `5 lines, built from batches`.

    Its language comes first if it is not Python. It names other concepts, so it is untrusted.
    """

    example: str
    """A call and its result as code, or empty without a short one."""

    @property
    def heading(self) -> Heading:
        """Its name, and what stands below it."""
        return Heading(
            title=self.name,
            parameters=self.parameters,
            lead=self.description,
            advice=self.example,
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
    marks, usage, worse = memory.concepts.marks(ids), memory.concepts.usage(ids), worse_than(memory.concepts)
    average = average_rate(memory)
    names = memory.concepts.titles(list(dict.fromkeys(part for concept in concepts for part in concept.composed_of)))
    return tuple(
        ConceptRow(
            id=concept.id,
            name=concept.name,
            parameters=parameters_of(concept),
            description=" ".join(purpose_of(concept.description)[0][:DESCRIPTION_CHARACTERS].split()),
            record=record_of(
                usage[concept.id].n_successes,
                usage[concept.id].n_uses,
                others=worse.get(concept.id),
                average=average,
            ),
            last_used=last_use(usage[concept.id]),
            origin=_origin(memory, concept, [names[part] for part in concept.composed_of if part in names]),
            example=_example(concept),
            marks=marks_text(marks.get(concept.id, NO_MARKS)),
            state=row_state(marks.get(concept.id, NO_MARKS), is_problem=concept.id in worse),
            **ranking(hits, concept.id),
        )
        for concept in concepts
    )


def _origin(memory: MemorySystem, concept: CodeConcept, parts: Sequence[str]) -> str:
    language = concept.language if concept.language.lower() != "python" else ""
    length = counted(n_lines(concept), "line") if n_lines(concept) else ""
    source, found_in = source_word(concept.source), saving_text(memory, concept)
    if parts:
        source = f"built from {', '.join(parts)}"
    elif found_in:
        source += f" from {found_in}" if concept.source == LEARNED else f", found in {found_in}"
    return ", ".join(filter(None, [language, length, source]))


def _example(concept: CodeConcept) -> str:
    """Return ```has_shrunk(100, 80, 0.1)` → `True```: the first example that is short and has a telling result."""
    plain = [(_IMPORT.sub(r"\1", call), result) for call, result in concept.examples]
    listed = [
        (len(call + result) > LINE_CHARACTERS, result in PLAIN_RESULTS, f"`{call}` → `{result}`")
        for call, result in plain
        if len(call + result) <= EXAMPLE_CHARACTERS and not any(sign in call + result for sign in "\n`")
    ]
    return min(listed, key=lambda example: example[:2], default=(False, False, ""))[2]
