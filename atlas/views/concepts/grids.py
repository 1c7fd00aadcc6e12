"""ARC grids in examples, parsed without execution and drawn as SVG."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

COLOURS = (
    "#000000", "#0074D9", "#FF4136", "#2ECC40", "#FFDC00", "#AAAAAA", "#F012BE", "#FF851B", "#7FDBFF", "#870C25",
)  # fmt: skip
"""ARC's ten colours, by number."""

LINES = "#555555"

MAX_CELLS = 40
"""Maximum cells per side. ARC's grids have up to 30."""

MAX_CHARACTERS = 20_000
"""Maximum characters of a text to search for grids."""

CELL_PIXELS = 26
SIDE_PIXELS = 220
"""Largest number of rows or columns of a drawn grid."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A rectangle of colours."""

    cells: tuple[tuple[int, ...], ...]
    """Rows of the same length, at least 1, of numbers from 0 to 9."""

    @property
    def size(self) -> str:
        """`3 × 4`: rows and columns."""
        return f"{len(self.cells)} × {len(self.cells[0])}"

    @property
    def pixels(self) -> int:
        """Width of the drawing."""
        rows, columns = len(self.cells), len(self.cells[0])
        return max(CELL_PIXELS, round(columns * min(CELL_PIXELS, SIDE_PIXELS / max(rows, columns))))

    def svg(self) -> str:
        """Return the grid as a self-contained SVG, which contains only numbers and trusted text."""
        rows, columns = len(self.cells), len(self.cells[0])
        cells = "".join(
            f'<rect x="{x}" y="{y}" width="1" height="1" fill="{COLOURS[colour]}"/>'
            for y, row in enumerate(self.cells)
            for x, colour in enumerate(row)
        )
        size = f'width="{columns * CELL_PIXELS}" height="{rows * CELL_PIXELS}"'
        view = f'viewBox="-0.05 -0.05 {columns + 0.1} {rows + 0.1}"'
        lines = f'stroke="{LINES}" stroke-width="0.06"'
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view}><g {lines}>{cells}</g></svg>'


def grids_in_call(call: str) -> tuple[Grid, ...]:
    """Return the grids among the arguments of a call, in their order, empty if it is not a call."""
    return tuple(_grids_in_call(_parsed(call)))


def grid_in(text: str) -> Grid | None:
    """Return the grid that a string is, or None."""
    tree = _parsed(text)
    return _grid(tree) if tree is not None else None


def _parsed(text: str) -> ast.expr | None:
    if len(text) > MAX_CHARACTERS:
        return None
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _grids_in_call(tree: ast.expr | None) -> Iterator[Grid]:
    if isinstance(tree, ast.Call):
        for argument in (*tree.args, *(keyword.value for keyword in tree.keywords)):
            inner = _grid(argument)
            yield from (inner,) if inner else _grids_in_call(argument)


def _grid(tree: ast.expr) -> Grid | None:
    try:
        value = ast.literal_eval(tree)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    if not isinstance(value, list | tuple) or not 0 < len(value) <= MAX_CELLS:
        return None
    if not all(isinstance(row, list | tuple) and 0 < len(row) <= MAX_CELLS for row in value):
        return None
    is_even = len({len(row) for row in value}) == 1
    is_coloured = all(type(cell) is int and 0 <= cell < len(COLOURS) for row in value for cell in row)
    return Grid(tuple(tuple(row) for row in value)) if is_even and is_coloured else None
