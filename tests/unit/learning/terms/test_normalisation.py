"""Programs in one form."""

from __future__ import annotations

import ast

import pytest

from atlas.learning.terms.normalisation import normalise
from atlas.learning.terms.parsing import MAX_CHARACTERS, InvalidPython


def test_what_people_read_beside_the_code_is_left_out() -> None:
    source = (
        "'''module'''\nfrom __future__ import annotations\n"
        "def f(a: int, *b: str) -> int:\n    '''doc'''\n    c: int = a  # why\n    return c\n"
    )
    assert ast.unparse(normalise(source)) == "def f(a, *b):\n    c = a\n    return c"


def test_a_function_of_a_docstring_only_still_has_a_body() -> None:
    assert ast.unparse(normalise("def f():\n    'doc'")) == "def f():\n    pass"


def test_annotations_that_are_read_when_it_runs_stay() -> None:
    source = "@dataclass\nclass A:\n    x: int = 1"
    assert ast.unparse(normalise(source)) == source


def test_a_declaration_without_a_value_stays_for_it_makes_a_local() -> None:
    assert ast.unparse(normalise("def f():\n    x: int\n    return x")) == "def f():\n    x: int\n    return x"


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("def f(:", "invalid syntax"),
        ("    return 1", "unexpected indent"),
        ("x = 1\x00", "null bytes"),
        ("(" * 5000 + ")" * 5000, "expected Python"),
        ("-" * 20_000 + "1", "nested less deeply"),
        ("x = " + "9" * 5000, "digits"),
        ("x" * (MAX_CHARACTERS + 1), "at most"),
    ],
)
def test_what_cannot_be_worked_with_is_refused_with_the_reason(source: str, why: str) -> None:
    with pytest.raises(InvalidPython, match=why):
        normalise(source)


def test_an_odd_escape_in_somebodys_program_is_no_warning() -> None:
    assert ast.unparse(normalise(r"x = '\d'")) == r"x = '\\d'"
