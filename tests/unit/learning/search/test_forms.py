"""Code that does the same in another way has the same form, and code that does something else has another one."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from atlas.learning.search.forms.canonical import canonical_body
from atlas.learning.terms.names import function_of


def form(source: str) -> str:
    body = canonical_body(function_of(dedent(source)))
    return "\n".join(ast.unparse(ast.fix_missing_locations(statement)) for statement in body)


SAME = {
    "a loop that appends is a comprehension": (
        "def f(a):\n    r = []\n    for x in a:\n        if x > 1:\n            r.append(x)\n    return r",
        "def f(a):\n    return [x for x in a if 1 < x]",
    ),
    "a loop over indices is one over items": (
        "def f(a):\n    n = 0\n    for i in range(len(a)):\n        n += a[i]\n    return n",
        "def f(a):\n    return sum([x for x in a])",
    ),
    "enumerate is a loop over indices": (
        "def f(a):\n    return [i for i, x in enumerate(a) if x]",
        "def f(a):\n    return [i for i in range(len(a)) if a[i]]",
    ),
    "an early return is any": (
        "def f(a):\n    for x in a:\n        for y in x:\n            if y > 2:\n"
        "                return True\n    return False",
        "def f(a):\n    return any(2 < y for x in a for y in x)",
    ),
    "continue is a test": (
        "def f(a):\n    r = []\n    for x in a:\n        if not x:\n"
        "            continue\n        r.append(x)\n    return r",
        "def f(a):\n    return [x for x in a if x]",
    ),
    "counting up is a range": (
        "def f(n):\n    i = 0\n    t = 1\n    while i < n:\n        t *= i\n        i += 1\n    return t",
        "def f(n):\n    t = 1\n    for i in range(n):\n        t = t * i\n    return t",
    ),
    "temporaries stand where they are read": (
        "def f(a):\n    s = str(a)\n    b = s[::-1]\n    return s == b",
        "def f(a):\n    return str(a) == str(a)[::-1]",
    ),
    "branches are one test": (
        "def f(a, b):\n    if a < 0:\n        return False\n    elif b > a:\n"
        "        return True\n    else:\n        return False",
        "def f(a, b):\n    return a >= 0 and a < b",
    ),
    "imports are named by their module": (
        "def f(a):\n    from math import gcd as g\n    return g(a, 2)",
        "def f(a):\n    import math as m\n    return m.gcd(a, 2)",
    ),
    "map and filter are comprehensions": (
        "def f(a):\n    return list(map(lambda x: x + 1, filter(lambda y: y > 0, a)))",
        "def f(a):\n    return [x + 1 for x in a if x > 0]",
    ),
}

OTHER = {
    "a variable that changes in between": (
        "def f(a):\n    n = len(a)\n    a.append(1)\n    return n",
        "def f(a):\n    a.append(1)\n    return len(a)",
    ),
    "texts joined the other way round": (
        "def f(a):\n    r = ''\n    for x in a:\n        r = x + r\n    return r",
        "def f(a):\n    r = ''\n    for x in a:\n        r = r + x\n    return r",
    ),
    "a loop that ends early": (
        "def f(a):\n    r = []\n    for x in a:\n        if x:\n            break\n        r.append(x)\n    return r",
        "def f(a):\n    return [x for x in a if not x]",
    ),
    "a list that the loop reads": (
        "def f(a):\n    r = []\n    for x in a:\n        if x not in r:\n            r.append(x)\n    return r",
        "def f(a):\n    r = []\n    return [x for x in a if x not in r]",
    ),
    "a value that is used up": (
        "def f(a):\n    g = (x for x in a)\n    return list(g) + list(g)",
        "def f(a):\n    return list(x for x in a) + list(x for x in a)",
    ),
    "an iterator that goes on": (
        "def f(a):\n    x = next(a)\n    return x + x",
        "def f(a):\n    return next(a) + next(a)",
    ),
    "an index that is read by itself too": (
        "def f(a):\n    return [a[i] * i for i in range(len(a))]",
        "def f(a):\n    return [i * i for i in a]",
    ),
    "a step that is skipped": (
        "def f(n):\n    i = 0\n    t = 0\n    while i < n:\n        if i == 3:\n"
        "            continue\n        t += i\n        i += 1\n    return t",
        "def f(n):\n    t = 0\n    for i in range(n):\n        if i == 3:\n"
        "            continue\n        t += i\n    return t",
    ),
}


@pytest.mark.parametrize("case", SAME)
def test_what_does_the_same_has_the_same_form(case):
    one, other = SAME[case]
    assert form(one).replace("each_", "") == form(other).replace("each_", "")


@pytest.mark.parametrize("case", OTHER)
def test_what_does_something_else_has_another_form(case):
    one, other = OTHER[case]
    assert form(one) != form(other)


def test_the_code_itself_stays_as_it_is():
    function = function_of("def f(a):\n    r = []\n    for x in a:\n        r.append(x)\n    return r")
    before = ast.dump(function)
    canonical_body(function)
    assert ast.dump(function) == before


@pytest.mark.parametrize(
    "source",
    [
        "def f(a):\n" + "".join(f"    b{n} = a + {n}\n" for n in range(400)) + "    return a",
        "def f(a):\n    return " + " + ".join(["a"] * 500),
        "def f(a):\n    if a:\n        return 0\n"
        + "".join(f"    elif a == {n}:\n        return {n}\n" for n in range(150)),
    ],
)
def test_code_that_is_long_or_nested_deeply_has_no_form(source):
    assert form(source) == ""


def test_imports_before_a_function_count():
    imports = ast.parse("from math import gcd as g").body
    (returned,) = canonical_body(function_of("def f(a): return g(a, 2)"), imports)
    assert ast.unparse(ast.fix_missing_locations(returned)) == "return math.gcd(a, 2)"
