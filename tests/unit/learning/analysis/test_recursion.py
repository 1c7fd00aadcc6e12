"""A rewritten program needs no more of the stack, sees the same of it, and reads attributes in the same order."""

from __future__ import annotations

import ast
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from atlas.learning.compression import compress
from atlas.learning.reading import read_programs
from atlas.learning.search.anti_unification import AntiUnificationEngine
from atlas.learning.search.limits import Limits
from atlas.learning.terms.names import inspects_stack
from atlas.learning.terms.programs import Program
from tests.support.learning.patterns import carve, learned

DEPTH = 900

TREE = """
class Tree:
    def __init__(self, below=None, weight=1):
        self.below = below
        self.weight = weight
"""
CHAIN = f"""
def chain(kind=None):
    kind = kind or Tree
    tree = None
    for _ in range({DEPTH}):
        tree = kind(tree)
    return tree
"""
SHORT = CHAIN.replace(str(DEPTH), str(DEPTH // 4))

RECURSIVE = {
    "a function": (
        "def f(n):\n    return max(n, f(n - 1) + 1 if n else 0)", ("max(n, f(n - 1) + 1 if n else 0)", ""), ("f",),
        f"f({DEPTH})",
    ),
    "a function that is a parameter": (
        "def f(n, again):\n    return max(n, again(n - 1, again) + 1 if n else 0)",
        ("max(n, again(n - 1, again) + 1 if n else 0)", ""), (), f"f({DEPTH}, f)",
    ),
    "a method": (
        TREE + "    def total(self):\n        return self.weight + (self.below.total() if self.below else 0)\n" + CHAIN,
        ("self.weight + (self.below.total() if self.below else 0)", ""), (), "chain().total()",
    ),
    "a callback": (
        TREE + "def visit(tree, act):\n    act(tree)\n    if tree.below is not None:\n        visit(tree.below, act)\n"
        "def f(tree):\n    def each(part):\n        seen = part.weight * 2\n        if part.below:\n"
        "            walk(part.below, each)\n    walk(tree, each)\n    return 1\n"
        "def walk(tree, act):\n    if tree:\n        act(tree)\n" + SHORT,
        ("if tree:", "if tree:"), (), "f(chain())",
    ),
    "a callback handed to one of Python's functions": (
        TREE + "def f(tree, count):\n    return list(map(count, [tree.below])) if tree.below else [1]\n"
        "def g(tree):\n    return f(tree, g)\n" + SHORT,
        ("list(map(count, [tree.below])) if tree.below else [1]", ""), (), "str(g(chain())).count('1')",
    ),
    "a visitor of whoever calls": (
        TREE + "def f(tree, visitor):\n    return 1 + (visitor.visit(tree.below) if tree.below else 0)\n" + SHORT
        + "class Visitor:\n    pass\nvisitor = Visitor()\n"
        "setattr(visitor, 'visit', lambda tree: f(tree, visitor))\n",
        ("1 + (visitor.visit(tree.below) if tree.below else 0)", ""), (), "f(chain().below, visitor)",
    ),
    "a lambda in an argument": (
        "def f(n):\n    return sorted([n], key=lambda m: f(m - 1) if m else 0)[0] + 1",
        ("sorted([n], key=lambda m: f(m - 1) if m else 0)[0] + 1", ""), ("lambda m: f(m - 1) if m else 0",),
        f"f({DEPTH // 4})",
    ),
    "a function that is evaluated later": (
        "def f(n):\n    for m in [n]:\n        k = f(m - 1) + 1 if m else 0\n    return k + 0 * n",
        ("for m in [n]:", "return k + 0 * n"), ("f(m - 1)",), f"f({DEPTH})",
    ),
    "two functions in turn": (
        "def f(n):\n    return max(n, g(n))\ndef g(n):\n    return f(n - 1) if n else 0",
        ("max(n, g(n))", ""), ("g",), f"f({DEPTH // 2})",
    ),
    "an operator": (
        TREE + "    def __eq__(self, other):\n"
        "        return self.weight == other.weight and self.below == other.below\n"
        + SHORT,
        ("self.weight == other.weight and self.below == other.below", ""), (), "chain() == chain()",
    ),
    "a property": (
        TREE + "    @property\n    def depth(self):\n"
        "        return self.weight + (self.below.depth if self.below else 0)\n"
        + SHORT,
        ("self.weight + (self.below.depth if self.below else 0)", ""), (), "chain().depth",
    ),
    "a generator": (
        TREE + "def f(tree):\n    if tree.below:\n        deepest = max([tree.weight, *f(tree.below)])\n"
        "        yield deepest\n    yield 1\n" + SHORT,
        ("max([tree.weight, *f(tree.below)])", ""), ("f(tree.below)",), "list(f(chain()))",
    ),
    "a base class": (
        "class A:\n    def go(self, n):\n        return max(n, self.step(n) if n else 0)\n"
        "class B(A):\n    def step(self, n):\n        return self.go(n - 1)",
        ("max(n, self.step(n) if n else 0)", ""), (), f"B().go({DEPTH // 2})",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("program", "part", "holes", "call"), RECURSIVE.values(), ids=RECURSIVE)
def test_what_may_call_the_function_around_it_again_stays_as_it_is(program, part, holes, call):
    assert result(program, call)
    _, changed = learned([program], carve(program, *part, holes=holes))
    for source in changed:
        assert result(source, call) == result(program, call), source
        assert "shared_0(" not in source, source


def result(source: str, call: str) -> object:
    """The result of a call on a stack of its own, of the usual size."""

    def run() -> object:
        names: dict[str, object] = {}
        exec(source, names)
        return eval(call, names)

    with ThreadPoolExecutor(1) as alone:
        return alone.submit(run).result()


SOUND = {
    "what comes back before": (
        "def f(n):\n    return max(n, f(n - 1)) + min(n, 2) if n else 0", "max(n, f(n - 1)) + min(n, 2)", ("f(n - 1)",),
        f"f({DEPTH})",
    ),
    "another function of the program": (
        "def is_even(n):\n    return n % 2 == 0\ndef f(xs):\n    return [n for n in xs if is_even(n)] or [0]",
        "[n for n in xs if is_even(n)] or [0]", ("is_even",), "f([1, 2])",
    ),
    "methods of Python's own types": (
        "def f(n):\n    f(n - 1) if n else 0\n    return ','.join(sorted(str(n))).strip()",
        "','.join(sorted(str(n))).strip()", (), "f(3)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("program", "part", "holes", "call"), SOUND.values(), ids=SOUND)
def test_what_has_come_back_before_is_called(program, part, holes, call):
    code, changed = learned([program], carve(program, part, holes=holes))
    assert changed, code
    assert "shared_0(" in changed[0]
    assert result(changed[0], call) == result(program, call)


DEEP = """def depth_{n}(tree):
    return max([depth_{n}(part) for part in tree.get("parts", []) if part is not None], default={n}) + 1
"""
DEEP_TESTS = "assert depth_{n}({{'parts': [{{}}, None]}}) == {n} + 2"
GROWING = f"""
tree = {{}}
for _ in range({DEPTH // 2 - 20}):
    tree = {{"parts": [tree]}}
"""


def test_programs_that_recurse_alike_still_reach_the_same_depth():
    programs = [
        Program(id=str(n), task_id=str(n), description="", source=DEEP.format(n=n), tests=DEEP_TESTS.format(n=n))
        for n in range(4)
    ]
    found = compress(programs, engine=AntiUnificationEngine(), limits=Limits(max_arity=3))
    for n, program in enumerate(programs):
        source = found.rewritten[program.id].standalone if program.id in found.rewritten else program.source
        assert result(source + GROWING, f"depth_{n}(tree)") == DEPTH // 2 - 20 + n + 1


LOOKING = {
    "sys": "import sys\ndef f():\n    return sys._getframe(1).f_code.co_name",
    "from sys": "from sys import _getframe as frame\ndef f():\n    return frame(1)",
    "getattr": "import sys\ndef f():\n    return getattr(sys, '_getframe')(1)",
    "inspect.stack": "import inspect\ndef f():\n    return len(inspect.stack())",
    "inspect under another name": "import inspect as i\ndef f():\n    return i.stack()[1].function",
    "stack of inspect": "from inspect import stack as s\ndef f():\n    return s()[1].function",
    "all of inspect": "from inspect import *\ndef f():\n    return stack()",
    "currentframe": "import inspect\ndef f():\n    return inspect.currentframe().f_back.f_locals",
    "traceback": "import traceback\ndef f():\n    return traceback.extract_stack()[-2].name",
    "a printed one": "import traceback\ndef f():\n    try:\n        f()\n    finally:\n        traceback.print_exc()",
    "an exception's traceback": "def f(e):\n    return e.__traceback__.tb_frame",
    "a warning": "import warnings\ndef f():\n    warnings.warn('old', stacklevel=2)",
    "a generator's frame": "def f(g):\n    return g.gi_frame.f_locals",
    "tracing": "import sys\ndef f(g):\n    sys.settrace(g)",
    "its own code": "def f():\n    return f.__code__.co_varnames",
    "builtins": "import builtins\ndef f(x):\n    y = x\n    return builtins.locals()",
    "from builtins": "from builtins import vars as v\ndef f(x):\n    return v()",
}  # fmt: skip


@pytest.mark.parametrize("source", LOOKING.values(), ids=LOOKING)
def test_programs_that_look_at_who_calls_them_are_left_out(source):
    refused: Counter[str] = Counter()
    assert read_programs([Program(id="a", task_id="a", description="", source=source)], Limits(), refused).terms == {}
    assert refused == {"program: inspects the call stack": 1}


@pytest.mark.parametrize("call", ["locals()", "globals()", "vars()", "dir()", "eval('x')", "exec('x = 1')"])
def test_programs_that_look_their_variables_up_are_left_out(call):
    refused: Counter[str] = Counter()
    program = Program(id="a", task_id="a", description="", source=f"def f(x):\n    return {call}")
    assert read_programs([program], Limits(), refused).terms == {}
    assert refused == {"program: looks up names by string": 1}


@pytest.mark.parametrize(
    "source",
    [
        "def f(stack):\n    stack.append(1)\n    return stack",
        "class A:\n    def f(self):\n        self.stack = []\n        return self.stack",
        "import numpy as np\ndef f(m):\n    return np.trace(m)",
        "import inspect\ndef f(g):\n    return inspect.signature(g)",
        "import sys\nsys.setrecursionlimit(10_000)",
    ],
)
def test_a_stack_of_a_programs_own_is_none(source):
    assert not inspects_stack(ast.parse(source))


READING = """
class Counter:
    total = 1
    @property
    def first(self):
        self.__dict__["total"] = self.total + 1
        return self.total
    @property
    def second(self):
        self.__dict__["total"] = self.total * 10
        return self.total
class Any:
    def __init__(self):
        self.names = []
    def __getattr__(self, name):
        self.names.append(name)
        return len(self.names) * 10 + len(name)
class Descriptor:
    def __get__(self, owner, kind):
        owner.__dict__["total"] = owner.__dict__.get("total", 1) * 3
        return owner.__dict__["total"]
class Described:
    third = Descriptor()
    fourth = Descriptor()
"""

ATTRIBUTES = {
    "a property as an argument": (
        "def f(c):\n    return (c.first, c.second)", "(c.first, c.second)", ("c.second",), "f(Counter())",
    ),
    "two properties as arguments": (
        "def f(c):\n    return (c.first, len([c.second]), c.first)", "(c.first, len([c.second]), c.first)",
        ("c.first",), "f(Counter())",
    ),
    "a pure value before a property": (
        "def f(c, d):\n    return (c.first, [d.get(1), c.total])", "(c.first, [d.get(1), c.total])", ("c.total",),
        "f(Counter(), {})",
    ),
    "any attribute": ("def f(c):\n    return (c.abc, c.de, c.f)", "(c.abc, c.de, c.f)", ("c.f", "c.abc"), "f(Any())"),
    "attributes of one that counts": (
        "def f(c):\n    return (c.abc, len(c.names))", "(c.abc, len(c.names))", ("len(c.names)",), "f(Any())",
    ),
    "a descriptor": (
        "def f(c):\n    return (c.third, c.fourth)", "(c.third, c.fourth)", ("c.fourth",), "f(Described())",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("function", "part", "holes", "call"), ATTRIBUTES.values(), ids=ATTRIBUTES)
@pytest.mark.parametrize("is_defined", [True, False], ids=["of its own classes", "of others"])
def test_an_attribute_that_may_do_something_is_read_in_its_order(function, part, holes, call, is_defined):
    before, after = (READING, "") if is_defined else ("", READING)
    program = before + function
    _, changed = learned([program], carve(program, part, holes=holes))
    for source in changed:
        assert result(source + "\n" + after, call) == result(program + "\n" + after, call), source


@pytest.mark.parametrize(
    ("function", "part", "holes"),
    [
        (
            "class P:\n    def __init__(self, x):\n        self.x = x\ndef f(p):\n    return (len([p]), p.x)",
            "(len([p]), p.x)",
            ("p.x",),
        ),
        ("def f(a, b):\n    return (len(a), b.shape)", "(len(a), b.shape)", ("b.shape",)),
        ("import math\ndef f(a):\n    return (len(a), math.pi)", "(len(a), math.pi)", ("math.pi",)),
    ],
)
def test_an_attribute_that_only_holds_a_value_may_be_an_argument(function, part, holes):
    code, changed = learned([function], carve(function, part, holes=holes))
    assert changed, code
    assert f", {holes[0]})" in changed[0] or f"({holes[0]}" in changed[0]
