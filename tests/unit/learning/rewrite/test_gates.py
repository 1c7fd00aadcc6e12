"""Gates: what a function must do and save, and what of a program is not learned from."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

import pytest

from atlas.learning.compression import compress
from atlas.learning.results import Compression
from atlas.learning.rewrite.gates import (
    ONLY_CALLS_PARAMETER,
    SINGLE_OPERATION,
    FunctionBody,
    FunctionUsage,
    body_problem,
    operations,
    usage_problem,
)
from atlas.learning.search.engines import Corpus, PatternProposal
from atlas.learning.search.limits import Limits
from atlas.learning.search.stitch import StitchEngine
from atlas.learning.search.templates import extract_patterns
from atlas.learning.terms.description_length import n_tokens
from atlas.learning.terms.patterns import rewrite
from atlas.learning.terms.programs import Program

LIMITS = Limits(min_tasks=2, many_tasks=3, min_saving_of_few=10, min_body_tokens=8)


def body(source: str, *parameters: str) -> FunctionBody:
    return FunctionBody(statements=ast.parse(source).body, parameters=set(parameters), n_tokens=n_tokens(source))


@pytest.mark.parametrize(
    ("n_tasks", "saving", "reason"),
    [
        (1, 100, "fewer than 2 tasks need it"),
        (2, 9, "fewer than 3 tasks need it, and it saves fewer than 10 tokens"),
        (2, 0, "no shorter"),
        (5, 0, "no shorter"),
        (2, 10, ""),
        (3, 1, ""),
    ],
)
def test_two_tasks_are_enough_where_much_is_saved(n_tasks: int, saving: int, reason: str) -> None:
    found = usage_problem(FunctionUsage(n_tasks=n_tasks, saving=saving), LIMITS)
    assert found.endswith(reason)
    assert bool(found) == bool(reason)


@pytest.mark.parametrize(
    ("source", "parameters"),
    [
        ("return np.array_equal(v, w)", "vw"),
        ("return text.replace('_', ' ')", ["text"]),
        ("return np.linalg.norm(v, axis=1)", "v"),
        ("return np.zeros((h, w), dtype=int)", "hw"),
        ("raise ValueError(text, text, text)", ["text"]),
        ("return self.scene.camera.position.x", ["self"]),
        ("x, y, z = (a, b, -1)", "ab"),
        ("return re.sub('a', 'b', text, 0, 1)", ["text"]),
        ("return np.pad(a, (1, 1), 'edge', x=2)", "a"),
        ("return range(len(values) - 1)", ["values"]),
        ("return range(2, int_root + n * 2)", ["int_root", "n"]),
        ("return text.strip()", ["text"]),
        ("return items == items[::-1]", ["items"]),
        ("return numbers[i] % 2 == 0", ["numbers", "i"]),
    ],
)
def test_one_call_under_another_name_is_refused(source: str, parameters: Sequence[str]) -> None:
    given = body(source, *parameters)
    assert body_problem(given, Limits(min_body_tokens=0)) == SINGLE_OPERATION


@pytest.mark.parametrize(
    ("source", "parameters"),
    [
        ("return f(f(f(x)))", "fx"),
        ("for x in xs:\n    f(x, xs)", ["f", "xs"]),
        ("if x:\n    f(x)\nelse:\n    g(x)", "fgx"),
        ("return [f(x) for x in xs]", ["f", "xs"]),
    ],
)
def test_what_only_calls_its_parameters_is_refused(source: str, parameters: Sequence[str]) -> None:
    assert body_problem(body(source, *parameters), LIMITS) == ONLY_CALLS_PARAMETER


@pytest.mark.parametrize(
    ("source", "parameters"),
    [
        ("return 0 <= x < height and 0 <= y < width", ["x", "y", "height", "width"]),
        ("return len(items) == len(set(items))", ["items"]),
        ("return n * (n + 1) // 2", "n"),
        ("return [x for row in grid for x in row]", ["grid"]),
        ("return [x for x in xs if f(x)]", ["f", "xs"]),
        ("items[i], items[j] = items[j], items[i]", ["items", "i", "j"]),
        ("count = 0\nfor x in xs:\n    if f(x):\n        count += 1\nreturn count", ["xs", "f"]),
        ("return [(0, 1), (1, 0), (0, -1), (-1, 0)]", ""),
        ("return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))", ["pairs"]),
    ],
)
def test_what_does_more_is_kept(source: str, parameters: Sequence[str]) -> None:
    assert body_problem(body(source, *parameters), LIMITS) == ""


def test_short_bodies_are_refused() -> None:
    assert body_problem(body("return x + y * z", *"xyz"), LIMITS) == "function: shorter than 8 tokens"


def learned(sources: Sequence[str], **limits: int) -> Compression:
    programs = [Program(id=str(n), task_id=str(n), description="", source=source) for n, source in enumerate(sources)]
    return compress(programs, engine=StitchEngine(), limits=Limits(iterations=10, **limits))


SIEVE = """def {name}(n):
    {flags} = [True] * (n + 1)
    for i in range(2, int(n ** 0.5) + 1):
        if {flags}[i]:
            for j in range(i * i, n + 1, i):
                {flags}[j] = False
    {found} = [i for i in range(2, n + 1) if {flags}[i]]
    return {result}
