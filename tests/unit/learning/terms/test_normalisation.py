"""Programs in one form."""

from __future__ import annotations

import ast
from typing import Any

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


CHAIN = "def f(x):\n    if x > 2:\n        return 2\n    elif x > 1:\n        return 1\n    else:\n        return 0"
LOOP = """def f(n):
    found = []
    for i in range(n):
        if i % 2:
            if i > 5:
                break
            else:
                continue
        else:
            found.append(i)
    else:
        found.append(None)
    return found"""
GUARDED = """def f(x):
    try:
        if x > 1:
            return 1 // (x - 2)
        else:
            x += 1
    except ZeroDivisionError:
        if not x:
            x = 3
        else:
            raise
    else:
        x *= 2
    finally:
        x = -x
    return x"""


@pytest.mark.parametrize("source", [CHAIN, LOOP, GUARDED])
def test_code_of_an_else_follows_a_branch_that_leaves_and_does_the_same(source: str) -> None:
    normalised = ast.unparse(normalise(source))
    assert normalised.count("else:") < source.count("else:")
    assert "elif" not in normalised
    for argument in range(9):
        assert outcome(normalised, argument) == outcome(source, argument)


def outcome(source: str, argument: int) -> str:
    names: dict[str, Any] = {}
    exec(source, names)
    try:
        return repr(names["f"](argument))
    except ZeroDivisionError as error:
        return repr(error)


def test_an_else_moves_out_of_every_kind_of_block() -> None:
    source = "class A:\n    if a:\n        raise B\n    else:\n        c = 1\nif a:\n    raise B\nelse:\n    d()"
    assert ast.unparse(normalise(source)) == (
        "class A:\n    if a:\n        raise B\n    c = 1\nif a:\n    raise B\nd()"
    )


@pytest.mark.parametrize(
    "branch",
    ["x = 1", "if b: return 1", "for i in b: return 1", "while b: break"],
)
def test_an_else_stays_after_a_branch_that_may_go_on(branch: str) -> None:
    source = f"def f(a, b):\n    if a:\n        {branch}\n    else:\n        x = 2"
    assert "else:" in ast.unparse(normalise(source))


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
