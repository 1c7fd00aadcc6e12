"""Workflows: sequences of tool calls that several tasks have in common, as straight-line code.

A value from an earlier result of the sequence becomes a variable. Every other value becomes a parameter, so that no
customer's number or name remains in the code.
"""

from __future__ import annotations

import ast
import json
import keyword
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from atlas.core.filters import scope_of, shared_scope
from atlas.core.json_values import dump
from atlas.core.types import RULES_AUTHOR, CodeConcept, Experience, Strategy, Trajectory
from atlas.learning.terms.description_length import n_tokens
from atlas.learning.terms.names import unused_name
from atlas.learning.terms.parsing import try_parse

MIN_TOOLS = 2
MIN_TASKS = 2
MAX_CALLS = 6
"""Largest number of calls of a sequence that is searched for."""

MAX_WORKFLOWS = 20

MAX_DEPTH = 50
"""Largest nesting depth of lists and objects in a result that is read as JSON."""

_CALL = re.compile(r"([A-Za-z_]\w*)\((\{.*\})\)")
WORKFLOW = "workflow"
"""Metadata key of a concept that is a workflow."""

_SOURCE_KEY = "observation_from"
_TOOL_PREFIX = "tool "

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool, with its result."""

    tool: str
    arguments: Mapping[str, Any]
    result: Any

    @property
    def kind(self) -> tuple[str, tuple[str, ...]]:
        """Name of the tool and of the arguments."""
        return self.tool, tuple(self.arguments)


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive tool calls of one attempt."""

    attempt: Trajectory | Experience
    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """A sequence of tool calls that several tasks share."""

    name: str
    code: str
    runs: tuple[Run, ...]
    arguments: tuple[Mapping[str, Any], ...]
    """For each run, the arguments with which the code repeats the run's calls."""

    is_linked: bool
    """True if a call uses the result or an argument of an earlier call."""

    @property
    def tools(self) -> tuple[str, ...]:
        """Distinct names of the called tools, in the order of the calls."""
        return tuple(dict.fromkeys(call.tool for call in self.runs[0].calls))

    @property
    def n_tasks(self) -> int:
        """Number of tasks with at least one run of the workflow."""
        return len({run.attempt.task.id for run in self.runs})

    @property
    def saving(self) -> int:
        """Number of tokens that calls of the workflow save, minus the length of the workflow's code."""
        written = sum(n_tokens(f"{call.tool}({dict(call.arguments)!r})") for run in self.runs for call in run.calls)
        called = sum(n_tokens(f"{self.name}({dict(arguments)!r})") for arguments in self.arguments)
        return written - called - n_tokens(self.code)

    def test(self, number: int) -> str:
        """Return a test that replays a run: given the recorded results, the code must make the recorded calls."""
        recorded = [[call.tool, dict(call.arguments), call.result] for call in self.runs[number].calls]
        return "\n".join(
            [
                "import json",
                f"_recorded = json.loads({json.dumps(recorded)!r})",
                "def _replay(tool):",
                "    def call(**arguments):",
                "        expected, given, result = _recorded.pop(0)",
                "        assert tool == expected, (tool, expected)",
                "        assert json.dumps(arguments, sort_keys=True) == json.dumps(given, sort_keys=True), arguments",
                "        return result",
                "    return call",
                *(f"{tool} = _replay({tool!r})" for tool in self.tools),
                f"{self.name}(**json.loads({json.dumps(dict(self.arguments[number]))!r}))",
                "assert _recorded == []",
            ]
        )

    def concept(self) -> CodeConcept:
        """Return the workflow as a concept."""
        calls = self.runs[0].calls
        return CodeConcept(
            name=self.name,
            description=f"Workflow of {len(calls)} tool calls: {_call_chain(call.tool for call in calls)}",
            code=self.code,
            signature=self.code.partition("\n")[0].removeprefix("def ").rstrip(":"),
            source="learned",
            found_in=tuple(dict.fromkeys(run.attempt.id for run in self.runs)),
            metadata={
                "n_tasks": self.n_tasks,
                "saving": self.saving,
                "tools": list(self.tools),
                **shared_scope(run.attempt.metadata for run in self.runs),
                "documented_by": RULES_AUTHOR,
                WORKFLOW: True,
            },
        )


def is_workflow(concept: CodeConcept) -> bool:
    """Return whether a concept was learned as a workflow."""
    return concept.metadata.get(WORKFLOW) is True


def numbered_steps(workflow: CodeConcept) -> str:
    """Return a numbered line for each step of a workflow. Empty if an edit split its code into several functions."""
    steps = [ast.unparse(statement).removeprefix("return ") for statement in _statements(workflow)]
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))


