"""Recorded tasks in families, with the names that their solutions need: τ-bench's, and solved problems in Python."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import atlas
from atlas.importers import Limits, detect
from atlas.learning.extraction import programs_of
from benchmarks.agents.messages import ACTIONS, GIVEN, RUNS
from benchmarks.compressing import LOGS


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A task with what its recorded solution needs."""

    task: atlas.Task
    family: str
    needs: frozenset[str]
    """Names in the solution that are not words of the task. Empty if there are none."""

    successes: tuple[atlas.Trajectory, ...]


def customers(given: Path = GIVEN) -> list[Case]:
    """Return τ-bench's tasks, which need tools and their arguments. Those of a family change things by the same tools.

    The solution is that of τ-bench itself, so failed tasks have one too.
    """
    attempts: dict[str, list[atlas.Trajectory]] = defaultdict(list)
    for attempt in _attempts(given / RUNS):
        attempts[attempt.task.id].append(attempt)
    return [_customer(of_task) for of_task in attempts.values()]


def _customer(attempts: Sequence[atlas.Trajectory]) -> Case:
    task = attempts[0].task
    solution: Mapping[str, Any] = task.verification.parameters if task.verification else {}
    calls: list[dict[str, Any]] = solution.get("actions", [])
    names = {name for call in calls for name in (call["name"], *call["kwargs"])}
    family = " + ".join(sorted({call["name"] for call in calls} & ACTIONS.keys()))
    return _case(task, family, names, [attempt for attempt in attempts if attempt.outcome.success])


def problems(given: Path = GIVEN) -> list[Case]:
    """Return the solved problems, which need functions and methods. Those of a family have the same types."""
    return [
        _case(attempt.task, signature(tree), called_names(tree), [attempt])
        for log in LOGS
        for attempt in _attempts(given / "reflexion" / log)
        for program in programs_of([attempt]).programs  # none of a failed attempt
        for tree in [ast.parse(program.source)]
    ]


def _attempts(path: Path) -> list[atlas.Trajectory]:
    rows = detect(path).read(path, Limits()) if path.is_file() else ()
    return [row.item for row in rows if isinstance(row.item, atlas.Trajectory)]


def _case(task: atlas.Task, family: str, names: Iterable[str], successes: Sequence[atlas.Trajectory]) -> Case:
    needs = frozenset(names) - words(task.description)
    return Case(task=task, family=family, needs=needs, successes=tuple(successes))


def words(text: str) -> set[str]:
    """Return the words and identifiers of a text."""
    return set(re.findall(r"\w+", text))


def signature(tree: ast.Module) -> str:
    """Return the types of the first function's arguments and of its result: `(List[int], ?) -> int`."""
    function = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    types = [*(argument.annotation for argument in function.args.args), function.returns]
    *arguments, result = ("?" if each is None else ast.unparse(each) for each in types)
    return f"({', '.join(arguments)}) -> {result}"


def called_names(tree: ast.Module) -> set[str]:
    """Return the names of the functions and methods that a program calls and does not define."""
    functions = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    called = {node.id for node in functions if isinstance(node, ast.Name)}
    called |= {node.attr for node in functions if isinstance(node, ast.Attribute)}
    return called - {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
