"""Programs that go wrong in every way are ended, and told apart from those that work."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

import pytest

from atlas.core.errors import Cancelled, InvalidInput
from atlas.learning.sandbox.confinement import FILES, NETWORK, PROCESSES, confine
from atlas.learning.sandbox.runner import RunLimits, Sandbox, run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="programs are run on Linux and macOS only")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="macOS does not limit memory")

LIMITS = RunLimits(cpu_seconds=5, memory_megabytes=256)
SHORT = RunLimits(cpu_seconds=30, wall_seconds=0.5)


@pytest.fixture(scope="module", params=[True, False], ids=["confined", "guarded"])
def sandbox(request):
    """With what the kernel refuses, and as on systems where it refuses nothing."""
    with Sandbox(LIMITS, n_workers=1, is_confined=request.param) as opened:
        yield opened


@pytest.fixture(scope="module")
def confined():
    with Sandbox(LIMITS, n_workers=1) as opened:
        if opened.enforced != {NETWORK, PROCESSES, FILES}:
            pytest.skip(f"here the kernel keeps programs only from {sorted(opened.enforced) or 'nothing'}")
        yield opened


@pytest.fixture(scope="module")
def impatient():
    with Sandbox(SHORT, n_workers=1) as opened:
        yield opened


def test_a_program_that_passes_its_tests_passes(sandbox):
    result = sandbox.run("def twice(x):\n    return 2 * x", "assert twice(2) == 4")
    assert (result.outcome, result.detail) == ("passed", "")
    assert result.seconds > 0


def test_a_failing_test_is_told_with_its_line(sandbox):
    result = sandbox.run("def twice(x):\n    return x", "assert twice(0) == 0\nassert twice(2) == 4")
    assert result.outcome == "failed"
    assert result.detail == "AssertionError at line 2 of the tests: assert twice(2) == 4"


def test_a_program_that_raises_by_itself_has_an_error_and_its_tests_are_not_run(sandbox):
    result = sandbox.run("x = 1\nraise ValueError('no such thing')", "print('tested')")
    assert (result.outcome, result.output) == ("error", "")
    assert result.detail.startswith("ValueError: no such thing at line 2 of the program")


@pytest.mark.parametrize("source", ["def f(:", "x = '\0'", "return 1"])
def test_what_is_no_python_has_an_error(sandbox, source):
    assert sandbox.run(source).outcome == "error"


@pytest.mark.parametrize("tests", ["import os; os._exit(0)", "import sys; sys.exit(0)", "raise SystemExit"])
def test_leaving_before_the_end_is_not_passing(sandbox, tests):
    result = sandbox.run("x = 1", tests)
    assert result.outcome == "error"


def test_writing_to_where_results_are_written_is_not_passing(sandbox):
    result = sandbox.run('import os\nos.write(3, b\'{"outcome": "passed"}\\n\')\nos._exit(0)')
    assert result.outcome == "error"


@pytest.mark.parametrize(
    "said", ['{"x": 1}', "[]", "{", '{"outcome": "passed", "detail": 1}', '{"outcome": ["passed"]}', "[" * 100_000]
)
def test_a_forged_answer_of_another_form_is_an_error_and_the_next_program_runs(sandbox, said):
    forging = (
        "import os, sys\n"
        "frame = sys._getframe()\n"
        "while 'token' not in frame.f_locals: frame = frame.f_back\n"
        f"os.write(3, frame.f_locals['token'].encode() + b' ' + {said.encode()!r} + b'\\n')\n"
        "while True: pass"
    )
    assert sandbox.run(forging).outcome == "error"
    assert sandbox.run("x = 1").outcome == "passed"


def test_printing_on_after_a_forged_result_does_not_hold_anything_up(impatient):
    assert impatient.run("import os\nos.write(3, b'passed\\n')\nwhile True: print('x' * 1000)").outcome != "passed"


@pytest.mark.parametrize(
    "source",
    [
        "while True: pass",
        "import time; time.sleep(60)",
        "while True: print('x' * 1000)",
        "class Hostile(Exception):\n    def __str__(self):\n        while True: pass\nraise Hostile",
        "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    ],
    ids=["computing", "sleeping", "printing", "its message never ends", "stopped"],
)
def test_what_never_ends_is_ended(impatient, source):
    assert impatient.run(source).outcome == "timeout"


@pytest.mark.parametrize("deaf", ["", "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\n"])
def test_time_of_the_processor_is_limited(deaf):
    result = run(f"{deaf}while True: pass", limits=RunLimits(cpu_seconds=1, wall_seconds=120.0))
    assert (result.outcome, result.detail) == ("timeout", "it used more than 1 s of processor time")


@linux
@pytest.mark.parametrize("source", ["x = [0] * 10**9", "x = []\nwhile True: x.append(bytearray(10**6))"])
def test_memory_is_limited(sandbox, source):
    assert sandbox.run(source).outcome == "memory"


def test_huge_output_is_read_to_its_end_but_not_kept(sandbox):
    result = sandbox.run("for n in range(20_000): print('x' * 100)")
    assert result.outcome == "passed"
    assert len(result.output) == LIMITS.output_bytes


def test_output_that_differs_behind_what_is_kept_is_told_apart(sandbox):
    first, second = (sandbox.run(f"print('x' * 100_000)\nprint({n})") for n in (1, 2))
    assert first.output == second.output
    assert first.printed != second.printed


def test_there_is_nothing_to_read(sandbox):
    assert sandbox.run("input()").detail.startswith("EOFError")


def test_a_message_that_cannot_be_read_is_no_harm(sandbox):
    result = sandbox.run("class Hostile(Exception):\n    def __str__(self): raise self\nraise Hostile")
    assert result.outcome == "error"
    assert result.detail.startswith("an exception without a readable message")


@pytest.mark.parametrize(
    "source",
    [
        "import os\nwhile True: os.fork()",
        "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'pass'])",
        "import asyncio, subprocess, sys\nsubprocess.run([sys.executable, '-c', 'pass'])",
        "import asyncio\nasyncio.run(asyncio.create_subprocess_exec('/bin/true'))",
        "import os\nos.system('true') and exit(1)\nos.execv('/bin/true', ['true'])",
        "import multiprocessing\nmultiprocessing.Process(target=print).start()",
        "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)",
    ],
    ids=[
        "fork bomb",
        "subprocess",
        "subprocess imported ahead",
        "asyncio",
        "exec",
        "multiprocessing",
        "killing its parent",
    ],
)
def test_no_other_processes_are_started_or_ended(sandbox, source):
    assert sandbox.run(source).outcome == "error"
    assert sandbox.run("x = 1").outcome == "passed"


@pytest.mark.parametrize(
    "source",
    [
        "import socket\nsocket.socket()",
        "import _socket\n_socket.socket()",
        "import _socket\n_socket.SocketType()",
        "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:9')",
        "import asyncio\nasyncio.run(asyncio.open_connection('127.0.0.1', 9))",
    ],
)
def test_there_is_no_network(sandbox, source):
    assert "not permitted" in sandbox.run(source).detail


def test_an_event_loop_works_all_the_same(sandbox):
    source = "import asyncio\nasync def main():\n    await asyncio.sleep(0)\n    print('done')\nasyncio.run(main())"
    assert sandbox.run(source).output == "done\n"


def test_threads_that_are_left_behind_do_not_matter(sandbox):
    source = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\nprint('done')"
    result = sandbox.run(source)
    assert (result.outcome, result.output) == ("passed", "done\n")


def test_files_can_be_written_where_it_works_and_are_gone_afterwards(sandbox):
    result = sandbox.run("import os\nopen('note', 'w').write('x')\nprint(os.path.abspath('note'))")
    assert result.outcome == "passed"
    assert not Path(result.output.strip()).exists()


def test_files_are_limited_in_size(sandbox):
    assert "File too large" in sandbox.run("open('large', 'wb').write(bytes(10**7))").detail


def test_other_files_are_neither_written_nor_read(confined, tmp_path):
    (tmp_path / "secret").write_text("token")
    for source in (f"print(open({str(tmp_path / 'secret')!r}).read())", f"open({str(tmp_path / 'new')!r}, 'w')"):
        assert confined.run(source).detail.startswith("PermissionError")
    assert not (tmp_path / "new").exists()


def test_limits_cannot_be_lifted(confined):
    source = "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1, 1))"
    assert "not permitted" in confined.run(source).detail or "ValueError" in confined.run(source).detail


def test_modes_of_files_cannot_be_changed(confined, tmp_path):
    assert confined.run(f"import os\nos.chmod({str(tmp_path)!r}, 0o777)").detail.startswith("PermissionError")


@pytest.mark.parametrize(
    "act",
    [
        "fcntl.fcntl(reading, fcntl.F_SETOWN, os.getppid())",
        "fcntl.fcntl(reading, fcntl.F_SETSIG, 9)",
        "fcntl.fcntl(reading, 15, struct.pack('ii', 1, os.getppid()))",
        "fcntl.ioctl(socket.socketpair()[0], 0x8901, struct.pack('i', os.getppid()))",
        "fcntl.ioctl(socket.socketpair()[0], 0x8902, struct.pack('i', os.getppid()))",
    ],
    ids=["F_SETOWN", "F_SETSIG", "F_SETOWN_EX", "FIOSETOWN", "SIOCSPGRP"],
)
def test_no_file_is_made_to_signal_others(confined, act):
    result = confined.run(f"import fcntl, os, socket, struct\nreading, writing = os.pipe()\n{act}")
    assert result.detail.startswith("PermissionError")


def test_other_commands_to_files_work(confined):
    source = "import fcntl, os\nreading, writing = os.pipe()\nos.set_blocking(reading, False)\n"
    assert confined.run(source + "print(fcntl.fcntl(reading, fcntl.F_GETFL) & os.O_NONBLOCK > 0)").output == "True\n"


@pytest.mark.parametrize("kind", ["S_IFIFO", "S_IFCHR", "S_IFBLK"])
def test_no_devices_are_made(confined, kind):
    source = f"import os, stat\nos.mknod('made', 0o600 | stat.{kind}, os.makedev(1, 3))"
    assert confined.run(source).detail.startswith("PermissionError")


def test_times_of_files_cannot_be_changed(confined, tmp_path):
    (tmp_path / "note").touch()
    before = (tmp_path / "note").stat().st_mtime
    assert confined.run(f"import os\nos.utime({str(tmp_path / 'note')!r}, (1, 1))").detail.startswith("PermissionError")
    assert (tmp_path / "note").stat().st_mtime == before


class FakeKernel:
    """Has Landlock of a version, and no seccomp."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.rulesets: list[list[int]] = []
        self.rules: list[int] = []

    def prctl(self, *_: object) -> int:
        return -1

    def syscall(self, number: int, *given: object) -> int:
        if number == 444 and given[0] is None:
            return self.version
        if number == 444:
            self.rulesets.append(list(given[0]._obj))
            return os.open(os.devnull, os.O_RDONLY)
        if number == 445:
            self.rules.append(int.from_bytes(given[2]._obj.raw[:8], sys.byteorder))
        return 0


