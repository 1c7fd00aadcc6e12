"""Variables that are used once: where they may be replaced by what they stand for, and what that gives."""

from __future__ import annotations

import ast

import pytest

from atlas.learning.analysis.temporaries import inline_temporaries
from atlas.learning.compression import compress
from atlas.learning.reuse import reuse
from atlas.learning.search.anti_unification import AntiUnificationEngine
from atlas.learning.search.limits import Limits
from atlas.learning.terms.programs import Program


def inlined(source: str) -> str:
    module = ast.parse(source)
    inline_temporaries(module)
    return ast.unparse(module)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("words = t.split()\n    return len(words)", "return len(t.split())"),
        ("words = t.split()\n    n = len(words)\n    return n", "return len(t.split())"),
        ("x = abs(t)\n    y = max(t, 2)\n    return x + y", "return abs(t) + max(t, 2)"),
        ("x = sorted(t)\n    for one in x:\n        print(one)", "for one in sorted(t):\n        print(one)"),
        ("n = 0\n    x = sum(t)\n    n += x\n    return n", "n = 0\n    n += sum(t)\n    return n"),
        ("x = len(t)\n    if x > 2:\n        return 1", "if len(t) > 2:\n        return 1"),
    ],
)
def test_what_the_next_statement_reads_once_is_put_there(before: str, after: str) -> None:
    assert inlined(f"def f(t):\n    {before}") == f"def f(t):\n    {after}"


@pytest.mark.parametrize(
    "body",
    [
        "x = t.pop()\n    return g(t[0], x)",
        "x = t.pop('a')\n    return {**t, 'b': x}",
        "x = t.next()\n    return t.step(x)",
        "n = t + 1\n    t = d[n] = 5",
        "n = t + 1\n    t, d[n] = (0, 9)",
        "x = 'text'\n    x",
        "x = len(t)\n    while x > 3:\n        t.pop()",
        "x = len(t)\n    return lambda: x",
        "x = len(t)\n    return [x for one in t]",
        "x = len(t)\n    return t and x",
        "x = len(t)\n    return x + x",
        "x = len(t)\n    t.pop()\n    return x",
        "x = t['a']\n    return f'{x}'",
        "x = list(t)\n    return (sum(t), x)",
        "x = change()\n    return (STATE, x)",
        "x = (yield t)\n    return x",
        "x = len(t)\n    t[g(t)] += x",
        f"x = '{'long ' * 25}' + t\n    return len(x)",
    ],
)
def test_what_would_be_evaluated_otherwise_stays(body: str) -> None:
    source = f"STATE = 1\n\ndef change():\n    global STATE\n    STATE += 1\n    return STATE\n\ndef f(t):\n    {body}"
    assert inlined(source) == source


def test_which_exception_comes_first_is_kept_where_a_program_tells_them_apart() -> None:
    body = "def f(t):\n    x = int(t)\n    return (t[3], x)"
    assert inlined(body) != body
    telling = f"{body}\ntry:\n    f('a')\nexcept IndexError:\n    pass"
    assert inlined(telling) == ast.unparse(ast.parse(telling))


def test_variables_of_the_module_stay() -> None:
    assert inlined("x = len([1])\nprint(x)") == "x = len([1])\nprint(x)"


SLUG = "'-'.join(word.strip().lower() for word in text.replace('_', ' ').split() if word.isalnum())"
STEPS = """spaced = text.replace('_', ' ')
    words = spaced.split()
    return {begin}'-'.join(word.strip().lower() for word in words if word.isalnum()){end}"""
ONCE = "return {begin}" + SLUG + "{end}"


def program(n: int, body: str, begin: str = "", end: str = "") -> Program:
    source = f"def f{n}(text):\n    {body.format(begin=begin, end=end)}\n"
    return Program(id=str(n), task_id=str(n), description="", source=source)


PROGRAMS = [
    program(0, ONCE, begin="'#' + "),
    program(1, STEPS, end=" + '.txt'"),
    program(2, STEPS, begin="'/' + "),
    Program(id="3", task_id="3", description="", source="def f3(a):\n    b = a.pop()\n    return b\n"),
]


def test_programs_with_and_without_temporaries_share_a_function() -> None:
    found = compress(PROGRAMS, engine=AntiUnificationEngine())
    (only,) = found.abstractions
    assert only.uses == ("0", "1", "2")
    assert "spaced = text.replace('_', ' ')" in found.rewritten["1"].before
    assert "spaced" not in found.rewritten["1"].after


def test_programs_that_call_nothing_are_as_they_were_and_the_count_is_against_what_was_written() -> None:
    found = compress(PROGRAMS, engine=AntiUnificationEngine())
    assert "3" not in found.rewritten
    alone = compress(PROGRAMS[3:], engine=AntiUnificationEngine())
    assert alone.tokens_before == alone.tokens_after
    saved = found.tokens_before - found.tokens_after - found.tokens_library
    assert saved - found.tokens_temporaries == sum(one.saving for one in found.abstractions)
    assert found.tokens_temporaries == 4 * 3


def test_a_program_that_does_something_else_without_them_is_kept_with_them() -> None:
    found = compress(
        PROGRAMS,
        engine=AntiUnificationEngine(),
        limits=Limits(),
        verify=lambda pairs: {one.id: one.id != "1" or "spaced = " in source for one, source in pairs},
    )
    assert found.n_programs == 4
    assert "spaced = " in found.rewritten["1"].after
    assert "spaced = " not in found.rewritten["2"].after


def test_a_library_is_found_again_in_programs_that_use_temporaries() -> None:
    learned = compress(
        [PROGRAMS[0], *(program(n, ONCE, end=f" * {n}") for n in (4, 5))], engine=AntiUnificationEngine()
    )
    found = reuse(learned.library, PROGRAMS[1:2])
    assert set(found.rewritten) == {"1"}
    assert found.tokens_temporaries == 6
