"""Abstractions as functions: parameters, results, and what is none."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from tests.support.learning.patterns import carve, learned


def run(source: str, call: str) -> Any:
    """What a call gives after a program; an error's type where it raises."""
    names: dict[str, Any] = {}
    exec(source, names)
    try:
        return eval(call, names)
    except Exception as error:  # noqa: BLE001 - whatever a program raises is its result
        return type(error)


def same(program: str, rewritten: str, *calls: str) -> bool:
    return all(run(program, call) == run(rewritten, call) for call in calls)


def test_an_expression_becomes_a_function_of_its_variables_and_holes() -> None:
    program = "def f(xs, k):\n    return sum(xs) * (k + 1) + 2"
    code, (rewritten,) = learned([program], carve(program, "sum(xs) * (k + 1)", holes=("k + 1",)))
    assert code == "def shared_0(xs, value):\n    return sum(xs) * value"
    assert "return shared_0(xs, k + 1) + 2" in rewritten
    assert same(program, rewritten, "f([1, 2], 3)")


@pytest.mark.parametrize(
    ("value", "holes", "head"),
    [
        ("all(w in ys for w in xs)", (), "xs, ys"),
        ("[abs(x) for x in xs if x > k]", ("abs(x)",), "xs, k, function"),
        ("sum(xs) * (k + 1) + sum(ys)", ("k + 1",), "xs, value, ys"),
        ("ys[k] - xs[k]", (), "ys, k, xs"),
    ],
)
def test_parameters_stand_in_the_order_in_which_code_names_them(value, holes, head) -> None:
    program = f"def f(xs, ys, k):\n    return [{value}, 7]"
    code, (rewritten,) = learned([program], carve(program, value, holes=holes))
    assert code.startswith(f"def shared_0({head}):")
    assert same(program, rewritten, "f([1, -2, 3], [4, 1, 7], 1)")


def test_variables_that_are_read_later_are_given_back() -> None:
    program = "def f(a):\n    b = a + 1\n    c = b * 2\n    d = c\n    return a + c"
    code, (rewritten,) = learned([program], carve(program, "b = a + 1", "d = c"))
    assert code == "def shared_0(a):\n    b = a + 1\n    c = b * 2\n    d = c\n    return c"
    assert "    c = shared_0(a)\n    return a + c" in rewritten
    assert same(program, rewritten, "f(3)")


def test_a_variable_read_in_the_next_round_of_a_loop_is_given_back() -> None:
    program = (
        "def f(n):\n    last = 0\n    out = []\n    for i in range(n):\n"
        "        out.append(last)\n        last = i * 2\n        print(end='')\n    return out"
    )
    code, (rewritten,) = learned([program], carve(program, "last = i * 2", "print(end='')"))
    assert "return last" in code
    assert same(program, rewritten, "f(4)")


def test_statements_that_always_return_are_returned() -> None:
    program = "def f(a):\n    a = abs(a)\n    if a > 3:\n        return 1\n    else:\n        return a"
    code, (rewritten,) = learned([program], carve(program, "if a > 3:", "return a"))
    assert "    return shared_0(a)" in rewritten
    assert code.count("return") == 2
    assert same(program, rewritten, "f(5)", "f(-2)")


def test_statements_without_results_are_called() -> None:
    program = "def f(a, i, j):\n    t = a[i]\n    a[i] = a[j]\n    a[j] = t\n    return a"
    code, (rewritten,) = learned([program], carve(program, "t = a[i]", "a[j] = t"))
    assert "    shared_0(a, i, j)\n    return a" in rewritten
    assert same(program, rewritten, "f([1, 2, 3], 0, 2)")
    assert code.startswith("def shared_0(a, i, j):")


def test_a_condition_on_the_functions_own_variable_becomes_a_function() -> None:
    program = "def f(xs, k):\n    n = 0\n    for x in xs:\n        if x > k:\n            n += 1\n    return n"
    code, (rewritten,) = learned([program], carve(program, "n = 0", "return n", holes=("x > k",)))
    assert "if function(x):" in code
    assert "shared_0(xs, lambda x: x > k)" in rewritten
    assert same(program, rewritten, "f([1, 5, 7], 4)")


def test_a_parameter_that_is_called_is_named_like_a_function() -> None:
    program = "def f(xs):\n    return [str(x) for x in xs if str(x)]"
    code, _ = learned([program], carve(program, "[str(x) for x in xs if str(x)]", holes=("str",)))
    assert code == "def shared_0(xs, function):\n    return [function(x) for x in xs if function(x)]"


def test_what_is_imported_is_imported_where_it_is_used() -> None:
    program = "from math import gcd\ndef f(a, b):\n    return gcd(a, b) // 2"
    code, (rewritten,) = learned([program], carve(program, "gcd(a, b) // 2"))
    assert code == "def shared_0(a, b):\n    from math import gcd\n    return gcd(a, b) // 2"
    assert same(program, rewritten, "f(12, 8)")


