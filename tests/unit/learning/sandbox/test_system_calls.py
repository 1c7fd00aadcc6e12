"""A program on trial makes only the system calls on a list, on each processor that has one, and slows nobody down."""

from __future__ import annotations

import os
import platform
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from atlas.learning.sandbox.confinement import PROCESSES
from atlas.learning.sandbox.runner import RunLimits, Sandbox
from atlas.learning.sandbox.system_calls import filter_code

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux filters system calls")

KERNEL = Path(__file__).parents[3] / "support" / "kernel"
PID = 4_321
ALLOWED, EPERM, ENOSYS, KILLED = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
THREAD = 0x3D0F00


def refused(machine: str) -> set[str]:
    """Return the calls of a machine by which a program could reach beyond itself."""
    text = (KERNEL / "refused.txt").read_text().partition("\n")[2]
    return set(text.split()) & numbers(machine).keys()


def numbers(machine: str) -> Mapping[str, int]:
    column = 1 + list(ARCHITECTURES).index(machine)
    lines = (KERNEL / "system_calls.txt").read_text().splitlines()[1:]
    return {fields[0]: int(fields[column]) for fields in map(str.split, lines) if fields[column] != "-"}


def verdict(machine: str, number: int, *arguments: int, architecture: int | None = None) -> int:
    """Return what the filter returns, by running its instructions as the kernel does."""
    padded = [*arguments, *[0] * (6 - len(arguments))]
    call = struct.pack("iIQ6Q", number, architecture or ARCHITECTURES[machine], 0, *padded)
    steps = list(struct.iter_unpack("HBBI", filter_code(machine, PID)))
    position = accumulator = 0
    while True:
        code, if_so, if_not, operand = steps[position]
        position += 1
        if code == 0x06:
            return operand
        if code == 0x20:
            accumulator = struct.unpack_from("I", call, operand)[0]
        else:
            is_so = accumulator == operand if code == 0x15 else accumulator >= operand
            assert code in (0x15, 0x35)
            position += if_so if is_so else if_not


machines = pytest.mark.parametrize("machine", ARCHITECTURES)


@machines
def test_calls_that_reach_beyond_the_program_are_refused(machine):
    by_name = numbers(machine)
    answers = {name: verdict(machine, by_name[name], PID) for name in refused(machine)}
    assert len(answers) > 85
    assert {name for name, answer in answers.items() if answer not in (EPERM, ENOSYS)} == set()
    assert answers["setpriority"] == answers["sched_setaffinity"] == EPERM
    assert answers["clone3"] == answers["io_uring_setup"] == ENOSYS


@machines
def test_calls_that_every_program_makes_are_allowed(machine):
    names = "brk mmap munmap mprotect futex openat read write close newfstatat getdents64 exit_group sched_getaffinity"
    by_name = numbers(machine)
    assert {name: verdict(machine, by_name[name]) for name in names.split()} == dict.fromkeys(names.split(), ALLOWED)


@machines
def test_each_allowed_number_is_that_of_a_call_that_the_list_names_so(machine):
    names = {number: name for name, number in numbers(machine).items()}
    tried = [(PID,), (THREAD,), (0, 0, 0), (15,), (1, 1, 0)]
    allowed = {n for n in range(1_000) if any(verdict(machine, n, *arguments) == ALLOWED for arguments in tried)}
    assert allowed <= names.keys()
    assert not {names[number] for number in allowed} & refused(machine)
    assert {names[number] for number in allowed} >= {"kill", "tgkill", "prlimit64", "clone", "prctl", "socketpair"}


@machines
def test_what_a_later_kernel_adds_is_answered_as_by_one_without_it(machine):
    assert {verdict(machine, number) for number in (451, 463, 999, 0x40000000, 0x40000000 | 101)} == {ENOSYS}


@machines
def test_calls_of_another_architecture_end_the_program(machine):
    assert verdict(machine, 0, architecture=0x40000003) == KILLED


