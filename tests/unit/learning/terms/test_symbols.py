"""Terms are given other names for their variables, and their own back."""

from __future__ import annotations

from atlas.learning.terms.symbols import number_symbols, replace_symbols
from tests.support.learning.patterns import term_of

PROGRAM = "def f({a}, {b}):\n    for {c} in {a}:\n        {b} += {c} * k\n    return {b}, k"


def test_terms_that_differ_in_nothing_but_their_variables_become_one():
    one, other = term_of(PROGRAM.format(a="x", b="y", c="z")), term_of(PROGRAM.format(a="z", b="x", c="y"))
    assert one != other
    assert replace_symbols(one, number_symbols(one)) == replace_symbols(other, number_symbols(other))


def test_variables_that_are_used_otherwise_stay_different():
    one, other = (term_of(f"def f(a, b):\n    return {used} + {used} * b") for used in "ab")
    assert replace_symbols(one, number_symbols(one)) != replace_symbols(other, number_symbols(other))


def test_the_own_names_come_back():
    term = term_of(PROGRAM.format(a="x", b="y", c="z"))
    heads = number_symbols(term)
    assert replace_symbols(replace_symbols(term, heads), {number: symbol for symbol, number in heads.items()}) == term
