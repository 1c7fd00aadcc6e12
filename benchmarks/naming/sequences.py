"""Well-known functions of sequences and numbers, as compression finds them, with the names that fit."""

from __future__ import annotations

from benchmarks.naming.rows import row

SEQUENCES = (
    row(
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
    row(
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
    row(
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
    row(
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
    row(
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
    row(
        "greatest_common_divisor gcd",
        """
        def concept_0(x, y):
            while y:
                x, y = y, x % y
            return x
        """,
        "def concept_0(x, y):\n    if y == 0:\n        return x\n    return concept_0(y, x % y)",
    ),
    row(
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
    row(
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
    row(
        "reverse_items reverse reversed_items reversed_sequence reverse_sequence",
        "value: value[::-1]",
        "value: list(reversed(value))",
    ),
    row(
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
    row(
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
    row(
        "max_by largest_by argmax_by",
        "value, function: max(value, key=lambda x: function(x))",
        "value, x: max(value, key=x)",
    ),
    row("min_by smallest_by", "value, function: min(value, key=lambda x: function(x))"),
    row(
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
    row(
        "transpose transpose_grid transpose_matrix",
        "value: [list(x) for x in zip(*value)]",
        "value: list(map(list, zip(*value)))",
        "value: [[row[j] for row in value] for j in range(len(value[0]))]",
    ),
    row(
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
    row(
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
    row(
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
)
