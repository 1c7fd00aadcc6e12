"""Functions that end where statements of the program follow, and calls whose result is returned directly."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent

import pytest

from atlas.learning.compression import compress
from atlas.learning.results import Compression
from atlas.learning.sandbox.runner import Sandbox
from atlas.learning.search.engines import Corpus, PatternProposal
from atlas.learning.search.statements import statement_patterns
from atlas.learning.terms.heads import REST, STATEMENT
from atlas.learning.terms.patterns import Pattern, rewrite
from atlas.learning.terms.programs import Program
from atlas.learning.terms.terms import Term

LOOP = """def f(xs, k):
    found = []
    for x in xs:
        if x % k == {number} or x * x > 50:
            found.append(x * k - 1)
{end}"""
ENDS = {
    "the variable": ("    return found", "return concept_0(xs, k, {number})"),
    "a length": ("    return len(found)", "return len(concept_0(xs, k, {number}))"),
    "an operation": ("    return found[0] + k", "return concept_0(xs, k, {number})[0] + k"),
    "a method of a constant": (
        "    return ', '.count(str(found))",
        "return ', '.count(str(concept_0(xs, k, {number})))",
    ),
    "a method of the variable": ("    return not found.count(k)", "return not concept_0(xs, k, {number}).count(k)"),
    "a later argument": ("    return max(k, len(found))", "found = concept_0(xs, k, {number})"),
    "two reads": ("    return found + found", "found = concept_0(xs, k, {number})"),
    "a constant first": ("    return 3 in found", "return 3 in concept_0(xs, k, {number})"),
    "another statement": ("    print(found)\n    return k", "print(concept_0(xs, k, {number}))"),
    "a condition": ("    if not found:\n        return 1\n    return 2", "if not concept_0(xs, k, {number}):"),
    "a loop": (
        "    for y in found:\n        if y < k:\n            continue\n        return y\n    return 0",
        "for y in concept_0(xs, k, {number}):",
    ),
    "a comprehension": (
        "    total = sum(y for y in found)\n    return total * total",
        "total = sum((y for y in concept_0(xs, k, {number})))",
    ),
    "a variable first": ("    return k in found", "found = concept_0(xs, k, {number})"),
    "a later statement": ("    k += 1\n    return found", "found = concept_0(xs, k, {number})"),
    "no end": ("    for y in found:\n        print(y)", "found = concept_0(xs, k, {number})"),
}


@dataclass
class ClosedEnds:
    """A search that finds one function, which the first two programs share and which ends with a `return`."""

    sort: str = REST
    name: str = "closed ends"

    def abstractions(self, corpus: Corpus, limits: object, **_: object) -> PatternProposal:
        closed = largest_pattern(corpus.terms, "fn_", self.sort)
        return PatternProposal(patterns=(closed,), terms=tuple(rewrite(term, [closed]) for term in corpus.terms))


class ClosedEndsThatCall:
    """A search that finds such a function, and one for a statement in it."""

    name = "closed ends that call"

    def abstractions(self, corpus: Corpus, limits: object, **_: object) -> PatternProposal:
        inner = largest_pattern(corpus.terms, "fn_0", STATEMENT)
        terms = [rewrite(term, [inner]) for term in corpus.terms]
        outer = largest_pattern(terms, "fn_1", REST)
        return PatternProposal(patterns=(inner, outer), terms=tuple(rewrite(term, [outer]) for term in terms))


def largest_pattern(terms: Sequence[Term], prefix: str, sort: str) -> Pattern:
    """Return the pattern that saves most in the first two programs, of those without a hole for further statements."""
    first = dict(zip("ab", terms, strict=False))
    found = statement_patterns(first, {name: name for name in first}, prefix)
    closed = [each for each in found if each.pattern.sort == sort and REST not in each.pattern.hole_sorts]
    return max(closed, key=lambda each: each.bound).pattern


def learned(*ends: str) -> Compression:
    sources = [LOOP.format(number=number, end=end) for number, end in enumerate(ends)]
    return compress(sources, engine=ClosedEnds())


def returned(source: str) -> object:
    space: dict[str, Callable[..., object]] = {}
    exec(source, space)
    return space["f"]([3, 1, 4, 1, 5, 9, 2, 6], 4)


@pytest.mark.parametrize(("end", "call"), ENDS.values(), ids=ENDS)
def test_a_function_that_returns_a_variable_serves_programs_that_go_on_with_it(end: str, call: str) -> None:
    found = learned("    return found", "    return found", end)
    (function,) = found.abstractions
    assert function.uses == ("0", "1", "2")
    assert call.format(number=2) in found.rewritten["2"].after
    assert "return concept_0(" in found.rewritten["0"].after
    for program in found.rewritten.values():
        assert returned(program.standalone) == returned(program.before)


def test_the_tokens_of_a_call_that_is_returned_directly_are_counted() -> None:
    found = learned("    return found", "    return found", "    return len(found)")
    function = found.abstractions[0]
    assert function.saving == found.tokens_before - found.tokens_after - found.tokens_library


def test_a_function_that_calls_another_as_a_statement_serves_programs_that_go_on() -> None:
    ends = ["    return found"] * 8 + ["    return len(found)"] * 2
    alike, apart = (LOOP.replace("found = []", f"found = [{first}]") for first in ("k // 2 - k % 3", "{number}"))
    sources = [alike.format(number=number, end=end) for number, end in enumerate(ends)]
    sources += [apart.format(number=number, end="    return xs, found") for number in range(10, 13)]
    found = compress(sources, engine=ClosedEndsThatCall())
    inner, outer = found.abstractions
    assert outer.calls == (inner.name,)
    assert len(outer.uses) == len(ends)
    assert f"return len({outer.name}(" in found.rewritten["9"].after
    for program in found.rewritten.values():
        assert returned(program.standalone) == returned(program.before)


def test_a_result_that_is_read_after_the_return_keeps_its_variable() -> None:
    guarded = LOOP.format(number=7, end="    return found").replace("\n    ", "\n        ")
    guarded = guarded.replace("k):\n", "k):\n    found = None\n    try:\n") + "\n    finally:\n        print(found)\n"
    sources = [*(LOOP.format(number=number, end="    return found") for number in range(2)), guarded]
    found = compress(sources, engine=ClosedEnds())
    assert set(found.rewritten) == {"0", "1"}


AROUND = """def f(xs, k):
    found = None
    while True:
        if found:
            return found
{inside}
        if len(found) > 0:
            continue
        return k"""


def test_a_result_that_the_next_round_of_a_loop_reads_keeps_its_variable() -> None:
    _, inside = LOOP.format(number=7, end="").rstrip().split("\n", 1)
    looped = AROUND.format(inside=indent(inside, "    "))
    sources = [*(LOOP.format(number=number, end="    return found") for number in range(2)), looped]
    found = compress(sources, engine=ClosedEnds())
    assert "found = concept_0(" in found.rewritten["2"].after
    assert returned(found.rewritten["2"].standalone) == returned(looped)


VALUE = "sorted(x * x % k + x // 2 - k for x in xs if x % 3 != {number} and x * k != 6)"
USES = (
    "    return max({value}) + k",
    "    best = {value}\n    return best + best",
    "    if {value}:\n        return xs",
)


@pytest.mark.parametrize("statement", ["    return {value}", "    found = {value}\n    return found + found"])
@pytest.mark.parametrize("use", USES)
def test_a_function_of_one_statement_serves_programs_that_use_the_value_otherwise(statement: str, use: str) -> None:
    sources = [
        "def f(xs, k):\n" + text.format(value=VALUE.format(number=number))
        for number, text in enumerate([statement, statement, use])
    ]
    found = compress(sources, engine=ClosedEnds(STATEMENT))
    (function,) = found.abstractions
    assert function.uses == ("0", "1", "2")
    assert function.source.splitlines()[1].lstrip().startswith("return sorted(")
    for program in found.rewritten.values():
        assert returned(program.standalone) == returned(program.before)


def test_a_function_returns_the_value_that_its_last_statement_would_assign() -> None:
    shared = "    low = min(xs)\n    span = [x - low for x in xs if x % k != {number}]\n    return span {end} span"
    ends = ("+ xs +", "+ [k] +", "* k +")
    sources = ["def f(xs, k):\n" + shared.format(number=number, end=end) for number, end in enumerate(ends)]
    found = compress(sources)
    (function,) = found.abstractions
    assert "return [" in function.source
    assert "span" not in function.source
    assert f"span = {function.name}(xs, k, 1)" in found.rewritten["1"].after
    for program in found.rewritten.values():
        assert returned(program.standalone) == returned(program.before)


IMPORTING = """from common import *
def solve{number}(xs):
    found = []
    for x in xs:
        if weight(x) > {number} and x != {number}:
            found.append(weight(x) + 1)
{end}"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="programs are run on Linux and macOS only")
def test_a_result_of_code_from_a_module_beside_programs_is_returned_directly(tmp_path: Path) -> None:
    (tmp_path / "common.py").write_text("def weight(x):\n    return x * x\n", "utf-8")
    ends = ("    return found", "    return found", "    return sum(found)")
    programs = [
        Program(
            id=str(number),
            task_id=str(number),
            source=IMPORTING.format(number=number, end=end),
            tests=f"assert solve{number}([0, 3, 1]) in ([10, 2], [10], 10)",
        )
        for number, end in enumerate(ends)
    ]
    with Sandbox(path=[tmp_path]) as sandbox:
        found = compress(programs, engine=ClosedEnds(), sandbox=sandbox)
    (function,) = found.abstractions
    assert function.proofs == ("0", "1", "2")
    assert "from common import weight" in function.source
    assert "return sum(concept_0(xs, 2))" in found.rewritten["2"].after
