"""Forty well-known functions as compression finds them, each in several ways, with the names that fit."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A piece of work, and what a function that does it may be called."""

    names: frozenset[str]
    sources: tuple[str, ...]
    """Ways to write it, with placeholders for names."""


def _row(names: str, *sources: str) -> Row:
    return Row(names=frozenset(names.split()), sources=tuple(map(_function, sources)))


def _function(source: str) -> str:
    """Return the source of a function, from that or from `parameters: expression`."""
    parameters, stop, value = source.partition(": ")
    is_short = bool(stop) and "\n" not in source and not source.startswith("def ")
    return f"def concept_0({parameters}):\n    return {value}\n" if is_short else dedent(source).strip() + "\n"


TABLE = (
    _row(
        "swap_items swap swap_elements swap_two_items swap_positions",
        "def concept_0(iterable, value, i):\n    iterable[i], iterable[value] = (iterable[value], iterable[i])",
        """
        def concept_0(x0, x1, x2):
            temp = x0[x1]
            x0[x1] = x0[x2]
            x0[x2] = temp
        """,
        """
        def concept_0(value, value_2, value_3):
            value[value_2], value[value_3] = value[value_3], value[value_2]
            return value
        """,
    ),
    _row(
        "count_if count_matching count_where",
        "value, function: sum(1 for x in value if function(x))",
        "value, function: len([x for x in value if function(x)])",
        """
        def concept_0(value, function):
            count = 0
            for i in value:
                if function(i):
                    count += 1
            return count
        """,
    ),
    _row(
        "all_distinct all_different all_unique has_no_duplicates is_unique are_all_distinct has_unique_items",
        "value: len(value) == len(set(value))",
        "value: len(set(value)) == len(value)",
        """
        def concept_0(value):
            found = set()
            for part in value:
                if part in found:
                    return False
                found.add(part)
            return True
        """,
    ),
    _row(
        "is_prime is_prime_number",
        """
        def concept_0(num):
            if num < 2:
                return False
            for i in range(2, int(num ** 0.5) + 1):
                if num % i == 0:
                    return False
            return True
        """,
        "value: value > 1 and all(value % i for i in range(2, int(value ** 0.5) + 1))",
        """
        def concept_0(x):
            if x <= 1:
                return False
            i = 2
            while i * i <= x:
                if x % i == 0:
                    return False
                i += 1
            return True
        """,
    ),
    _row(
        "digit_sum sum_of_digits sum_digits",
        "value: sum(int(digit) for digit in str(value))",
        "value: sum(map(int, str(value)))",
        """
        def concept_0(value):
            total = 0
            while value > 0:
                total += value % 10
                value = value // 10
            return total
        """,
    ),
    _row(
        "greatest_common_divisor gcd",
        """
        def concept_0(x, y):
            while y:
                x, y = y, x % y
            return x
        """,
        "def concept_0(x, y):\n    if y == 0:\n        return x\n    return concept_0(y, x % y)",
    ),
    _row(
        "factorial",
        """
        def concept_0(value):
            result = 1
            for i in range(1, value + 1):
                result *= i
            return result
        """,
        "def concept_0(n):\n    if n <= 1:\n        return 1\n    else:\n        return n * concept_0(n - 1)",
    ),
    _row(
        "fibonacci nth_fibonacci fibonacci_number",
        """
        def concept_0(value):
            a, b = (0, 1)
            for _ in range(value):
                a, b = (b, a + b)
            return a
        """,
        """
        def concept_0(value):
            if value <= 1:
                return value
            return concept_0(value - 1) + concept_0(value - 2)
        """,
    ),
    _row(
        "reverse_items reverse reversed_items reversed_sequence reverse_sequence",
        "value: value[::-1]",
        "value: list(reversed(value))",
    ),
    _row(
        "is_palindrome is_palindromic reads_same_backwards",
        "value: value == value[::-1]",
        """
        def concept_0(value):
            backwards = value[::-1]
            if value == backwards:
                return True
            else:
                return False
        """,
        """
        def concept_0(value):
            for i in range(len(value) // 2):
                if value[i] != value[len(value) - 1 - i]:
                    return False
            return True
        """,
    ),
    _row(
        "is_sorted is_ascending is_sorted_ascending is_non_decreasing",
        "value: value == sorted(value)",
        "value: all(value[i] <= value[i + 1] for i in range(len(value) - 1))",
        """
        def concept_0(value):
            for i in range(len(value) - 1):
                if value[i] > value[i + 1]:
                    return False
            return True
        """,
    ),
    _row(
        "max_by largest_by argmax_by",
        "value, function: max(value, key=lambda x: function(x))",
        "value, x: max(value, key=x)",
    ),
    _row("min_by smallest_by", "value, function: min(value, key=lambda x: function(x))"),
    _row(
        "flatten flatten_lists flatten_once concatenate_lists",
        "value: [x for part in value for x in part]",
        """
        def concept_0(value):
            result = []
            for part in value:
                for x in part:
                    result.append(x)
            return result
        """,
        """
        def concept_0(value):
            result = []
            for part in value:
                result.extend(part)
            return result
        """,
    ),
    _row(
        "transpose transpose_grid transpose_matrix",
        "value: [list(x) for x in zip(*value)]",
        "value: list(map(list, zip(*value)))",
        "value: [[row[j] for row in value] for j in range(len(value[0]))]",
    ),
    _row(
        "unique_in_order remove_duplicates deduplicate distinct_in_order",
        """
        def concept_0(value):
            result = []
            for x in value:
                if x not in result:
                    result.append(x)
            return result
        """,
        """
        def concept_0(value):
            found = set()
            result = []
            for x in value:
                if x not in found:
                    found.add(x)
                    result.append(x)
            return result
        """,
        "value: list(dict.fromkeys(value))",
    ),
    _row(
        "running_sums running_sum running_totals running_total cumulative_sums cumulative_sum prefix_sums",
        """
        def concept_0(value):
            s = 0
            result = []
            for x in value:
                s += x
                result.append(s)
            return result
        """,
        "value: [sum(value[:i + 1]) for i in range(len(value))]",
    ),
    _row(
        "primes_up_to sieve sieve_of_eratosthenes primes_to",
        """
        def concept_0(value):
            flags = [True] * (value + 1)
            flags[0] = flags[1] = False
            for i in range(2, int(value ** 0.5) + 1):
                if flags[i]:
                    for j in range(i * i, value + 1, i):
                        flags[j] = False
            return [i for i in range(value + 1) if flags[i]]
        """,
        """
        def concept_0(value):
            prime = [True for _ in range(value + 1)]
            p = 2
            while p * p <= value:
                if prime[p]:
                    for i in range(p * p, value + 1, p):
                        prime[i] = False
                p += 1
            return [p for p in range(2, value + 1) if prime[p]]
        """,
    ),
    _row(
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
    _row(
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
    _row(
        "is_in_bounds in_bounds is_inside is_inside_grid is_valid_cell",
        "value, i, j: 0 <= i < len(value) and 0 <= j < len(value[0])",
        "value, i, j: i >= 0 and i < len(value) and j >= 0 and j < len(value[0])",
        "i, j, value, value_2: 0 <= i < value and 0 <= j < value_2",
    ),
    _row(
        "four_neighbours adjacent_cells neighbours four_neighbors orthogonal_neighbours",
        "i, j: [(i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)]",
        "i, j: [(i + a, j + b) for a, b in [(-1, 0), (1, 0), (0, -1), (0, 1)]]",
    ),
    _row(
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
    _row(
        "windows sliding_windows sliding_window",
        "value, n: [value[i:i + n] for i in range(len(value) - n + 1)]",
    ),
    _row(
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
    _row(
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
    _row(
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
    _row(
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
    _row(
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
    _row(
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
    _row("is_power_of_two is_power_of_2", "x: x > 0 and x & (x - 1) == 0", "x: x != 0 and (x & (x - 1)) == 0"),
    _row(
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
    _row(
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
    _row(
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
    _row(
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
    _row(
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
    _row(
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
    _row("are_anagrams is_anagram have_same_letters", "value, value_2: sorted(value) == sorted(value_2)"),
    _row(
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
    _row("least_common_multiple lcm", "x, y: x * y // math.gcd(x, y)", "x, y: abs(x * y) // math.gcd(x, y)"),
    _row(
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
    _row(
        "remove_vowels without_vowels",
        "value: ''.join(c for c in value if c not in 'aeiouAEIOU')",
        "value: ''.join([c for c in value if c.lower() not in 'aeiou'])",
    ),
    _row(
        "select_even keep_even even_items even_numbers select_even_numbers",
        "value: [x for x in value if x % 2 == 0]",
        "value: list(filter(lambda x: x % 2 == 0, value))",
    ),
    _row(
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
