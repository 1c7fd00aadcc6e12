"""The process that forks itself for each program, and reports in one line how the program ended.

Of ATLAS it imports only `confinement`, and `runner` starts it without ATLAS on its path, so that a fork is cheap and
contains no secrets. Requests and answers are lines of JSON on its original stdin and stdout.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import resource
import select
import signal
import sys
import tempfile
import time
import types
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from atlas.learning.sandbox.confinement import (
    PROCESSES,
    confine,
    disable_functions,
    end_with_parent,
    set_resource_limits,
)
from atlas.learning.sandbox.directory import MEASURE_SECONDS, WorkingDirectory

Message = dict[str, Any]

MAX_ANSWER_BYTES = 2**20
MAX_DETAIL_CHARACTERS = 300
MAX_VALUE_PARTS = 10_000
"""Parts of a final value that are compared. The remaining parts of a larger value are ignored."""

_READ_BYTES = 2**16
_RESULT_DESCRIPTOR = 3  # the file descriptor on which the fork reports its result


def main(preloaded: tuple[str, ...], path: tuple[str, ...], is_confined: bool) -> None:
    """Serve requests until stdin is closed.

    Args:
        preloaded: Modules to import once for all programs. Missing ones are skipped.
        path: Directories of modules that programs may import. Programs may read their files.
        is_confined: False disables kernel confinement, for systems without it.
    """
    requests, answers = os.dup(0), os.dup(1)
    null_device = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null_device, descriptor)
    preloaded_megabytes = _preload(preloaded)
    enforced = _supported_restrictions() if is_confined else frozenset()
    _send_line(answers, {"enforced": sorted(enforced)})
    pending = b""
    while True:
        while b"\n" not in pending:
            chunk = os.read(requests, _READ_BYTES)
            if not chunk:
                return
            pending += chunk
        line, _, pending = pending.partition(b"\n")
        _send_line(
            answers,
            _run_request(
                {**json.loads(line), "enforced": enforced, "path": path, "ahead": preloaded_megabytes}, requests
            ),
        )


def _preload(modules: tuple[str, ...]) -> int:
    """Import modules. Return the megabytes of address space that they use, to add to the memory limit of programs."""
    bytes_before = _address_space()
    for name in modules:
        with suppress(Exception):  # the programs that import a broken package report it themselves
            importlib.import_module(name)
    return (_address_space() - bytes_before) // 2**20


def _address_space() -> int:
    """Return the bytes of this process's address space, 0 if it is unknown."""
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def _supported_restrictions() -> frozenset[str]:
    """Return the restrictions that the kernel enforces, by confining a test process."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if not pid:
        os.write(write_end, " ".join(confine(str(Path.cwd()))).encode())
        os._exit(0)
    os.close(write_end)
    answer = os.read(read_end, _READ_BYTES)
    os.close(read_end)
    os.waitpid(pid, 0)
    return frozenset(answer.decode().split())


def _run_request(request: Message, requests: int) -> Message:
    """Run a program in a fork, and return how it ended, with its output and the seconds that it took."""
    directory = WorkingDirectory(request["disk_megabytes"])
    results, results_end = os.pipe()
    printed, printed_end = os.pipe()
    token = os.urandom(16).hex()
    started = time.monotonic()
    pid = os.fork()
    if not pid:
        _run_in_fork(request, results_end, printed_end, directory.path, token)
    os.close(results_end)
    os.close(printed_end)
    listener = _Listener(request["output_bytes"])
    try:
        is_past_deadline = listener.listen(results, printed, requests, started + request["wall_seconds"], directory)
    finally:
        status, usage = _kill(pid)
        os.close(results)
        os.close(printed)
        is_full = directory.is_full()
        directory.remove()
    if is_full:
        answer = _make_answer("error", f"the program's files took more than {request['disk_megabytes']} MB")
    else:
        answer = _reported_answer(listener.result, token) or _inferred_answer(status, usage, is_past_deadline, request)
    return {**answer, **listener.output(), "seconds": time.monotonic() - started}


class _Listener:
    """A reader of the two pipes of a fork, which keeps the beginning of the output and a digest of all of it."""

    def __init__(self, output_bytes: int) -> None:
        self.result = b""
        self._output_bytes = output_bytes
        self._output = b""
        self._digest = hashlib.sha256()

    def listen(self, results: int, printed: int, requests: int, deadline: float, directory: WorkingDirectory) -> bool:
        """Read until the fork ends or fills its directory. Return True if the deadline passed before."""
        os.set_blocking(printed, False)
        open_pipes = {results, printed}
        while results in open_pipes and b"\n" not in self.result and len(self.result) <= MAX_ANSWER_BYTES:
            seconds = min(max(deadline - time.monotonic(), 0), MEASURE_SECONDS)
            ready, _, _ = select.select([*open_pipes, requests], [], [], seconds)
            if requests in ready:
                raise SystemExit  # requests come one at a time, so this is the end of stdin
            open_pipes -= {pipe for pipe in ready if not self._read(pipe, results)}
            if directory.is_full_throttled() or time.monotonic() > deadline:
                return time.monotonic() > deadline
        while printed in open_pipes and self._read(printed, results):
            if time.monotonic() > deadline:
                return True
        return False

    def _read(self, pipe: int, results: int) -> bool:
        try:
            chunk = os.read(pipe, _READ_BYTES)
        except BlockingIOError:
            return False
        if pipe == results:
            self.result += chunk
        else:
            self._digest.update(chunk)
            self._output += chunk[: self._output_bytes - len(self._output)]
        return bool(chunk)

    def output(self) -> Message:
        return {"output": self._output.decode("utf-8", "replace"), "printed": self._digest.hexdigest()}


def _kill(pid: int) -> tuple[int, resource.struct_rusage]:
    """End a fork and its process group. Return its exit status and the resources that it used."""
    for kill in (os.killpg, os.kill):
        with suppress(OSError):
            kill(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    return status, usage


def _reported_answer(message: bytes, token: str) -> Message | None:
    """Return the result that the fork reported, or None if there is no valid report that begins with the token."""
    prefix, _, body = message.partition(b"\n")[0].partition(b" ")
    if prefix != token.encode() or not message.endswith(b"\n"):
        return None
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):  # forged by a program that found the token
        return None
    return answer if isinstance(answer, dict) else None


def _inferred_answer(status: int, usage: resource.struct_rusage, is_past_deadline: bool, request: Message) -> Message:
    """Return a result for a fork that ended without a report, inferred from its exit status."""
    if is_past_deadline:
        return _make_answer("timeout", f"it took longer than {request['wall_seconds']:g} s")
    code = os.waitstatus_to_exitcode(status)
    cpu_seconds = usage.ru_utime + usage.ru_stime
    is_killed_at_limit = code == -signal.SIGKILL and cpu_seconds >= request["cpu_seconds"]
    if is_killed_at_limit or code == -signal.SIGXCPU:
        return _make_answer("timeout", f"it used more than {request['cpu_seconds']} s of processor time")
    ending = f"by signal {-code}" if code < 0 else f"with status {code}"
    return _make_answer("error", f"its process ended {ending} before the program did")


def _run_in_fork(request: Message, results: int, printed: int, directory: str, token: str) -> NoReturn:
    """Run the program in this fork, confined, and report its result."""
    exit_process, write, encode = os._exit, os.write, json.dumps  # saved, because a program may replace them
    try:
        try:
            _set_up_fork(request, results, printed, directory)
        except (OSError, ValueError) as error:
            write(
                results, f"{token} {encode(_make_answer('error', f'it cannot be confined here: {error}'))}\n".encode()
            )
            exit_process(0)
        answer = _run_source_and_tests(request["source"], request["tests"])
        line = f"{token} {encode(answer)}\n".encode()
        while line:
            line = line[write(_RESULT_DESCRIPTOR, line) :]
    finally:
        exit_process(0)


def _set_up_fork(request: Message, results: int, printed: int, directory: str) -> None:
    """Make this fork ready for a program: redirect its output, limit its resources, and confine it."""
    os.setsid()
    end_with_parent()
    os.dup2(results, 255)  # out of the way of the descriptors that are set next
    os.dup2(printed, 1)
    os.dup2(255, _RESULT_DESCRIPTOR)
    os.closerange(_RESULT_DESCRIPTOR + 1, 4096)
    os.chdir(directory)
    os.environ.update(HOME=directory, TMPDIR=directory)
    tempfile.tempdir = directory
    sys.argv = ["program"]
    sys.stdin, sys.stdout, sys.stderr = (open(fd, mode, encoding="utf-8") for fd, mode in enumerate("rww"))  # noqa: SIM115, PTH123
    set_resource_limits(
        cpu_seconds=request["cpu_seconds"],
        memory_megabytes=request["memory_megabytes"] + request["ahead"],
        file_megabytes=request["file_megabytes"],
    )
    if request["enforced"]:
        confine(directory, request["path"])
    if PROCESSES not in request["enforced"]:
        disable_functions()
    sys.path[:0] = request["path"]  # only now, because these directories may contain any code
    _drop_shadowing_modules(request["path"])


def _drop_shadowing_modules(path: list[str]) -> None:
    """Remove modules from `sys.modules` that would shadow modules of the same name in these directories.

    Modules that Python imports at startup stay, as in an ordinary run of the program.
    """
    files = [file for directory in map(Path, path) if directory.is_dir() for file in directory.iterdir()]
    shadowed = {file.stem for file in files if file.suffix == ".py" or (file / "__init__.py").is_file()}
    for name in [name for name in sys.modules if name.partition(".")[0] in shadowed]:
        spec = getattr(sys.modules[name], "__spec__", None)  # an entry need not be a module
        if spec is not None and spec.origin not in ("built-in", "frozen"):
            del sys.modules[name]


def _run_source_and_tests(source: str, tests: str) -> Message:
    """Run a program and then its tests. Return the result."""
    module = types.ModuleType("program")
    sys.modules["program"] = module  # dataclasses and pickle look up the module of a class
    flush = sys.stdout.flush
    for text, name, failure_outcome in ((source, "<program>", "error"), (tests, "<tests>", "failed")):
        answer = _run_text(text, name, module, failure_outcome)
        if answer is not None:
            break
    with suppress(BaseException):
        sys.stdout.flush()
    with suppress(BaseException):
        flush()
    return answer or {**_make_answer("passed", ""), "values": {} if tests else _public_values(module)}


def _run_text(text: str, name: str, module: types.ModuleType, failure_outcome: str) -> Message | None:
    """Run the source or the tests of a program. Return a result if an exception ended the run, otherwise None."""
    try:
        exec(compile(text, name, "exec", dont_inherit=True), module.__dict__)
    except MemoryError:
        return _make_answer("memory", "it exceeded its memory limit")
    except SystemExit as error:
        return _make_answer("error", f"it exited ({_describe_exception(error)})")
    except BaseException as error:  # noqa: BLE001 - any exception is a result of the program
        return _make_answer(failure_outcome, f"{_describe_exception(error)}{_error_location(error, text, name)}")
    return None


def _describe_exception(error: BaseException) -> str:
    """Return the type and message of an exception, or a fixed text if the exception's own code fails."""
    try:
        message = str(error)[:MAX_DETAIL_CHARACTERS]
        type_name = str(type.__getattribute__(type(error), "__name__"))
    except BaseException:  # noqa: BLE001 - `__str__` may be the program's code
        return "an exception without a readable message"
    return " ".join(f"{type_name}: {message}".split()) if message else type_name