def strategy_of_workflow(workflow: CodeConcept, attempt_ids: Mapping[str, str]) -> Strategy:
    """Return a workflow as a strategy, for agents that call tools instead of running code.

    Args:
        attempt_ids: Ids of attempts, keyed by the ids of the experiences that they are stored as.
    """
    return Strategy(
        title=_call_chain(_called_tools(workflow)) or _call_chain(workflow.tools),
        situation=f"A task for which {_join_names(workflow.tools)} are needed.",
        suggestion=numbered_steps(workflow),
        sources=tuple(attempt_ids[found_id] for found_id in workflow.found_in if attempt_ids.get(found_id)),
        metadata={**scope_of(workflow.metadata), "derived_by": WORKFLOW},
    )


def find_workflows(attempts: Iterable[Trajectory | Experience], reserved: Iterable[str] = ()) -> list[Workflow]:
    """Return the workflows of the successful attempts, largest saving first.

    In a workflow, at least one call uses the result or an argument of an earlier call.

    Args:
        reserved: Names that no workflow may get.
    """
    groups: dict[tuple[tuple[str, tuple[str, ...]], ...], list[Run]] = defaultdict(list)
    for attempt in attempts:
        if attempt.outcome.success is True:
            for run in _iterate_runs(attempt):
                groups[tuple(call.kind for call in run.calls)].append(run)
    shared = {kinds: runs for kinds, runs in groups.items() if _is_shared_by_tasks(kinds, runs)}
    longest = [
        kinds for kinds in shared if not any(_is_covered_by(kinds, other_kinds, shared) for other_kinds in shared)
    ]
    workflows = [_build_workflow("workflow", shared[kinds]) for kinds in longest]
    linked = [workflow for workflow in workflows if workflow.is_linked]
    with_largest_saving = sorted(linked, key=lambda workflow: (-workflow.saving, workflow.code))[:MAX_WORKFLOWS]
    names = _workflow_names(set(reserved))
    return [_build_workflow(next(names), workflow.runs) for workflow in with_largest_saving if workflow.saving > 0]


def extract_calls(attempt: Trajectory | Experience) -> list[ToolCall]:
    """Return the tool calls of an attempt. Calls without named arguments are left out."""
    calls = (_parse_tool_call(step.action, step.observation, step.metadata.get(_SOURCE_KEY)) for step in attempt.steps)
    return [call for call in calls if call is not None]


def has_calls(attempt: Trajectory | Experience) -> bool:
    """Return whether an attempt contains enough tool calls for a workflow."""
    return len(extract_calls(attempt)) >= MIN_TOOLS


def _parse_tool_call(action: str, observation: str, source: object) -> ToolCall | None:
    """Return the tool call that an action describes, or None if it is none, failed, or cannot be written as a call."""
    match = _CALL.fullmatch(action.strip())
    if match is None or source != f"{_TOOL_PREFIX}{match[1]}" or observation.startswith("Error"):
        return None
    try:
        arguments = json.loads(match[2])
    except ValueError:
        return None
    names = [*arguments]
    is_callable = all(name.isidentifier() and not keyword.iskeyword(name) for name in (match[1], *names))
    return ToolCall(match[1], arguments, _parse_observation(observation)) if is_callable else None


def _parse_observation(observation: str) -> Any:
    """Return an observation parsed as JSON, or the string itself if it is not JSON or nested too deeply."""
    try:
        value = json.loads(observation)
    except (ValueError, RecursionError):
        return observation
    return value if _is_flat(value, MAX_DEPTH) else observation


def _is_flat(value: Any, max_depth: int) -> bool:
    """Return whether lists and objects are nested at most `max_depth` levels deep."""
    if max_depth < 0:
        return False
    parts = value.values() if isinstance(value, dict) else value
    return not isinstance(value, dict | list) or all(_is_flat(part, max_depth - 1) for part in parts)


def _iterate_runs(attempt: Trajectory | Experience) -> Iterator[Run]:
    """Yield the distinct sequences of calls of an attempt."""
    calls, yielded = extract_calls(attempt), set()
    for start in range(len(calls)):
        for end in range(start + MIN_TOOLS, min(start + MAX_CALLS, len(calls)) + 1):
            sequence = tuple(calls[start:end])
            kinds = tuple(call.kind for call in sequence)
            if kinds not in yielded:
                yielded.add(kinds)
                yield Run(attempt, sequence)


def _is_shared_by_tasks(kinds: Sequence[tuple[str, tuple[str, ...]]], runs: Sequence[Run]) -> bool:
    n_tools, n_tasks = len({tool for tool, _ in kinds}), len({run.attempt.task.id for run in runs})
    return n_tools >= MIN_TOOLS and n_tasks >= MIN_TASKS


def _is_covered_by(
    kinds: tuple[tuple[str, tuple[str, ...]], ...],
    other: tuple[tuple[str, tuple[str, ...]], ...],
    shared: Mapping[tuple[tuple[str, tuple[str, ...]], ...], Sequence[Run]],
) -> bool:
    """Return whether another, longer sequence contains a sequence and occurs at least as often."""
    length = len(kinds)
    is_inside = any(other[start : start + length] == kinds for start in range(len(other) - length + 1))
    return len(other) > length and is_inside and len(shared[other]) >= len(shared[kinds])


