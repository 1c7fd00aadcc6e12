"""Programs do the same when the analysis alone says that they do: no test is run while they are rewritten."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Set
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atlas.learning.rewrite.executable import Executables
from atlas.learning.rewrite.workspace import drop_invalid
from atlas.learning.terms.heads import END, EXPRESSION, REST, STATEMENT, SYMBOL_SORT, THEN, read_head
from atlas.learning.terms.patterns import Pattern
from atlas.learning.terms.terms import HOLE, SYMBOL, Term
from tests.support.learning.patterns import carve, learned, term_of, workspace_of


def seen(source: str, call: str) -> tuple[str, ...]:
    """All that a call shows: its result or error, what is printed, and what becomes of what it is given."""
    names: dict[str, Any] = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(source, names)
        names["given"] = eval(GIVEN, names)
        try:
            result = repr(eval(call, names))
        except Exception as error:  # noqa: BLE001 - whatever a program raises is its result
            result = repr(error)
    shown = (result, printed.getvalue(), repr([list(each) for each in names["given"]]))
    return tuple(re.sub(r"<\S+ (object )?\S* ?at 0x\w+>", "<object>", text) for text in shown)


GIVEN = "([3, 1, 2], iter([7, 8, 9]), {'a': 1, 2: 5}.items())"

GUARD = "\ndef g(*given):\n    try:\n        return f(*given)\n    except IndexError:\n        return 'index'\n"

SHAPES = {
    "a generator that sees an assignment": (
        "def f(a):\n    x = 1\n    later = (i * x for i in a)\n    x = len(a)\n    y = x * 3\n"
        "    return list(later), y",
        ("x = len(a)", "y = x * 3"), (), "f([1, 2])",
    ),
    "a lambda that is stored by its keyword": (
        "def f(a):\n    x = 1\n    y = dict(get=lambda: x)\n    x = a\n    return y['get']()",
        ("x = 1", "y = dict(get=lambda: x)"), (), "f(3)",
    ),
    "a generator that is the answer where there is none": (
        "def f(a):\n    x = 1\n    y = next(iter(a), (x for _ in 'ab'))\n    x = 2\n    return list(y)",
        ("x = 1", "y = next(iter(a), (x for _ in 'ab'))"), (), "f([])",
    ),
    "an import under a condition": (
        "try:\n    import fast\nexcept ImportError:\n    pass\ndef f(a):\n    return fast.go(a, 1) if a else 0",
        ("fast.go(a, 1) if a else 0", ""), (), "f(0)",
    ),
    "a global under a condition": (
        "ON = False\nif ON:\n    log = print\ndef f(a):\n    return (ON and log('value', a), a)",
        ("(ON and log('value', a), a)", ""), ("ON", "log"), "f(1)",
    ),
    "a global that comes later": (
        "def f(a):\n    return (a and LATE, a)\nprint(f(0))\nLATE = max", ("(a and LATE, a)", ""), ("LATE",), "f(2)",
    ),
    "a change of what it does not name": (
        "def f(a):\n    push = lambda: a.append(5) or 5\n    return (len(a), sum(a), push())",
        ("(len(a), sum(a), push())", ""), ("push()",), "f([1])",
    ),
    "an effect that an exception prevents": (
        "def f(a):\n    return (a[3], print('done'))", ("(a[3], print('done'))", ""), ("print('done')",), "f([1])",
    ),
    "exceptions that a caller tells apart": (
        "def f(a, t):\n    return (a[3], t['k'])" + GUARD, ("(a[3], t['k'])", ""), ("t['k']",), "g([], {})",
    ),
    "a join that is no text's": (
        "import threading\ndef f(a):\n    t = threading.Timer(0.05, lambda: a.append(1))\n    t.start()\n"
        "    return (t.join(), len(a))",
        ("(t.join(), len(a))", ""), ("len(a)",), "f([])",
    ),
    "a join that waits for so long": (
        "import threading\ndef f(a):\n    t = threading.Timer(0.05, lambda: a.append(1))\n    t.start()\n"
        "    return (t.join(9), len(a))",
        ("(t.join(9), len(a))", ""), ("len(a)",), "f([])",
    ),
    "a get that takes an item out": (
        "import queue\ndef f(a):\n    q = queue.Queue()\n    q.put(a)\n    return (q.get(True), len(q.queue))",
        ("(q.get(True), len(q.queue))", ""), ("len(q.queue)",), "f([])",
    ),
    "a function of the program's own in the place of Python's": (
        "def f(a):\n    def len(b):\n        a.append(2)\n        return 0\n    if a:\n        return (len(a), sum(a))",
        ("(len(a), sum(a))", ""), ("len", "sum(a)"), "f([1])",
    ),
    "an item that is there because it was asked for": (
        "from collections import defaultdict\ndef f(a):\n    d = defaultdict(int)\n    return (d[a], len(d))",
        ("(d[a], len(d))", ""), ("len(d)",), "f(1)",
    ),
    "what a called hole changes": (
        "def f(a):\n    return ([a.append(x) for x in 'bc'], len(a))",
        ("([a.append(x) for x in 'bc'], len(a))", ""), ("a.append(x)", "len(a)"), "f([])",
    ),
    "one argument twice, with a change between": (
        "def f(a):\n    return (len(a), a.pop(), len(a))",
        ("(len(a), a.pop(), len(a))", ""), ("len(a)", "a.pop()"), "f([1, 2])",
    ),
    "an iterator asked twice": (
        "def f(it):\n    return (2 in it, 2 in it)", ("(2 in it, 2 in it)", ""), ("2 in it",), "f(iter([1, 2, 3]))",
    ),
    "what a context does": (
        "class Box(list):\n    def __enter__(self): self.append(1)\n    def __exit__(self, *rest): pass\n"
        "def f():\n    b = Box()\n    a = [b][0]\n    if b is a:\n        with b:\n"
        "            y = 2\n        x = len(a)\n"
        "        return x",
        ("with b:", "x = len(a)"), ("len(a)",), "f()",
    ),
    "what a generator does besides": (
        "def f(a):\n    def each():\n        a.append(1)\n        yield 5\n    return g(each(), a)\n"
        "def g(it, a):\n    return (sum(it), len(a))",
        ("(sum(it), len(a))", ""), ("len(a)",), "f([])",
    ),
    "what a generator does besides in a loop": (
        "def f(a):\n    return g((a.append(i) for i in 'bc'), a)\n"
        "def g(it, a):\n    for x in it:\n        y = x\n    z = len(a)\n    return z",
        ("for x in it:", "z = len(a)"), ("len(a)",), "f([])",
    ),
    "what is only for a failed assertion": (
        "def f(a):\n    if not a:\n        assert not a, a[0]\n        x = 1\n        return x",
        ("assert not a, a[0]", "x = 1"), ("a[0]",), "f([])",
    ),
    "a class that a method names": (
        "class A:\n    def f(self):\n        return [__class__, self][0]\nf = A().f",
        ("[__class__, self][0]", ""), (), "f().__name__",
    ),
    "a name that a handler takes away": (
        "def f(a):\n    e = 1\n    try:\n        a[0]\n    except IndexError as e:\n        pass\n"
        "    return (a and e, 1)",
        ("(a and e, 1)", ""), ("e",), "f([])",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("program", "part", "holes", "call"), SHAPES.values(), ids=SHAPES)
def test_what_would_do_something_else_stays_as_it_is(
    program: str, part: tuple[str, str], holes: tuple[str, ...], call: str
) -> None:
    _, changed = learned([program], carve(program, *part, holes=holes))
    for source in changed:
        assert seen(source, call) == seen(program, call), source


SOUND = {
    "a generator that is over": (
        "def f(a):\n    x = 1\n    y = sum(i * x for i in a)\n    x = len(a)\n    z = x * 3\n    return x, y, z",
        ("x = len(a)", "z = x * 3"), (), "f([1, 2])",
    ),
    "a lambda that is over": (
        "def f(a):\n    x = 1\n    y = sorted(a, key=lambda i: i * x)\n    x = len(a)\n"
        "    z = x * 3\n    return x, y, z",
        ("x = len(a)", "z = x * 3"), (), "f([1, 2])",
    ),
    "an import that is surely made": (
        "def f(a):\n    import math\n    if a:\n        return math.sqrt(a) + a", ("math.sqrt(a) + a", ""), (), "f(4)",
    ),
    "a global that is surely there": (
        "ON = False\ndef f(a):\n    return (a and ON, a)", ("(a and ON, a)", ""), ("ON",), "f(1)",
    ),
    "methods of Python's own types": (
        "import os\ndef f(a):\n    return (','.join(a), len(a))", ("(','.join(a), len(a))", ""), ("len(a)",), "f('ab')",
    ),
    "methods in a program that knows no others": (
        "import math\ndef f(a):\n    return (a.get(1, 2), len(a))", ("(a.get(1, 2), len(a))", ""), ("len(a)",), "f({})",
    ),
    "keys and values in their order": (
        "def f(it):\n    return {1: next(it), it.__next__(): [4, 5]}",
        ("{1: next(it), it.__next__(): [4, 5]}", ""), ("next(it)", "it.__next__()"), "f(iter([7, 8]))",
    ),
    "effects after nothing but names": (
        "def f(a):\n    x = 1\n    y = a.pop()\n    return (x, y)", ("x = 1", "y = a.pop()"), ("a.pop()",), "f([3])",
    ),
    "a loop over what does nothing besides": (
        "def f(it, a):\n    return (sum(it), len(a))", ("(sum(it), len(a))", ""), ("len(a)",), "f(iter([1]), [])",
    ),
    "names beyond ASCII": (
        "def f(é, ß):\n    ñ = é * 2 + ß\n    x = ñ\n    return ñ, x", ("ñ = é * 2 + ß", "x = ñ"), (), "f(1, 2)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("program", "part", "holes", "call"), SOUND.values(), ids=SOUND)
def test_what_does_the_same_is_called(program: str, part: tuple[str, str], holes: tuple[str, ...], call: str) -> None:
    code, changed = learned([program], carve(program, *part, holes=holes))
    assert changed, code
    assert seen(changed[0], call) == seen(program, call), changed[0]


SETTING = """
from collections import defaultdict
LIMIT = 2
tally = defaultdict(int)
class Quiet:
    def __enter__(self):
        print("in")
        return self
    def __exit__(self, kind, *rest):
        print("out")
        return kind is IndexError
