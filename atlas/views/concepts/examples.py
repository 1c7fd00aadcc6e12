"""Running the examples of a concept, and the result of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from atlas.core.errors import NotFound
from atlas.learning.examples import run_concept_examples
from atlas.memory.system import MemorySystem
from atlas.primitives.discovery import discover, known_primitives
from atlas.primitives.examples import run_examples
from atlas.views.concepts.grids import Grid, grid_in
from atlas.views.shared.texts import Text
from atlas.views.shared.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class RanExample:
    """The outcome of one example."""

    has_passed: bool
    actual: Text
    """The result of the call, or the error that it raised."""

    output: Grid | None
    """The result of the call as a grid, if it is one."""


def ran_examples(memory: MemorySystem, concept_id: str, path: Sequence[Path] = ()) -> tuple[RanExample, ...]:
    """Run a concept's examples, in their order: a primitive's in this process, others in a sandbox.

    Args:
        path: Directories of modules that the concept imports.

    Raises:
        NotFound: It is no longer in the library.
        InvalidInput: It is a primitive, but not as it is installed here.
    """
    concept = memory.concepts.get(concept_id)
    if concept is None:
        raise NotFound("this concept is no longer in the library")
    if concept.source == "primitive":
        results = run_examples(concept, known_primitives(discover()))
    else:
        results = run_concept_examples(concept, memory.concepts.get, path=path)
    return tuple(
        RanExample(has_passed=result.passed, actual=Text(result.actual, "python"), output=grid_in(result.actual))
        for result in results
    )


def verdict(run_concept_examples: Sequence[RanExample]) -> str:
    """Return `3 of 3 examples gave what they should`, with the number of passing examples."""
    n = sum(result.has_passed for result in run_concept_examples)
    return f"{n:,} of {counted(len(run_concept_examples), 'example')} gave what they should"
