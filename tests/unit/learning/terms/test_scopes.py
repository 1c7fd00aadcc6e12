"""What names refer to."""

from __future__ import annotations

import ast

import pytest

from atlas.learning.terms.scopes import bindings

# fmt: off
PROGRAMS = {
    "def f(a):\n    return a": {"a": "local"},
    "import os.path as p\np": {"p": "import os.path as p"},
    "def f():\n    from math import gcd\n    return gcd": {"gcd": "from math import gcd"},
    "len": {"len": "builtin"},
    "from x import *\nlen": {"len": "own"},
    "def g(): pass\ng": {"g": "own"},
    "x = 1\nprint(x)": {"x": "local", "print": "builtin"},
    "x = 1\ndef f():\n    return x": {"x": "x = 1"},
    "x = [1]\ndef f():\n    return x": {"x": "own"},
    "class A:\n    y = 1\n    z = y": {"y": "own", "z": "own"},
    "[v for v in w]": {"v": "local", "w": "own"},
    "def f():\n    n = 1\n    def g():\n        nonlocal n\n        n = 2": {"n": "own"},
    "def f():\n    n = 1\n    def g():\n        return n": {"n": "local"},
    "def f():\n    global k\n    k = 1": {"k": "own"},
    "def f(v):\n    if (m := v): return m": {"m": "local"},
    "def f(v):\n    return [m for x in v if (m := x)]": {"m": "local", "x": "local"},
    "def f(a, b=lambda c: c):\n    return b": {"b": "local", "c": "local"},
    "def f(v):\n    match v:\n        case [q]:\n            return q": {"q": "own"},
    "sum = 1\ndef f():\n    return sum": {"sum": "own"},
    "def f():\n    global sum\n    sum = 1\ndef g(): return sum": {"sum": "own"},
    "class A:\n    def f(self): return __class__": {"__class__": "own"},
    "def f(): return __name__, __doc__, __file__, __spec__": {
        "__name__": "own", "__doc__": "own", "__file__": "own", "__spec__": "own"
    },
    "try:\n    import fast\nexcept ImportError: pass\ndef f(): return fast": {"fast": "own"},
    "def f(a):\n    if a:\n        import fast\n    return fast": {"fast": "own"},
    "def f(a):\n    a = gcd(a)\n    from math import gcd\n    return a": {"gcd": "own"},
    "from math import gcd\nfrom numpy import *\ngcd": {"gcd": "own"},
    "import math\ndef f():\n    global math\n    math = None\ndef g(): return math": {"math": "own"},
}
# fmt: on


@pytest.mark.parametrize("source", PROGRAMS)
def test_names_are_bound_as_python_binds_them(source: str) -> None:
    module = ast.parse(source)
    found = bindings(module)
    seen = {node.id: found[id(node)] for node in ast.walk(module) if isinstance(node, ast.Name)}
    assert {name: seen[name] for name in PROGRAMS[source]} == PROGRAMS[source]


@pytest.mark.parametrize("source", PROGRAMS)
def test_every_name_is_bound(source: str) -> None:
    module = ast.parse(source)
    found = bindings(module)
    assert all(id(node) in found for node in ast.walk(module) if isinstance(node, (ast.Name, ast.arg)))
