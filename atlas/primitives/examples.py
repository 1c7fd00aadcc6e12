"""Examples of primitives: running them, and reading the grids in them.

Examples are executed in this process, with all its rights. So only installed code is executed: a concept's code and
examples must be equal to those of its loader. Concepts that were edited, learned, composed or imported are refused.
"""

from __future__ import annotations

import ast
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.types import CodeConcept
from atlas.primitives.arc.grids import Grid


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleResult:
    """The result of one example."""

    call: str
    expected: str
    actual: str
    """`repr` of the value, or an error's type and message."""

    passed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleGrids:
    """The grids of an example, in the order in which they are written."""

    inputs: tuple[Grid, ...]
    outputs: tuple[Grid, ...]
    """Grids of the result: one if it is a grid, several if it is a list of grids. Otherwise empty."""


def run_examples(concept: CodeConcept, library: Mapping[str, CodeConcept]) -> list[ExampleResult]:
    """Run a primitive's examples, one after the other, in a temporary directory, whose path they see as `root`.

    Args:
        library: The primitives that may be executed, keyed by id: those of `known_primitives`, not of a store.

    Raises:
        InvalidInput: The concept is not a primitive of the library, or has other code, calls or examples there.
    """
    primitive = _installed_primitive(concept, library)
    with tempfile.TemporaryDirectory() as directory:
        _write_files(Path(directory), primitive.metadata.get("example_files", {}))
        namespace: dict[str, Any] = {"root": Path(directory)}
        for callee in _with_callees(primitive, library):
            exec(compile(callee.code, f"<{callee.id}>", "exec", dont_inherit=True), namespace)
        return [_run_example(call, expected, namespace) for call, expected in primitive.examples]


def _installed_primitive(concept: CodeConcept, library: Mapping[str, CodeConcept]) -> CodeConcept:
    """Return the installed primitive with a concept's id, after checking that code, calls and examples are equal."""
    original = library.get(concept.id)
    if concept.source != "primitive" or original is None:
        raise InvalidInput(
            f"expected a primitive that is installed here, got the {concept.source} concept {concept.name!r} "
            f"({concept.id}); only examples of installed primitives are run in this process"
        )
    pairs = [tuple(pair) for pair in concept.examples]
    if (concept.code, tuple(concept.calls), pairs) != (original.code, original.calls, list(original.examples)):
        raise InvalidInput(
            f"{concept.name!r} ({concept.id}) differs from the installed primitive: it was edited, or stored by "
            "another version; to run its examples, undo the edit, or bring it up to date: Update below the list of "
            "concepts, or atlas primitives NAME --update"
        )
    return original


def _with_callees(concept: CodeConcept, library: Mapping[str, CodeConcept]) -> list[CodeConcept]:
    """Return a concept with all concepts that its code and examples call, transitively."""
    domain = concept.id.removesuffix(concept.name)
    names = {name for call, _ in concept.examples for name in _names_of_call(call)}
    pending_ids = [concept.id, *(domain + name for name in sorted(names) if domain + name in library)]
    concepts: dict[str, CodeConcept] = {}
    while pending_ids:
        concept_id = pending_ids.pop()
        if concept_id not in concepts:
            concepts[concept_id] = library[concept_id]
            pending_ids += (callee_id for callee_id in library[concept_id].calls if callee_id in library)
    return list(concepts.values())


def _names_of_call(call: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(call)) if isinstance(node, ast.Name)}


def _write_files(root: Path, texts: Mapping[str, str]) -> None:
    for path, text in texts.items():
        root.joinpath(path).parent.mkdir(parents=True, exist_ok=True)
        root.joinpath(path).write_text(text, encoding="utf-8")


def _run_example(call: str, expected: str, namespace: dict[str, Any]) -> ExampleResult:
    try:
        actual = repr(eval(call, namespace))
        passed = actual == normalise_literal(expected)
    except Exception as error:  # noqa: BLE001 - one example: whatever it raises is its result
        actual, passed = f"{type(error).__name__}: {error}", False
    return ExampleResult(call=call, expected=expected, actual=actual, passed=passed)


def normalise_literal(text: str) -> str:
    """Return the `repr` of the literal in a text, or the text unchanged if it is not a literal."""
    try:
        return repr(ast.literal_eval(text))
    except (SyntaxError, ValueError):
        return text


def parse_grids(example: tuple[str, str]) -> ExampleGrids:
    """Return the grids in the call and in the result of an example. The texts are parsed, never executed.

    There are no grids in a text that is not Python.
    """
    call, result = example
    return ExampleGrids(inputs=_grids_in(call), outputs=_grids_in(result))


def _grids_in(text: str) -> tuple[Grid, ...]:
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(_outermost_grids(tree.body))


def _outermost_grids(node: ast.AST) -> list[Grid]:
    """Return the grids in an expression that are not part of another grid."""
    grid = _as_grid(node)
    if grid is not None:
        return [grid]
    return [inner for child in ast.iter_child_nodes(node) for inner in _outermost_grids(child)]


def _as_grid(node: ast.AST) -> Grid | None:
    """Return the grid in a list display, or None for any other expression."""
    if not isinstance(node, ast.List):
        return None
    try:
        rows = ast.literal_eval(node)
    except ValueError:  # something in it is not a literal
        return None
    is_rectangle = bool(rows) and all(isinstance(row, list) and row and len(row) == len(rows[0]) for row in rows)
    return (
        rows if is_rectangle and all(type(color) is int and 0 <= color <= 9 for row in rows for color in row) else None
    )
