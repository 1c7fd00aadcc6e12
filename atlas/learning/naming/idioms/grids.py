"""Idioms of grids: rows of cells, as lists of lists or as arrays."""

from __future__ import annotations

from itertools import product

from atlas.learning.naming.idioms.idiom import idiom

_EIGHT = (
    "[(row - 1, column - 1), (row - 1, column), (row - 1, column + 1), (row, column - 1), (row, column + 1),"
    " (row + 1, column - 1), (row + 1, column), (row + 1, column + 1)]"
)
_SIDES = {
    "height": ("len(grid)", "grid.shape[0]"),
    "width": ("len(grid[0])", "grid.shape[1]"),
}

_BELL_STEPS = ("bell[i - 1][j - 1] + bell[i][j - 1]", "bell[i][j - 1] + bell[i - 1][j - 1]")
_BELL = """
def itself(n):
    bell = [[0 for i in range(n + 1)] for j in range(n + 1)]
    bell[0][0] = 1
    for i in range(1, n + 1):
        bell[i][0] = bell[i - 1][i - 1]
        for j in range(1, i + 1):
            bell[i][j] = {step}
    return {result}
"""

GRIDS = (
    idiom(
        "is_in_bounds",
        "Tells whether ({row}, {column}) is a cell of {grid}",
        *(
            f"lambda grid, row, column: 0 <= row and row < {height} and 0 <= column and column < {width}"
            for height, width in zip(_SIDES["height"], _SIDES["width"], strict=True)
        ),
    ),
    idiom(
        "is_in_bounds",
        "Tells whether ({row}, {column}) is a cell of a grid of {height} rows and {width} columns",
        "lambda row, column, height, width: 0 <= row and row < height and 0 <= column and column < width",
    ),
    idiom(
        "is_valid_index",
        "Tells whether {i} is an index of {items} from their start on",
        "lambda items, i: 0 <= i and i < len(items)",
    ),
    idiom("is_in_range", "Tells whether {n} is from 0 to below {size}", "lambda n, size: 0 <= n and n < size"),
    idiom(
        "is_between",
        "Tells whether {number} is from {low} to {high}, both included",
        "lambda number, low, high: low <= number and number <= high",
    ),
    idiom(
        "is_strictly_between",
        "Tells whether {number} is between {low} and {high}, neither of them included",
        "lambda number, low, high: low < number and number < high",
    ),
    idiom(
        "four_neighbours adjacent_cells",
        "Lists the four cells beside ({row}, {column})",
        *(
            f"lambda row, column: [{', '.join(cells)}]"
            for cells in (
                ("(row - 1, column)", "(row + 1, column)", "(row, column - 1)", "(row, column + 1)"),
                ("(row + 1, column)", "(row - 1, column)", "(row, column + 1)", "(row, column - 1)"),
                ("(row - 1, column)", "(row, column + 1)", "(row + 1, column)", "(row, column - 1)"),
                ("(row, column + 1)", "(row + 1, column)", "(row, column - 1)", "(row - 1, column)"),
                ("(row - 1, column)", "(row, column - 1)", "(row, column + 1)", "(row + 1, column)"),
                ("(row, column - 1)", "(row, column + 1)", "(row - 1, column)", "(row + 1, column)"),
                ("(row, column + 1)", "(row, column - 1)", "(row + 1, column)", "(row - 1, column)"),
            )
        ),
        "lambda row, column: [(row + a, column + b) for a, b in [(-1, 0), (1, 0), (0, -1), (0, 1)]]",
        "lambda row, column: [(row + a, column + b) for a, b in [(0, 1), (1, 0), (0, -1), (-1, 0)]]",
        "lambda row, column: [(row + a, column + b) for a, b in ((-1, 0), (1, 0), (0, -1), (0, 1))]",
        "lambda row, column: [(row + a, column + b) for a, b in ((0, 1), (1, 0), (0, -1), (-1, 0))]",
    ),
    idiom(
        "eight_neighbours",
        "Lists the eight cells around ({row}, {column})",
        f"lambda row, column: {_EIGHT}",
        *(
            f"lambda row, column: [(row + a, column + b) for a in {steps} for b in {steps} if {test}]"
            for steps in ("(-1, 0, 1)", "[-1, 0, 1]", "range(-1, 2)")
            for test in ("a != 0 or b != 0", "a or b", "(a, b) != (0, 0)", "not (a == 0 and b == 0)")
        ),
    ),
    idiom(
        "neighbours_in_grid neighbours",
        "Lists those of the four cells beside ({row}, {column}) that are in {grid}",
        *(
            f"""
            lambda grid, row, column: [
                (row + a, column + b)
                for a, b in {steps}
                if 0 <= row + a and row + a < {height} and 0 <= column + b and column + b < {width}
            ]
            """.strip()
            for steps, (height, width) in product(
                (
                    "[(-1, 0), (1, 0), (0, -1), (0, 1)]",
                    "((-1, 0), (1, 0), (0, -1), (0, 1))",
                    "[(0, 1), (1, 0), (0, -1), (-1, 0)]",
                    "((0, 1), (1, 0), (0, -1), (-1, 0))",
                ),
                zip(_SIDES["height"], _SIDES["width"], strict=True),
            )
        ),
    ),
    idiom(
        "transpose",
        "Turns the rows of {grid} into columns",
        "lambda grid: list(zip(*grid))",
        "lambda grid: zip(*grid)",
        "lambda grid: [list(column) for column in zip(*grid)]",
        "lambda grid: [tuple(column) for column in zip(*grid)]",
        "lambda grid: [[row[i] for row in grid] for i in range(len(grid[0]))]",
        "lambda grid: [[grid[j][i] for j in range(len(grid))] for i in range(len(grid[0]))]",
        "lambda grid: grid.T",
        "lambda grid: numpy.transpose(grid)",
    ),
    idiom(
        "rotate_clockwise",
        "Turns {grid} by a quarter to the right",
        *(
            f"lambda grid: {value}"
            for value in (
                "list(zip(*grid[::-1]))",
                "[list(row) for row in zip(*grid[::-1])]",
                "numpy.rot90(grid, -1)",
                "numpy.rot90(grid, k=-1)",
                "numpy.rot90(grid, 3)",
            )
        ),
    ),
    idiom(
        "rotate_counterclockwise",
        "Turns {grid} by a quarter to the left",
        *(
            f"lambda grid: {value}"
            for value in (
                "list(zip(*grid))[::-1]",
                "[list(row) for row in zip(*grid)][::-1]",
                "numpy.rot90(grid)",
                "numpy.rot90(grid, 1)",
            )
        ),
    ),
    idiom(
        "reverse_each mirror_rows",
        "Lists each of {grid}, such as a row, reversed",
        "lambda grid: [row[::-1] for row in grid]",
    ),
    idiom(
        "flip_horizontally",
        "Reverses the order of the columns of {array}",
        *(f"lambda array: {value}" for value in ("numpy.fliplr(array)", "array[:, ::-1]")),
    ),
    idiom("flip_vertically", "Reverses the order of the rows of {array}", "lambda array: numpy.flipud(array)"),
    idiom(
        "height_and_width dimensions",
        "Returns the number of rows of {grid}, and the number of cells in its first row",
        "lambda grid: (len(grid), len(grid[0]))",
    ),
    idiom(
        "width_and_height",
        "Returns the number of cells in the first row of {grid}, and the number of its rows",
        "lambda grid: (len(grid[0]), len(grid))",
    ),
    idiom(
        "cell_positions_where positions_where",
        "Lists each pair of a row below {height} and a column below {width} for which {test} is true",
        "lambda height, width, test: [(i, j) for i in range(height) for j in range(width) if test(i, j)]",
    ),
    idiom(
        "cell_positions_where positions_where",
        "Lists each row below {height} and column below {width} for which {test}, called with column and row, is true",
        "lambda height, width, test: [(i, j) for i in range(height) for j in range(width) if test(j, i)]",
    ),
    idiom(
        "positions_of_value positions_of_cell",
        "Lists the row and the column, below {height} and {width}, of each cell of {grid} that equals {cell}",
        "lambda grid, height, width, cell: [(i, j) for i in range(height) for j in range(width) if grid[i][j] == cell]",
    ),
    idiom(
        "positions_of_nonzero",
        "Lists the row and the column, below {height} and {width}, of each cell of {grid} that is not 0",
        "lambda grid, height, width: [(i, j) for i in range(height) for j in range(width) if grid[i][j] != 0]",
    ),
    idiom("shape_of", "Returns the shape of {array}", "lambda array: array.shape"),
    idiom(
        "copy_rows copy_grid",
        "Lists copies of the rows of {grid}",
        *(f"lambda grid: {value}" for value in ("[row[:] for row in grid]", "[row.copy() for row in grid]")),
    ),
    idiom(
        "copy_rows copy_grid",
        "Lists the rows of {grid}, each copied into a list",
        "lambda grid: [list(row) for row in grid]",
    ),
    idiom("copy_array", "Returns a copy of {array}", "lambda array: numpy.copy(array)"),
    idiom("copy_deeply", "Returns a copy of {value} and of all in it", "lambda value: copy.deepcopy(value)"),
    idiom(
        "filled_grid",
        "Makes a grid of {height} rows and {width} columns, each cell of which is {cell}",
        *(
            f"lambda height, width, cell: {value}"
            for value in (
                "[[cell] * width for i in range(height)]",
                "[[cell for j in range(width)] for i in range(height)]",
            )
        ),
    ),
    idiom(
        "main_diagonal",
        "Lists the diagonal of the square {grid} from its upper left",
        "lambda grid: [grid[i][i] for i in range(len(grid))]",
    ),
    idiom(
        "count_cells",
        "Counts the cells of {grid} that equal {cell}",
        "lambda grid, cell: sum(1 for row in grid for one in row if one == cell)",
        "lambda grid, cell: sum(row.count(cell) for row in grid)",
        "lambda grid, cell: numpy.count_nonzero(grid == cell)",
        "lambda grid, cell: numpy.sum(grid == cell)",
    ),
    idiom(
        "positions_of_value positions_of_cell",
        "Lists the row and the column of each cell of {grid} that equals {cell}",
        "lambda grid, cell: numpy.argwhere(grid == cell)",
        *(
            f"lambda grid, cell: [(i, j) for i in range({height}) for j in range({width}) if {value} == cell]"
            for height, width, value in (
                ("len(grid)", "len(grid[0])", "grid[i][j]"),
                ("len(grid)", "len(grid[i])", "grid[i][j]"),
                ("grid.shape[0]", "grid.shape[1]", "grid[i, j]"),
            )
        ),
    ),
    idiom(
        "map_grid_positions",
        "Calls {function} with the row and the column of each cell of {grid}, and returns the results as a grid",
        *(
            f"lambda grid, function: [[function(i, j) for j in range(len({row}))] for i in range(len(grid))]"
            for row in ("grid[i]", "grid[0]")
        ),
    ),
    idiom(
        "map_cells map_grid",
        "Calls {function} with each cell of {grid}, and returns the results as a grid",
        "lambda grid, function: [[function(cell) for cell in row] for row in grid]",
    ),
    idiom(
        "sum_of_cells sum_grid",
        "Adds up all cells of {grid}",
        *(
            f"lambda grid: {value}"
            for value in ("sum(sum(row) for row in grid)", "sum(cell for row in grid for cell in row)")
        ),
    ),
    idiom(
        "arrays_equal",
        "Tells whether {array} and {other} have the same shape and the same items",
        "lambda array, other: numpy.array_equal(array, other)",
    ),
    idiom(
        "count_nonzero_cells",
        "Counts the cells of {grid} that are not 0",
        *(
            f"lambda grid: {value}"
            for value in ("sum(1 for row in grid for cell in row if cell != 0)", "numpy.count_nonzero(grid)")
        ),
    ),
    idiom(
        "count_nonzero_by_value",
        "Returns a mapping from each cell of {grid} that is not 0 to how often it occurs",
        """
        def itself(grid):
            counts = {}
            for row in grid:
                for cell in row:
                    if cell != 0:
                        counts[cell] = counts.get(cell, 0) + 1
            return counts
        """,
    ),
    idiom(
        "map_columns",
        "Calls {function} with each column of {grid}, and lists the results",
        "lambda grid, function: [function(column) for column in zip(*grid)]",
    ),
    idiom(
        "distinct_cells",
        "Returns the distinct cells of {grid} as a set",
        "lambda grid: {cell for row in grid for cell in row}",
        "lambda grid: set(cell for row in grid for cell in row)",
    ),
    idiom(
        "replace_cells",
        "Copies {grid} into lists of cells, with {new} in place of each cell that equals {old}",
        "lambda grid, old, new: [[new if cell == old else cell for cell in row] for row in grid]",
    ),
    idiom(
        "translate_cells",
        "Copies {grid} into lists of cells, with the value that {mapping} has for a cell, if any, in place of it",
        "lambda grid, mapping: [[mapping.get(cell, cell) for cell in row] for row in grid]",
    ),
    idiom(
        "rows_left_of",
        "Lists the rows of {grid}, each up to column {i}",
        "lambda grid, i: [row[:i] for row in grid]",
    ),
    idiom(
        "rows_right_of",
        "Lists the rows of {grid}, each from column {i} on",
        "lambda grid, i: [row[i:] for row in grid]",
    ),
    idiom(
        "bell_triangle",
        "Computes the Bell triangle of {n} numbers, row by row",
        *(_BELL.format(step=step, result="bell") for step in _BELL_STEPS),
    ),
    idiom(
        "bell_number",
        "Computes the {n}-th Bell number, by the Bell triangle",
        *(_BELL.format(step=step, result="bell[n][0]") for step in _BELL_STEPS),
    ),
)