def _build_workflow(name: str, runs: Sequence[Run]) -> Workflow:
    """Return a workflow whose code can make the calls of each of these runs."""
    calls = runs[0].calls
    variables = _result_variables(calls)
    reserved = {name, *variables, *(call.tool for call in calls)}
    parameters: dict[str, list[Any]] = {}
    lines, used_results, n_parameter_uses = list[str](), set[int](), 0
    for index, call in enumerate(calls):
        arguments_code = []
        for argument in call.arguments:
            values = [run.calls[index].arguments[argument] for run in runs]
            is_parameter = dump(values) in map(dump, parameters.values())  # in JSON, 1 differs from true
            origin = None if is_parameter else _value_origin(index, values, runs)
            if origin is None:
                n_parameter_uses += 1
                arguments_code.append(f"{argument}={_parameter_for(argument, values, parameters, reserved)}")
            else:
                source, path = origin
                used_results.add(source)
                keys = "".join(f"[{key!r}]" for key in path)
                arguments_code.append(f"{argument}={variables[source]}{keys}")
        lines.append(f"{call.tool}({', '.join(arguments_code)})")
    body = [f"{variables[index]} = {line}" if index in used_results else line for index, line in enumerate(lines)]
    body[-1] = f"return {lines[-1]}"
    code = "\n    ".join([f"def {name}({', '.join(parameters)}):", *body])
    arguments = [{parameter: values[index] for parameter, values in parameters.items()} for index in range(len(runs))]
    return Workflow(
        name=name,
        code=code,
        runs=tuple(runs),
        arguments=tuple(arguments),
        is_linked=bool(used_results) or n_parameter_uses > len(parameters),
    )


def _result_variables(calls: Sequence[ToolCall]) -> list[str]:
    """Return a name for the result of each call."""
    names: list[str] = []
    tools = {call.tool for call in calls}
    for call in calls:
        names.append(unused_name(f"{call.tool.removeprefix('get_')}_result", tools | {*names}))
    return names


def _value_origin(index: int, values: Sequence[Any], runs: Sequence[Run]) -> tuple[int, Path] | None:
    """Return where an argument's value comes from: the index of an earlier call, and the path in its result.

    The result is None if the value does not come from the same place in all runs.
    """
    for earlier in reversed(range(index)):
        paths_by_run = [
            set(_find_paths(run.calls[earlier].result, value)) for run, value in zip(runs, values, strict=True)
        ]
        if common_paths := set.intersection(*paths_by_run):
            return earlier, min(common_paths, key=lambda path: (len(path), str(path)))
    return None


def _find_paths(result: Any, value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of each place in a result that contains a value, which is a string or a number."""
    if (
        isinstance(value, str | int | float)
        and not isinstance(value, bool)
        and (type(result), result) == (type(value), value)
    ):
        yield path
    parts: Iterable[tuple[str | int, Any]] = ()
    if isinstance(result, dict):
        parts = result.items()
    elif isinstance(result, list):
        parts = enumerate(result)
    for key, part in parts:
        yield from _find_paths(part, value, (*path, key))


def _parameter_for(name: str, values: list[Any], parameters: dict[str, list[Any]], reserved: Collection[str]) -> str:
    """Return the name of the parameter with these values. Add a parameter if there is none."""
    existing = next(
        (known_name for known_name, known_values in parameters.items() if dump(known_values) == dump(values)), None
    )
    if existing is not None:
        return existing
    new_name = unused_name(name, {*reserved, *parameters})
    parameters[new_name] = values
    return new_name


def _workflow_names(reserved: set[str]) -> Iterator[str]:
    return (f"workflow_{number}" for number in range(1, 10_000) if f"workflow_{number}" not in reserved)


def _statements(workflow: CodeConcept) -> list[ast.stmt]:
    """Return the statements of a workflow, or none if an edit split its code into several functions."""
    module = try_parse(workflow.code)
    match module.body if module is not None else []:
        case [ast.FunctionDef(body=body)]:
            return body
    return []


def _called_tools(workflow: CodeConcept) -> list[str]:
    """Return the name of the tool in each call of a workflow, in the order of the calls."""
    nodes = (node for statement in _statements(workflow) for node in ast.walk(statement))
    names = [node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    return [name for name in names if name in workflow.tools]


def _call_chain(tools: Iterable[str]) -> str:
    """Return the tools of successive calls: `find_user → get_order ×2 → refund`."""
    counts = ((tool, len([*calls])) for tool, calls in groupby(tools))
    return " → ".join(f"{tool} ×{n_calls}" if n_calls > 1 else tool for tool, n_calls in counts)


def _join_names(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
