"""Programs of which half share one of ten kinds of helper, and half look alike but share nothing."""

from __future__ import annotations

from dataclasses import dataclass

from atlas.learning.terms.programs import Program


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of helper, written in the way of several programs, and how it is used."""

    name: str
    code: str
    """Code in which `NAME` is the helper's name and `VAR` one of its variables."""

    call: str
    result: str


KINDS = (
    Kind(
        "recursion",
        """
def NAME(VAR):
    if isinstance(VAR, list):
        return sum(NAME(part) + 1 for part in VAR)
    return 0
""",
        "NAME([1, [2, [3]]])",
        "5",
    ),
    Kind(
        "helper of a helper",
        """
def NAME_inner(VAR):
    return VAR.strip().lower().replace('-', ' ')


def NAME(texts):
    return [NAME_inner(text) for text in texts if text and NAME_inner(text) != 'none']
""",
        "NAME([' A-b', '', 'None'])",
        "['a b']",
    ),
    Kind(
        "mutual calls",
        """
def NAME_even(VAR):
    return True if VAR == 0 else NAME(VAR - 1)


def NAME(VAR):
    return False if VAR == 0 else NAME_even(VAR - 1)
""",
        "NAME(7)",
        "True",
    ),
    Kind(
        "generator",
        """
def NAME(VAR, size):
    batch = []
    for item in VAR:
        batch.append(item)
        if len(batch) == size:
            yield tuple(batch)
            batch = []
    if batch:
        yield tuple(batch)
""",
        "list(NAME([1, 2, 3], 2))",
        "[(1, 2), (3,)]",
    ),
    Kind(
        "async",
        """
async def NAME(VAR):
    found = []
    for item in VAR:
        await asyncio.sleep(0)
        found.append(item * 2 + 1)
    return found
""",
        "asyncio.run(NAME([1, 2]))",
        "[3, 5]",
    ),
    Kind(
        "closure with memo",
        """
def NAME(VAR):
    memo = {}

    def compute(key):
        if key not in memo:
            memo[key] = VAR(key) + len(memo)
        return memo[key]

    return compute
""",
        "[NAME(abs)(n) for n in (-1, -2)]",
        "[1, 2]",
    ),
    Kind(
        "lru_cache",
        """
@lru_cache(maxsize=None)
def NAME(VAR):
    return VAR if VAR < 2 else NAME(VAR - 1) + NAME(VAR - 2)
""",
        "NAME(50)",
        "12586269025",
    ),
    Kind(
        "try and raise",
        """
def NAME(VAR):
    try:
        number = float(VAR)
    except (TypeError, ValueError) as error:
        raise ValueError(f'not a number: {VAR!r}') from error
    if number < 0:
        raise ValueError('negative')
    return round(number, 2)
""",
        "NAME('1.239')",
        "1.24",
    ),
    Kind(
        "class",
        """
class Ledger:
    def __init__(self, start=0):
        self.total = start
        self.entries = []

    def add(self, amount):
        self.entries.append(amount)
        self.total += amount
        return self

    def mean(self):
        return self.total / len(self.entries) if self.entries else 0.0
""",
        "Ledger().add(2).add(4).mean()",
        "3.0",
    ),
    Kind(
        "tool",
        """
def NAME(VAR):
    found = []
    page = fetch_page(VAR, 0)
    while page['items']:
        found.extend(item['name'] for item in page['items'])
        page = fetch_page(VAR, page['next'])
    return found
""",
        "NAME('x')",
        "['x0', 'x1']",
    ),
)

TOOL = """
def fetch_page(query, start):
    return {'items': [{'name': f'{query}{start}'}] if start < 2 else [], 'next': start + 1}
"""
HEADER = "import asyncio\nfrom functools import lru_cache\n"
NAMES = (("summarise", "value"), ("collect", "given"), ("derive", "subject"))
N_OF_KIND = len(NAMES)

