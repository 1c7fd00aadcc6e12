"""Descriptions and signatures derived from code, and numbers for names: free, and marked as what they are."""

from __future__ import annotations

import asyncio
import builtins
import keyword
from dataclasses import replace

import pytest

from atlas.core.errors import InvalidInput
from atlas.core.types import CodeConcept
from atlas.learning.naming.documenter import DERIVATION_NOTE, HeuristicDocumenter
from atlas.memory.concepts.records import embedded_text
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


def test_a_function_gets_a_number_and_what_it_does_is_described():
    found = document(concept(PRIME), PRIME_USES)
    assert found.name == "concept_1"
    assert found.signature == "concept_1(number) -> bool"
    assert found.description == (
        "If `number < 2` returns `False`, for each `i` of `range(2, int(number ** 0.5) + 1)` "
        f"if `number % i == 0` returns `False`, returns `True`. Found in 3 programs. {DERIVATION_NOTE}"
    )
    assert found.guidance == ("Used for: “Count the primes under n.”; “The n-th prime number.”; “Is the sum a prime?”.")


def test_all_programs_that_use_it_are_counted_not_only_those_that_are_shown():
    used = replace(concept(PRIME), found_in=tuple(map(str, range(95))))
    assert document(used, PRIME_USES).description.endswith(f"Found in 95 programs. {DERIVATION_NOTE}")


def test_it_says_that_it_was_derived():
    found = document(concept(PRIME), PRIME_USES)
    assert found.description.endswith(DERIVATION_NOTE)
    assert found.metadata == {"documented_by": "heuristic", "original_name": "fn_0"}


def test_the_code_does_the_same_under_its_new_names():
    found = document(concept(PRIME), PRIME_USES)
    namespace: dict[str, object] = {}
    exec(found.code, namespace)
    assert [n for n in range(12) if namespace["concept_1"](n)] == [2, 3, 5, 7, 11]


@pytest.mark.parametrize(
    "value",
    ["x0 is None", "len(x0) % 2 == 0", "all(one in x1 for one in x0)", "not x0", "x0 and bool(x1) and x0 == x1"],
)
def test_what_returns_true_or_false_for_sure_says_so_in_its_signature(value):
    is_sure = not value.startswith("x0 and")
    assert document(concept(f"def fn_0(x0, x1): return {value}")).signature.endswith(" -> bool") == is_sure


def test_a_function_that_is_imported_is_not_taken_for_the_builtin_of_its_name():
    code = "def fn_0(x0): return all(x0)"
    assert document(concept(code)).signature.endswith(" -> bool")
    assert not document(concept(f"from numpy import all\n{code}")).signature.endswith(" -> bool")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "def fn_0(x0, x1):\n    total = 3\n    for one in x0:\n        total += x1 * one\n    return total / 2",
            "Sets `total` to `3`, for each `one` of `items` adds `value * one` to `total`, returns `total / 2`.",
        ),
        (
            "def fn_0(x0):\n    if x0 is None:\n        raise ValueError(x0)\n    print(x0)",
            "If `other is None` raises `ValueError(other)`, calls `print(other)`.",
        ),
        (
            "def fn_0(x0):\n    while x0.go():\n        x0.n -= 1\n    return x0",
            "As long as `value.go()` changes `value.n` by `value.n -= 1`, returns `value`.",
        ),
        (
            "def fn_0(x0): return [one for one in x0 if one > 7 * q]",
            "Returns `[one for one in items if one > 7 * q]`.",
        ),
    ],
)
def test_what_it_does_is_told_step_by_step(code, said):
    found = document(concept(code))
    assert found.name == "concept_1"
    assert found.description.startswith(said)
    assert found.description.endswith(DERIVATION_NOTE)


def test_parameters_are_named_after_their_roles():
    code = "def fn_0(x0, x1, x2): return [x0(one) for one in x1 if one.key(x2[0])]"
    assert document(concept(code)).signature == "concept_1(function, items, other_items)"


