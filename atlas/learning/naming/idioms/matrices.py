"""Idioms of matrices, points and edges: what is done row by row, point by point, or along a graph."""

from __future__ import annotations

from atlas.learning.naming.idioms.idiom import idiom

MATRICES = (
    idiom(
        "shift_positions translate_points",
        "Adds {rows} to the first and {columns} to the second part of each pair of {positions}, and lists the results",
        "lambda positions, rows, columns: [(row + rows, column + columns) for row, column in positions]",
        "lambda positions, rows, columns: [(rows + row, columns + column) for row, column in positions]",
    ),
    idiom(
        "scale_points",
        "Multiplies both parts of each pair of {points} by {factor}, and lists the results",
        "lambda points, factor: [(x * factor, y * factor) for x, y in points]",
    ),
    idiom(
        "swap_each_pair",
        "Lists the pairs of {pairs}, each the other way round",
        "lambda pairs: [(b, a) for a, b in pairs]",
    ),
    idiom("first_of_each_pair", "Lists the first parts of {pairs}", "lambda pairs: [a for a, b in pairs]"),
    idiom("second_of_each_pair", "Lists the second parts of {pairs}", "lambda pairs: [b for a, b in pairs]"),
    idiom(
        "tile_grid",
        "Repeats {grid} {n} times to the right and {n} times downwards",
        "lambda grid, n: [row * n for row in grid] * n",
    ),
    idiom(
        "rotate_half_turn",
        "Lists the rows of {grid} in reverse order, each reversed",
        "lambda grid: [row[::-1] for row in grid[::-1]]",
        "lambda grid: [row[::-1] for row in reversed(grid)]",
    ),
    idiom(
        "is_square_grid",
        "Tells whether each row of {grid} is as long as the number of its rows",
        "lambda grid: all(len(row) == len(grid) for row in grid)",
    ),
    idiom(
        "count_values_in_rows",
        "Returns a mapping from each cell of {grid} to how often it occurs",
        """
        def itself(grid):
            counts = {}
            for row in grid:
                for cell in row:
                    counts[cell] = counts.get(cell, 0) + 1
            return counts
        """,
        "lambda grid: collections.Counter(cell for row in grid for cell in row)",
    ),
    idiom(
        "most_common_cell",
        "Returns a cell of {grid} that no other one occurs more often than",
        """
        def itself(grid):
            cells = [cell for row in grid for cell in row]
            return max(set(cells), key=cells.count)
        """,
        "lambda grid: collections.Counter(cell for row in grid for cell in row).most_common(1)[0][0]",
    ),
    idiom(
        "sorted_distinct_cells",
        "Lists the distinct cells of {grid}, sorted",
        "lambda grid: sorted({cell for row in grid for cell in row})",
        "lambda grid: sorted(set(cell for row in grid for cell in row))",
    ),
    idiom(
        "corner_cells",
        "Returns the four corners of {grid}: upper left, upper right, lower left, lower right",
        "lambda grid: [grid[0][0], grid[0][-1], grid[-1][0], grid[-1][-1]]",
        "lambda grid: (grid[0][0], grid[0][-1], grid[-1][0], grid[-1][-1])",
    ),
    idiom(
        "sum_of_diagonal trace",
        "Adds up the diagonal of the square {matrix} from its upper left",
        "lambda matrix: sum(matrix[i][i] for i in range(len(matrix)))",
    ),
    idiom(
        "anti_diagonal",
        "Lists the diagonal of the square {matrix} from its upper right",
        "lambda matrix: [matrix[i][len(matrix) - 1 - i] for i in range(len(matrix))]",
        "lambda matrix: [matrix[i][len(matrix) - i - 1] for i in range(len(matrix))]",
    ),
    idiom("row_sums", "Lists the sum of each of {rows}", "lambda rows: [sum(row) for row in rows]"),
    idiom(
        "column_sums",
        "Lists the sums of the columns of {rows}",
        "lambda rows: [sum(column) for column in zip(*rows)]",
    ),
    idiom(
        "identity_matrix",
        "Makes a matrix of {n} rows and columns with 1 on its diagonal and 0 elsewhere",
        "lambda n: [[1 if i == j else 0 for j in range(n)] for i in range(n)]",
        "lambda n: [[int(i == j) for j in range(n)] for i in range(n)]",
    ),
    idiom(
        "zero_grid",
        "Makes a grid of {height} rows and {width} columns of zeros",
        "lambda height, width: [[0] * width for i in range(height)]",
        "lambda height, width: [[0 for j in range(width)] for i in range(height)]",
    ),
    idiom(
        "add_matrices",
        "Adds {matrix} and {other}, cell by cell, as far as both go",
        "lambda matrix, other: [[a + b for a, b in zip(row, beside)] for row, beside in zip(matrix, other)]",
    ),
    idiom(
        "multiply_matrices",
        "Computes the matrix product of {matrix} and {other}",
        "lambda matrix, other: [[sum(a * b for a, b in zip(row, column)) for column in zip(*other)] for row in matrix]",
    ),
    idiom(
        "count_unequal_cells",
        "Counts the places at which {grid} and {other} have unequal cells, as far as both go",
        "lambda grid, other: sum(1 for row, beside in zip(grid, other) for a, b in zip(row, beside) if a != b)",
    ),
    idiom(
        "rows_with_content select_nonzero_rows",
        "Lists those rows of {grid} that hold something which counts as true",
        "lambda grid: [row for row in grid if any(row)]",
    ),
    idiom(
        "degrees_of_nodes",
        "Returns a mapping from each node to how many parts of {edges} it is",
        """
        def itself(edges):
            counts = {}
            for one, other in edges:
                counts[one] = counts.get(one, 0) + 1
                counts[other] = counts.get(other, 0) + 1
            return counts
        """,
    ),
    idiom(
        "reachable_nodes",
        "Returns the set of what can be reached in {graph}, a mapping to neighbours, from {start} on, itself included",
        """
        def itself(graph, start):
            seen, waiting = set(), [start]
            while waiting:
                node = waiting.pop()
                if node not in seen:
                    seen.add(node)
                    waiting.extend(graph.get(node, []))
            return seen
        """,
    ),
    idiom(
        "euclidean_distance",
        "Computes the straight distance between the points {point} and {other}",
        "lambda point, other: sum((a - b) ** 2 for a, b in zip(point, other)) ** 0.5",
        "lambda point, other: math.dist(point, other)",
    ),
    idiom(
        "manhattan_distance",
        "Adds up the differences of {point} and {other} along each axis, without their signs",
        "lambda point, other: sum(abs(a - b) for a, b in zip(point, other))",
    ),
)
