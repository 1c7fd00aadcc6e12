"""Programs of six tasks that have a function in common, each with a test."""

from __future__ import annotations

from atlas.learning.terms.programs import Program

PRIME = """
def {name}({n}):
    '''{name} of a task'''
    if {n} < 2:
        return False
    for i in range(2, int({n} ** 0.5) + 1):
        if {n}% i == 0:
            return False
    return True
"""
USES = [
    "def a(xs):\n    return [x for x in xs if is_prime(x)]",
    "def b(n):\n    i = n\n    while not is_prime(i):\n        i += 1\n    return i",
    "def c(t):\n    return sum(v for v in t.values() if is_prime(v))",
    "def d(x, y):\n    return is_prime(x) and is_prime(y)",
    "def e(s):\n    return max((len(w) for w in s.split() if is_prime(len(w))), default=0)",
    "def f(rows):\n    return any(is_prime(cell) for row in rows for cell in row)",
]
CHECKS = ["a([1, 2, 9]) == [2]", "b(8) == 11", "c({1: 4, 2: 5}) == 5", "d(3, 7)", "e('a bc def') == 3", "f([[4, 7]])"]


def programs(n: int = 6) -> list[Program]:
    return [
        Program(
            id=f"p{number}",
            task_id=f"t{number}",
            description="",
            source=PRIME.format(name="is_prime", n=variable) + "\n" + use,
            tests=f"assert {check}",
        )
        for number, (use, check, variable) in enumerate(zip(USES[:n], CHECKS, "nmkxyz", strict=False))
    ]
