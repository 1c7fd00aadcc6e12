"""Detail of a concept: description, code, examples, relations and versions."""

from __future__ import annotations

import doctest
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.operations import NO_MARKS, NO_USAGE, Marks, Usage, Use
from atlas.core.types import RULES_AUTHOR, CodeConcept
from atlas.learning.examples import N_RECORDED_KEY
from atlas.learning.strategies import PROVEN
from atlas.learning.workflows import WORKFLOW, is_workflow, numbered_steps
from atlas.memory.concepts.memory import EDITABLE
from atlas.memory.system import MemorySystem
from atlas.views.charts.interval_bars import BarLine, bar_line
from atlas.views.concepts.grids import Grid, grid_in, grids_in_call
from atlas.views.concepts.lineage import Lineage, lineage_of
from atlas.views.concepts.parameters import parameters_of
from atlas.views.concepts.purpose import purpose_of
from atlas.views.concepts.saving import n_lines, origin_text
from atlas.views.kinds.concept import CONCEPT, source_word
from atlas.views.kinds.metadata import SAMPLE_MARK
from atlas.views.kinds.uses import worse_than
from atlas.views.kinds.verdicts import FAILING, MIXED, NOT_CLEAR, WORKS
from atlas.views.lists.editable import EditableFields
from atlas.views.lists.facts import Fact, plain_facts
from atlas.views.lists.uses import uses_of
from atlas.views.shared.rates import Record, record_of
from atlas.views.shared.texts import LANGUAGES, Text, as_json, text_of
from atlas.views.shared.versions import VersionView, version_views
from atlas.views.shared.wording import counted, utc_time_text

MAX_FOUND = 10
MAX_EXAMPLES = 20

NAMED_BY = {RULES_AUTHOR: "rules, from its code and uses"}
"""Labels for the origin of a learned function's name, if it is not a language model."""

SHOWN_ELSEWHERE = (
    "documented_by",
    "original_name",
    "n_tasks",
    "saving",
    "tools",
    N_RECORDED_KEY,
    PROVEN,
    WORKFLOW,
    SAMPLE_MARK,
)
"""Metadata that is shown elsewhere on the page, if at all."""