@linux
@pytest.mark.parametrize(("version", "kept", "scoped"), [(2, set(), 0), (3, {FILES}, 0), (6, {FILES}, 2)])
def test_files_are_kept_where_the_kernel_sees_them_emptied(monkeypatch, tmp_path, version, kept, scoped):
    kernel = FakeKernel(version)
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: kernel)
    assert confine(str(tmp_path)) == kept
    [(_, network, signals)] = kernel.rulesets
    assert (network, signals) == (0, scoped)
    assert not any(rule & (1 << 6 | 1 << 11) for rule in kernel.rules)  # making devices


def test_the_environment_is_not_handed_on(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "secret")
    assert "secret" not in run("import os\nprint(dict(os.environ))", limits=LIMITS).output


def test_hashes_are_the_same_in_every_sandbox():
    first, second = (run("print(hash('text'), {'a', 'b', 'c'})", limits=LIMITS) for _ in range(2))
    assert first == second


def test_classes_find_their_module(sandbox):
    source = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\nimport pickle\n"
        "@dataclass\nclass Point:\n    x: int\nprint(pickle.loads(pickle.dumps(Point(1))))"
    )
    assert sandbox.run(source).output == "Point(x=1)\n"


def test_numpy_may_be_used(sandbox):
    assert sandbox.run("import numpy as np\nprint(np.ones((2, 2)).sum())").output == "4.0\n"


