"""Examples of learned functions: calls that programs made of them while their tests ran, each run again by itself.

The arguments are those of real calls, and the result is kept only where the function alone gives it too.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from atlas.core.types import CodeConcept
from atlas.learning.composition import Find, nothing_found, sources
from atlas.learning.sandbox.runner import RunLimits, RunResult, Sandbox
from atlas.learning.terms.names import function_of
from atlas.learning.terms.parsing import parsed
from atlas.primitives.examples import ExampleResult, plain

RECORDED = "calls_recorded"
"""Under which a learned concept's metadata says how many of its examples are calls that were recorded and run again."""

MAX_EXAMPLES = 4
MAX_READABLE_CHARACTERS = 300
"""Characters of a call and its result that are read at a glance. A longer one is kept only if there is no other."""

MAX_PROGRAMS = 5
"""Programs that are run for the calls of one function."""

MAX_CALLS = 20
"""Calls of one function that a program is asked to remember."""

MAX_CHARACTERS = 10_000
"""Characters of the calls and results that one program tells: what is kept of its output holds no more."""

_RECORDER = "atlas_calls_recorded"

_PRELUDE = """
def {recorder}():
    import functools, io, json, sys

    calls, printed = {{}}, sys.stdout
    sys.stdout = io.StringIO()  # what is told after it must not be cut off

    def recorded(name, function):
        @functools.wraps(function)
        def call(*given, **named):
            kept = calls.setdefault(name, {{}})
            if len(kept) >= {most}:
                return function(*given, **named)
            try:
                shown = [*map(repr, given), *(f"{{key}}={{value!r}}" for key, value in named.items())]
            except Exception:  # an object that cannot be written down
                return function(*given, **named)
            result = function(*given, **named)
            kept.setdefault(f"{{name}}({{', '.join(shown)}})", result if result is None else repr(result))
            return result

        return call

    def tell():
        pairs = [[name, *pair] for name, kept in calls.items() for pair in kept.items() if pair[1]]
        n_left, told = {characters}, []
        for one in sorted(pairs, key=shortest):
            n_left -= len(one[1]) + len(one[2])
            told += [one] if n_left >= 0 else []
        printed.write(json.dumps(told, ensure_ascii=False) + "\\n")
        printed.flush()

    def shortest(one):
        return len(one[1]) + len(one[2])

    return recorded, tell


{recorder} = {recorder}()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A program that calls learned functions, and tests that run it."""

    functions: str
    """Code of the functions that it calls."""

    program: str
    tests: str
    called_by: Mapping[str, str]
    """Name under which it calls each concept, by the concept's id."""

    @property
    def source(self) -> str:
        """The program, with functions that note how they are called."""
        prelude = _PRELUDE.format(recorder=_RECORDER, most=MAX_CALLS, characters=MAX_CHARACTERS)
        noted = [f"{name} = {_RECORDER}[0]({name!r}, {name})" for name in self.called_by.values()]
        return "\n".join([self.functions, prelude, *noted, "\n", self.program])

    @property
    def telling(self) -> str:
        """The tests, after which the program tells the calls."""
        return f"{self.tests}\n{_RECORDER}[1]()\n"


def examples_of(
    concepts: Sequence[CodeConcept],
    recordings: Iterable[Recording],
    sandbox: Sandbox,
    *,
    find: Find = nothing_found,
    is_cancelled: Callable[[], bool] | None = None,
) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return the examples of each concept that programs called in a way that can be written down, by id.

    Args:
        find: Finds the concepts that these call.

    Raises:
        Cancelled: `is_cancelled` said so.
    """
    held = _chosen({concept.id for concept in concepts}, recordings)
    runs = sandbox.run_all([(one.source, one.telling) for one in held], is_cancelled=is_cancelled)
    names = {concept.id: function_of(concept.code, concept.name).name for concept in concepts}
    pairs: list[tuple[CodeConcept, str, str]] = []
    for concept in concepts:
        seen = [
            call
            for one, run in zip(held, runs, strict=True)
            if concept.id in one.called_by
            for call in _calls(run, one.called_by[concept.id], names[concept.id])
        ]
        pairs += [(concept, call, result) for call, result in _different(seen)]
    again = sandbox.run_all(
        [(sources([concept], find), f"print(repr({call}))") for concept, call, _ in pairs], is_cancelled=is_cancelled
    )
    examples: dict[str, tuple[tuple[str, str], ...]] = {}
    for (concept, call, result), run in zip(pairs, again, strict=True):
        if run.outcome == "passed" and _last_line(run) == result and parsed(result) is not None:
            examples[concept.id] = (*examples.get(concept.id, ()), (call, result))
    return examples


def ran(
    concept: CodeConcept,
    find: Find = nothing_found,
    limits: RunLimits | None = None,
    path: Sequence[Path] = (),
) -> list[ExampleResult]:
    """Run the examples of a concept in a sandbox, each by itself.

    Args:
        path: Directories of modules that the concept imports.
    """
    source = sources([concept], find)
    with Sandbox(limits, path=path) as sandbox:
        runs = sandbox.run_all([(source, f"print(repr({call}))") for call, _ in concept.examples])
    return [_result(*example, run) for example, run in zip(concept.examples, runs, strict=True)]


def _result(call: str, expected: str, run: RunResult) -> ExampleResult:
    actual = _last_line(run) if run.outcome == "passed" else run.detail
    passed = run.outcome == "passed" and actual == plain(expected)
    return ExampleResult(call=call, expected=expected, actual=actual, passed=passed)


def _last_line(run: RunResult) -> str:
    return run.output.strip().rpartition("\n")[2]


def _chosen(ids: set[str], recordings: Iterable[Recording]) -> list[Recording]:
    """Return as many of them as each concept needs, those first that call several."""
    n_of = dict.fromkeys(ids, 0)
    chosen = []
    for one in sorted(recordings, key=lambda one: -len(ids.intersection(one.called_by))):
        wanted = [found for found in ids.intersection(one.called_by) if n_of[found] < MAX_PROGRAMS]
        if wanted:
            chosen.append(one)
            n_of |= {found: n_of[found] + 1 for found in wanted}
    return chosen


def _calls(run: RunResult, called_by: str, name: str) -> list[tuple[str, str]]:
    """Return the calls that a program told of a function, under its own name. It may have told anything."""
    if run.outcome != "passed":
        return []
    try:
        told = json.loads(_last_line(run))
        pairs = [(call, result) for of, call, result in told if of == called_by]
    except (ValueError, TypeError, RecursionError):
        return []
    again = ((_renamed(call, called_by, name), result) for call, result in pairs if isinstance(result, str))
    return [(call, result) for call, result in again if call]


def _renamed(call: object, called_by: str, name: str) -> str:
    """Return a call under another name of the function, or nothing where it is none."""
    tree = parsed(call) if isinstance(call, str) else None
    node = tree.body[0].value if tree and len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr) else None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != called_by:
        return ""
    node.func.id = name
    return ast.unparse(node)


def _different(calls: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return a few calls, short ones and those with results of their own first."""
    by_length = sorted(dict.fromkeys(calls), key=lambda pair: (_length(pair), pair))
    readable = [pair for pair in by_length if _length(pair) <= MAX_READABLE_CHARACTERS] or by_length[:1]
    shortest: dict[str, tuple[str, str]] = {}
    for call, result in readable:
        shortest.setdefault(result, (call, result))
    first = list(shortest.values())
    return [*first, *(pair for pair in readable if pair not in first)][:MAX_EXAMPLES]


def _length(pair: tuple[str, str]) -> int:
    return len(pair[0]) + len(pair[1])
