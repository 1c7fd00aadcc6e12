"""Programs of a JSONL file, one an object with the keys `task`, `code` and, if it has tests, `test`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.types import Outcome, Task, Trajectory


def read_attempts(path: Path) -> list[Trajectory]:
    """Return the programs of a file as successful attempts.

    `task` is the task's description, or an id where `description` is another key. Rows of one task are programs for the
    same task. `test` is Python to append to the program, which raises if it fails.

    Raises:
        InvalidInput: A line is not such an object, or the file has none.
    """
    lines = enumerate(path.read_text("utf-8").splitlines(), 1)
    attempts = [_attempt(_row(line, number, path)) for number, line in lines if line.strip()]
    if not attempts:
        raise InvalidInput(f"expected programs in {str(path)!r}, but it is empty; write one JSON object a line")
    return attempts


def _row(line: str, number: int, path: Path) -> dict[str, Any]:
    try:
        row: dict[str, Any] = json.loads(line)
    except ValueError as error:
        raise InvalidInput(f"{path.name}, line {number}: expected a JSON object, got {line[:80]!r}: {error}") from error
    wrong = list(_wrong_keys(row)) if isinstance(row, dict) else ["an object"]
    if wrong:
        raise InvalidInput(
            f"{path.name}, line {number}: expected the strings task and code, and test if there are tests; "
            f"missing or no string: {', '.join(wrong)}"
        )
    return row


def _wrong_keys(row: dict[str, Any]) -> Iterator[str]:
    for key in ("task", "code"):
        if not isinstance(row.get(key), str) or not row[key].strip():
            yield key
    for key in ("test", "description"):
        if not isinstance(row.get(key, ""), str):
            yield key


def _attempt(row: dict[str, Any]) -> Trajectory:
    task = Task(row["task"], "", row.get("description") or row["task"], {"test": row.get("test", "")})
    return Trajectory(task=task, steps=(), outcome=Outcome(True), metadata={"solution": row["code"]})
