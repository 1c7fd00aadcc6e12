"""Composing concepts: the result or the reason for none, and adding it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from atlas.core.errors import InvalidInput
from atlas.core.types import CodeConcept
from atlas.learning.annotations import typed_concept
from atlas.learning.composition import composition_problem
from atlas.memory.system import MemorySystem
from atlas.views.concepts.concept import Example, example_view
from atlas.views.shared.plans import CompletedAct
from atlas.views.shared.texts import Text

UNTYPED = "anything"


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """The result of composing several concepts."""

    parts: tuple[str, ...]
    """Names of the concepts: untrusted text, like all that follows."""

    concept: CodeConcept | None
    """The composed concept, or None."""

    why_not: str = ""
    """Reason for no composition, with names of concepts."""

    types: tuple[str, ...] = ()
    """The types that each of them takes and returns, if no composition fits."""

    @property
    def code(self) -> Text:
        """The composed code."""
        return Text(self.concept.code if self.concept else "", "python")

    @property
    def description(self) -> Text:
        """The description of the composed concept."""
        return Text(self.concept.description if self.concept else "")

    @property
    def examples(self) -> tuple[Example, ...]:
        """The examples with their results."""
        return tuple(example_view(self.concept, *pair) for pair in self.concept.examples) if self.concept else ()


def compose_now(memory: MemorySystem, ids: Sequence[str]) -> Composition:
    """Compose concepts with the library's strategy, without storing the result.

    Raises:
        InvalidInput: Fewer than two, or the library has no strategy.
        NotFound: A record does not exist.
    """
    concepts = memory.concepts.composable(ids)
    outcome = memory.concepts.explain_composition(ids)
    parts = tuple(concept.name for concept in concepts)
    if outcome.concept is not None:
        return Composition(parts=parts, concept=outcome.concept)
    why_not = outcome.why_not or _refusal(memory, concepts)
    return Composition(parts=parts, concept=None, why_not=why_not, types=tuple(map(_types, concepts)))


def add_composed(memory: MemorySystem, composition: Composition) -> CompletedAct:
    """Add the composed concept as one operation.

    Raises:
        InvalidInput: The library has the same code already.
    """
    assert composition.concept is not None
    scoped = memory.concepts.as_operation("compose", f"composed of {', '.join(composition.parts)}"[:500])
    scoped.add(composition.concept)
    return CompletedAct(str(scoped.operation_id), "Added a composed concept")


def _refusal(memory: MemorySystem, concepts: Sequence[CodeConcept]) -> str:
    if why := composition_problem(concepts, memory.concepts.get):
        return why
    untyped = [concept.name for concept in concepts if _describe_results(concept) is None]
    if untyped:
        return f"The return type of {', '.join(untyped)} is not known. Add it to the signature, then try again."
    return (
        "There is no order in which these concepts fit. Each has to accept what the one before it returns, and an "
        "example of the first has to run through all of them."
    )


def _describe_results(concept: CodeConcept) -> ast.expr | None:
    try:
        return typed_concept(concept).returns
    except InvalidInput:
        return None


def _types(concept: CodeConcept) -> str:
    """Return `crop: takes list, int; returns list`."""
    try:
        found = typed_concept(concept)
    except InvalidInput:
        return f"{concept.name}: defines no function"
    arguments = ", ".join(_written(parameter.type) for parameter in found.parameters) or "nothing"
    return f"{concept.name}: takes {arguments}; returns {_written(found.returns)}"


def _written(kind: ast.expr | None) -> str:
    return ast.unparse(kind) if kind is not None else UNTYPED
