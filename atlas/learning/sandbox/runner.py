"""Untrusted programs, each run in a separate process, with limits that the kernel enforces.

`Sandbox.enforced` returns the guarantees, which depend on the system. On Linux on x86-64 and aarch64, programs have
no network access and cannot start, signal or slow down other processes. Programs can read only Python's own files, and
write only in a temporary directory. On other systems the corresponding Python functions are disabled, which prevents
accidents only. On all systems, time, memory (not on macOS), files and output are limited, environment variables are not
inherited, and child processes are killed. The sandbox does not withstand a program that is written to escape.

Programs may use the standard library and any package that is installed with ATLAS, such as numpy. Programs run as a
module named `program`, so code under `if __name__ == "__main__"` does not run. Hashes are the same in every run.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Literal, get_args

from atlas.core.errors import AtlasError, Cancelled, InvalidInput
from atlas.learning.sandbox.directory import clear_directory
from atlas.learning.sandbox.preloading import slow_modules
from atlas.protocols.infra import Progress

Outcome = Literal["passed", "failed", "error", "timeout", "memory"]

MAX_WORKERS = 2
GRACE_SECONDS = 60.0
CANCEL_CHECK_SECONDS = 0.1

_OWN_DIRECTORY = Path(__file__).resolve().parent
_START_CODE = """
import sys, types
for name, path in {packages!r}.items():
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [path]
from atlas.learning.sandbox.forkserver import main
for name in [name for name in sys.modules if name.partition(".")[0] == "atlas"]:
    del sys.modules[name]
