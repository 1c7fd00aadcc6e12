"""Names and descriptions derived from code: fitting, free, and marked as what they are."""

from __future__ import annotations

import asyncio
import builtins
import keyword
from dataclasses import replace

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


def test_a_function_is_named_after_what_it_does():
    found = document(concept(PRIME), PRIME_USES)
    assert found.name == "is_prime"
    assert found.signature == "is_prime(n) -> bool"
    assert found.description == f"Tells whether `n` is a prime number. Found in 3 programs. {DERIVED}"
    assert found.guidance == ("Used for: “Count the primes under n.”; “The n-th prime number.”; “Is the sum a prime?”.")


def test_all_programs_that_use_it_are_counted_not_only_those_that_are_shown():
    used = replace(concept(PRIME), found_in=tuple(map(str, range(95))))
    assert document(used, PRIME_USES).description.endswith(f"Found in 95 programs. {DERIVED}")


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
        ("def fn_0(x0, x1): return x0 % x1 == 0", "is_divisible"),
        ("def fn_0(x0): return sum(len(one) for one in x0)", "sum_of_lengths"),
        ("def fn_0(x0): return bin(x0).count('1')", "count_set_bits"),
        ("def fn_0(x0): return sorted(set(x0))", "sorted_distinct"),
        ("def fn_0(x0): return [one for one in x0 if one > 0]", "select_positive"),
        ("def fn_0(x0): return [one for one in x0 if 0 < one and one % 2 != 0]", "select_positive_and_odd"),
        ("def fn_0(x0, x1): return [one for one in x0 if one < x1]", "select_below"),
        ("def fn_0(x0): return max(len(one) ** 2 for one in x0)", "max_of_squares_of_length"),
        ("def fn_0(x0): return sum(one[1] for one in x0 if one[1] > 3)", "concept_1"),
        ("def fn_0(x0): return len(x0) - 1", "last_index"),
        ("def fn_0(x0): return len(x0) + 1", "length_plus_one"),
        ("def fn_0(x0): return len(set(x0)) - min(x0)", "distinct_count_minus_min"),
        ("def fn_0(x0): return isinstance(x0, str)", "is_text"),
        ("def fn_0(x0): return x0 is None", "is_none"),
        ("def fn_0(x0): return find_way(x0) is None", "concept_1"),
        ("def fn_0(x0): return len(x0) % 2 == 0", "has_even_length"),
        ("def fn_0(x0, x1): return len(x0) == x1", "has_length"),
        ("def fn_0(x0, x1): return sorted(x0) == x1", "concept_1"),
        ("def fn_0(x0, x1): return all(one == x1 for one in x0)", "are_all_equal_to"),
        ("def fn_0(x0): return [one for one in x0 if isinstance(one, int)]", "select_integers"),
        ("def fn_0(x0): return x0.sort()", "sort_ascending"),
        ("def fn_0(x0): x0.sort()", "sort_ascending"),
        ("def fn_0(x0): return gcd_of(x0, 12)", "concept_1"),
        ("def fn_0(x0, x1): return x0[x1] + x1", "concept_1"),
        ("def fn_0(x0): return np.copy(x0)", "copy_array"),
        ("def fn_0(x0, x1): return x1(x0, 3) == x0", "concept_1"),
        ("def fn_0(x0): return len(str(x0))", "length_of_text"),
        ("def fn_0(x0, x1): return x0 | x1", "concept_1"),
        ("def fn_0(x0, x1): return x0 * x1 // 2", "floor_half_of_product"),
        ("def fn_0(x0): return (len(x0[0]), len(x0))", "width_and_height"),
        ("def fn_0(x0): return x0[:, ::-1]", "flip_horizontally"),
        ("def fn_0(x0): return x0 % 10", "remainder_by_ten"),
        ("def fn_0(x0, x1): return x0.replace(x1, '')", "remove_from_text"),
        ("def fn_0(x0, x1): return all(one not in x1 for one in x0)", "have_no_common_item"),
        ("def fn_0(x0, x1): return all(one in x1 for one in x0)", "is_subset"),
        ("def fn_0(x0, x1): return all(one in x0 for one in x1)", "concept_1"),
        ("def fn_0(x0, x1): return x0[:-x1]", "drop_last"),
        ("def fn_0(x0, x1): return x1[:-x0]", "drop_last"),
        ("def fn_0(x0, x1): return x0 - x1", "concept_1"),
        ("def fn_0(x0, x1): return [x1(one, two) for one, two in zip(x0, x2)]", "concept_1"),
        ("def fn_0(x0, x1): x0.append(x1)", "append_item"),
        ("def fn_0(x0, x1, x2): x0.append(x1[x2])", "append_item_from"),
        ("def fn_0(x0, x1, x2): x1.append(x0[x2])", "concept_1"),
        ("def fn_0(x0, x1): return x0[x1:] + x0[:x1]", "move_first_to_end"),
        ("def fn_0(x0): return all(one == one[::-1] for one in x0)", "are_all_palindromes"),
        ("def fn_0(x0): return str(x0)[::-1]", "reversed_text"),
        ("def fn_0(x0, x1): return sum(1 for one in x0 if one in x1)", "count_items_in"),
        ("def fn_0(x0, x1, x2): return x1 in x0 and x2 in x0", "contains_both"),
        ("def fn_0(x0, x1): return len(x0) > x1", "is_longer_than"),
        ("def fn_0(x0, x1): return x0 < len(x1)", "concept_1"),
        ("def fn_0(x0, x1): return [one for one in x1 if one < x0]", "concept_1"),
        ("def fn_0(x0): return len(x0.splitlines())", "count_lines"),
        ("def fn_0(x0): return [len(one.splitlines()) for one in x0]", "map_to_line_count"),
        ("def fn_0(x0): return len(x0.split()) % 2 == 0", "has_even_word_count"),
        ("def fn_0(x0): return len(x0.split()) == 0", "has_word_count_zero"),
        ("def fn_0(x0): return [one for one in x0 if len(one.splitlines()) > 2]", "select_line_count_above_two"),
        ("def fn_0(x0): return x0[0].lower() in 'aeiou'", "starts_with_vowel"),
        ("def fn_0(x0): return x0[-1].lower() in 'aeiou'", "concept_1"),
        ("def fn_0(x0, x1): return [[0] * x1 for _ in range(x0)]", "zero_grid"),
        ("def fn_0(x0, x1): return [[float('inf')] * x1 for _ in range(x0)]", "concept_1"),
        ("def fn_0(x0, x1, x2): return [[x2] * x1 for _ in range(x0)]", "filled_grid"),
    ],
)
def test_the_code_alone_names_it(code, name):
    assert document(concept(code)).name == name


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("def fn_0(x0): return x0 > LIMIT", "is_above_limit"),
        ("def fn_0(x0): return [one for one in x0 if one != WALL]", "select_different_from_wall"),
        ("def fn_0(x0, x1): return x0 in x1 and x0 in x1", "concept_1"),
        ("def fn_0(x0): return x0 not in known", "concept_1"),
        ("def fn_0(x0): return [one for one in x0 if one in KNOWN]", "concept_1"),
        ("def fn_0(x0): return len(x0) + offset", "concept_1"),
        ("def fn_0(x0): return max(len(one) for one in x0 if one > limit)", "concept_1"),
    ],
)
def test_a_name_tells_what_else_is_read_or_is_not_given(code, name):
    assert document(concept(code)).name == name


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("x0[:-x1]", "Returns `items` without the last `n`, or none of them if `n` is 0."),
        ("x0[-x1:]", "Returns the last `n` of `items`, or all of them if `n` is 0."),
        ("sorted(x0)[-x1:]", "Returns the `n` largest of `items`, the smallest of these first, or all of `items`"),
        ("next((one for one in x0 if x1(one)), None)", "Returns the first of `items` for which `test` is true, or `N"),
        ("x0 == sorted(x0)", "Tells whether `items`, a list, is in ascending order."),
        ("[one for pair in zip(x0, x1) for one in pair]", "Lists items of `items` and `others` in turns, as long as "),
        ("sum(int(d) for d in str(x0 ** x1))", "Returns the digit sum of the power of `number`: `sum((int(item) for "),
        ("x0 % 2 == 0 and x0 >= 8", "Tells whether `number % 2 == 0 and number >= 8` is true."),
    ],
)
def test_a_sentence_tells_what_the_code_does_at_its_edges(value, said):
    assert document(concept(f"def fn_0(x0, x1): return {value}")).description.startswith(said)


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
            "Lists those of `items` for which `item > 7 * q` holds.",
        ),
    ],
)
def test_what_has_no_name_is_told_step_by_step(code, said):
    found = document(concept(code))
    assert found.name == "concept_1"
    assert found.description.startswith(said)
    assert found.description.endswith(DERIVED)


