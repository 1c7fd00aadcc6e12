"""The design of a trial: its tasks, its arms, and the order of its cells."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from atlas.core.errors import InvalidInput
from atlas.core.schema import decode
from atlas.core.types import Task
from atlas.memory.context.block import BUDGET_TOKENS
from atlas.memory.experience.memory import ChromaExperienceMemory

BLOCKS = ("nothing", "memory", "placebo", "recency")
"""Kinds of context blocks: none, the memory's own, unrelated records of the same length, the latest attempts."""

KINDS = ("experience", "strategies", "concepts", "journal")
OPTIONS = ("without", "without-tag", "without-strategy", "budget", "profile", "store")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """An arm of a trial: the kind of context block, and the changes to the arm's copy of the store."""

    name: str
    """The specification of the arm: `memory,without=concepts`."""

    block: str
    """One of `BLOCKS`."""

    without: str = ""
    """Kind of records to leave out, one of `KINDS`."""

    without_tag: str = ""
    without_strategy: str = ""
    """Id of a strategy to leave out."""

    budget: int = BUDGET_TOKENS
    """Largest number of tokens of the block."""

    profile: str = ""
    """The ranking profile, or empty for the active one."""

    store: str = ""
    """Another store to fork, or empty for the trial's own."""


def read_arm(text: str) -> Arm:
    """Parse an arm: `nothing`, `memory`, `placebo` or `recency`, with options such as `memory,budget=500,profile=bold`.

    Raises:
        InvalidInput: There is no such block or option.
    """
    block, *parts = text.split(",")
    if block not in BLOCKS:
        raise InvalidInput(f"expected an arm that begins with one of {', '.join(BLOCKS)}, got {text!r}")
    options = dict[str, str]()
    for part in parts:
        name, _, value = part.partition("=")
        if name not in OPTIONS:
            raise InvalidInput(f"expected one of {', '.join(OPTIONS)} as an arm's option, got {part!r} in {text!r}")
        if not value:
            raise InvalidInput(f"expected NAME=VALUE for an arm's option, got {part!r} in {text!r}")
        options[name.replace("-", "_")] = value
    if options.get("without", KINDS[0]) not in KINDS:
        raise InvalidInput(f"expected one of {', '.join(KINDS)} for `without`, got {options['without']!r}")
    budget = options.pop("budget", str(BUDGET_TOKENS))
    if not budget.isdecimal():
        raise InvalidInput(f"expected a number of tokens for `budget`, got {budget!r}")
    return Arm(name=text, block=block, budget=int(budget), **options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One run of a trial's command: a task, a repeat and an arm."""

    task: int
    """Position of the task in the trial's list."""

    repeat: int
    arm: str

    @property
    def key(self) -> str:
        """The key of the cell in the journal, such as `3.0 memory`."""
        return f"{self.task}.{self.repeat} {self.arm}"

    @property
    def directory(self) -> str:
        """The name of the run's directory, which does not reveal the arm."""
        return hashlib.blake2b(self.key.encode(), digest_size=8).hexdigest()


def shuffled_cells(n_tasks: int, arms: Sequence[str], n_repeats: int, seed: int) -> Iterator[tuple[Cell, ...]]:
    """Yield a cell for each task, repeat and arm. The order of tasks, and of arms within a task, is random."""
    generator = random.Random(seed)
    for repeat in range(n_repeats):
        for task in generator.sample(range(n_tasks), n_tasks):
            yield tuple(Cell(task=task, repeat=repeat, arm=arm) for arm in generator.sample(list(arms), len(arms)))


def read_tasks(path: Path) -> list[Task]:
    """Return the tasks of a JSON Lines file, each with a `description` and optional `id`, `domain` and `context`.

    Raises:
        InvalidInput: A line is not a task, or a task is repeated.
    """
    tasks = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if line.strip():
            tasks.append(_read_task(line, f"{path.name}, line {number}"))
    return _check_distinct(tasks)


def distinct_tasks(experience: ChromaExperienceMemory) -> list[Task]:
    """Return the tasks of a store's attempts, each once."""
    attempts = experience.get_many(experience.ids())
    return _check_distinct(list({task_name(attempt.task): attempt.task for attempt in attempts}.values()))


def _read_task(line: str, location: str) -> Task:
    try:
        encoded = json.loads(line)
    except ValueError as error:
        raise InvalidInput(f"{location}: expected a task as JSON, got {line!r:.80} ({error})") from error
    if not isinstance(encoded, dict) or not isinstance(encoded.get("description"), str) or not encoded["description"]:
        raise InvalidInput(f'{location}: expected a task such as {{"id": "1", "description": "…"}}, got {line!r:.80}')
    return decode(Task, {"id": "", "domain": ""} | encoded, location)


def _check_distinct(tasks: list[Task]) -> list[Task]:
    """Return the tasks.

    Raises:
        InvalidInput: There are no tasks, or two of them have the same id or description.
    """
    if not tasks:
        raise InvalidInput("a trial needs tasks, but there are none; name a file with --tasks")
    [(repeated, count)] = Counter(map(task_name, tasks)).most_common(1)
    if count > 1:
        raise InvalidInput(f"two tasks have the id or description {repeated!r:.80}; to try one again, use --repeats")
    return tasks


def task_name(task: Task) -> str:
    """Return the id of a task, or its description if it has no id."""
    return task.id or task.description
