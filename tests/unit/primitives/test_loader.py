"""Making concepts from the functions of a module."""

from __future__ import annotations

import importlib
import math
import sys

import pytest

from atlas.core.errors import InvalidInput
from atlas.primitives.loader import concepts_of

SHARED = '''
from __future__ import annotations
import math
from collections import deque, Counter as Tally

LIMIT = 3
"""At most so many."""

LARGE: int = LIMIT * 2

def halved(number: float) -> float:
    return number / 2
'''

OPERATIONS = '''
from __future__ import annotations
from functools import cache
from brought.shared import LARGE, Tally
from .shared import halved

Number = int

def _inner(value: Number) -> Number:
    return double(value)

@cache
def double(value: Number, by: Number = 2) -> Number:
    """Twice the number.

    It is the same each time.

    Args:
        value: Any.

    Examples:
        >>> double(2)
        4
        >>> [double(1),
        ...  double(2)]
        [2,
         4]
    """
    return value * by

def fourfold(value: Number) -> Number:
    """Four times the number."""
    return _inner(double(value))

def shadowing(double: Number) -> Number:
    """The number, whatever a primitive of the same name does."""
    return double

def limited(values: list[Number]) -> float:
    """Half of the most common, at most so many."""
    return halved(min(LARGE, Tally(values).most_common(1)[0][0]))

def nested(value: Number) -> Number:
    """A primitive called from inside."""
    def within() -> Number:
        return double(value)
    return within()
'''


@pytest.fixture
def brought(tmp_path, monkeypatch):
    """Makes the concepts of a module with this text."""
    package = tmp_path / "brought"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "shared.py").write_text(SHARED)
    monkeypatch.syspath_prepend(tmp_path)

    def made(operations):
        (package / "operations.py").write_text(operations)
        return concepts_of("brought", [importlib.import_module("brought.operations")], {"level": 1})

    yield made
    for name in [name for name in sys.modules if name.partition(".")[0] == "brought"]:
        del sys.modules[name]


@pytest.fixture
def concepts(brought):
    return brought(OPERATIONS)


def test_every_public_function_that_a_module_defines_is_one(concepts):
    assert list(concepts) == ["double", "fourfold", "shadowing", "limited", "nested"]
    assert concepts["double"].id == "brought_double"
    assert concepts["double"].metadata == {"level": 1}


def test_the_description_ends_where_the_sections_begin(concepts):
    assert concepts["double"].description == "Twice the number. It is the same each time."


def test_the_signature_and_the_examples_are_the_functions_own(concepts):
    assert concepts["double"].signature == "double(value: Number, by: Number=2) -> Number"
    assert concepts["double"].examples == (("double(2)", "4"), ("[double(1),\n double(2)]", "[2,\n 4]"))


def test_calls_through_private_functions_and_inner_ones_count_and_names_of_arguments_do_not(concepts):
    assert concepts["fourfold"].calls == concepts["nested"].calls == ("brought_double",)
    assert concepts["shadowing"].calls == ()


def test_the_code_brings_what_it_needs_from_the_same_package_and_nothing_else(concepts):
    code = concepts["limited"].code
    namespace = {}
    exec(compile(code, "<code>", "exec", dont_inherit=True), namespace)
    assert namespace["limited"]([9, 9, 1]) == 3
    assert "brought" not in code
    assert "deque" not in code
    assert '"""At most so many."""' in code


def test_decorators_belong_to_the_code(concepts):
    assert "from functools import cache\n" in concepts["double"].code
    assert "@cache\ndef double" in concepts["double"].code


@pytest.mark.parametrize(
    "text",
    [
        "from brought.shared import halved as half\ndef quarter(number):\n    return half(half(number))\n",
        "from . import shared\ndef quarter(number):\n    return shared.halved(shared.halved(number))\n",
        "import brought.shared as parts\ndef quarter(number):\n    return parts.halved(number) / 2\n",
    ],
)
def test_what_the_code_could_not_bring_along_is_refused(brought, text):
    with pytest.raises(InvalidInput, match="import functions of its own package by name, without an alias"):
        brought(text)


def test_private_functions_may_call_each_other(brought):
    concepts = brought(
        "def _odd(n):\n    return n > 0 and _even(n - 1)\n\n\n"
        "def _even(n):\n    return n == 0 or _odd(n - 1)\n\n\n"
        "def is_even(n):\n    return _even(n)\n"
    )
    namespace = {}
    exec(concepts["is_even"].code, namespace)
    assert [namespace["is_even"](n) for n in range(3)] == [True, False, True]


def test_two_functions_of_one_name_are_refused(brought):
    brought("def halved(number):\n    return number\n")
    modules = [importlib.import_module(name) for name in ("brought.operations", "brought.shared")]
    with pytest.raises(InvalidInput, match="two modules of 'brought' define the function 'halved'"):
        concepts_of("brought", modules)


def test_two_definitions_of_one_name_are_refused(brought):
    with pytest.raises(InvalidInput, match="two different definitions of 'LIMIT'"):
        brought("from brought.shared import LARGE\nLIMIT = 8\ndef most():\n    return LIMIT + LARGE\n")


def test_a_module_without_source_is_refused():
    with pytest.raises(InvalidInput, match="the source of math is not installed"):
        concepts_of("mathematics", [math])
