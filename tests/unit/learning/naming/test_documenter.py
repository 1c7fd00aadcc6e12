"""Names and descriptions derived from code and uses: fitting, free, and marked as what they are."""

from __future__ import annotations

import asyncio
import builtins
import keyword

import pytest

from atlas.core.errors import InvalidInput
from atlas.core.types import CodeConcept
from atlas.learning.naming.documenter import DERIVED, HeuristicDocumenter
from atlas.protocols.strategies import ConceptDocumenter
from tests.support.learning.builders import concept

PRIME = """
def fn_0(x0):
    if x0 < 2:
        return False
    for i in range(2, int(x0 ** 0.5) + 1):
        if x0 % i == 0:
            return False
    return True
"""
PRIME_USES = [
    ("Count the primes under n.", "def count_primes(n):\n    return sum(1 for number in range(n) if fn_0(number))"),
    (
        "The n-th prime number.",
        "def nth_prime(n):\n    number = 1\n    while n:\n        number += 1\n        n -= fn_0(number)",
    ),
    ("Is the sum a prime?", "def prime_sum(a: int, b: int) -> bool:\n    total = a + b\n    return fn_0(total)"),
]


def document(found: CodeConcept, uses=(), **options) -> CodeConcept:
    return asyncio.run(HeuristicDocumenter(**options).document(found, list(uses)))


def test_it_is_a_documenter():
    assert isinstance(HeuristicDocumenter(), ConceptDocumenter)


def test_a_function_is_named_after_what_it_does_and_what_its_uses_share():
    found = document(concept(PRIME), PRIME_USES)
    assert found.name == "is_prime"
    assert found.signature == "is_prime(number) -> bool"
    assert "Tells whether `number` is prime. Found in 3 programs, about prime" in found.description
    assert found.guidance == (
        "For tasks about prime. Used for: “Count the primes under n.”; “The n-th prime number.”; “Is the sum a prime?”."
    )


def test_it_says_that_it_was_derived():
    found = document(concept(PRIME), PRIME_USES)
    assert found.description.endswith(DERIVED)
    assert found.metadata == {"documented_by": "heuristic", "original_name": "fn_0"}


def test_the_code_does_the_same_under_its_new_names():
    found = document(concept(PRIME), PRIME_USES)
    namespace: dict[str, object] = {}
    exec(found.code, namespace)
    assert [n for n in range(12) if namespace["is_prime"](n)] == [2, 3, 5, 7, 11]


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("def fn_0(x0): return x0 == x0[::-1]", "is_palindrome"),
        ("def fn_0(x0, x1): return x0 % x1 == 0", "is_multiple"),
        ("def fn_0(x0): return sum(len(one) for one in x0)", "sum_length"),
        ("def fn_0(x0): return bin(x0).count('1')", "count_binary"),
        ("def fn_0(x0): return sorted(set(x0))", "sort_distinct"),
        ("def fn_0(x0): return [one for one in x0 if one > 0]", "select_items"),
        ("def fn_0(x0): return x0[::-1]", "reverse_items"),
        ("def fn_0(x0):\n    n = 0\n    for one in x0:\n        n += 1\n    return n", "count_items"),
        ("def fn_0(x0):\n    n = {}\n    for a in x0:\n        n[a] = n.get(a, 0) + 1\n    return n", "count_items"),
        ("def fn_0(x0): return gcd_of(x0, 12)", "gcd_of_value"),
        ("def fn_0(x0): x0.sort()", "sort_value"),
    ],
)
def test_without_uses_the_code_alone_names_it(code, name):
    assert document(concept(code)).name == name


def test_a_function_that_changes_something_says_what():
    code = "def fn_0(x0, x1):\n    for one in x0:\n        x1[one] = x1.get(one, 0) + 1"
    uses = [
        (f"The frequency of each {one}.", f"def f({one}, seen):\n    fn_0({one}, seen)") for one in ("word", "mark")
    ]
    found = document(concept(code), uses)
    assert found.signature == "update_frequency(mark, seen)"
    assert found.description.startswith("Changes `seen`.")


def test_parameters_are_named_after_what_is_passed():
    code = "def fn_0(x0, x1, x2): return x0[x1:x1 + x2]"
    uses = [
        ("", "def f(words, start): return fn_0(words, start, 2)"),
        ("", "def g(words, start): return fn_0(words, start + 1, 3)"),
    ]
    assert document(concept(code), uses).signature.startswith("part_words(words, start, number: int)")


def test_types_that_the_uses_agree_on_are_in_the_signature_and_not_in_the_code():
    uses = [
        ("", "def f(words: list[str]) -> int: return fn_0(words)"),
        ("", "def g(words: list[str]) -> int: return fn_0(words)"),
    ]
    found = document(concept("def fn_0(x0): return sum(len(one) for one in x0)"), uses)
    assert found.signature == "sum_length(words: list[str]) -> int"
    assert found.code == "def sum_length(words): return sum(len(one) for one in words)"


def test_a_name_of_its_own_is_kept():
    found = document(concept("def crop(grid, size): return grid[:size]"))
    assert (found.name, found.signature) == ("crop", "crop(grid, size)")


def test_no_name_is_given_twice_or_is_taken():
    documenter = HeuristicDocumenter(taken=["is_prime"])
    names = [asyncio.run(documenter.document(concept(PRIME), PRIME_USES)).name for _ in range(4)]
    assert len({*names, "is_prime"}) == 5


def test_names_of_the_programs_that_use_it_are_taken():
    uses = [("Primes.", "is_prime = 3\ndef f(n): return fn_0(n)"), ("Prime.", "def prime_one(n): return fn_0(n)")]
    assert document(concept(PRIME), uses).name not in ("is_prime", "prime_one", "n", "f")


@pytest.mark.parametrize("passed", ["list", "input", "str", "sum", "filter", "print"])
def test_nothing_is_named_like_a_builtin(passed):
    uses = [("", f"def f({passed}): return fn_0({passed})"), ("", f"def g({passed}): return fn_0({passed})")]
    found = document(concept("def fn_0(x0): return list(x0)"), uses)
    for name in (found.name, found.signature.partition("(")[2].partition(")")[0].partition(":")[0]):
        assert name.isidentifier()
        assert not hasattr(builtins, name)
        assert not keyword.iskeyword(name)


def test_names_that_the_code_fixes_stay():
    found = document(concept("def fn_0(x0): return fn_1(x0=x0)"))
    assert "x0" in found.code
    assert found.name == "fn_1_value" or found.name.isidentifier()


@pytest.mark.parametrize("code", ["x = 1", "def f(:"])
def test_code_without_a_function_is_refused(code):
    with pytest.raises(InvalidInput, match="expected"):
        document(CodeConcept(name="f", description="", code=code))


def test_texts_of_tasks_and_programs_may_be_anything():
    uses = [("\0\ud800" * 50, "def f(:"), ("", ""), ("x" * 10_000, "fn_0(*args, **more)\nfn_0()")]
    assert document(concept(PRIME), uses).name.isidentifier()
