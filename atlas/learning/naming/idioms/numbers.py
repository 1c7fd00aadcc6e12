"""Idioms of arithmetic: divisors, primes, digits, and numbers that have a name."""

from __future__ import annotations

from atlas.learning.naming.idioms.idiom import idiom

_NO_DIVISOR = "all(n % d != 0 for d in range(2, {}))"
_UP_TO = ("n", "int(n ** 0.5) + 1", "n // 2 + 1", "int(n / 2) + 1")

NUMBERS = (
    idiom(
        "is_prime",
        "Tells whether {n} is a prime number",
        *(f"lambda n: {over} and {_NO_DIVISOR.format(to)}" for over in ("1 < n", "2 <= n") for to in _UP_TO),
        *(
            f"""
            def itself(n):
                if {low}:
                    return False
                if {small}:
                    return True
                if n % 2 == 0:
                    return False
                return all(n % d != 0 for d in range(3, int(n ** 0.5) + 1, 2))
            """
            for low in ("n < 2", "n <= 1")
            for small in ("n == 2", "n <= 2", "n < 4", "n <= 3")
        ),
        *(
            f"""
            def itself(n):
                if {low}:
                    return False
                d = 2
                while d * d <= n:
                    if n % d == 0:
                        return False
                    d += 1
                return True
            """
            for low in ("n < 2", "n <= 1")
        ),
        *(
            f"""
            def itself(n):
                if n <= 1:
                    return False
                if {small}:
                    return True
                if n % 2 == 0 or n % 3 == 0:
                    return False
                d = 5
                while d * d <= n:
                    if n % d == 0 or n % (d + 2) == 0:
                        return False
                    d += 6
                return True
            """
            for small in ("n <= 3", "n < 4")
        ),
    ),
    idiom(
        "has_no_divisor",
        "Tells whether no number from 2 to below {n} divides it",
        *(f"lambda n: {_NO_DIVISOR.format(to)}" for to in _UP_TO),
    ),
    idiom(
        "has_no_divisor_below",
        "Tells whether no number from 2 to below {limit} divides {n}",
        f"lambda n, limit: {_NO_DIVISOR.format('limit')}",
    ),
    idiom(
        "greatest_common_divisor gcd",
        "Computes the greatest common divisor of {a} and {b}, which are not negative",
        "lambda a, b: math.gcd(a, b)",
        "def itself(a, b): return a if b == 0 else itself(b, a % b)",
        "def itself(a, b): return itself(b, a % b) if b else a",
        *(
            f"""
            def itself(a, b):
                while {test}:
                    a, b = b, a % b
                return a
            """
            for test in ("b", "b != 0", "b > 0")
        ),
    ),
    idiom(
        "least_common_multiple lcm",
        "Computes the least common multiple of {a} and {b}",
        "lambda a, b: math.lcm(a, b)",
        *(f"lambda a, b: {over} // math.gcd(a, b)" for over in ("a * b", "abs(a * b)")),
        "lambda a, b: a // math.gcd(a, b) * b",
        "lambda a, b: int(a * b / math.gcd(a, b))",
    ),
    idiom(
        "factorial",
        "Computes the product of all whole numbers from 1 to {n}",
        "lambda n: math.factorial(n)",
        "lambda n: math.prod(range(1, n + 1))",
        "lambda n: math.prod(range(2, n + 1))",
        *(
            f"def itself(n): return 1 if {low} else n * itself(n - 1)"
            for low in ("n == 0", "n <= 1", "n < 2", "n == 1", "n == 0 or n == 1")
        ),
    ),
    idiom(
        "fibonacci",
        "Computes the {n}-th Fibonacci number",
        *(
            f"""
            def itself(n):
                a, b = 0, 1
                for i in range({to}):
                    a, b = b, a + b
                return {result}
            """
            for to, result in (("n", "a"),)
        ),
        *(
            f"""
            def itself(n):
                if {low}:
                    return n
                return itself(n - 1) + itself(n - 2)
            """
            for low in ("n <= 1", "n < 2")
        ),
        """
        def itself(n):
            if n == 0:
                return 0
            if n == 1:
                return 1
            return itself(n - 1) + itself(n - 2)
        """,
    ),
    idiom(
        "fibonacci",
        "Computes the {n}-th Fibonacci number for {n} of 1 or more, where the first two are 1",
        *(
            f"""
            def itself(n):
                a, b = 0, 1
                for i in range({to}):
                    a, b = b, a + b
                return b
            """
            for to in ("n - 1", "2, n + 1", "1, n")
        ),
    ),
    idiom(
        "digit_sum sum_of_digits",
        "Adds up the decimal digits of {n}",
        "lambda n: sum(int(digit) for digit in str(n))",
        "lambda n: sum(int(digit) for digit in str(abs(n)))",
        *(
            f"""
            def itself(n):
                total = 0
                while {test}:
                    total += n % 10
                    n //= 10
                return total
            """
            for test in ("n", "n > 0", "n != 0")
        ),
    ),
    idiom("digits_of", "Lists the decimal digits of {n}", "lambda n: [int(digit) for digit in str(n)]"),
    idiom("count_digits", "Counts the decimal digits of {n}, a whole number", "lambda n: len(str(abs(n)))"),
    idiom("reverse_digits", "Reverses the decimal digits of {n}", "lambda n: int(str(n)[::-1])"),
    idiom(
        "is_power_of_two",
        "Tells whether {n} is a power of two",
        *(f"lambda n: {over} and n & (n - 1) == 0" for over in ("0 < n", "n != 0", "n", "1 <= n")),
        *(f"lambda n: {over} and not n & (n - 1)" for over in ("0 < n", "n != 0")),
        "lambda n: 0 < n and bin(n).count('1') == 1",
    ),
    idiom(
        "is_zero_or_power_of_two",
        "Tells whether {n} is 0 or a power of two",
        "lambda n: n & (n - 1) == 0",
        "lambda n: not n & (n - 1)",
    ),
    idiom(
        "is_leap_year",
        "Tells whether {year} is a leap year",
        "lambda year: year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)",
        "lambda year: year % 400 == 0 or (year % 4 == 0 and year % 100 != 0)",
        """
        def itself(year):
            if year % 400 == 0:
                return True
            if year % 100 == 0:
                return False
            return year % 4 == 0
        """,
        """
        def itself(year):
            if year % 4 != 0:
                return False
            if year % 100 != 0:
                return True
            return year % 400 == 0
        """,
    ),
    idiom(
        "calendar_leap_year is_leap_year", "Tells whether {year} is a leap year", "lambda year: calendar.isleap(year)"
    ),
    idiom("is_truthy", "Tells whether {value} counts as true", "lambda value: bool(value)"),
    idiom("divisors", "Lists the divisors of {n}", "lambda n: [d for d in range(1, n + 1) if n % d == 0]"),
    idiom(
        "proper_divisors",
        "Lists the divisors of {n} that are smaller than it",
        *(f"lambda n: [d for d in range(1, {to}) if n % d == 0]" for to in ("n", "n // 2 + 1", "int(n / 2) + 1")),
    ),
    idiom(
        "sum_of_divisors",
        "Adds up the divisors of {n}",
        "lambda n: sum(d for d in range(1, n + 1) if n % d == 0)",
    ),
    idiom(
        "sum_of_proper_divisors",
        "Adds up the divisors of {n} that are smaller than it",
        *(f"lambda n: sum(d for d in range(1, {to}) if n % d == 0)" for to in ("n", "n // 2 + 1", "int(n / 2) + 1")),
    ),
    idiom("count_divisors", "Counts the divisors of {n}", "lambda n: sum(1 for d in range(1, n + 1) if n % d == 0)"),
    idiom(
        "is_perfect_number",
        "Tells whether {n} is the sum of its smaller divisors",
        *(f"lambda n: sum(d for d in range(1, {to}) if n % d == 0) == n" for to in ("n", "n // 2 + 1")),
    ),
    idiom(
        "triangular_number sum_to",
        "Adds up the whole numbers from 1 to {n}",
        "lambda n: n * (n + 1) // 2",
        "lambda n: int(n * (n + 1) / 2)",
        "lambda n: sum(range(1, n + 1))",
        "lambda n: sum(range(n + 1))",
    ),
    idiom(
        "sum_of_first_squares",
        "Adds up the squares of the whole numbers from 1 to {n}",
        "lambda n: sum(i ** 2 for i in range(1, n + 1))",
        "lambda n: n * (n + 1) * (2 * n + 1) // 6",
        "lambda n: n * (n + 1) * (2 * n + 1) / 6",
    ),
    idiom(
        "sum_of_first_cubes",
        "Adds up the cubes of the whole numbers from 1 to {n}",
        "lambda n: sum(i ** 3 for i in range(1, n + 1))",
        "lambda n: (n * (n + 1) // 2) ** 2",
    ),
    idiom(
        "sum_of_first_powers",
        "Adds up the whole numbers from 1 to {n}, each raised to {exponent}",
        "lambda n, exponent: sum(i ** exponent for i in range(1, n + 1))",
    ),
    idiom(
        "sum_of_powers_of_odd_numbers",
        "Adds up the first {n} odd numbers, each raised to {exponent}",
        "lambda n, exponent: sum(i ** exponent for i in range(1, n * 2, 2))",
        "lambda n, exponent: sum((2 * i + 1) ** exponent for i in range(n))",
    ),
    idiom("pentagonal_number", "Computes the {n}-th pentagonal number", "lambda n: n * (3 * n - 1) // 2"),
    idiom("hexagonal_number", "Computes the {n}-th hexagonal number", "lambda n: n * (2 * n - 1)"),
    idiom(
        "clamp",
        "Returns {number}, but no less than {low} and no more than {high}",
        "lambda number, low, high: max(low, min(number, high))",
        "lambda number, low, high: min(high, max(number, low))",
        "lambda number, low, high: low if number < low else high if high < number else number",
        "lambda number, low, high: high if high < number else low if number < low else number",
    ),
    idiom(
        "sign",
        "Tells the sign of {number}: 1, 0 or -1",
        "lambda number: (number > 0) - (number < 0)",
        "lambda number: 1 if 0 < number else -1 if number < 0 else 0",
        "lambda number: -1 if number < 0 else 1 if 0 < number else 0",
        "lambda number: 0 if number == 0 else 1 if 0 < number else -1",
    ),
    idiom(
        "is_perfect_square",
        "Tells whether {n}, which is not negative, is the square of a whole number",
        "lambda n: int(n ** 0.5) ** 2 == n",
        "lambda n: int(n ** 0.5) * int(n ** 0.5) == n",
        "lambda n: 0 <= n and int(n ** 0.5) ** 2 == n",
    ),
    idiom("average mean", "Computes the average of {numbers}", "lambda numbers: sum(numbers) / len(numbers)"),
    idiom("count_set_bits count_ones", "Counts the bits of {n} that are set", "lambda n: bin(n).count('1')"),
    idiom(
        "to_binary",
        "Returns the binary digits of {n}, which is not negative, as a text",
        "lambda n: bin(n)[2:]",
        "lambda n: format(n, 'b')",
    ),
    idiom("from_binary", "Reads a number that {digits} writes in binary", "lambda digits: int(digits, 2)"),
    idiom(
        "collatz_step",
        "Halves {n} if it is even, else takes three times {n} and one",
        "lambda n: n // 2 if n % 2 == 0 else 3 * n + 1",
        "lambda n: 3 * n + 1 if n % 2 == 1 else n // 2",
    ),
    idiom(
        "binomial_coefficient",
        "Counts the ways to choose {k} of {n}",
        "lambda n, k: math.comb(n, k)",
        "lambda n, k: math.factorial(n) // (math.factorial(k) * math.factorial(n - k))",
    ),
    idiom(
        "distance_between",
        "Computes the straight distance between two points in the plane",
        "lambda x, y, other_x, other_y: ((x - other_x) ** 2 + (y - other_y) ** 2) ** 0.5",
        "lambda point, other: ((point[0] - other[0]) ** 2 + (point[1] - other[1]) ** 2) ** 0.5",
    ),
    idiom(
        "manhattan_distance",
        "Computes the distance between two points in the plane along its axes",
        "lambda x, y, other_x, other_y: abs(x - other_x) + abs(y - other_y)",
        "lambda point, other: abs(point[0] - other[0]) + abs(point[1] - other[1])",
    ),
    idiom(
        "absolute_difference",
        "Computes the difference of {number} and {other}, without its sign",
        "lambda number, other: abs(number - other)",
    ),
    idiom("ceiling_division", "Divides {n} by {divisor} and rounds up", "lambda n, divisor: -(-n // divisor)"),
    idiom(
        "ceiling_division",
        "Divides {n} by {divisor} and rounds up",
        "lambda n, divisor: (n + divisor - 1) // divisor",
    ),
    idiom("is_divisible", "Tells whether {divisor} divides {n}", "lambda n, divisor: n % divisor == 0"),
    idiom(
        "is_even", "Tells whether {n} is even", "lambda n: n % 2 == 0", "lambda n: not n % 2", "lambda n: n & 1 == 0"
    ),
    idiom(
        "is_odd", "Tells whether {n} is odd", *(f"lambda n: {t}" for t in ("n % 2 == 1", "n % 2 != 0", "n & 1 == 1"))
    ),
    idiom(
        "primes_up_to",
        "Lists the primes up to {n}, by the sieve of Eratosthenes",
        *(
            f"""
        def itself(n):
            is_prime = [True] * (n + 1)
            {first}
            for p in range(2, int(n ** 0.5) + 1):
                if is_prime[p]:
                    for multiple in range({start}, n + 1, p):
                        is_prime[multiple] = False
            return [p for p in range({low}n + 1) if is_prime[p]]
        """
            for first, low in (
                ("", "2, "),
                ("is_prime[0] = is_prime[1] = False", ""),
                ("is_prime[0], is_prime[1] = False, False", ""),
            )
            for start in ("p * p", "p * 2", "p + p")
        ),
        *(
            f"""
        def itself(n):
            is_prime = [True] * (n + 1)
            {first}
            p = 2
            while p * p <= n:
                if is_prime[p]:
                    for multiple in range({start}, n + 1, p):
                        is_prime[multiple] = False
                p += 1
            return [p for p in range({low}n + 1) if is_prime[p]]
        """
            for first, low in (
                ("", "2, "),
                ("is_prime[0] = is_prime[1] = False", ""),
                ("is_prime[0], is_prime[1] = False, False", ""),
            )
            for start in ("p * p", "p * 2", "p + p")
        ),
    ),
)
