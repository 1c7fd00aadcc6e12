"""The command of a trial: given a task and a context block by files, it says by its end how that went."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.types import Task

TAIL_BYTES = 1_000_000
"""Of the end of an output that is read for a line of JSON."""

TASK, BLOCK, ANSWER = "ATLAS_TRIAL_TASK", "ATLAS_TRIAL_BLOCK", "ATLAS_TRIAL_ANSWER"
"""Variables with the paths of the task as JSON, the context block as text, and, for a judge, the command's output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """How a run of the command went."""

    success: bool
    seconds: float
    tokens: int = 0
    """As the command reported them, like the next two."""

    cost: float = 0.0
    model: str = ""
    error: str = ""
    """Why nothing is known of it but that it failed: it timed out, or ended by a signal or with another code than 1."""

    steps: tuple[Mapping[str, Any], ...] = field(default=())
    solution: str = ""


def run_command(
    command: Sequence[str], judge: Sequence[str], directory: Path, task: Task, block: str, timeout_seconds: float
) -> RunResult:
    """Run a command on a task in a directory of its own, without a shell, and return how it went.

    The task and the block are files there, which the environment names. The arm is not: the command cannot know it. Its
    end is 0 for a success and 1 for a failure, unless the last line of its output is a JSON object with `success`,
    and maybe `tokens`, `cost`, `model`, `solution` and `steps`. A judge's end decides over both.

    Raises:
        InvalidInput: The command or the judge cannot be started.
    """
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "task.json").write_text(json.dumps(asdict(task), ensure_ascii=False), encoding="utf-8")
    (directory / "block.txt").write_text(block, encoding="utf-8")
    began = time.monotonic()
    code = _run(command, directory, "output.txt", timeout_seconds)
    seconds = time.monotonic() - began
    reported = _reported(directory / "output.txt")
    success, error = _outcome(code, reported, timeout_seconds)
    if judge and code is not None:
        verdict = _run(judge, directory, "judge.txt", timeout_seconds)
        success, error = _outcome(verdict, {}, timeout_seconds)
        error = f"judge: {error}" if error else ""
    return RunResult(
        success=success,
        seconds=round(seconds, 3),
        tokens=int(_number(reported.get("tokens"))),
        cost=_number(reported.get("cost")),
        model=str(reported.get("model", "")),
        error=error,
        steps=tuple(step for step in _listed(reported.get("steps")) if isinstance(step, dict)),
        solution=str(reported.get("solution", "")),
    )


def _run(command: Sequence[str], directory: Path, output: str, timeout_seconds: float) -> int | None:
    """Return the code with which a command ends, or None if it took too long. Its whole process group ends with it."""
    try:
        with (directory / output).open("wb") as file, (directory / f"{output}.errors").open("wb") as errors:
            process = subprocess.Popen(
                list(command),
                cwd=directory,
                env=_environment(directory),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=errors,
                start_new_session=True,
            )
    except OSError as error:
        raise InvalidInput(f"{command[0]!r} cannot be started: {error}") from error
    try:
        return process.wait(timeout_seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _environment(directory: Path) -> dict[str, str]:
    """Return the environment of a command. A memory that it opens by itself is an empty one of its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ATLAS_")}
    return environment | {
        TASK: str(directory / "task.json"),
        BLOCK: str(directory / "block.txt"),
        ANSWER: str(directory / "output.txt"),
        "ATLAS_STORE": str(directory / "own-store"),
    }


def _reported(output: Path) -> dict[str, Any]:
    """Return the JSON object in the last line of an output that has `success`, or an empty one."""
    with output.open("rb") as file:
        file.seek(max(0, output.stat().st_size - TAIL_BYTES))
        lines = file.read().decode("utf-8", "replace").strip().splitlines()
    try:
        found = json.loads(lines[-1]) if lines else None
    except ValueError:
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("success"), bool) else {}


def _outcome(code: int | None, reported: Mapping[str, Any], timeout_seconds: float) -> tuple[bool, str]:
    if code is None:
        return False, f"it took longer than {timeout_seconds:g} seconds"
    if code not in (0, 1):
        return False, f"it ended with the code {code}"
    return bool(reported.get("success", code == 0)), ""


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else 0.0


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()