@machines
@pytest.mark.parametrize(
    ("name", "arguments", "is_allowed"),
    [
        ("kill", (PID, 9), True),
        ("kill", (PID + 1, 9), False),
        ("kill", (0, 9), False),
        ("kill", ((1 << 64) - PID, 9), False),
        ("tgkill", (PID, 5, 9), True),
        ("tgkill", (PID + 1, 5, 9), False),
        ("prlimit64", (0, 7, 0, 1), True),
        ("prlimit64", (PID, 7, 0, 1), True),
        ("prlimit64", (PID + 1, 7, 0, 1), False),
        ("prlimit64", (0, 7, 1, 0), False),
        ("prlimit64", (0, 7, 1 << 32, 0), False),
        ("clone", (THREAD,), True),
        ("clone", (0x7D0F00,), True),
        ("clone", (17,), False),
        ("clone", (THREAD | 0x40000000,), False),
        ("fcntl", (3, 4, 0), True),
        ("fcntl", (3, 8, 1), False),
        ("fcntl", (3, 1024, 1), False),
        ("ioctl", (3, 0x5401), True),
        ("ioctl", (3, 0x5412), False),
        ("madvise", (0, 0, 4), True),
        ("madvise", (0, 0, 100), False),
        ("prctl", (15,), True),
        ("prctl", (1,), False),
        ("socketpair", (1, 0x80001), True),
        ("socketpair", (1, 2), False),
        ("socketpair", (16, 1), False),
    ],
)
def test_arguments_decide_where_a_call_may_reach_others(machine, name, arguments, is_allowed):
    assert verdict(machine, numbers(machine)[name], *arguments) == (ALLOWED if is_allowed else EPERM)


def test_other_processors_have_no_filter():
    assert filter_code("riscv64", PID) == b""


@pytest.fixture(scope="module")
def confined():
    with Sandbox(RunLimits(cpu_seconds=30, memory_megabytes=512), n_workers=1) as opened:
        assert PROCESSES in opened.enforced
        yield opened


@pytest.fixture
def neighbour():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.communicate(b"\n")


def state(pid: int) -> object:
    return (
        os.getpriority(os.PRIO_PROCESS, pid),
        os.sched_getaffinity(pid),
        os.sched_getscheduler(pid),
        Path(f"/proc/{pid}/limits").read_text(),
    )


CALLING = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
space = ctypes.create_string_buffer(64)
address = ctypes.c_void_p(ctypes.addressof(space))
result = libc.syscall({number}, {arguments})
print(result, ctypes.get_errno())
"""


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("setpriority", "0, {pid}, 19"),
        ("setpriority", "0, 0, 19"),
        ("sched_setaffinity", "{pid}, 8, address"),
        ("sched_setscheduler", "{pid}, 5, address"),
        ("sched_setparam", "{pid}, address"),
        ("sched_setattr", "{pid}, address, 0"),
        ("ioprio_set", "1, {pid}, 3 << 13"),
        ("prlimit64", "{pid}, 0, address, None"),
        ("prlimit64", "{pid}, 0, None, address"),
        ("kill", "{pid}, 0"),
        ("kill", "{pid}, 19"),
        ("tkill", "{pid}, 19"),
        ("tgkill", "{pid}, {pid}, 19"),
        ("ptrace", "16, {pid}, None, None"),
        ("process_vm_readv", "{pid}, address, 1, address, 1, 0"),
        ("pidfd_open", "{pid}, 0"),
        ("migrate_pages", "{pid}, 8, address, address"),
        ("move_pages", "{pid}, 0, None, None, None, 0"),
        ("perf_event_open", "address, {pid}, -1, -1, 0"),
        ("swapon", "b'/dev/null', 0"),
        ("swapoff", "b'/dev/null'"),
        ("acct", "None"),
        ("syslog", "10, None, 0"),
        ("fanotify_init", "0, 0"),
        ("inotify_init1", "0"),
        ("userfaultfd", "0"),
        ("keyctl", "0, -3, 1"),
        ("bpf", "0, address, 64"),
        ("mount", "None, b'/', None, 1 << 17, None"),
        ("unshare", "0x10000000"),
        ("io_uring_setup", "8, address"),
        ("memfd_create", "b'x', 0"),
        ("sync", "0"),
        ("flock", "0, 1"),
        ("setsid", "0"),
    ],
)
def test_what_would_slow_or_watch_others_is_refused_and_they_stay_as_they_were(confined, neighbour, name, arguments):
    before = state(neighbour.pid)
    number = numbers(platform.machine())[name]
    source = CALLING.format(number=number, arguments=arguments.format(pid=neighbour.pid))
    assert confined.run(source).output in ("-1 1\n", "-1 38\n")
    assert state(neighbour.pid) == before
    assert neighbour.poll() is None


@pytest.mark.parametrize(
    "act",
    [
        "os.setpriority(os.PRIO_PROCESS, {pid}, 19)",
        "os.sched_setaffinity({pid}, [0])",
        "os.sched_setscheduler({pid}, os.SCHED_IDLE, os.sched_param(0))",
        "os.nice(5)",
    ],
)
def test_where_the_kernel_filters_nothing_pythons_own_functions_are_refused(neighbour, act):
    before = state(neighbour.pid)
    with Sandbox(n_workers=1, is_confined=False) as guarded:
        assert guarded.run(f"import os\n{act.format(pid=neighbour.pid)}").detail.startswith("PermissionError")
    assert state(neighbour.pid) == before


def test_a_pair_of_sockets_reaches_no_other_address(confined, tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(f"\0{tmp_path.name}-{os.getpid()}")
        address = listening.getsockname()
        send = f"socket.socketpair(type=kind)[0].sendto(b'x', {address!r})"
        source = "import socket\nfor kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM, socket.SOCK_SEQPACKET):\n"
        tried = f"    try:\n        {send}\n        print('sent')\n    except OSError:\n        print('refused')\n"
        assert confined.run(source + tried).output == "refused\n" * 3
        listening.setblocking(False)
        with pytest.raises(BlockingIOError):
            listening.recv(1)


ORDINARY = {
    "numpy": """
