"""Running programs in a root directory, within limits of time and of output.

A program starts in the directory, but is not confined to it: it has all permissions of this process's user. Give these
functions to an agent only if you want that, or inside a sandbox. The guarantees are: no shell is involved, secrets in
the environment do not reach the program, its time and output are limited, and its process group is killed when it ends
or times out. A program that starts a new session escapes that.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import TypedDict

PASSED_VARIABLES = ("HOME", "LANG", "LC_ALL", "PATH", "TMPDIR", "TZ", "USER", "VIRTUAL_ENV")
"""The variables of the environment that a program gets."""

MAX_OUTPUT_BYTES = 100_000


class CommandResult(TypedDict):
    """What a program did."""

    exit_code: int | None
    """Negative if a signal ended the program. None after a timeout."""

    output: str
    """Its standard output. If it is too long, a note stands in place of the middle."""

    errors: str
    """Its standard error, likewise."""

    timed_out: bool


def run_command(
    root: Path,
    command: Sequence[str],
    seconds: float = 60.0,
    environment: Mapping[str, str] | None = None,
    max_output_bytes: int = MAX_OUTPUT_BYTES,
) -> CommandResult:
    r"""Run a program in the root directory and return what it printed and how it ended.

    The program is not confined to the directory: it has all permissions of the user. No shell is involved, so arguments
    are passed literally. The input is empty. The environment has only a few variables, and those of `environment`.

    Args:
        command: The program and its arguments.
        seconds: Timeout, after which its process group is killed.
        max_output_bytes: Maximum bytes of its output, and of its errors.

    Raises:
        ValueError: The command is one text, or empty.
        OSError: The program cannot be started.

    Examples:
        >>> run_command(root, ["cat", "notes.txt"])
        {'exit_code': 0, 'output': 'first\nsecond\n', 'errors': '', 'timed_out': False}
        >>> run_command(root, ["false"])["exit_code"]
        1
    """
    if isinstance(command, str) or not command:
        raise ValueError(f"expected a program and its arguments as a list, such as ['ls', '-l']; got {command!r}")
    variables = {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ}
    with subprocess.Popen(
        list(command),
        cwd=root,
        env={**variables, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            output, errors = _OutputEnds(max_output_bytes), _OutputEnds(max_output_bytes)
            has_ended = _follow(process, output, errors, monotonic() + seconds)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    exit_code = process.returncode if has_ended else None
    return CommandResult(exit_code=exit_code, output=output.text(), errors=errors.text(), timed_out=not has_ended)


class _OutputEnds:
    """The first and the last bytes of an output."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.first, self.last, self.n_bytes = b"", b"", 0

    def add(self, chunk: bytes) -> None:
        room = max(self.limit // 2 - len(self.first), 0)
        self.first += chunk[:room]
        self.last = (self.last + chunk[room:])[-max(self.limit // 2, 1) :]
        self.n_bytes += len(chunk)

    def text(self) -> str:
        n_missing = self.n_bytes - len(self.first) - len(self.last)
        gap = f"\n… {n_missing:,} bytes left out …\n".encode() if n_missing else b""
        return (self.first + gap + self.last).decode(errors="replace")


def _follow(process: subprocess.Popen[bytes], output: _OutputEnds, errors: _OutputEnds, until: float) -> bool:
    """Read a program's output until it ends. Return False on a timeout."""
    with selectors.DefaultSelector() as selector:
        for pipe, buffer in ((process.stdout, output), (process.stderr, errors)):
            assert pipe is not None
            selector.register(pipe, selectors.EVENT_READ, buffer)
        while selector.get_map() and (left := until - monotonic()) > 0:
            has_ended = process.poll() is not None
            ready = selector.select(0 if has_ended else min(left, 0.1))
            for key, _ in ready:
                chunk = os.read(key.fd, 65536)
                key.data.add(chunk)
                if not chunk:
                    selector.unregister(key.fileobj)
            if has_ended and not ready:  # what it left behind holds a pipe open
                break
    return _ends_before(process, until)


def _ends_before(process: subprocess.Popen[bytes], until: float) -> bool:
    try:
        process.wait(max(until - monotonic(), 0))
    except subprocess.TimeoutExpired:
        return False
    return True


def run_tests(
    root: Path,
    tests: Sequence[str] = (),
    runner: Sequence[str] = ("-m", "pytest", "-q"),
    seconds: float = 300.0,
    environment: Mapping[str, str] | None = None,
) -> CommandResult:
    """Run a project's tests with this Python, in the root directory. Exit code 0 means that all passed.

    The tests are programs: the limits of `run_command` hold for them.

    Args:
        tests: The tests to run, as the runner names them; empty for all.
        runner: Arguments of Python that start the runner, such as `-m pytest` or `-m unittest`.

    Examples:
        >>> run_tests(root, runner=["-m", "unittest", "-q"])["exit_code"]
        0
        >>> run_tests(root, ["test_missing"], runner=["-m", "unittest", "-q"])["exit_code"]
        1
    """
    return run_command(root, [sys.executable, "-B", *runner, *tests], seconds, environment)
