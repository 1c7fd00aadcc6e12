"""Examples of learned functions: calls that were recorded while programs' tests ran, and repeated by themselves.

The arguments come from real calls. An example is kept only if the function returns the same result by itself.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from atlas.core.types import CodeConcept
from atlas.learning.composition import Find, code_with_callees, find_nothing
from atlas.learning.sandbox.runner import RunLimits, RunResult, Sandbox
from atlas.learning.terms.names import defined_name
from atlas.learning.terms.parsing import try_parse
from atlas.primitives.examples import ExampleResult, normalise_literal

N_RECORDED_KEY = "calls_recorded"
"""Metadata key of a learned concept: the number of examples that were recorded and run again."""

MAX_EXAMPLES = 4
MAX_READABLE_CHARACTERS = 300
"""Largest length of a call with its result. A longer example is kept only if there is no shorter one."""

MAX_PROGRAMS = 5
"""Programs that are run to record the calls of one function."""

MAX_CALLS = 20
"""Calls of one function that a program records."""

MAX_CHARACTERS = 10_000
"""Characters of the calls and results that one program may report, so that they fit into the captured output."""

_RECORDER = "atlas_calls_recorded"

_RECORDER_CODE = """
def {recorder}():
    import functools, io, json, sys

    calls, printed = {{}}, sys.stdout
    sys.stdout = io.StringIO()  # the program's own output must not displace the report

    def recorded(name, function):
        @functools.wraps(function)
        def call(*given, **named):
            kept = calls.setdefault(name, {{}})
            if len(kept) >= {most}:
                return function(*given, **named)
            try:
                shown = [*map(repr, given), *(f"{{key}}={{value!r}}" for key, value in named.items())]
            except Exception:  # an argument whose `repr` raises
                return function(*given, **named)
            result = function(*given, **named)
            kept.setdefault(f"{{name}}({{', '.join(shown)}})", result if result is None else repr(result))
            return result

        return call

    def report():
        pairs = [[name, *pair] for name, kept in calls.items() for pair in kept.items() if pair[1]]
        n_left, reported = {characters}, []
        for example in sorted(pairs, key=length):
            n_left -= length(example)
            reported += [example] if n_left >= 0 else []
        printed.write(json.dumps(reported, ensure_ascii=False) + "\\n")
        printed.flush()

    def length(example):
        return len(example[1]) + len(example[2])

    return recorded, report


{recorder} = {recorder}()
"""

_RERUN_CODE = """
import io as {recorder}_io, sys as {recorder}_sys
{recorder}_output, {recorder}_sys.stdout = {recorder}_sys.stdout, {recorder}_io.StringIO()
print(repr({call}), file={recorder}_output, flush=True)
"""
"""Code that prints the result of a call, and discards what the function prints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedProgram:
    """A program that calls learned functions, and tests that run it."""

    functions: str
    """Code of the functions that the program calls."""

    program: str
    tests: str
    called_by: Mapping[str, str]
    """Name under which the program calls each concept, keyed by the concept's id."""

    @property
    def source(self) -> str:
        """The code of the functions, each wrapped to record its calls, followed by the program."""
        prelude = _RECORDER_CODE.format(recorder=_RECORDER, most=MAX_CALLS, characters=MAX_CHARACTERS)
        wrappers = [f"{name} = {_RECORDER}[0]({name!r}, {name})" for name in self.called_by.values()]
        return "\n".join([self.functions, prelude, *wrappers, "\n", self.program])

    @property
    def tests_with_report(self) -> str:
        """The tests, followed by the report of the calls."""
        return f"{self.tests}\n{_RECORDER}[1]()\n"