def test_two_programs_with_other_variables_use_one_function() -> None:
    first = "def f(xs):\n    return [x * x for x in xs if x % 2]"
    second = "def g(rows):\n    return [r * r for r in rows if r % 2]"
    code, rewritten = learned([first, second], carve(first, "[x * x for x in xs if x % 2]"))
    assert code == "def shared_0(xs):\n    return [x * x for x in xs if x % 2]"
    assert "return shared_0(rows)" in rewritten[1]
    assert same(second, rewritten[1], "g([1, 2, 3])")


def test_names_of_parameters_hide_nothing_that_the_code_uses() -> None:
    program = "def f(list, len_):\n    return sorted(list) + [len(list), len_]"
    code, (rewritten,) = learned([program], carve(program, "sorted(list) + [len(list), len_]"))
    assert "def shared_0(len_, list_2):" in code or "def shared_0(list_2, len_):" in code
    assert same(program, rewritten, "f([2, 1], 9)")


REFUSED = [
    (
        "def f(a):\n    for x in a:\n        if x:\n            break\n        a = x",
        ("if x:", "if x:"),
        "an enclosing loop",
    ),
    ("def f(a):\n    if a:\n        return 1\n    a = 2\n    return a", ("if a:", "a = 2"), "on some paths only"),
    ("def f(a):\n    x = a\n    yield x\n    return x", ("x = a", "yield x"), "Yield"),
    ("def f(a):\n    x = a\n    del a[0]\n    return x", ("x = a", "del a[0]"), "Delete"),
    ("def g(a): return a\ndef f(a):\n    return g(a) + 1", ("g(a) + 1", ""), "only its program defines"),
    ("def f(a):\n    x = locals()\n    y = x\n    return y", ("x = locals()", "y = x"), "its caller's variables"),
    ("def f(a):\n    if a:\n        x = 1\n    y = a\n    return x", ("if a:", "y = a"), "before it has a value"),
    (
        "def f(a):\n    x = 1\n    if a:\n        def g(): return x\n    x = a\n    y = x\n    return g()",
        ("x = a", "y = x"),
        "nested",
    ),
    (
        "def f(a):\n    x = a\n    h = lambda: x\n    return h",
        ("x = a", "h = lambda: x"),
        "may be called after it has ended",
    ),
    (
        "def f(a):\n    x = 0\n    try:\n        x = 1\n        y = a[x]\n    except IndexError: y = 0\n    return x",
        ("x = 1", "y = a[x]"),
        "after an exception",
    ),
    ("def f(a):\n    return (b := a) + b", ("(b := a) + b", ""), "NamedExpr"),
    ("async def f(a):\n    return [x async for x in a]", ("[x async for x in a]", ""), "awaits"),
    (
        "def f(a):\n    x = a\n    h = iter(x + y for y in a)\n    return h",
        ("x = a", "h = iter((x + y for y in a))"),
        "may be called after it has ended",
    ),
    ("class A:\n    def f(self):\n        return self.__x + 1", ("self.__x + 1", ""), "begins with two underscores"),
]


@pytest.mark.parametrize(("program", "lines", "why"), REFUSED)
def test_what_is_no_function_is_refused_with_the_reason(program: str, lines: tuple[str, str], why: str) -> None:
    code, rewritten = learned([program], carve(program, *lines))
    assert not rewritten
    assert why in code


def test_an_argument_that_may_not_be_evaluated_at_all_is_no_value() -> None:
    program = "def f(a, d):\n    return a > 0 and d[a] > 1"
    code, rewritten = learned([program], carve(program, "a > 0 and d[a] > 1", holes=("d[a]",)))
    assert not rewritten
    assert "another time" in code or "before" in code


@pytest.mark.parametrize(
    "used", ["sum(x + y for y in a)", "list(map(lambda y: x + y, a))", "sorted(a, key=lambda y: -y)"]
)
def test_a_generator_that_is_used_up_at_once_may_be_in_a_function(used: str) -> None:
    program = f"def f(a):\n    x = len(a)\n    h = {ast.unparse(ast.parse(used))}\n    return h"
    _, rewritten = learned([program], carve(program, "x = len(a)", ast.unparse(ast.parse(f"h = {used}"))))
    assert "return shared_0(a)" in rewritten[0]
    assert same(program, rewritten[0], "f([1, 2])")


def test_an_argument_after_a_change_in_place_is_no_value() -> None:
    program = "def f(a):\n    b = a\n    b += [1]\n    c = len(a)\n    return c"
    code, rewritten = learned([program], carve(program, "b += [1]", "c = len(a)", holes=("len(a)",)))
    assert not rewritten, code


def test_a_variable_that_may_have_no_value_is_no_argument_where_it_may_not_be_read() -> None:
    program = "def f(a):\n    if a:\n        b = 1\n    return a > 0 and b"
    code, rewritten = learned([program], carve(program, "a > 0 and b", holes=("b",)))
    assert not rewritten, code


def test_an_argument_that_reads_what_was_changed_before_is_no_value() -> None:
    program = "def f(a):\n    a.append(1)\n    b = len(a)\n    return b"
    code, rewritten = learned([program], carve(program, "a.append(1)", "b = len(a)", holes=("len(a)",)))
    assert not rewritten, code


