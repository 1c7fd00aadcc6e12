"""Functions that look like well-known ones and do something else."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.naming.rows import function


@dataclass(frozen=True, slots=True, kw_only=True)
class NearMiss:
    """A function that looks like another, and what it may be called, if anything."""

    looks_like: str
    source: str
    names: frozenset[str] = frozenset()
    """Names for what it really does. One that says nothing fits as well."""


def _miss(looks_like: str, source: str, names: str = "") -> NearMiss:
    return NearMiss(looks_like=looks_like, source=function(source), names=frozenset(names.split()))


NEAR_MISSES = (
    _miss("swap_items", "def concept_0(value, i, j):\n    value[i], value[j] = value[i], value[j]"),
    _miss("swap_items", "def concept_0(value, i, j):\n    value[i] = value[j]\n    value[j] = value[i]"),
    _miss("swap_items", "def concept_0(value, x, i, j):\n    value[i], x[j] = x[j], value[i]"),
    _miss(
        "is_prime",
        """
        def concept_0(num):
            if num < 2:
                return False
            for i in range(2, int(num ** 0.5)):
                if num % i == 0:
                    return False
            return True
        """,
    ),
    _miss(
        "is_prime",
        """
        def concept_0(num):
            if num < 2:
                return False
            for i in range(2, num):
                if num % i == 0:
                    return True
            return False
        """,
        "is_composite",
    ),
    _miss("is_prime", "num: all(num % i != 0 for i in range(2, num))", "has_no_divisor"),
    _miss("is_prime", "num: num > 1 and all(num % i != 0 for i in range(2, num // 2))"),
    _miss("all_distinct", "value: len(value) == len(list(value))"),
    _miss("all_distinct", "value: len(value) != len(set(value))", "has_duplicates"),
    _miss("all_distinct", "value, x: len(value) == len(set(x))"),
    _miss(
        "count_if",
        """
        def concept_0(value, function):
            count = 0
            for x in value:
                if function(x):
                    count += x
            return count
        """,
        "sum_if",
    ),
    _miss(
        "count_if",
        """
        def concept_0(value, function):
            count = 1
            for x in value:
                if function(x):
                    count += 1
            return count
        """,
    ),
    _miss("digit_sum", "value: sum(int(c) for c in value)", "sum_of_integers"),
    _miss("digit_sum", "value: sum(int(c) ** 2 for c in str(value))"),
    _miss("digit_sum", "value: sum(1 for c in str(value))", "count_digits"),
    _miss(
        "greatest_common_divisor",
        """
        def concept_0(x, y):
            while y:
                x, y = y, x - y
            return x
        """,
    ),
    _miss(
        "factorial",
        """
        def concept_0(n):
            result = 1
            for i in range(1, n):
                result *= i
            return result
        """,
    ),
    _miss(
        "factorial",
        """
        def concept_0(n):
            result = 0
            for i in range(1, n + 1):
                result += i
            return result
        """,
        "triangular_number sum_to",
    ),
    _miss(
        "fibonacci",
        """
        def concept_0(n):
            a, b = (0, 1)
            for _ in range(n):
                a, b = (b, a * b)
            return a
        """,
    ),
    _miss(
        "fibonacci",
        """
        def concept_0(n):
            a, b = (2, 1)
            for _ in range(n):
                a, b = (b, a + b)
            return a
        """,
        "lucas_number",
    ),
    _miss("reverse_items", "value: value[::2]", "every_second_item every_other_item"),
    _miss("reverse_items", "value: value[:-1]", "without_last all_but_last"),
    _miss("is_palindrome", "value: value != value[::-1]", "is_not_palindrome"),
    _miss("is_palindrome", "value, x: value == x[::-1]"),
    _miss("is_palindrome", "value: value == value[:-1]"),
    _miss("is_sorted", "value: all(value[i] <= value[0] for i in range(len(value)))"),
    _miss(
        "is_sorted", "value: all(value[i] != value[i + 1] for i in range(len(value) - 1))", "are_neighbours_different"
    ),
    _miss("is_sorted", "value: any(value[i] <= value[i + 1] for i in range(len(value) - 1))"),
    _miss("max_by", "value, function: max(value, key=lambda x: -function(x))"),
    _miss("max_by", "value, function: max(function(x) for x in value)"),
    _miss("flatten", "value: [part for part in value for x in part]"),
    _miss("transpose", "value: [[x for x in row] for row in value]", "copy_rows copy_grid"),
    _miss(
        "unique_in_order",
        """
        def concept_0(value):
            result = []
            for x in value:
                if x in result:
                    result.append(x)
            return result
        """,
    ),
    _miss(
        "running_sums",
        """
        def concept_0(value):
            s = 0
            result = []
            for x in value:
                result.append(s)
            return result
        """,
    ),
    _miss(
        "binary_search",
        """
        def concept_0(value, x):
            left, right = (0, len(value) - 1)
            while left <= right:
                mid = (left + right) // 2
                if value[mid] == x:
                    return mid
                elif value[mid] < x:
                    right = mid - 1
                else:
                    left = mid + 1
            return -1
        """,
    ),
    _miss("is_in_bounds", "value, i, j: 0 <= i < len(value) and 0 <= j < len(value)"),
    _miss("is_in_bounds", "value, i, j: 0 <= i <= len(value) and 0 <= j <= len(value[0])"),
    _miss(
        "four_neighbours",
        "i, j: [(i - 1, j - 1), (i + 1, j + 1), (i + 1, j - 1), (i - 1, j + 1)]",
        "diagonal_neighbours",
    ),
    _miss("chunks", "value, n: [value[i:i + n] for i in range(0, len(value))]"),
    _miss("windows", "value, n: [value[i:i + n] for i in range(len(value) - n)]"),
    _miss("invert_mapping", "value: {k: v for k, v in value.items()}", "copy_mapping"),
    _miss(
        "count_frequencies",
        """
        def concept_0(value):
            counts = {}
            for x in value:
                counts[x] = counts.get(x, 1) + 1
            return counts
        """,
    ),
    _miss("clamp", "x, value, value_2: min(value, min(x, value_2))"),
    _miss("clamp", "x, value, value_2: max(value, max(x, value_2))"),
    _miss("sum_of_squares", "value: sum(value) ** 2", "square_of_sum"),
    _miss("sum_of_squares", "value: sum(x ** 3 for x in value)", "sum_of_cubes"),
    _miss("divisors", "n: [i for i in range(1, n + 1) if i % n == 0]"),
    _miss("divisors", "n: [i for i in range(1, n) if n % i == 0]", "proper_divisors"),
    _miss("is_power_of_two", "x: x > 0 and x & (x + 1) == 0"),
    _miss("is_power_of_two", "x: x > 0 or x & (x - 1) == 0"),
    _miss("is_leap_year", "x: x % 4 == 0 and x % 100 != 0"),
    _miss("is_leap_year", "x: x % 4 == 0 or (x % 100 != 0 and x % 400 == 0)"),
    _miss("count_vowels", "value: sum(1 for c in value if c in 'aeiouy')"),
    _miss("count_vowels", "value: sum(1 for c in value if c in 'aeiou')", "count_lowercase_vowels"),
    _miss("remove_vowels", "value: ''.join(c for c in value if c not in 'aeiou')", "remove_lowercase_vowels"),
    _miss("transpose", "value: [row[::-1] for row in value]", "reverse_each mirror_rows"),
    _miss("triangular_number", "n: n * (n + 1) / 2"),
    _miss("digit_sum", "value: len(str(value))", "length_of_text"),
    _miss("flatten", "value, function: [function(x) for part in value for x in part]"),
    _miss("max_by", "value, function: sorted(value, key=function)[-1]"),
    _miss("count_vowels", "value: sum(1 for c in value if c not in 'aeiouAEIOU')"),
    _miss("triangular_number", "n: n * (n - 1) // 2"),
    _miss("are_anagrams", "value, value_2: sorted(value) == value_2"),
    _miss("average", "value: sum(value) / 2", "half_of_sum half_sum"),
    _miss("average", "value, x: sum(value) / len(x)"),
    _miss("select_even", "value: [x for x in value if value.index(x) % 2 == 0]"),
    _miss("copy_grid", "value: np.copy(value)", "copy_array"),
)