def _error_location(error: BaseException, text: str, name: str) -> str:
    """Return the location of an exception: the innermost line of `text` in its traceback."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        line = trace.tb_lineno if trace.tb_frame.f_code.co_filename == name else line
        trace = trace.tb_next
    lines = text.splitlines()
    line_text = " ".join(lines[line - 1].split())[:MAX_DETAIL_CHARACTERS] if 0 < line <= len(lines) else ""
    return f" at line {line} of the {name.strip('<>')}: {line_text}" if line_text else ""


def _public_values(module: types.ModuleType) -> Message:
    """Return a digest of each public variable after the run, keyed by name.

    A digest is computed from the value, or from the type for values that cannot be compared. It is empty for callables.
    """
    digests = {}
    for name, value in list(vars(module).items()):
        if not name.startswith("_") and not isinstance(value, types.ModuleType):
            serialised = "\0".join(_serialise(value)).encode("utf-8", "surrogatepass")
            digests[name] = "" if callable(value) else hashlib.sha256(serialised).hexdigest()[:16]
    return digests


def _serialise(value: object) -> list[str]:
    """Return a value as strings that are equal for equal values of builtin types."""
    parts: list[str] = []
    stack: list[object] = [value]
    while stack and len(parts) < MAX_VALUE_PARTS:
        item = stack.pop()
        value_type = type(item)
        parts.append(str(type.__getattribute__(value_type, "__name__")))
        if value_type in (bool, float, complex, str, bytes):
            parts.append(repr(item))
        elif value_type is int:
            parts.append(hex(item))  # type: ignore[arg-type]  # Python limits the length of decimal numbers
        elif value_type is dict:
            stack += [len(item), *(part for pair in item.items() for part in pair)]  # type: ignore[arg-type, attr-defined]
        elif value_type in (list, tuple, set, frozenset):
            stack += [len(item), *item]  # type: ignore[arg-type, misc]
    return parts


def _make_answer(outcome: str, detail: str) -> Message:
    return {"outcome": outcome, "detail": detail, "values": {}}


def _send_line(answers: int, message: Message) -> None:
    line = json.dumps(message).encode() + b"\n"
    while line:
        line = line[os.write(answers, line) :]