def test_parameters_are_named_after_what_is_passed_if_all_programs_agree():
    code = "def fn_0(x0, x1, x2): return x0[x1:x1 + x2]"
    uses = [
        ("", "def f(words, start): return fn_0(words, start, 2)"),
        ("", "def g(words, start): return fn_0(words, start, 3)"),
    ]
    assert document(concept(code), uses).signature.startswith("concept_1(words, start, value: int)")


def test_parameters_are_not_named_after_what_one_program_of_two_passes():
    uses = [("", "def f(primes): return fn_0(primes)"), ("", "def g(rows): return fn_0(rows)")]
    assert document(concept("def fn_0(x0): return len(x0) - 1"), uses).signature == "concept_1(items)"


def test_types_that_the_uses_agree_on_are_in_the_signature_and_not_in_the_code():
    uses = [
        ("", "def f(words: list[str]) -> int: return fn_0(words)"),
        ("", "def g(words: list[str]) -> int: return fn_0(words)"),
    ]
    found = document(concept("def fn_0(x0): return sum(len(one) for one in x0)"), uses)
    assert found.signature == "concept_1(words: list[str]) -> int"
    assert found.code == "def concept_1(words): return sum(len(one) for one in words)"


def test_a_name_of_its_own_is_kept():
    found = document(concept("def crop(grid, size): return grid[:size]"))
    assert (found.name, found.signature) == ("crop", "crop(grid, size)")


def test_no_name_is_given_twice_or_is_taken():
    documenter = HeuristicDocumenter(reserved=["concept_1", "crop"])
    names = [asyncio.run(documenter.document(concept(PRIME), PRIME_USES)).name for _ in range(4)]
    names.append(asyncio.run(documenter.document(concept("def crop(grid, size): return grid[:size]"), [])).name)
    assert names == [f"concept_{number}" for number in range(2, 7)]


def test_names_of_the_programs_that_use_it_are_taken():
    uses = [("Primes.", "concept_1 = 3\ndef f(n): return fn_0(n)"), ("", "def concept_2(n): return fn_0(n)")]
    assert document(concept(PRIME), uses).name == "concept_3"


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
    assert found.name == "concept_1"


@pytest.mark.parametrize("code", ["x = 1", "def f(:"])
def test_code_without_a_function_is_refused(code):
    with pytest.raises(InvalidInput, match="expected"):
        document(CodeConcept(name="f", description="", code=code))


@pytest.mark.parametrize(
    "code",
    [
        "def fn_0(x0):\n    return " + " + ".join(["x0"] * 200),
        "def fn_0(x0):\n    if x0:\n        pass\n"
        + "".join(f"    elif x0 > {n}:\n        x0 = {n}\n" for n in range(150)),
    ],
)
def test_code_that_is_nested_deeply_is_counted_and_not_told(code):
    found = document(concept(code))
    assert found.name == "concept_1"
    assert found.description == f"Does too much to be described step by step. {DERIVATION_NOTE}"


def test_texts_of_tasks_and_programs_may_be_anything():
    uses = [("\0\ud800" * 50, "def f(:"), ("", ""), ("x" * 10_000, "fn_0(*args, **more)\nfn_0()")]
    assert document(concept(PRIME), uses).name.isidentifier()


def test_what_finds_a_concept_is_its_tasks_and_names_without_what_all_have():
    found = document(concept("def fn_0(x0):\n    return sorted(x0.invoices, key=len)[:3]"), PRIME_USES)
    text = embedded_text(found)
    assert text.startswith("Used for: “Count the primes under n.”")
    assert {"invoices", "sorted"} <= set(text.replace(",", " ").split())
    assert "concept" not in text
    assert DERIVATION_NOTE not in text
    assert embedded_text(replace(found, metadata={})) == f"concept 1: {found.description}"
