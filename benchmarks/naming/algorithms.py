"""Well-known algorithms, and functions of texts, dicts and grids, with the names that fit."""

from __future__ import annotations

from benchmarks.naming.rows import row

ALGORITHMS = (
    row(
        "are_brackets_balanced is_balanced brackets_balanced is_balanced_brackets has_balanced_brackets",
        """
        def concept_0(brackets, value, value_2):
            stack = []
            for bracket in brackets:
                if bracket == value:
                    stack.append(bracket)
                elif bracket == value_2:
                    if not stack or stack.pop() != value:
                        return False
            return len(stack) == 0
        """,
        """
        def concept_0(value, value_2, value_3):
            depth = 0
            for c in value:
                if c == value_2:
                    depth += 1
                elif c == value_3:
                    depth -= 1
                if depth < 0:
                    return False
            return depth == 0
        """,
    ),
    row(
        "binary_search",
        """
        def concept_0(value, x):
            left, right = (0, len(value) - 1)
            while left <= right:
                mid = (left + right) // 2
                if value[mid] == x:
                    return mid
                elif value[mid] < x:
                    left = mid + 1
                else:
                    right = mid - 1
            return -1
        """,
        """
        def concept_0(value, x):
            left = 0
            right = len(value) - 1
            while left <= right:
                mid = left + (right - left) // 2
                if value[mid] < x:
                    left = mid + 1
                elif value[mid] > x:
                    right = mid - 1
                else:
                    return mid
            return -1
        """,
    ),
    row(
        "is_in_bounds in_bounds is_inside is_inside_grid is_valid_cell",
        "value, i, j: 0 <= i < len(value) and 0 <= j < len(value[0])",
        "value, i, j: i >= 0 and i < len(value) and j >= 0 and j < len(value[0])",
        "i, j, value, value_2: 0 <= i < value and 0 <= j < value_2",
    ),
    row(
        "four_neighbours adjacent_cells neighbours four_neighbors orthogonal_neighbours",
        "i, j: [(i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)]",
        "i, j: [(i + a, j + b) for a, b in [(-1, 0), (1, 0), (0, -1), (0, 1)]]",
    ),
    row(
        "chunks chunk split_into_chunks chunked",
        "value, n: [value[i:i + n] for i in range(0, len(value), n)]",
        """
        def concept_0(value, n):
            result = []
            for i in range(0, len(value), n):
                result.append(value[i:i + n])
            return result
        """,
    ),
    row(
        "windows sliding_windows sliding_window",
        "value, n: [value[i:i + n] for i in range(len(value) - n + 1)]",
    ),
    row(
        "invert_mapping invert_dict swap_keys_and_values inverted_mapping",
        "value: {v: k for k, v in value.items()}",
        """
        def concept_0(value):
            result = {}
            for k, v in value.items():
                result[v] = k
            return result
        """,
    ),
    row(
        "group_by",
        """
        def concept_0(value, function):
            groups = {}
            for x in value:
                groups.setdefault(function(x), []).append(x)
            return groups
        """,
        """
        def concept_0(value, function):
            groups = {}
            for x in value:
                k = function(x)
                if k in groups:
                    groups[k].append(x)
                else:
                    groups[k] = [x]
            return groups
        """,
        """
        def concept_0(value, function):
            from collections import defaultdict
            groups = defaultdict(list)
            for x in value:
                groups[function(x)].append(x)
            return groups
        """,
    ),
    row(
        "count_frequencies histogram frequencies item_counts count_items count_each",
        """
        def concept_0(value):
            counts = {}
            for x in value:
                if x in counts:
                    counts[x] += 1
                else:
                    counts[x] = 1
            return counts
        """,
        """
        def concept_0(value):
            counts = {}
            for x in value:
                counts[x] = counts.get(x, 0) + 1
            return counts
        """,
        """
        def concept_0(value):
            counts = {}
            for x in value:
                if x not in counts:
                    counts[x] = 0
                counts[x] += 1
            return counts
        """,
    ),
    row(
        "clamp clip",
        "x, value, value_2: max(value, min(x, value_2))",
        """
        def concept_0(x, value, value_2):
            if x < value:
                return value
            if x > value_2:
                return value_2
            return x
        """,
    ),
    row(
        "sum_of_squares sum_squares",
        "value: sum(x ** 2 for x in value)",
        "value: sum([x * x for x in value])",
        """
        def concept_0(value):
            total = 0
            for i in range(len(value)):
                total = total + value[i] * value[i]
            return total
        """,
    ),
    row(
        "divisors divisors_of list_divisors factors",
        "n: [i for i in range(1, n + 1) if n % i == 0]",
        """
        def concept_0(n):
            result = []
            for i in range(1, n + 1):
                if n % i == 0:
                    result.append(i)
            return result
        """,
    ),
    row("is_power_of_two is_power_of_2", "x: x > 0 and x & (x - 1) == 0", "x: x != 0 and (x & (x - 1)) == 0"),
    row(
        "is_leap_year",
        "x: x % 4 == 0 and (x % 100 != 0 or x % 400 == 0)",
        "x: (x % 4 == 0 and x % 100 != 0) or x % 400 == 0",
        """
        def concept_0(x):
            if x % 400 == 0:
                return True
            elif x % 100 == 0:
                return False
            elif x % 4 == 0:
                return True
            else:
                return False
        """,
    ),
    row(
        "count_vowels vowel_count",
        "value: sum(1 for c in value if c in 'aeiouAEIOU')",
        """
        def concept_0(value):
            count = 0
            for c in value:
                if c.lower() in 'aeiou':
                    count += 1
            return count
        """,
    ),
    row(
        "merge_sorted merge_sorted_lists merge",
        """
        def concept_0(value, value_2):
            result = []
            i, j = (0, 0)
            while i < len(value) and j < len(value_2):
                if value[i] < value_2[j]:
                    result.append(value[i])
                    i += 1
                else:
                    result.append(value_2[j])
                    j += 1
            return result + value[i:] + value_2[j:]
        """,
        """
        def concept_0(value, value_2):
            result = []
            i = j = 0
            while i < len(value) and j < len(value_2):
                if value[i] <= value_2[j]:
                    result.append(value[i])
                    i += 1
                else:
                    result.append(value_2[j])
                    j += 1
            result.extend(value[i:])
            result.extend(value_2[j:])
            return result
        """,
    ),
    row(
        "contains_sublist is_sublist has_sublist contains_run",
        """
        def concept_0(s, l):
            if not s:
                return True
            for i in range(len(l) - len(s) + 1):
                if l[i:i + len(s)] == s:
                    return True
            return False
        """,
        "value, value_2: any(value[i:i + len(value_2)] == value_2 for i in range(len(value) - len(value_2) + 1))",
    ),
    row(
        "triangular_number sum_to nth_triangular_number sum_up_to",
        "n: n * (n + 1) // 2",
        "n: sum(range(1, n + 1))",
        """
        def concept_0(n):
            total = 0
            for i in range(1, n + 1):
                total += i
            return total
        """,
    ),
    row(
        "bell_triangle",
        """
        def concept_0(value):
            bell = [[0 for _ in range(value + 1)] for _ in range(value + 1)]
            bell[0][0] = 1
            for i in range(1, value + 1):
                bell[i][0] = bell[i - 1][i - 1]
                for j in range(1, i + 1):
                    bell[i][j] = bell[i - 1][j - 1] + bell[i][j - 1]
            return bell
        """,
        """
        def concept_0(value):
            rows = [[0] * (value + 1) for i in range(value + 1)]
            rows[0][0] = 1
            for i in range(1, value + 1):
                rows[i][0] = rows[i - 1][i - 1]
                for j in range(1, i + 1):
                    rows[i][j] = rows[i][j - 1] + rows[i - 1][j - 1]
            return rows
        """,
    ),
    row("are_anagrams is_anagram have_same_letters", "value, value_2: sorted(value) == sorted(value_2)"),
    row(
        "average mean",
        "value: sum(value) / len(value)",
        """
        def concept_0(value):
            total = 0
            for x in value:
                total += x
            return total / len(value)
        """,
    ),
    row("least_common_multiple lcm", "x, y: x * y // math.gcd(x, y)", "x, y: abs(x * y) // math.gcd(x, y)"),
    row(
        "is_perfect_number is_perfect",
        "n: sum(i for i in range(1, n) if n % i == 0) == n",
        """
        def concept_0(n):
            total = 0
            for i in range(1, n):
                if n % i == 0:
                    total += i
            return total == n
        """,
    ),
    row(
        "remove_vowels without_vowels",
        "value: ''.join(c for c in value if c not in 'aeiouAEIOU')",
        "value: ''.join([c for c in value if c.lower() not in 'aeiou'])",
    ),
    row(
        "select_even keep_even even_items even_numbers select_even_numbers",
        "value: [x for x in value if x % 2 == 0]",
        "value: list(filter(lambda x: x % 2 == 0, value))",
    ),
    row(
        "swap_case toggle_case",
        """
        def concept_0(string):
            result = ''
            for char in string:
                if char.islower():
                    result += char.upper()
                else:
                    result += char.lower()
            return result
        """,
    ),
)