main({preloaded!r}, {path!r}, {is_confined!r})
"""
"""Code that starts the sandbox with empty parent packages. Importing ATLAS itself would take a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """The resources that one program may use."""

    cpu_seconds: int = 5
    wall_seconds: float = 60.0
    """Wall-clock time, which ends programs that wait forever. The default suffices on a busy machine."""

    memory_megabytes: int = 512
    """Address space, including the interpreter and its imports, excluding preloaded modules."""

    file_megabytes: int = 1
    """Size of one file."""

    disk_megabytes: int = 16
    """Total size of all files, each counted as at least 4 KB. Measured 20 times a second."""

    output_bytes: int = 16_384
    """Number of bytes of the output that are returned. Comparisons use all of it."""

    def __post_init__(self) -> None:
        """Raise `InvalidInput` for limits that are too low for any program."""
        for name, value in asdict(self).items():
            if value <= 0 and name != "output_bytes":
                raise InvalidInput(f"expected {name} to be positive, got {value!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The result of running a program. Two results are equal if they differ in `seconds` only."""

    outcome: Outcome
    """`passed` (program and tests ran to the end), `failed` (the tests raised), `error` (the program raised, or
    exited), `timeout` or `memory`."""

    detail: str = ""
    """Exception and its position in one line. Empty if the program passed."""

    output: str = ""
    """Beginning of the program's output."""

    printed: str = ""
    """Digest of the program's whole output."""

    values: Mapping[str, str] = field(default_factory=dict)
    """Digest of each public variable at the end of a program without tests, keyed by name. Empty for functions."""

    seconds: float = field(default=0.0, compare=False)


class Sandbox:
    """A sandbox that runs programs, two at a time on two processors. Close it, or use it as a context manager.

    A sandbox must not be used by several threads at once.
    """

    def __init__(
        self,
        limits: RunLimits | None = None,
        *,
        path: Sequence[str | Path] = (),
        n_workers: int | None = None,
        is_confined: bool = True,
    ) -> None:
        """Store the settings. Processes start with the first program.

        Args:
            path: Directories of modules that programs may import before all others. Programs may read their files.
            n_workers: Number of programs that run at the same time. None for the default.
            is_confined: False turns off kernel confinement, for systems without it.
        """
        self._limits = limits or RunLimits()
        self._path = tuple(str(Path(directory).resolve()) for directory in path)
        self._n_workers = n_workers or min(os.cpu_count() or 1, MAX_WORKERS)
        self._is_confined = is_confined
        self._workers: list[_Worker] = []
        self._preloaded: frozenset[str] = frozenset()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def enforced(self) -> frozenset[str]:
        """The restrictions that the kernel enforces here: `network`, `processes`, `files`."""
        return self._ready_workers([], 1)[0].enforced

    def run(self, source: str, tests: str = "") -> RunResult:
        """Run one program followed by its tests, and return the result."""
        return self.run_all([(source, tests)])[0]

    def run_all(
        self,
        programs: Sequence[tuple[str, str]],
        *,
        on_progress: Progress | None = None,
        is_cancelled: Callable[[], bool] | None = None,
    ) -> list[RunResult]:
        """Run programs, each followed by its tests, and return their results in order.

        Args:
            programs: Pairs of a source and the tests that follow it, which may be empty.
            is_cancelled: Called about ten times a second.

        Raises:
            Cancelled: `is_cancelled` returned True. Running programs were ended.
        """
        try:
            return self._run_all(programs, on_progress, is_cancelled)
        except BaseException:
            self.close()  # otherwise these programs would continue during the next call
            raise

    def _run_all(
        self,
        programs: Sequence[tuple[str, str]],
        on_progress: Progress | None,
        is_cancelled: Callable[[], bool] | None,
    ) -> list[RunResult]:
        """Run the programs in the worker processes. Return the results in the order of the programs."""
        results_queue: SimpleQueue[tuple[int, RunResult | Exception]] = SimpleQueue()
        numbered_programs = iter(enumerate(programs))
        lock = threading.Lock()
        for worker in self._ready_workers([text for program in programs for text in program], len(programs)):
            shared_programs = _take_one_at_a_time(numbered_programs, lock)
            threading.Thread(
                target=_run_in_worker, args=(worker, shared_programs, results_queue, self._limits), daemon=True
            ).start()
        results: dict[int, RunResult] = {}
        while len(results) < len(programs):
            if is_cancelled is not None and is_cancelled():
                raise Cancelled("the run was cancelled; nothing was changed")
            with suppress(Empty):
                position, result = results_queue.get(timeout=CANCEL_CHECK_SECONDS)
                if isinstance(result, Exception):
                    raise result
                results[position] = result
                if on_progress is not None:
                    on_progress(len(results), len(programs))
        return [results[position] for position in range(len(programs))]

    def close(self) -> None:
        """End the worker processes and the programs that they run."""
        for worker in self._workers:
            worker.close()
        self._workers = []

    def _ready_workers(self, sources: Iterable[str], n_programs: int) -> list[_Worker]:
        """Return worker processes that have preloaded the slow modules of these programs."""
        modules = self._preloaded | slow_modules(sources, self._path)
        if modules != self._preloaded:
            self.close()
            self._preloaded = modules
        while len(self._workers) < min(n_programs, self._n_workers):
            self._workers.append(_Worker(tuple(sorted(self._preloaded)), self._path, self._is_confined))
        return self._workers


def run(source: str, tests: str = "", limits: RunLimits | None = None) -> RunResult:
    """Run one program, followed by its tests, in a new sandbox. Use `Sandbox` to run several."""
    with Sandbox(limits) as sandbox:
        return sandbox.run(source, tests)


def _take_one_at_a_time(items: Iterator[Any], lock: threading.Lock) -> Iterator[Any]:
    """Yield items of an iterator that several threads share."""
    while True:
        with lock:
            item = next(items, None)
        if item is None:
            return
        yield item


def _run_in_worker(
    worker: _Worker,
    programs: Iterator[tuple[int, tuple[str, str]]],
    results_queue: SimpleQueue[tuple[int, RunResult | Exception]],
    limits: RunLimits,
) -> None:
    """Run programs one after another in a worker, and put their results into the queue."""
    for position, (source, tests) in programs:
        try:
            result: RunResult | Exception | None = worker.run(source, tests, limits)
        except Exception as error:  # noqa: BLE001 - raised again by `_run_all`, which would otherwise wait for ever
            result = error
        if result is None:
            return
        results_queue.put((position, result))


def _parse_result(answer: Mapping[str, Any]) -> RunResult:
    """Return the result in a worker's answer. Validate the answer, because a program may forge it."""
    texts = [answer.get(name) for name in ("detail", "output", "printed")]
    values = answer.get("values")
    is_valid = (
        answer.get("outcome") in get_args(Outcome)
        and isinstance(values, dict)
        and all(isinstance(text, str) for text in (*texts, *values, *values.values()))
    )
    if not is_valid:
        return RunResult(outcome="error", detail="its report of the result is invalid")
    values_by_field: dict[str, Any] = {
        field.name: answer[field.name] for field in fields(RunResult) if field.name in answer
    }
    return RunResult(**values_by_field)


class _Worker:
    """A process of the fork server. It is restarted if a program ends it."""

    def __init__(self, preloaded: tuple[str, ...], path: tuple[str, ...], is_confined: bool) -> None:
        self._preloaded = preloaded
        self._path = path
        self._is_confined = is_confined
        self._is_closed = False
        self._lock = threading.Lock()
        self._directory = tempfile.TemporaryDirectory(prefix="atlas-run-", ignore_cleanup_errors=True)
        self._start()

    def run(self, source: str, tests: str, limits: RunLimits) -> RunResult | None:
        """Run a program and return its result, or None if the worker was closed during the run."""
        request = {"source": source, "tests": tests, **asdict(limits)}
        line = json.dumps(request).encode() + b"\n"
        answer = self._ask(line, limits.wall_seconds + GRACE_SECONDS)
        if answer is not None:
            return _parse_result(answer)
        with self._lock:
            if self._is_closed:
                return None
            self._end()
            self._start()
        return RunResult(outcome="error", detail="it ended the process that ran it")

    def close(self) -> None:
        """End the process and the program that it runs."""
        with self._lock:
            self._is_closed = True
            self._end()
        clear_directory(self._directory.name)
        self._directory.cleanup()

    def _start(self) -> None:
        if not hasattr(os, "fork"):
            raise AtlasError(f"expected Linux or macOS to run programs, got {sys.platform!r}")
        packages = {
            "atlas": str(_OWN_DIRECTORY.parents[1]),
            "atlas.learning": str(_OWN_DIRECTORY.parent),
            "atlas.learning.sandbox": str(_OWN_DIRECTORY),
        }
        code = _START_CODE.format(
            packages=packages, preloaded=self._preloaded, path=self._path, is_confined=self._is_confined
        )
        self._child = subprocess.Popen(
            [sys.executable, "-s", "-P", "-W", "ignore", "-X", "utf8", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd=self._directory.name,
            env={
                "PYTHONHASHSEED": "0",
                "PYTHONDONTWRITEBYTECODE": "1",
                "OPENBLAS_NUM_THREADS": "1",
                "OMP_NUM_THREADS": "1",
                "LC_ALL": "C.UTF-8",
            },
            start_new_session=True,
        )
        ready = self._read_answer(GRACE_SECONDS * 3)
        if ready is None:
            raise AtlasError(
                f"the sandbox process ({sys.executable}) ended or did not answer within {GRACE_SECONDS * 3:g} s; check "
                "the free memory"
            )
        self.enforced: frozenset[str] = frozenset(ready["enforced"])

    def _ask(self, line: bytes, seconds: float) -> dict[str, Any] | None:
        """Send a request to the process. Return its answer, or None if the process ends or the time runs out."""
        assert self._child.stdin is not None
        try:
            view = memoryview(line)
            while view:
                view = view[self._child.stdin.write(view) :]
        except (OSError, ValueError):  # the process has ended, or was closed
            return None
        return self._read_answer(seconds)

    def _read_answer(self, seconds: float) -> dict[str, Any] | None:
        """Return the next answer of the process, or None if the process ends or the time runs out."""
        assert self._child.stdout is not None
        line, deadline = b"", time.monotonic() + seconds
        poll = select.poll()
        try:
            poll.register(self._child.stdout, select.POLLIN)
            while not line.endswith(b"\n"):
                remaining = deadline - time.monotonic()
                if remaining <= 0 or not poll.poll(remaining * 1000):
                    return None
                chunk = self._child.stdout.read(2**16)
                if not chunk:
                    return None
                line += chunk
        except (OSError, ValueError):  # the pipe was closed while waiting
            return None
        return dict(json.loads(line))

    def _end(self) -> None:
        self._child.kill()  # the kernel ends its running program too, or else the program ends at its limits
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