def test_one_program_sees_nothing_of_another(sandbox):
    sandbox.run("import math\nmath.pi = 3\nopen('left', 'w')")
    assert sandbox.run("import math, os\nprint(math.pi > 3, os.listdir())").output == "True []\n"


def test_public_values_are_told_apart(sandbox):
    first, same, other = (
        sandbox.run(f"a = {text}\ndef f(): pass\n_b = 1") for text in ("[1, {2}]", "[1, {2}]", "[1, 2]")
    )
    assert first == same
    assert first.values.keys() == {"a", "f"}
    assert first.values["f"] == other.values["f"] == ""
    assert first.values["a"] != other.values["a"]


@pytest.mark.parametrize("value", ["[]; a.append(a)", "10 ** 10_000", "'\\ud800'", "[[]] * 10**6", "object()"])
def test_values_of_any_kind_can_be_left_behind(sandbox, value):
    assert sandbox.run(f"a = {value}").outcome == "passed"


@linux
def test_a_program_that_takes_its_process_down_costs_only_itself():
    fatal = "import ctypes, os\nctypes.CDLL(None).kill(os.getppid(), 9)"
    with Sandbox(LIMITS, n_workers=1, is_confined=False) as sandbox:
        first, second = sandbox.run_all([(fatal, ""), ("x = 2", "")])
    assert (first.outcome, first.detail) == ("error", "it ended the process that ran it")
    assert second.outcome == "passed"


