"""Idioms of one or two numbers: halves, middles, figures and conversions."""

from __future__ import annotations

from atlas.learning.naming.idioms.idiom import idiom

ARITHMETIC = (
    idiom(
        "fractional_part",
        "Returns what of {number} is behind its decimal point",
        "lambda number: number - int(number)",
    ),
    idiom(
        "degrees_to_radians",
        "Turns {degrees} into radians",
        "lambda degrees: degrees * (math.pi / 180)",
        "lambda degrees: math.radians(degrees)",
    ),
    idiom(
        "first_digit",
        "Returns the first decimal digit of {n}, which is not negative",
        "def itself(n):\n    while n >= 10:\n        n //= 10\n    return n",
        "lambda n: int(str(n)[0])",
    ),
    idiom(
        "mean_absolute_deviation",
        "Computes by how much {numbers} differ from their mean, on average",
        "lambda numbers: sum(abs(number - sum(numbers) / len(numbers)) for number in numbers) / len(numbers)",
    ),
    idiom(
        "is_not_prime",
        "Tells whether {n} is no prime number",
        *(
            f"lambda n: {under} or any(n % d == 0 for d in range(2, {to}))"
            for under in ("n <= 1", "n < 2")
            for to in ("n", "int(n ** 0.5) + 1")
        ),
    ),
    idiom(
        "midpoint",
        "Computes the middle of {low} and {high}, rounded down",
        *(f"lambda low, high: {value}" for value in ("(low + high) // 2", "low + (high - low) // 2")),
    ),
    idiom(
        "character_code_difference",
        "Computes by how much the code of the character {one} is more than that of {other}",
        "lambda one, other: ord(one) - ord(other)",
    ),
    idiom("mean_of_two", "Computes the mean of {one} and {other}", "lambda one, other: (one + other) / 2"),
    idiom(
        "larger_of",
        "Returns the larger of {one} and {other}",
        *(
            f"lambda one, other: {value}"
            for value in ("max(one, other)", "one if other < one else other", "one if other <= one else other")
        ),
    ),
    idiom(
        "smaller_of",
        "Returns the smaller of {one} and {other}",
        *(
            f"lambda one, other: {value}"
            for value in ("min(one, other)", "one if one < other else other", "one if one <= other else other")
        ),
    ),
    idiom("largest_of_three", "Returns the largest of {a}, {b} and {c}", "lambda a, b, c: max(a, b, c)"),
    idiom("smallest_of_three", "Returns the smallest of {a}, {b} and {c}", "lambda a, b, c: min(a, b, c)"),
    idiom(
        "is_triangle",
        "Tells whether there is a triangle with sides of {a}, {b} and {c}",
        "lambda a, b, c: c < a + b and b < a + c and a < b + c",
    ),
    idiom(
        "hypotenuse",
        "Computes the long side of a right triangle with short sides of {a} and {b}",
        "lambda a, b: (a ** 2 + b ** 2) ** 0.5",
        "lambda a, b: math.hypot(a, b)",
    ),
    idiom("sum_of_two_squares", "Adds up the squares of {a} and {b}", "lambda a, b: a ** 2 + b ** 2"),
    idiom("square_of_sum", "Squares the sum of {numbers}", "lambda numbers: sum(numbers) ** 2"),
    idiom(
        "circle_area",
        "Computes the area of a circle of radius {radius}",
        "lambda radius: math.pi * radius ** 2",
    ),
    idiom(
        "circle_area",
        "Computes the area of a circle of radius {radius}, with two or four decimals of pi",
        "lambda radius: 3.14 * radius ** 2",
        "lambda radius: 3.1415 * radius ** 2",
    ),
    idiom(
        "circle_circumference",
        "Computes the circumference of a circle of radius {radius}",
        "lambda radius: 2 * math.pi * radius",
    ),
    idiom(
        "half_of_product",
        "Halves the product of {a} and {b}",
        *(f"lambda a, b: {value}" for value in ("a * b / 2", "0.5 * a * b", "1 / 2 * a * b")),
    ),
    idiom("floor_half_of_product", "Halves the product of {a} and {b}, and rounds down", "lambda a, b: a * b // 2"),
    idiom("twice_the_sum", "Doubles the sum of {a} and {b}", "lambda a, b: 2 * (a + b)"),
    idiom(
        "fahrenheit_to_celsius",
        "Turns {degrees} Fahrenheit into Celsius",
        "lambda degrees: (degrees - 32) * 5 / 9",
        "lambda degrees: (degrees - 32) * (5 / 9)",
    ),
    idiom("celsius_to_fahrenheit", "Turns {degrees} Celsius into Fahrenheit", "lambda degrees: degrees * 9 / 5 + 32"),
    idiom("floor_tenth", "Divides {n} by 10, and rounds down", "lambda n: n // 10"),
    idiom(
        "quotient_and_remainder_by_ten",
        "Returns {n} divided by 10 and rounded down, and the remainder",
        "lambda n: (n // 10, n % 10)",
        "lambda n: divmod(n, 10)",
    ),
    idiom(
        "trial_divisors",
        "Goes over the numbers from 2 to the square root of {n}",
        "lambda n: range(2, int(n ** 0.5) + 1)",
    ),
    idiom("range_from_two", "Goes over the numbers from 2 to below {n}", "lambda n: range(2, n)"),
    idiom("integer_square_root", "Computes the square root of {n}, rounded down", "lambda n: int(n ** 0.5)"),
    idiom(
        "percentage",
        "Computes what share of {whole} {part} is, in percent",
        "lambda part, whole: part / whole * 100",
        "lambda part, whole: 100 * part / whole",
    ),
    idiom(
        "have_opposite_signs",
        "Tells whether one of {a} and {b} is negative and the other is not",
        "lambda a, b: a ^ b < 0",
    ),
    idiom(
        "has_integer_value",
        "Tells whether {number} is a whole number",
        "lambda number: number == int(number)",
        "lambda number: int(number) == number",
    ),
    idiom("sum_of_cubes", "Adds up the cubes of {numbers}", "lambda numbers: sum(number ** 3 for number in numbers)"),
    idiom(
        "lucas_number",
        "Computes the {n}-th Lucas number",
        """
        def itself(n):
            a, b = 2, 1
            for i in range(n):
                a, b = b, a + b
            return a
        """,
    ),
    idiom(
        "is_composite",
        "Tells whether a number from 2 to below {n} divides it, if it is at least 2",
        *(
            f"lambda n: {over} and any(n % d == 0 for d in range(2, {to}))"
            for over in ("1 < n", "2 <= n")
            for to in ("n", "int(n ** 0.5) + 1")
        ),
    ),
    idiom(
        "has_divisor",
        "Tells whether a number from 2 to below {n} divides it",
        *(f"lambda n: any(n % d == 0 for d in range(2, {to}))" for to in ("n", "int(n ** 0.5) + 1")),
    ),
    idiom(
        "raise_{ERROR}_if",
        "Raises {ERROR} if {test} counts as true",
        "def itself(test, ERROR):\n    if test:\n        raise ERROR",
    ),
    idiom(
        "raise_{ERROR}_unless",
        "Raises {ERROR} unless {test} counts as true",
        "def itself(test, ERROR):\n    if not test:\n        raise ERROR",
    ),
    idiom(
        "raise_{ERROR}_if_none",
        "Raises {ERROR} if {value} is None",
        "def itself(value, ERROR):\n    if value is None:\n        raise ERROR",
    ),
    idiom(
        "raise_{ERROR}_if_{TEST}",
        "Raises {ERROR} if {TEST} holds for {value}",
        "def itself(value, TEST, ERROR):\n    if TEST(value):\n        raise ERROR",
    ),
    idiom(
        "value_or_default",
        "Returns {value}, or {default} if it is None",
        *(f"lambda value, default: {chosen}" for chosen in ("default if value is None else value",)),
    ),
    idiom(
        "first_truthy",
        "Returns {value}, or {default} if it does not count as true",
        "lambda value, default: value or default",
    ),
    idiom(
        "call_if",
        "Calls {function} with {value} if {test} is true, else returns {value}",
        "lambda test, function, value: function(value) if test else value",
    ),
    idiom(
        "choose",
        "Returns {value} if {test} is true, else {other}",
        "lambda test, value, other: value if test else other",
    ),
)
