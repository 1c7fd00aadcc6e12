"""Two small corpora of programs that import all names of a module beside them: over grids, and in a language of one."""

from __future__ import annotations

from pathlib import Path

from atlas.learning.terms.programs import Program

COMMON = """
from collections import Counter, deque

import numpy as np

BLACK, RED, BLUE = 0, 2, 1


def neighbours(grid, row, column):
    for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0)):
        if 0 <= row + down < grid.shape[0] and 0 <= column + right < grid.shape[1]:
            yield row + down, column + right


def solve(grid):
    raise NotImplementedError
"""
DSL = """
def ofcolor(grid, colour):
    return frozenset((i, j) for i, row in enumerate(grid) for j, cell in enumerate(row) if cell == colour)

def crop(grid, cells):
    rows, columns = [i for i, _ in cells], [j for _, j in cells]
    return tuple(row[min(columns):max(columns) + 1] for row in grid[min(rows):max(rows) + 1])

def hmirror(grid):
    return grid[::-1]

def vmirror(grid):
    return tuple(row[::-1] for row in grid)

def vconcat(upper, lower):
    return upper + lower

def hconcat(left, right):
    return tuple(a + b for a, b in zip(left, right))

def fill(grid, colour, cells):
    return tuple(
        tuple(colour if (i, j) in cells else cell for j, cell in enumerate(row)) for i, row in enumerate(grid)
    )

def replace(grid, old, new):
    return tuple(tuple(new if cell == old else cell for cell in row) for row in grid)

def rot90(grid):
    return tuple(zip(*grid[::-1]))

def mostcolor(grid):
    cells = [cell for row in grid for cell in row]
    return max(sorted(set(cells)), key=cells.count)
"""
BOX = """    rows, columns = np.where({g} != BLACK)
    {b} = {g}[rows.min():rows.max() + 1, columns.min():columns.max() + 1]
"""
MOST = """    counts = Counter(int(cell) for cell in {g}.ravel() if cell != BLACK)
    {b} = max(sorted(counts), key=lambda colour: counts[colour])
"""
FLOOD = """    waiting, {b} = deque([(0, 0)]), set()
    while waiting:
        place = waiting.popleft()
        if place in {b} or {g}[place] != BLACK:
            continue
        {b}.add(place)
        waiting.extend(neighbours({g}, *place))
"""
GRID_USES = (
    (BOX, "    return {b}[::-1]"),
    (BOX, "    return np.rot90({b})"),
    (BOX, "    return np.hstack([{b}, {b}])"),
    (BOX, "    return np.where({b} == RED, BLUE, {b})"),
    (MOST, "    return np.where({g} == {b}, BLACK, {g})"),
    (MOST, "    return np.full({g}.shape, {b})"),
    (MOST, "    {g}[0, 0] = {b}\n    return {g}"),
    (MOST, "    return np.array([[{b}]])"),
    (FLOOD, "    return np.array([[len({b})]])"),
    (FLOOD, "    for row, column in {b}:\n        {g}[row, column] = RED\n    return {g}"),
    (FLOOD, "    return np.array(sorted({b}))"),
    (FLOOD, "    return np.zeros((1, len({b}) + 1))"),
)
SHAPES = (
    "    {a} = ofcolor(I, 2)\n    {b} = crop(I, {a})\n    {c} = vconcat({b}, hmirror({b}))\n",
    "    {a} = mostcolor(I)\n    {b} = ofcolor(I, {a})\n    {c} = fill(I, 5, {b})\n",
)
DSL_USES = (
    "    return rot90({c})",
    "    return vmirror({c})",
    "    return replace({c}, 2, 3)",
    "    return hconcat({c}, {c})",
    "    return hmirror(rot90({c}))",
    "    return vconcat({c}, replace({c}, 2, 0))",
)


def grid_programs(directory: Path) -> list[Program]:
    """Twelve programs over grids, and their module in a directory."""
    (directory / "common.py").write_text(COMMON, "utf-8")
    names = (("grid", "found"), ("image", "result"), ("cells", "part"))
    sources = [
        f"from common import *\n\ndef solve({g}):\n{shared.format(g=g, b=b)}{use.format(g=g, b=b)}\n"
        for number, (shared, use) in enumerate(GRID_USES)
        for g, b in [names[number % 3]]
    ]
    grid = "numpy.array([[0, 0, 0, 0], [0, 2, 2, 0], [0, 2, 1, 0], [0, 0, 0, 4]])"
    return [
        _tested(f"grid{n}", source, f"import numpy\nprint(solve({grid}).tolist())") for n, source in enumerate(sources)
    ]


def dsl_programs(directory: Path) -> list[Program]:
    """Twelve solvers, and the module of their language in a directory."""
    (directory / "dsl.py").write_text(DSL, "utf-8")
    names = (("x1", "x2", "x3"), ("a", "b", "c"), ("x2", "x4", "x9"))
    sources = [
        f"from dsl import *\n\ndef solve_{number}(I):\n{shape.format(**places)}{use.format(**places)}\n"
        for number, (shape, use) in enumerate((shape, use) for shape in SHAPES for use in DSL_USES)
        for places in [dict(zip("abc", names[number % 3], strict=True))]
    ]
    grid = "((0, 2, 0), (2, 2, 1), (0, 0, 0))"
    return [_tested(f"dsl{n}", source, f"print(solve_{n}({grid}))") for n, source in enumerate(sources)]


def _tested(name: str, source: str, telling: str) -> Program:
    """Return a program whose tests hold it to what it gives, and fail where it gives nothing."""
    return Program(id=name, task_id=name, description="", source=source, tests=telling)