def find_examples(
    concepts: Sequence[CodeConcept],
    recordings: Iterable[RecordedProgram],
    sandbox: Sandbox,
    *,
    find: Find = find_nothing,
    is_cancelled: Callable[[], bool] | None = None,
) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return the examples of each concept, keyed by the concept's id.

    Calls whose arguments or result are not literals are left out.

    Args:
        find: Returns a called concept by its id.

    Raises:
        Cancelled: `is_cancelled` returned True.
    """
    chosen = _choose_recordings({concept.id for concept in concepts}, recordings)
    runs = sandbox.run_all(
        [(recording.source, recording.tests_with_report) for recording in chosen], is_cancelled=is_cancelled
    )
    names = {concept.id: defined_name(concept.code, concept.name) for concept in concepts}
    pairs: list[tuple[CodeConcept, str, str]] = []
    for concept in concepts:
        calls = [
            call
            for recording, run in zip(chosen, runs, strict=True)
            if concept.id in recording.called_by
            for call in _reported_calls(run, recording.called_by[concept.id], names[concept.id])
        ]
        pairs += [(concept, call, result) for call, result in _choose_calls(calls)]
    reruns = sandbox.run_all(
        [(code_with_callees([concept], find), _rerun_code(call)) for concept, call, _ in pairs],
        is_cancelled=is_cancelled,
    )
    examples: dict[str, tuple[tuple[str, str], ...]] = {}
    for (concept, call, result), run in zip(pairs, reruns, strict=True):
        if run.outcome == "passed" and _last_line(run) == result and try_parse(result) is not None:
            examples[concept.id] = (*examples.get(concept.id, ()), (call, result))
    return examples


def run_concept_examples(
    concept: CodeConcept,
    find: Find = find_nothing,
    limits: RunLimits | None = None,
    path: Sequence[Path] = (),
) -> list[ExampleResult]:
    """Run the examples of a concept in a sandbox, each by itself.

    Args:
        path: Directories of modules that the concept imports.
    """
    source = code_with_callees([concept], find)
    with Sandbox(limits, path=path) as sandbox:
        runs = sandbox.run_all([(source, _rerun_code(call)) for call, _ in concept.examples])
    return [_make_example_result(*example, run) for example, run in zip(concept.examples, runs, strict=True)]


def _rerun_code(call: str) -> str:
    """Return code that prints the result of a call."""
    return _RERUN_CODE.format(recorder=_RECORDER, call=call)


def _make_example_result(call: str, expected: str, run: RunResult) -> ExampleResult:
    actual = _last_line(run) if run.outcome == "passed" else run.detail
    passed = run.outcome == "passed" and actual == normalise_literal(expected)
    return ExampleResult(call=call, expected=expected, actual=actual, passed=passed)


def _last_line(run: RunResult) -> str:
    return run.output.strip().rpartition("\n")[2]


def _choose_recordings(ids: set[str], recordings: Iterable[RecordedProgram]) -> list[RecordedProgram]:
    """Choose up to `MAX_PROGRAMS` recordings for each concept, preferring programs that call several concepts."""
    n_programs = dict.fromkeys(ids, 0)
    chosen = []
    for recording in sorted(recordings, key=lambda recording: -len(ids.intersection(recording.called_by))):
        concepts_in_need = [
            concept_id for concept_id in ids.intersection(recording.called_by) if n_programs[concept_id] < MAX_PROGRAMS
        ]
        if concepts_in_need:
            chosen.append(recording)
            n_programs |= {concept_id: n_programs[concept_id] + 1 for concept_id in concepts_in_need}
    return chosen


def _reported_calls(run: RunResult, called_by: str, name: str) -> list[tuple[str, str]]:
    """Return the reported calls of a function, renamed from `called_by` to `name`. The report is untrusted."""
    if run.outcome != "passed":
        return []
    try:
        recorded = json.loads(_last_line(run))
        pairs = [(call, result) for caller, call, result in recorded if caller == called_by]
    except (ValueError, TypeError, RecursionError):
        return []
    renamed_calls = ((_rename_call(call, called_by, name), result) for call, result in pairs if isinstance(result, str))
    return [(call, result) for call, result in renamed_calls if call]


def _rename_call(call: object, called_by: str, name: str) -> str:
    """Return a call with the function renamed, or an empty string if the text is not a call of `called_by`."""
    tree = try_parse(call) if isinstance(call, str) else None
    node = tree.body[0].value if tree and len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr) else None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != called_by:
        return ""
    node.func.id = name
    return ast.unparse(node)


def _choose_calls(calls: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return a few calls, preferring short ones and distinct results."""
    by_length = sorted(dict.fromkeys(calls), key=lambda pair: (_n_characters(pair), pair))
    short_calls = [pair for pair in by_length if _n_characters(pair) <= MAX_READABLE_CHARACTERS] or by_length[:1]
    first_by_result: dict[str, tuple[str, str]] = {}
    for call, result in short_calls:
        first_by_result.setdefault(result, (call, result))
    with_distinct_results = list(first_by_result.values())
    return [*with_distinct_results, *(pair for pair in short_calls if pair not in with_distinct_results)][:MAX_EXAMPLES]


def _n_characters(pair: tuple[str, str]) -> int:
    return len(pair[0]) + len(pair[1])
