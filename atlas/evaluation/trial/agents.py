"""The command of a trial: it receives a task and a context block as files, and reports its result."""

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
from atlas.core.types import Step, Task

TAIL_BYTES = 1_000_000
"""Number of bytes at the end of an output that are searched for a line of JSON."""

MAX_AMOUNT = 1e15
"""Largest reported amount that is accepted."""

TASK, BLOCK, ANSWER = "ATLAS_TRIAL_TASK", "ATLAS_TRIAL_BLOCK", "ATLAS_TRIAL_ANSWER"
"""Environment variables with the paths of the task (JSON), the context block and, for a judge, the output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The result of one run of a trial's command."""

    success: bool
    seconds: float
    tokens: int = 0
    """Tokens as reported by the command, like `cost` and `model`."""

    cost: float = 0.0
    model: str = ""
    error: str = ""
    """Why the run counts as a failure: it timed out, or its exit code is not 0 or 1. Empty for a regular end."""

    steps: tuple[Mapping[str, Any], ...] = field(default=())
    solution: str = ""

    @property
    def trajectory_steps(self) -> tuple[Step, ...]:
        """The steps that the command reported."""
        return tuple(map(_to_step, self.steps))


def run_command(
    command: Sequence[str], judge: Sequence[str], directory: Path, task: Task, block: str, timeout_seconds: float
) -> RunResult:
    """Run a command on a task, without a shell, in the current working directory.

    Environment variables tell the command the paths of the task and of the context block, but not the arm. The exit
    code is 0 for a success and 1 for a failure. A JSON object with `success` in the last line of the output takes
    precedence. The object may also contain `tokens`, `cost`, `model`, `solution` and `steps`. The exit code of a judge
    takes precedence over both.

    Args:
        directory: Directory of this run, for the task, the block and the outputs of the command and the judge.

    Raises:
        InvalidInput: The command or the judge cannot be started.
    """
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "task.json").write_text(json.dumps(asdict(task), ensure_ascii=False), encoding="utf-8")
    (directory / "block.txt").write_text(block, encoding="utf-8")
    started_at = time.monotonic()
    exit_code = _run_process(command, directory, "output.txt", timeout_seconds)
    seconds = time.monotonic() - started_at
    reported = _parse_report(directory / "output.txt")
    success, error = _judge_run(exit_code, reported, timeout_seconds)
    if judge and exit_code is not None:
        judge_code = _run_process(judge, directory, "judge.txt", timeout_seconds)
        success, error = _judge_run(judge_code, {}, timeout_seconds)
        error = f"judge: {error}" if error else ""
    return RunResult(
        success=success,
        seconds=round(seconds, 3),
        tokens=int(_parse_amount(reported.get("tokens"))),
        cost=_parse_amount(reported.get("cost")),
        model=str(reported.get("model", "")),
        error=error,
        steps=tuple(step for step in _to_list(reported.get("steps")) if isinstance(step, dict)),
        solution=str(reported.get("solution", "")),
    )


def _run_process(command: Sequence[str], directory: Path, output: str, timeout_seconds: float) -> int | None:
    """Return a command's exit code, or None after a timeout. Its whole process group is killed at the end."""
    try:
        with (directory / output).open("wb") as file, (directory / f"{output}.errors").open("wb") as errors:
            process = subprocess.Popen(
                list(command),
                env=_environment_for_run(directory),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=errors,
                start_new_session=True,
            )
    except OSError as error:
        raise InvalidInput(f"{command[0]!r} cannot be started: {error}; check the command after --") from error
    try:
        return process.wait(timeout_seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _environment_for_run(directory: Path) -> dict[str, str]:
    """Return the environment variables of a command. With them, ATLAS opens an empty store in the given directory."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ATLAS_")}
    return environment | {
        TASK: str(directory / "task.json"),
        BLOCK: str(directory / "block.txt"),
        ANSWER: str(directory / "output.txt"),
        "ATLAS_STORE": str(directory / "own-store"),
    }


def _parse_report(output: Path) -> dict[str, Any]:
    """Return the JSON object with `success` in the last line of an output, or an empty object."""
    with output.open("rb") as file:
        file.seek(max(0, output.stat().st_size - TAIL_BYTES))
        last_line = file.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
    try:
        reported = json.loads(last_line)
        # Half a surrogate pair is valid in JSON, but no file can hold it.
        reported = json.loads(json.dumps(reported, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    if isinstance(reported, dict) and isinstance(reported.get("success"), bool):
        return reported
    return {}


def _judge_run(exit_code: int | None, reported: Mapping[str, Any], timeout_seconds: float) -> tuple[bool, str]:
    """Return whether a run succeeded, and why it counts as a failure if it ended irregularly."""
    if exit_code is None:
        return False, f"the command took longer than {timeout_seconds:g} seconds"
    if exit_code not in (0, 1):
        return False, f"the command ended with the code {exit_code}"
    return bool(reported.get("success", exit_code == 0)), ""


def _to_step(reported: Mapping[str, Any]) -> Step:
    thought, action, observation = (str(reported.get(name, "")) for name in ("thought", "action", "observation"))
    return Step(thought, action, observation)


def _parse_amount(value: object) -> float:
    """Return a reported amount as a number, or 0 if it is invalid."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if 0 <= value <= MAX_AMOUNT else 0.0


def _to_list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()
