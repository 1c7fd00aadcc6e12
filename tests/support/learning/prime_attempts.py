"""Attempts at tasks about prime numbers, whose programs have a function in common."""

from __future__ import annotations

from atlas.core.types import Outcome, Task, Trajectory, VerificationSpec

PRIME = """def is_prime({n}):
    if {n} < 2:
        return False
    for i in range(2, int({n} ** 0.5) + 1):
        if {n}% i == 0:
            return False
    return True
"""
USES = (
    ("def primes_in(xs):\n    return [x for x in xs if is_prime(x)]", "primes_in([1, 2, 9]) == [2]"),
    ("def next_prime(n):\n    i = n\n    while not is_prime(i):\n        i += 1\n    return i", "next_prime(8) == 11"),
    ("def prime_values(t):\n    return sum(v for v in t.values() if is_prime(v))", "prime_values({1: 4, 2: 5}) == 5"),
    ("def both_prime(x, y):\n    return is_prime(x) and is_prime(y)", "both_prime(3, 7)"),
)


def attempt(number: int, *, source: str = "", tests: str | None = None, success: bool = True) -> Trajectory:
    use, check = USES[number % len(USES)]
    task = Task(
        f"t{number}",
        "",
        "Work with prime numbers",
        {},
        VerificationSpec("tests", {"tests": f"assert {check}" if tests is None else tests}),
    )
    solution = source or PRIME.format(n="nmkx"[number % 4]) + "\n\n" + use
    return Trajectory(task=task, steps=(), outcome=Outcome(success), metadata={"solution": solution}, id=f"a{number}")


def attempts() -> list[Trajectory]:
    return [attempt(number) for number in range(len(USES))]
