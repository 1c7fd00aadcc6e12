"""Functions that read a constant of their module."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from atlas.learning.compression import compress
from atlas.learning.results import Compression
from atlas.learning.sandbox.runner import Sandbox
from atlas.learning.terms.programs import Program
from atlas.learning.terms.scopes import find_constants

SOURCE = """\
RATE = {rate}

def {name}(price, items):
    total = {start}
    for item in items:
        if item.startswith('a'):
            total += price * RATE
        else:
            total += price
    return round(total, 2)
"""
WHOLE = """\
import math
RATE = 0.5
{helper}
{main}
"""


def learned(*sources: str, tests: str = "") -> Compression:
    programs = [
        Program(id=str(number), task_id=str(number), description="", source=source, tests=tests)
        for number, source in enumerate(sources)
    ]
    with Sandbox() as sandbox:
        return compress(programs, sandbox=sandbox if tests else None)


def test_a_constant_beside_the_only_function_is_part_of_what_is_learned() -> None:
    sources = [SOURCE.format(rate="0.2", name="cost", start=start) for start in (0, 1, 2)]
    found = learned(*sources, tests="assert cost(10, []) < 3 < 11 < cost(10, ['a', 'b']) < 15")
    (function,) = found.abstractions
    assert "    RATE = 0.2\n" in function.source
    assert function.proofs == ("0", "1", "2")


def test_a_constant_of_another_value_is_not_exchanged() -> None:
    rates = (0.2, 0.2, 0.3, 0.3)
    found = learned(*(SOURCE.format(rate=rate, name=f"cost{n}", start=0) for n, rate in enumerate(rates)))
    assert found.rewritten
    for name, rewritten in found.rewritten.items():
        space: dict[str, Callable[[int, list[str]], float]] = {}
        exec(rewritten.standalone, space)
        assert space[f"cost{name}"](10, ["a", "b"]) == 10 + 10 * rates[int(name)]


def test_a_whole_function_is_shared_with_the_constant_that_it_reads() -> None:
    helper = SOURCE.format(rate="0.5", name="priced", start=0).partition("\n\n")[2]
    mains = [f"def main{n}(x):\n    return [priced(x, ['a']) for _ in range({n})] + [{n} ** x]" for n in range(3)]
    found = learned(*(WHOLE.format(helper=helper, main=main) for main in mains))
    assert "RATE = 0.5" in found.abstractions[0].source
    assert found.abstractions[0].uses == ("0", "1", "2")
    for name, rewritten in found.rewritten.items():
        space: dict[str, object] = {}
        exec(rewritten.standalone, space)
        assert space[f"main{name}"](2) == [1.0] * int(name) + [int(name) ** 2]  # type: ignore[operator]


@pytest.mark.parametrize(
    "source",
    [
        "RATE = 1\nRATE = 2\ndef f(): return RATE",
        "RATE = 1\ndef f():\n    global RATE\n    RATE = 2\n    return RATE",
        "RATE = []\ndef f(): return RATE",
        "print()\nRATE = 1\ndef f(): return RATE",
        "RATE = 1\nfrom others import *\ndef f(): return RATE",
        "RATE = 1\ndef f(RATE): return RATE",
        "RATE = make()\ndef f(): return RATE",
    ],
)
def test_what_may_have_another_value_is_no_constant(source: str) -> None:
    assert find_constants(ast.parse(source)) == {}