quiet = Quiet()
def say(v):
    print("say", v)
    return 1
if LIMIT > 5:
    shout = print
def f(xs, it, d, n):
    d = dict(d)
    push = lambda v: xs.append(v) or len(xs)
    x, y, more = n, 0, []
    gen = (v * x for v in [1, 2])
"""
CLOSING = """
    return x, y, n, more, list(gen), tally, [one() for one in more if callable(one)]
"""
SIMPLE = (
    "x", "n", "y", "1", "LIMIT", "len(xs)", "xs[-1]", "xs.pop()", "push(n)", "next(it)", "sum(xs)", "d.get(n, x)",
    "d['a']", "xs.count(n)", "say(x)", "tally[n]", "len(tally)", "max(xs, key=lambda v: v * x)",
    "sum(v * x for v in xs)", "(x if n else push(x))", "(n and xs.pop())", "list(it)", "xs.index(n)", "d.pop(n)",
    "len(d)", "[v + x for v in xs if v > n]", "dict(get=lambda: x)['get']", "(lambda: x)", "xs[n]", "str(x)",
    "d.get(x)",
    "2 in it", "map(lambda v: v + x, xs)", "any(v > x for v in xs)", "shout", "print", "sorted(xs)", "tuple(xs)",
)  # fmt: skip
JOINED = (
    "({0}, {1})", "[{0}, {1}, {0}]", "{{{0}: {1}, 'k': {2}}}", "{{1: {0}, {1}: {2}}}", "str({0}) + str({1})",
    "({0} or {1})", "({0} if {1} else {2})", 'f"{{{0}}} {{{1}}}"', "[{0} for v in list(xs)]", "({0}, {1}, {2})",
    "say(({0}, {1}))", "({0} == {1} == {2})", "len([{0}, {1}])", "dict(a={0}, b={1})",
    "sorted([{0}], key=lambda v: {1})",
)  # fmt: skip
STATEMENTS = (
    "x = {0}", "y = {0}", "print({0})", "more.append({0})", "x, y = {0}, {1}", "n = len([{0}])",
    "if {0}:\n    x = {1}", "if {0}:\n    x = {1}\nelse:\n    y = {2}",
    "for v in list(xs)[:3]:\n    x = {0}\n    y = {1}",
    "for v in list(xs):\n    if {0}:\n        break\n    y = {1}",
    "try:\n    x = {0}\n    y = {1}\nexcept IndexError:\n    print('index')",
    "try:\n    x = {0}\n    y = {1}\nexcept KeyError as y:\n    pass", "with quiet:\n    x = {0}\n    y = {1}",
    "assert {0}, {1}", "gen = (v * x for v in [1, 2])", "gen = (({0}, v) for v in [1, 2])", "d[{0}] = {1}",
    "xs += [{0}]",
    "if {0}:\n    return {1}, {2}", "while n < 3:\n    n += 1\n    y = {0}", "tally[x] += 1", "more = [*more, {0}]",
)  # fmt: skip
CALLS = ("f(*given, 2)", "f(*given, 0)", "f([], given[1], given[2], 1)", "f(given[0], iter([]), {}, 5)")


def expressions() -> st.SearchStrategy[str]:
    simple = st.sampled_from(SIMPLE)
    joined = st.builds(lambda form, parts: form.format(*parts), st.sampled_from(JOINED), st.tuples(*[simple] * 3))
    return st.one_of(simple, simple, joined)


def programs() -> st.SearchStrategy[str]:
    parts = st.tuples(*[expressions()] * 3)
    statement = st.builds(lambda form, given: form.format(*given), st.sampled_from(STATEMENTS), parts)
    return st.lists(statement, min_size=2, max_size=5).map(
        lambda lines: SETTING + "".join(f"    {line}\n" for each in lines for line in each.splitlines()) + CLOSING
    )


@st.composite
def cuts(draw: st.DrawFn) -> tuple[str, Pattern]:
    """A program, and a part of its last function: an expression or statements, with some expressions as holes."""
    program = draw(programs())
    defined = list(term_of(program).walk())[1].children[-1]
    roots = [term for term in defined.walk() if sort_of(term) in (EXPRESSION, STATEMENT, REST)]
    root = draw(st.sampled_from([term for term in roots if term.size > 3]))
    body = shortened(root, draw(st.integers(1, 3))) if sort_of(root) == REST else root
    inside = [term for term in body.walk() if term is not body and sort_of(term) == EXPRESSION]
    holes = draw(st.sets(st.sampled_from(inside), max_size=3)) if inside else set()
    found: list[tuple[Term, str]] = []
    body = opened(body, holes, found)
    return program, Pattern(name="fn_0", body=body, sort=sort_of(root), hole_sorts=tuple(sort for _, sort in found))


def sort_of(term: Term) -> str:
    return read_head(term.head).sort if ":" in term.head else ""


def shortened(block: Term, n: int) -> Term:
    """The first statements of a block, up to a hole for the rest."""
    if not block.head.startswith(THEN):
        return block
    statement, rest = block.children
    if n == 1:
        return Term(block.head, [statement, rest if rest.head == END else Term(REST)])
    return Term(block.head, [statement, shortened(rest, n - 1)])


def opened(term: Term, holes: Set[Term], found: list[tuple[Term, str]]) -> Term:
    is_rest, is_symbol = term.head == REST, term.head.startswith(SYMBOL)
    if term not in holes and not is_rest and not is_symbol:
        return Term(term.head, [opened(child, holes, found) for child in term.children])
    key = (term, REST if is_rest else SYMBOL_SORT if is_symbol else EXPRESSION)
    if key not in found:
        found.append(key)
    return Term(f"{HOLE}{found.index(key)}")


def rewritten(program: str, pattern: Pattern) -> str:
    """The program that calls the pattern as a function; empty where the analysis refuses."""
    workspace = workspace_of([program], pattern)
    settled = drop_invalid(workspace, "shared_", lambda: None)
    executables = Executables(workspace, settled.functions)
    return executables.standalone("p0") if workspace.patterns and workspace.programs["p0"].calls else ""


@settings(max_examples=20, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(cuts())
def test_whatever_is_cut_out_of_a_program_it_does_the_same(drawn: tuple[str, Pattern]) -> None:
    program, pattern = drawn
    changed = rewritten(program, pattern)
    for call in CALLS if changed else ():
        assert seen(changed, call) == seen(program, call), changed
