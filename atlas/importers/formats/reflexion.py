"""Reflexion's logs: programming attempts (HumanEval, MBPP, LeetCode) as JSONL, ALFWorld trials as a JSON list.

The logs contain the agent's reflections and its last solution only. Each reflection becomes the thought of a step, and
the solution becomes the action of the last step.

Source:
    https://github.com/noahshinn/reflexion
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.types import Outcome, Step, Task, Trajectory, VerificationSpec
from atlas.importers.fields import Json, abbreviate, as_label, as_list, as_object, as_text, drop_missing, required_text
from atlas.importers.files import RawRecord, read_records
from atlas.importers.keys import record_keys
from atlas.importers.rows import Limits, Row, make_row

MAX_LIST_CHARACTERS = 2**20
"""Maximum length of a string that is parsed as a list. A longer one counts as one reflection."""

SOLUTION_KEYS = ("canonical_solution", "cannonical_solution")


def matches(path: Path, head: bytes) -> bool:
    """Return whether rows are programming problems with `is_solved`, or trials with a memory and `is_success`."""
    return any({"is_solved", "prompt"} <= keys or {"is_success", "memory"} <= keys for keys in record_keys(head))


def read(path: Path, limits: Limits) -> Iterator[Row]:
    """Yield the attempts of a file."""
    for record in read_records(path, limits):
        yield make_row(record.position, partial(_decode_trajectory, record), offset=record.end, n_bytes=len(record.raw))


def _decode_trajectory(record: RawRecord) -> Trajectory:
    row = as_object(record.value(), "the row")
    return _household_attempt(row) if "is_success" in row else _programming_attempt(row)


def _household_attempt(row: Json) -> Trajectory:
    name = as_label(row.get("name"), "name")
    return _make_attempt(
        task=Task(f"alfworld/{name}", "alfworld", f"ALFWorld household task {name}"),
        source="reflexion/alfworld",
        success=_decode_flag(row.get("is_success"), "is_success"),
        reflections=_decode_reflections(row.get("memory"), "memory"),
    )


def _programming_attempt(row: Json) -> Trajectory:
    benchmark = _detect_benchmark(row)
    return _make_attempt(
        task=_problem_task(row, benchmark),
        source=f"reflexion/{benchmark}" if benchmark else "reflexion",
        success=_decode_flag(row.get("is_solved"), "is_solved"),
        reflections=_decode_reflections(row.get("reflections"), "reflections"),
        solution=as_text(row.get("solution"), "solution"),
        strategy="reflexion" if "reflections" in row else "simple",
    )


def _make_attempt(
    *, task: Task, source: str, success: bool | None, reflections: list[str], solution: str = "", strategy: str = ""
) -> Trajectory:
    steps = [Step(thought=reflection) for reflection in reflections]
    if solution:
        steps.append(Step(action=solution))
    feedback = "\n\n".join(reflections)
    metadata = drop_missing(source=source, strategy=strategy, solution=solution, feedback=feedback)
    return Trajectory(task=task, steps=tuple(steps), outcome=Outcome(success), metadata=metadata)


def _detect_benchmark(row: Json) -> str:
    """Return `mbpp`, `humaneval` or `leetcode`, recognised by the row's id or keys. Empty for other rows."""
    name = str(row.get("name", row.get("task_id"))).lower()
    from_name = next((benchmark for benchmark in ("mbpp", "humaneval", "leetcode") if name.startswith(benchmark)), "")
    return from_name or ("leetcode" if "cannonical_solution" in row else "")  # only that log has this spelling


def _problem_task(row: Json, benchmark: str) -> Task:
    name = as_label(row.get("name", row.get("task_id")), "name" if "name" in row else "task_id")
    prompt = required_text(row, "prompt", "prompt")
    entry_point = as_text(row.get("entry_point"), "entry_point")
    solution = next((as_text(row[key], key) for key in SOLUTION_KEYS if key in row), "")
    return Task(
        id=name if not benchmark or name.lower().startswith(benchmark) else f"{benchmark}/{name}",
        domain=benchmark,
        description=describe(prompt, entry_point),
        context=drop_missing(
            entry_point=entry_point,
            prompt=prompt,
            test=as_text(row.get("test"), "test"),
            language=as_text(row.get("language"), "language"),
        ),
        verification=VerificationSpec("tests", drop_missing(canonical_solution=solution)),
    )


def describe(prompt: str, entry_point: str = "") -> str:
    """Return the docstring and signature of a function stub as a task's description, or the prompt without these."""
    start = max(prompt.find(f"def {entry_point}("), 0) if entry_point else 0
    start = prompt.find("def ", start)
    quote = re.search("\"\"\"|'''", prompt[start:])
    if start < 0 or quote is None:
        return prompt.strip()
    docstring_start = start + quote.start()
    docstring, _, _ = prompt[docstring_start + 3 :].partition(quote.group())
    prose = inspect.cleandoc(docstring).strip()
    signature = prompt[start:docstring_start].strip().removesuffix(":")
    return f"{prose}\n\n{signature}" if prose else prompt.strip()


def _decode_flag(value: Any, name: str) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    raise InvalidInput(f"expected true or false for {name}, got {abbreviate(value)}")


def _decode_reflections(value: Any, name: str) -> list[str]:
    """Return the reflections, which are a list in some logs and the `repr` of a list in others."""
    texts = as_list(_parse_list(value) if isinstance(value, str) else value, name)
    return [text for n, text in enumerate(texts) if as_text(text, f"{name}[{n}]").strip()]


def _parse_list(text: str) -> list[Any]:
    if text.lstrip().startswith("[") and len(text) <= MAX_LIST_CHARACTERS:
        for parse in (json.loads, _parse_python):
            try:
                value = parse(text.strip())
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
            if isinstance(value, list):
                return value
    return [text]


def _parse_python(text: str) -> Any:
    with warnings.catch_warnings(action="ignore"):  # about unknown escapes, which are in the user's data
        return ast.literal_eval(text)