def test_what_it_does_for_nothing_at_all_is_told():
    found = document(concept("def fn_0(x0):\n    if not x0:\n        return True\n    return len(set(x0)) == 1"))
    assert found.name == "are_all_equal"
    assert found.description.startswith(
        "Tells whether `items` consist of one item alone, once or more often, or returns `True` where `items` is empty."
    )


@pytest.mark.parametrize(
    "value",
    [
        "sum(x0) - len(x0) - 1",
        "[one for one in x0 if (one > 0 or one % 2 == 0) and one < 9]",
        "[one for one in x0 if not one.isdigit() and one.isalpha()]",
        "chr(ord(x0) + 2)",
        "int(x0 ** 0.5) + 1",
    ],
)
def test_a_name_that_can_be_read_in_two_ways_is_not_given(value):
    assert document(concept(f"def fn_0(x0):\n    return {value}")).name == "concept_1"


@pytest.mark.parametrize(
    ("value", "name"),
    [("sum(x0) // len(x0)", "sum_floor_over_length"), ("[one // 2 for one in x0]", "map_to_floor_half")],
)
def test_a_division_that_rounds_down_is_told_from_one_that_does_not(value, name):
    assert document(concept(f"def fn_0(x0):\n    return {value}")).name == name


def test_an_answer_for_nothing_that_the_caller_gives_is_in_the_name():
    found = document(concept("def fn_0(x0, x1):\n    if not x0:\n        return x1\n    return len(set(x0)) == 1"))
    assert found.name == "are_all_equal_with_default"