DECOYS = (
    ("def f(a):\n    return [x for x in a if x % 3]", "f([1, 3, 5])"),
    ("def f(a):\n    best = a[0]\n    for x in a:\n        best = max(best, -x)\n    return best", "f([1, -5])"),
    ("def f(a):\n    return ''.join(sorted(set(a), reverse=True))", "f('banana')"),
    ("def f(a, b=2):\n    while a > b:\n        a, b = a - b, b + 1\n    return a, b", "f(20)"),
    ("def f(a):\n    return {k: len(v) for k, v in a.items() if v}", "f({'a': [1], 'b': []})"),
    ("def f(a):\n    try:\n        return a[10]\n    except IndexError:\n        return None", "f([1])"),
    ("def f(a):\n    yield from range(a, 0, -2)\n    yield 'end'", "[*f(5)]"),
    (
        "class F:\n    def __init__(self, x):\n        self.x = x\n\n    def up(self):\n        return self.x ** 2",
        "F(3).up()",
    ),
    ("def f(n):\n    return 1 if n < 2 else n * f(n - 1)", "f(5)"),
    ("def f(a):\n    def g(x):\n        return x + a\n    return g", "f(2)(3)"),
    ("async def f(a):\n    await asyncio.sleep(0)\n    return a[::-1]", "asyncio.run(f('abc'))"),
    ("@lru_cache\ndef f(a, b):\n    return a if not b else f(b, a % b)", "f(12, 18)"),
    ("def f(a):\n    return all(x < y for x, y in zip(a, a[1:]))", "f([1, 2, 2])"),
    (
        "def f(a):\n    out = {}\n    for w in a.split():\n        out[w] = out.get(w, 0) + 1\n    return out",
        "f('a b a')",
    ),
    ("def f(a, n):\n    return a[n:] + a[:n]", "f([1, 2, 3], 1)"),
    ("def f(m):\n    return [list(r) for r in zip(*m)]", "f([[1, 2], [3, 4]])"),
    ("def f(a):\n    if not a:\n        raise KeyError('empty')\n    return min(a, key=abs)", "f([-3, 2])"),
    (
        "def f(a):\n    lo, hi = 0, len(a)\n    while lo < hi:\n        mid = (lo + hi) // 2\n"
        "        if a[mid] < 4:\n            lo = mid + 1\n        else:\n            hi = mid\n    return lo",
        "f([1, 5, 9])",
    ),
    ("def f(a):\n    return bin(a).count('1') ^ 1", "f(7)"),
    ("class G(dict):\n    def __missing__(self, key):\n        return key * 2", "G()['ab']"),
    ("def f(t):\n    return t[0] if len(t) == 1 else f(t[1:])", "f('xyz')"),
    (
        "def f(a):\n    stack = []\n    for c in a:\n        if c == ')':\n            stack.pop()\n"
        "        elif c == '(':\n            stack.append(c)\n    return not stack",
        "f('(())')",
    ),
    ("def f(x, y):\n    return ((x - 1) ** 2 + (y + 4) ** 2) ** .5", "f(1, -1)"),
    ("def f(a):\n    seen = set()\n    return [x for x in a if not (x in seen or seen.add(x))]", "f([1, 1, 2])"),
    ("def f(s):\n    return s[:2].upper() + '…' + s[-1:]", "f('hello')"),
    ("def f(n):\n    return sum(int(d) for d in str(n))", "f(123)"),
    ("def f(a, *more, sep='/'):\n    return sep.join([a, *more])", "f('a', 'b')"),
    ("def f(a):\n    a = list(a)\n    a[0], a[-1] = a[-1], a[0]\n    return a", "f('abc')"),
    ("def f(p):\n    with open(p, 'w') as h:\n        h.write('x\\ny')\n    return sum(1 for _ in open(p))", "f('t')"),
    ("def f(c):\n    return 32 + c * 9 / 5", "f(100)"),
)
"""Helpers that are each of one program, with a call."""


def planted() -> list[Program]:
    """Return the programs that share a helper of some kind, each kind in several of them under other names."""
    return [_planted(kind, number) for kind in KINDS for number in range(N_OF_KIND)]


def _planted(kind: Kind, number: int) -> Program:
    name, variable = NAMES[number]
    key = f"{kind.name.replace(' ', '_')}_{number}"
    code = kind.code.replace("NAME", name).replace("VAR", variable)
    call = kind.call.replace("NAME", name)
    source = f"{HEADER}{code}\n\ndef solve():\n    return {call}\n"
    tests = f"{TOOL if 'fetch_page' in code else ''}assert solve() == {kind.result}\n"
    return Program(id=key, task_id=key, description=key, source=source, tests=tests)


def decoys() -> list[Program]:
    """Return as many programs with a helper that no other one has."""
    return [_decoy(number, *decoy) for number, decoy in enumerate(DECOYS)]


def _decoy(number: int, code: str, call: str) -> Program:
    key = f"decoy_{number}"
    source = f"{HEADER}\n\n{code}\n\n\ndef solve():\n    return {call}\n"
    names: dict[str, object] = {}
    exec(f"{HEADER}{code}", names)
    expected = 2 if "open" in code else eval(call, names)  # the sandbox alone writes files
    tests = f"assert solve() == {expected!r}\n"
    return Program(id=key, task_id=key, description=key, source=source, tests=tests)