import numpy as np
numbers = np.random.default_rng(0).random((300, 300))
np.save("a.npy", numbers)
print((numbers @ np.load("a.npy", mmap_mode="r")).trace() > 0, np.linalg.inv(np.eye(50)).sum())
""",
    "threads": """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(4) as pool:
    print(sum(pool.map(lambda n: n * n, range(50))))
""",
    "temporary files": """
import tempfile, pathlib
with tempfile.TemporaryDirectory() as place, tempfile.NamedTemporaryFile() as note:
    note.write(b"x")
    pathlib.Path(place, "note").write_text("x")
    print(pathlib.Path(place, "note").read_text())
""",
    "copies": """
import shutil
open("a", "w").write("x")
print(shutil.copyfile("a", "b"), shutil.disk_usage(".").total > 0)
""",
    "a database": """
import sqlite3
with sqlite3.connect("a.db") as base:
    base.execute("create table t (n)")
    base.execute("insert into t values (1)")
    print(base.execute("select n from t").fetchall())
""",
    "an event loop": """
import asyncio
async def main():
    return await asyncio.gather(asyncio.to_thread(len, "ab"), asyncio.sleep(0, 1))
print(asyncio.run(main()))
""",
    "an alarm": """
import signal, time
signal.signal(signal.SIGALRM, lambda *_: print("rung"))
signal.setitimer(signal.ITIMER_REAL, 0.01)
signal.pause()
""",
    "a callback from C": """
import ctypes
kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
at = lambda address: ctypes.c_int.from_address(address).value
items = (ctypes.c_int * 3)(3, 1, 2)
ctypes.CDLL(None).qsort(items, 3, 4, kind(lambda a, b: at(a) - at(b)))
print(list(items))
""",
    "a memory map": """
import mmap
with mmap.mmap(-1, 4096) as area:
    area.write(b"x")
    print(area[:1])
""",
    "its own limits and processors": """
import os, resource
print(resource.getrlimit(resource.RLIMIT_CPU)[0], len(os.sched_getaffinity(0)) > 0)
""",
    "a signal to itself": """
import signal
signal.signal(signal.SIGUSR1, lambda *_: print("arrived"))
signal.raise_signal(signal.SIGUSR1)
""",
    "dates and random numbers": """
import datetime, secrets, uuid, zoneinfo
print(datetime.datetime.now().year > 2000, uuid.uuid4().version, secrets.token_hex(1) != "")
""",
    "compressed files": """
import gzip, pickle
with gzip.open("a", "wb") as file:
    pickle.dump([1], file)
print(pickle.load(gzip.open("a")))
""",
}


@pytest.mark.parametrize("source", ORDINARY.values(), ids=ORDINARY)
def test_ordinary_programs_run(confined, source):
    result = confined.run(source)
    assert (result.outcome, result.detail) == ("passed", "")
    assert result.output