def test_what_is_handed_back_in_any_case_is_told_once():
    swapped = "    x0[0], x0[-1] = x0[-1], x0[0]\n"
    found = document(concept(f"def fn_0(x0):\n    if not x0:\n        return x0\n{swapped}    return x0"))
    assert found.description.startswith(
        "Swaps the first and the last of `items`, in place, and returns `items`. Derived"
    )


def test_a_function_that_calls_another_is_named_after_what_both_do():
    documenter = HeuristicDocumenter()
    first = asyncio.run(documenter.document(concept("def fn_0(x0, x1): return range(x0, x1 + 1)"), []))
    second = asyncio.run(documenter.document(concept(f"def fn_1(x0): return {first.name}(1, x0)"), []))
    assert (first.name, second.name) == ("inclusive_range", "one_to_n")


def test_parameters_are_named_after_their_roles():
    code = "def fn_0(x0, x1, x2): return [x0(one) for one in x1 if one.key(x2[0])]"
    assert document(concept(code)).signature == "concept_1(function, items, other_items)"


def test_parameters_are_named_after_what_is_passed_if_all_programs_agree():
    code = "def fn_0(x0, x1, x2): return x0[x1:x1 + x2]"
    uses = [
        ("", "def f(words, start): return fn_0(words, start, 2)"),
        ("", "def g(words, start): return fn_0(words, start, 3)"),
    ]
    assert document(concept(code), uses).signature.startswith("slice_of_length(words, start, length: int)")


def test_parameters_are_not_named_after_what_one_program_of_two_passes():
    uses = [("", "def f(primes): return fn_0(primes)"), ("", "def g(rows): return fn_0(rows)")]
    assert document(concept("def fn_0(x0): return len(x0) - 1"), uses).signature == "last_index(items)"


def test_types_that_the_uses_agree_on_are_in_the_signature_and_not_in_the_code():
    uses = [
        ("", "def f(words: list[str]) -> int: return fn_0(words)"),
        ("", "def g(words: list[str]) -> int: return fn_0(words)"),
    ]
    found = document(concept("def fn_0(x0): return sum(len(one) for one in x0)"), uses)
    assert found.signature == "sum_of_lengths(words: list[str]) -> int"
    assert found.code == "def sum_of_lengths(words): return sum(len(one) for one in words)"


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
    assert found.description == f"Does more than can be told step by step. {DERIVED}"


def test_texts_of_tasks_and_programs_may_be_anything():
    uses = [("\0\ud800" * 50, "def f(:"), ("", ""), ("x" * 10_000, "fn_0(*args, **more)\nfn_0()")]
    assert document(concept(PRIME), uses).name.isidentifier()