VERDICTS = {
    WORKS: "It mostly works.",
    FAILING: "It mostly fails.",
    NOT_CLEAR: "Not clear yet whether it mostly works.",
    MIXED: "It works at times.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A call and its result. Both are untrusted."""

    call: Text
    inputs: tuple[Grid, ...]
    """The grids that are handed to the call."""

    result: Text
    output: Grid | None
    """The result, if it is a grid."""

    session: Text
    """Both as a Python session has them."""

    @property
    def has_grids(self) -> bool:
        """True if its call or its result has a grid."""
        return bool(self.inputs or self.output)


@dataclass(frozen=True, slots=True)
class ConceptOrigin:
    """An experience that a concept was found in."""

    id: str
    title: str
    """Untrusted text, or empty if the experience is not there any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditableConcept(EditableFields):
    """The editable fields of a concept, as texts."""

    name: str
    description: str
    signature: str
    guidance: str
    code: str
    examples: str
    """As a Python session has them: `>>> call`, and below it the result."""

    @classmethod
    def of(cls, concept: CodeConcept) -> EditableConcept:
        """Return the fields of a concept as they are now."""
        texts = {field.name: getattr(concept, field.name) for field in fields(cls) if field.name != "examples"}
        return cls(**texts, examples=examples_text(concept.examples))

    def changes(self, begun: EditableConcept, record: CodeConcept) -> dict[str, Any]:
        """Return a person's changes to a concept, as arguments of `edit`.

        Raises:
            InvalidInput: The examples are not as a Python session has them.
        """
        changes = EditableFields.changes(self, begun, record)
        return changes | {"examples": examples_in(self.examples)} if "examples" in changes else changes


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptDetail:
    """Detail of a concept."""

    id: str
    name: Text
    parameters: str
    """`(items, size)`, or empty."""

    purpose: Text
    """Its purpose in one sentence."""

    description: Text | None
    """The rest of its description."""

    signature: Text | None
    guidance: Text | None
    code: Text
    steps: Text | None
    """Numbered calls of a workflow of tools, or None for other concepts."""

    marks: Marks
    editable: EditableConcept
    tools: tuple[str, ...]
    """Names of the tools that it calls."""

    verdict: str
    """Trusted sentence on how its uses went."""

    used: BarLine | None
    """How often its uses succeeded, or None before any."""

    facts: tuple[Fact, ...]
    background: tuple[Fact, ...]
    """Further facts from its source. Names and values are untrusted."""

    uses: tuple[Use, ...]
    """Oldest first."""

    is_primitive: bool
    can_run: bool
    """True if its examples can be run, in this process for a primitive, else in a sandbox if it is Python."""

    proof: str
    """When the examples were run, as trusted text, or empty if they were not, or it was edited since."""

    examples: tuple[Example, ...]
    n_more_examples: int
    lineage: Lineage
    found_in: tuple[ConceptOrigin, ...]
    n_more_found_in: int
    versions: tuple[VersionView, ...]
    """Earlier versions, most recently replaced first."""


def concept_detail(memory: MemorySystem, concept_id: str) -> ConceptDetail | None:
    """Return a concept in full, or None if it is not in the library."""
    concept = memory.concepts.get(concept_id)
    if concept is None:
        return None
    usage = memory.concepts.usage([concept_id]).get(concept_id, NO_USAGE)
    purpose, rest = purpose_of(concept.description)
    versions = memory.concepts.versions(concept_id)
    return ConceptDetail(
        id=concept.id,
        name=Text(concept.name),
        parameters=parameters_of(concept),
        purpose=Text(purpose),
        description=text_of(rest),
        signature=_code(concept.signature, concept.language) if concept.signature else None,
        guidance=text_of(concept.guidance),
        code=_code(concept.code, concept.language),
        steps=_steps(concept),
        marks=memory.concepts.marks([concept_id]).get(concept_id, NO_MARKS),
        editable=EditableConcept.of(concept),
        tools=tuple(concept.tools),
        verdict=_verdict(
            record_of(usage.n_successes, usage.n_uses, others=worse_than(memory.concepts).get(concept_id))
        ),
        used=bar_line("Succeeded", usage.n_successes, usage.n_uses) if usage.n_uses else None,
        facts=_facts(concept, usage, origin_text(memory, concept)),
        background=tuple(plain_facts({name: v for name, v in concept.metadata.items() if name not in SHOWN_ELSEWHERE})),
        uses=uses_of(memory, CONCEPT, concept.id),
        is_primitive=concept.source == "primitive",
        can_run=concept.language == "python" and bool(concept.examples),
        proof=_proof(concept) if concept.examples and not versions else "",
        examples=tuple(example_view(concept, *example) for example in concept.examples[:MAX_EXAMPLES]),
        n_more_examples=max(0, len(concept.examples) - MAX_EXAMPLES),
        lineage=lineage_of(memory, concept, memory.concepts.uses(concept_id)),
        found_in=_found_in(memory, concept),
        n_more_found_in=max(0, len(concept.found_in) - MAX_FOUND),
        versions=version_views(concept, versions, [*EDITABLE], _texts),
    )


def examples_text(examples: tuple[tuple[str, str], ...]) -> str:
    """Return examples as a Python session has them."""
    return "\n".join(f">>> {call.replace(chr(10), f'{chr(10)}... ')}\n{result}" for call, result in examples)


def examples_in(text: str) -> tuple[tuple[str, str], ...]:
    """Return the examples in a text in the format of a Python session.

    Raises:
        InvalidInput: The text has another format, or an example has no result.
    """
    try:
        examples = doctest.DocTestParser().get_examples(text)
    except ValueError as error:
        raise InvalidInput(f"the examples cannot be read: {error}; write >>> and a space before each call") from error
    pairs = tuple((example.source.strip(), example.want.strip()) for example in examples)
    if (text.strip() and not pairs) or not all(result for _, result in pairs):
        raise InvalidInput("each example should be a line of >>> and a call, and below it the result")
    return pairs


def _steps(concept: CodeConcept) -> Text | None:
    return text_of(numbered_steps(concept)) if is_workflow(concept) else None


def _code(text: str, language: str) -> Text:
    return Text(text, language.lower() if language.lower() in LANGUAGES else None)


def _verdict(record: Record) -> str:
    if record.others:
        return f"{record.verdict.capitalize()} than the other concepts ({record.others})."
    return VERDICTS.get(record.verdict, "It has not been used yet.")


def _facts(concept: CodeConcept, usage: Usage, origin: str) -> tuple[Fact, ...]:
    lines, n_retrieved, named_by = n_lines(concept), usage.n_retrieved, str(concept.metadata.get("documented_by", ""))
    named = {
        "Replaces": f"{counted(lines, 'line')} of code at each call" if lines else "",
        "Source": source_word(concept.source),
        "Found in": origin,
        "Language": "" if concept.language.lower() == "python" else concept.language,
        "Proven": _proven(concept),
        "Named by": NAMED_BY.get(named_by, named_by),
        "Retrieved": counted(n_retrieved, "time") if n_retrieved else "never",
        "Added": utc_time_text(concept.created_at) if concept.created_at else "",
    }
    return tuple(Fact(name, value) for name, value in named.items() if value)


def _proven(concept: CodeConcept) -> str:
    """Return a sentence on the proof of a learned function."""
    match concept.metadata.get(PROVEN):
        case True:
            return "when it was found, by running programs with it"
        case False:
            return "no: no program's tests ran it"
    return ""


def _proof(concept: CodeConcept) -> str:
    if N_RECORDED_KEY in concept.metadata:
        return "Calls of real programs, run again when it was found"
    return "Run when it was composed, with these results" if "composed_by" in concept.metadata else ""


def example_view(concept: CodeConcept, call: str, result: str) -> Example:
    """Return an example of a concept, with its grids."""
    return Example(
        call=_code(call, concept.language),
        inputs=grids_in_call(call),
        result=_code(result, concept.language),
        output=grid_in(result),
        session=_code(examples_text(((call, result),)), concept.language),
    )


def _found_in(memory: MemorySystem, concept: CodeConcept) -> tuple[ConceptOrigin, ...]:
    ids = concept.found_in[:MAX_FOUND]
    titles: Mapping[str, str] = memory.experience.titles(ids) if ids else {}
    return tuple(ConceptOrigin(found, titles.get(found, "")) for found in ids)


def _texts(concept: CodeConcept) -> dict[str, str]:
    return {
        "name": concept.name,
        "description": concept.description,
        "signature": concept.signature,
        "guidance": concept.guidance,
        "examples": examples_text(concept.examples),
        "code": concept.code,
        "metadata": text.whole if (text := as_json(concept.metadata)) else "",
    }