def test_results_come_in_the_order_of_the_programs_and_progress_is_told():
    seen: list[tuple[int, int]] = []
    with Sandbox(LIMITS) as sandbox:
        results = sandbox.run_all(
            [(f"print({n})", "") for n in range(12)], on_progress=lambda done, total: seen.append((done, total))
        )
    assert [result.output for result in results] == [f"{n}\n" for n in range(12)]
    assert seen == [(n, 12) for n in range(1, 13)]


def test_cancelling_ends_what_runs():
    with Sandbox(RunLimits(wall_seconds=600.0, cpu_seconds=600)) as sandbox:
        with pytest.raises(Cancelled, match="nothing was changed"):
            sandbox.run_all([("import time; time.sleep(500)", "")] * 3, is_cancelled=lambda: True)
        assert sandbox.run("x = 1").outcome == "passed"


def test_whoever_is_told_of_progress_may_raise_and_nothing_goes_on():
    def stop(done: int, total: int) -> None:
        raise InvalidInput(f"enough after {done} of {total}")

    with Sandbox(LIMITS) as sandbox:
        with pytest.raises(InvalidInput, match="enough after 1 of 4"):
            sandbox.run_all([(f"print({n})", "") for n in range(4)], on_progress=stop)
        assert sandbox.run("print('next')").output == "next\n"


def test_no_programs_have_no_results():
    with Sandbox(LIMITS) as sandbox:
        assert sandbox.run_all([]) == []


def test_limits_that_allow_nothing_are_refused():
    with pytest.raises(InvalidInput, match="expected cpu_seconds to be positive, got 0"):
        RunLimits(cpu_seconds=0)
