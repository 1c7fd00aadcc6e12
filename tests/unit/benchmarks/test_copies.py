"""Copies of programs have other names for their variables, and do the same."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from atlas.importers import Limits, detect
from atlas.learning.extraction import programs_of
from atlas.learning.sandbox.runner import Sandbox
from benchmarks.learning.copies import copy, repeated, variables
from tests.support.learning.builders import program

ODD = """
LIMIT = 3
import math as m
def outer(rows, key=None, *rest, **more):
    total = sum(rows)
    def inner(row):
        nonlocal total
        total += m.floor(row) + LIMIT
        return total
    try:
        return [inner(each) for each in rows if key is None or key(each)]
    except TypeError as error:
        return str(error) + f"{total}"
def other(values):
    sum = 0
    for value in values:
        sum += value
    return outer(rows=[sum], key=lambda item: item > 0)
"""


def test_variables_have_other_names_and_all_else_stays():
    twin = copy(program(ODD, "assert other([1, 2]) == [9]", name="p"), 2)
    exec(f"{twin.source}\n{twin.tests}", {})
    names = {node.id for node in ast.walk(ast.parse(twin.source)) if isinstance(node, ast.Name)}
    assert {"row_2", "each_2", "values_2", "value_2", "item_2"} <= names
    assert {"LIMIT", "m", "sum", "total", "rows", "key", "error", "inner", "outer"} <= names
    assert (twin.id, twin.task_id, twin.tests) == ("p#2", "p#2", "assert other([1, 2]) == [9]")


def test_what_tests_pass_by_name_or_read_stays():
    source = "best = 1\ndef f(a, b):\n    global best\n    best = a\n    return b"
    assert variables(program(source, "assert f(1, b=2) == 2 and best")) == {"a"}


def test_a_program_that_looks_names_up_as_text_stays():
    source = "def f(a):\n    return eval('a')"
    assert copy(program(source), 2).source == source


def test_the_given_ones_come_first_and_then_copies_in_rounds():
    given = [program(f"def f(x):\n    return x + {number}", name=f"p{number}") for number in range(2)]
    made = repeated(given, 5)
    assert [each.id for each in made] == ["p0", "p1", "p0#2", "p1#2", "p0#3"]
    assert made[:2] == given
    assert [each.source.split()[-3] for each in made] == ["x", "x", "x_2", "x_2", "x_3"]
    assert repeated(given, 5) == made
    assert (repeated(given, 1), repeated([], 5)) == (given[:1], [])


@pytest.mark.parametrize("every", [20, pytest.param(1, marks=pytest.mark.slow)])
def test_copies_of_real_programs_pass_the_same_tests(real_data: Path, every: int):
    path = real_data / "reflexion" / "humaneval_py_reflexion_gpt4.jsonl"
    given = programs_of(row.item for row in detect(path).read(path, Limits())).programs[::every]
    with Sandbox() as sandbox:
        ends = {each.id: sandbox.run(copy(each, 2).source, each.tests).outcome for each in given}
    assert ends == dict.fromkeys(ends, "passed")
    assert sum(copy(each, 2).source != each.source for each in given) >= 0.9 * len(given)