"""
BRACKETS = """def {name}({text}):
    stack = []
    for one in {text}:
        if one == {opening!r}:
            stack.append(one)
        elif one == {closing!r}:
            if not stack or stack.pop() != {opening!r}:
                return False
    return len(stack) == 0
"""


@pytest.mark.parametrize(
    "sources",
    [
        [
            SIEVE.format(name="count", flags="prime", found="found", result="len(found)"),
            SIEVE.format(name="total", flags="is_prime", found="primes", result="sum(primes) + n"),
        ],
        [
            BRACKETS.format(name="round_ones", text="text", opening="(", closing=")"),
            BRACKETS.format(name="angles", text="line", opening="<", closing=">"),
        ],
    ],
)
def test_a_long_function_that_two_tasks_share_is_kept(sources: Sequence[str]) -> None:
    found = learned(sources)
    (only,) = found.abstractions
    assert only.n_tasks == 2
    assert only.saving >= LIMITS.min_saving_of_few
    assert len(list(operations(ast.parse(only.source).body))) > 1
    assert learned(sources, min_saving_of_few=2 * only.saving).abstractions == ()


class Proposing:
    """A search that proposes one function."""

    name = "proposing"

    def __init__(self, code: str) -> None:
        self.pattern = replace(extract_patterns(code)[0], name="fn_0")

    def abstractions(self, corpus: Corpus, limits: Limits, **_: object) -> PatternProposal:
        terms = tuple(rewrite(term, [self.pattern]) for term in corpus.terms)
        return PatternProposal(patterns=(self.pattern,), terms=terms)


COMPARED = (
    "import numpy as np\ndef same{n}(a, b):\n    return [{n}, np.testing.assert_array_almost_equal(a, b){more}]\n"
)
WRAPPING = "import numpy as np\ndef same(v, w):\n    return np.testing.assert_array_almost_equal(v, w){more}\n"


@pytest.mark.parametrize(("more", "n_kept"), [("", 0), (" or np.testing.assert_array_equal(b, a) or np.all(a)", 1)])
def test_one_call_that_many_programs_make_is_refused_and_counted(more: str, n_kept: int) -> None:
    sources = [COMPARED.format(n=n, more=more) for n in range(20)]
    code = WRAPPING.format(more=more.replace("a)", "v)").replace("b, ", "w, "))
    programs = [Program(id=str(n), task_id=str(n), description="", source=one) for n, one in enumerate(sources)]
    found = compress(programs, engine=Proposing(code), limits=Limits())
    assert (found.n_found, found.n_valid, len(found.abstractions)) == (1, 1, n_kept)
    assert found.refused == ({} if n_kept else {SINGLE_OPERATION: 1})
    assert bool(found.rewritten) == bool(n_kept)


CHECKED = """def solve{n}(a):
    return [a, {n}, {n} * {n}]
{checks}
"""
CHECKS = "assert [solve{n}(x)[0] for x in (1, 2, 3) if sorted([x, x + 1, x + 2])] == [1, 2, 3], 'wrong result'"
PRINTS = """for x in [1, 2, 3]:
    print("result of", x, sorted([x, x + 1, x + 2], key=lambda y: (-y, y)), solve{n}(x)[0] * 2)"""


@pytest.mark.parametrize("checks", [CHECKS, PRINTS])
def test_an_agents_own_checks_are_not_learned_from(checks: str) -> None:
    sources = [CHECKED.format(n=n, checks=checks.format(n=n)) for n in range(6)]
    inside = [source.replace(checks.format(n=n), "") for n, source in enumerate(sources)]
    found = learned(sources)
    assert found.abstractions == learned(inside).abstractions == ()
    assert found.refused["line: an assertion or a print at a program's top level"] == 6


def test_the_same_lines_in_a_function_are_learned_from() -> None:
    sources = [
        f"def check{n}():\n" + "    " + CHECKS.format(n=n) + f"\ndef solve{n}(a):\n    return [a]" for n in range(6)
    ]
    assert learned(sources).abstractions


def test_what_a_script_prints_is_learned_from() -> None:
    line = "print('-'.join(word.strip().lower() for word in {text}.replace('_', ' ').split() if word.isalnum()), {n})"
    sources = [f"text{n} = input()\n" + line.format(text=f"text{n}", n=n) for n in range(6)]
    found = learned(sources)
    assert "line: an assertion or a print at a program's top level" not in found.refused
    assert [one.n_tasks for one in found.abstractions] == [6]


def test_prints_beside_a_function_that_has_a_name_only_are_checks() -> None:
    sources = [f"solve{n} = lambda a: a * {n}\n{PRINTS.format(n=n)}" for n in range(6)]
    assert learned(sources).refused["line: an assertion or a print at a program's top level"] == 6


def test_checks_stay_in_the_rewritten_programs() -> None:
    sources = [
        SIEVE.format(name="count", flags="prime", found="found", result="len(found)") + "assert count(10) == 4",
        SIEVE.format(name="total", flags="p", found="found", result="sum(found) + n") + "print(total(10))",
    ]
    found = learned(sources)
    assert found.rewritten["0"].after.endswith("assert count(10) == 4")
    assert found.rewritten["1"].after.endswith("print(total(10))")