def test_one_variable_for_two_is_refused_for_that_use_only() -> None:
    first = "def f(a, b):\n    a += [1]\n    b = a + b\n    return a, b"
    second = "def f(a, b):\n    a += [1]\n    a = a + a\n    return a, b"
    code, rewritten = learned([first, second], carve(first, "a += [1]", "b = a + b"))
    assert "shared_0" in rewritten[0]
    assert "shared_0" not in rewritten[1]
    assert same(second, rewritten[1], "f([0], [2])")
    assert code.endswith("return (a, b)")


REFUSED_ARGUMENTS = [
    # what the argument changes, the function has looked at before it
    ("def f(xs):\n    return len(xs) + xs.pop()", "len(xs) + xs.pop()", "xs.pop()", "f([1, 2])"),
    ("def f(xs):\n    return (xs[0], xs.pop(0))", "(xs[0], xs.pop(0))", "xs.pop(0)", "f([1, 2])"),
    ("def f(xs):\n    it = iter(xs)\n    return (sum(it), list(it))", "(sum(it), list(it))", "list(it)", "f([1, 2])"),
    ("def f(xs):\n    it = iter(xs)\n    return (2 in it, [x for x in it])", "(2 in it, [x for x in it])",
     "[x for x in it]", "f([1, 2, 3])"),
    # what looks pure, and is not
    ("def f(xs, log):\n    return (sorted(xs, key=log), len(xs))", "(sorted(xs, key=log), len(xs))", "len(xs)",
     "(lambda ys: f(ys, lambda x: ys and 0 or 1))([2, 1])"),
    ("class Box:\n    def __init__(self):\n        self.n = 0\n    def get(self, k):\n        self.n += k\n"
     "        return self.n\ndef f(box):\n    return (box.get(1), box.n)", "(box.get(1), box.n)", "box.n", "f(Box())"),
    ("def f(queue, seen):\n    return (queue.get(), len(seen))", "(queue.get(), len(seen))", "len(seen)", "f({}, [])"),
    ("def f(sum, xs):\n    return (sum(xs), len(xs))", "(sum(xs), len(xs))", "len(xs)", "f(list.pop, [1, 2])"),
]  # fmt: skip


@pytest.mark.parametrize(("program", "whole", "hole", "call"), REFUSED_ARGUMENTS)
def test_an_argument_that_would_see_or_make_a_change_too_early_is_refused(program, whole, hole, call) -> None:
    reason, rewritten = learned([program], carve(program, whole, holes=(hole,)))
    assert rewritten == [], rewritten
    assert "would be evaluated" in reason or "may call its enclosing function" in reason


COUNTING = (
    "counter = 0\ndef bump():\n    global counter\n    counter += 1\n    return 0\n"
    "def f():\n    return (bump(), counter)"
)


def test_a_global_is_not_read_before_what_changes_it() -> None:
    reason, rewritten = learned([COUNTING], carve(COUNTING, "(bump(), counter)", holes=("bump", "counter")))
    assert rewritten == [], rewritten
    assert "would be evaluated" in reason


def test_a_global_that_nothing_changes_may_be_read_at_any_time() -> None:
    program = "LIMIT = 3\ndef f(xs):\n    return (xs.pop(), LIMIT)"
    _, (rewritten,) = learned([program], carve(program, "(xs.pop(), LIMIT)", holes=("LIMIT",)))
    assert "shared_0(xs, LIMIT)" in rewritten


GUARDED = (
    "def f(a, i):\n    try:\n        return (int(a), [1][i])\n"
    "    except ValueError:\n        return 'value'\n    except IndexError:\n        return 'index'"
)


def test_exceptions_come_in_their_order_where_they_are_told_apart() -> None:
    reason, rewritten = learned([GUARDED], carve(GUARDED, "(int(a), [1][i])", holes=("[1][i]",)))
    assert rewritten == [], rewritten
    assert "would be evaluated" in reason


def test_outside_of_a_guard_and_first_in_one_arguments_stay_values() -> None:
    program = "def f(a, i):\n    return (int(a), [1][i])"
    _, (rewritten,) = learned([program], carve(program, "(int(a), [1][i])", holes=("[1][i]",)))
    assert "shared_0(a, [1][i])" in rewritten
    first = GUARDED.replace("(int(a), [1][i])", "([1][i], int(a))")
    _, (rewritten,) = learned([first], carve(first, "([1][i], int(a))", holes=("[1][i]",)))
    assert same(first, rewritten, "f('x', 5)", "f('x', 0)", "f('1', 0)")


def test_what_has_a_length_is_no_iterator_and_may_be_gone_through_twice() -> None:
    program = "def f(xs):\n    return sum(xs) / max(xs) if len(xs) else 0"
    code, _ = learned([program], carve(program, "sum(xs) / max(xs)", holes=("max(xs)",)))
    assert code == "def shared_0(xs, value):\n    return sum(xs) / value"
