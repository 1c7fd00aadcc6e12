"""Limits that a process sets on itself, and the kernel keeps: seccomp, Landlock and resource limits.

Standard library only, because it is read by a process that holds nothing else. None of it can be taken back, not even
by root. It stops programs that go wrong. It is no jail for one that was written to break out of the kernel.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import signal
import struct
import sys
from collections.abc import Callable, Iterable

NETWORK, PROCESSES, FILES = "network", "processes", "files"
"""Restrictions: no sockets · no other processes started or signalled · no files but the directory it works in.

What they take up there in all is not bounded, only each of them.
"""

MEGABYTE = 2**20
MAX_OPEN_FILES = 64

_EPERM, _ENOSYS = 1, 38
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQUAL, _AT_LEAST, _HAS_BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_AUDIT_ARCH_X86_64, _X32_NUMBERS = 0xC000003E, 0x40000000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # where `struct seccomp_data` has them
_CLONE, _CLONE3, _CLONE_THREAD, _KILL_CALL, _TGKILL, _PRLIMIT = 56, 435, 0x10000, 62, 234, 302
_FCNTL, _IOCTL = 72, 16
_SET_OWNER = {_FCNTL: (8, 10, 15), _IOCTL: (0x8901, 0x8902)}
"""Commands that choose whom a file signals, and how: F_SETOWN, F_SETSIG, F_SETOWN_EX, FIOSETOWN, SIOCSPGRP."""

_REFUSED = (
    *(57, 58, 59, 322),  # fork, vfork, execve, execveat
    *(41, 425),  # socket, io_uring_setup; a socketpair reaches nobody, and asyncio needs it
    *(101, 310, 311, 200, 129, 297, 424, 434, 438),  # ptrace, process_vm_*, tkill, *sigqueueinfo, pidfd_*
    *(109, 155, 161, 165, 166, 272, 308, 160),  # setpgid, pivot_root, chroot, mount, umount2, unshare, setns, setrlimit
    *(90, 91, 268, 452, 92, 93, 94, 260, 188, 189, 190),  # chmod, chown and setxattr, which Landlock lets through
    *(132, 235, 261, 280, 133, 259),  # utime, utimes, futimesat, utimensat, which it lets through too; mknod, mknodat
    *(29, 64, 68, 240, 248, 249, 250),  # shared memory, semaphores, queues and keys, which outlive a process
    *(164, 227, 169, 170, 175, 176, 246, 313, 298, 321),  # clocks, reboot, host name, modules, kexec, perf, bpf
)
"""System calls of x86-64 that are refused, by the kernel's `syscall_64.tbl`."""

_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446  # the same on every architecture
_EXECUTE, _WRITE, _READ_FILE, _READ_DIRECTORY, _TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_MAKE_CHARACTER_DEVICE, _MAKE_BLOCK_DEVICE = 1 << 6, 1 << 11
_FILE_ACCESSES = {1: (1 << 13) - 1, 2: (1 << 14) - 1}
_TRUNCATING_SINCE = 3  # before, whatever could be reached could be emptied
_SCOPES_SINCE, _SCOPE_SIGNALS = 6, 1 << 1
_NEWEST_FILE_ACCESSES = (1 << 15) - 1  # from version 3; version 5 adds ioctl, which no program here needs
_READ_BY_ALL = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/dev/urandom", "/dev/zero")
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38


def confine(directory: str, readable: Iterable[str] = ()) -> frozenset[str]:
    """Give up, for good, what the kernel lets a process give up, and return which of the three it keeps from now on.

    Args:
        directory: The one place where files may be made and written; only Python's own files may be read besides.
        readable: More directories that may be read.
    """
    if not sys.platform.startswith("linux"):
        return frozenset()
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    kept = {FILES} if _restrict_files(libc, directory, readable) else set()
    return frozenset(kept | {NETWORK, PROCESSES} if _filter_calls(libc) else kept)


def limit(*, cpu_seconds: int, memory_megabytes: int, file_megabytes: int) -> None:
    """Set resource limits, before `confine` refuses to change them."""
    _set(resource.RLIMIT_CPU, cpu_seconds, cpu_seconds + 1)
    _set(resource.RLIMIT_AS, memory_megabytes * MEGABYTE)
    _set(resource.RLIMIT_FSIZE, file_megabytes * MEGABYTE)
    _set(resource.RLIMIT_NOFILE, MAX_OPEN_FILES)
    _set(resource.RLIMIT_CORE, 0)
    if not sys.platform.startswith("linux"):  # where threads would count as processes, and root would not be held
        _set(resource.RLIMIT_NPROC, 0)


def end_with_parent() -> None:
    """Have the kernel end this process when its parent ends. Without such a kernel nothing happens."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def refuse(*_: object, **__: object) -> None:
    """Refuse a call, in the place of a function that a confined program may not call."""
    raise PermissionError("a program that is tried out may not do this")


def guard() -> None:
    """Take from Python's modules what the kernel was not asked to refuse. It stops accidents, not intent."""
    import _posixsubprocess
    import _socket

    names = "fork forkpty kill killpg system posix_spawn posix_spawnp execv execve setsid setpgid".split()  # noqa: SIM905
    for module, refused in ((os, names), (_posixsubprocess, ["fork_exec"])):
        for name in refused:
            if hasattr(module, name):
                setattr(module, name, refuse)

    class Socket(_socket.socket):
        __slots__ = ()

        def __init__(self, family: int = -1, type: int = -1, proto: int = -1, fileno: int | None = None) -> None:
            if fileno is None:
                refuse()
            super().__init__(family, type, proto, fileno)

    _socket.socket = Socket  # type: ignore[misc, assignment]
    sys.modules.pop("socket", None)
    sys.modules["multiprocessing"] = None  # type: ignore[assignment]  # importing it raises


def _set(kind: int, soft: int, hard: int | None = None) -> None:
    held = resource.getrlimit(kind)[1]
    most = soft if hard is None else hard
    if held != resource.RLIM_INFINITY:
        soft, most = min(soft, held), min(most, held)
    try:
        resource.setrlimit(kind, (soft, most))
    except (ValueError, OSError):
        if sys.platform.startswith("linux"):
            raise  # elsewhere some are refused, and the time limit holds even so


def _filter_calls(libc: ctypes.CDLL) -> bool:
    if platform.machine() != "x86_64" or struct.calcsize("P") != 8:
        return False
    code = b"".join(struct.pack("HBBI", *step) for step in _filter(os.getpid()))
    steps = ctypes.create_string_buffer(code, len(code))

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]

    program = Program(len(code) // 8, ctypes.addressof(steps))
    return bool(libc.prctl(_PR_SET_SECCOMP, 2, ctypes.byref(program), 0, 0) == 0)


def _filter(own_pid: int) -> list[tuple[int, int, int, int]]:
    """Return a classic BPF program that tests the number and arguments of each call that is not simply allowed."""
    refused = (_RETURN, 0, 0, _REFUSE | _EPERM)
    allowed = (_RETURN, 0, 0, _ALLOW)
    first, second, third = _ARGUMENTS, _ARGUMENTS + 8, _ARGUMENTS + 16
    special = {
        _CLONE: [(_LOAD, 0, 0, first), (_HAS_BITS, 1, 0, _CLONE_THREAD), refused, allowed],
        _CLONE3: [(_RETURN, 0, 0, _REFUSE | _ENOSYS)],  # so that the C library tries clone, whose flags can be read
        _KILL_CALL: [(_LOAD, 0, 0, first), (_EQUAL, 1, 0, own_pid), refused, allowed],
        _TGKILL: [(_LOAD, 0, 0, first), (_EQUAL, 1, 0, own_pid), refused, allowed],
        _PRLIMIT: [  # reading limits is allowed: the pointer to new ones is null
            *((_LOAD, 0, 0, third), (_EQUAL, 0, 2, 0), (_LOAD, 0, 0, third + 4), (_EQUAL, 1, 0, 0)),
            *(refused, allowed),
        ],
    }
    for number, commands in _SET_OWNER.items():
        tests = [
            (_EQUAL, ahead, 0, command) for ahead, command in zip(range(len(commands), 0, -1), commands, strict=True)
        ]
        special[number] = [(_LOAD, 0, 0, second), *tests, allowed, refused]
    calls = {**{number: [refused] for number in _REFUSED}, **special}
    steps = [
        *((_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, _AUDIT_ARCH_X86_64), (_RETURN, 0, 0, _KILL)),
        *((_LOAD, 0, 0, _NUMBER), (_AT_LEAST, 0, 1, _X32_NUMBERS), refused),
    ]
    for number, then in calls.items():
        steps += [(_EQUAL, 0, len(then), number), *then]
    return [*steps, allowed]


def _restrict_files(libc: ctypes.CDLL, directory: str, readable: Iterable[str]) -> bool:
    version = libc.syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return False
    handled = _FILE_ACCESSES.get(version, _NEWEST_FILE_ACCESSES)
    scoped = _SCOPE_SIGNALS if version >= _SCOPES_SINCE else 0
    attributes = (ctypes.c_uint64 * 3)(handled, 0, scoped)  # older versions take what they do not know where it is 0
    ruleset = libc.syscall(_LANDLOCK_CREATE, ctypes.byref(attributes), ctypes.c_size_t(ctypes.sizeof(attributes)), 0)
    if ruleset < 0:
        return False
    python = {sys.prefix, sys.base_prefix, *filter(os.path.isabs, sys.path)}
    reading = handled & (_READ_FILE | _READ_DIRECTORY)
    _allow(libc, ruleset, handled & ~(_EXECUTE | _MAKE_CHARACTER_DEVICE | _MAKE_BLOCK_DEVICE), [directory])
    _allow(libc, ruleset, handled & (_READ_FILE | _WRITE | _TRUNCATE), ["/dev/null"])
    _allow(libc, ruleset, reading, [*python, *_READ_BY_ALL, *readable])
    is_kept = bool(libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0) == 0)
    os.close(ruleset)
    return is_kept and version >= _TRUNCATING_SINCE


def _allow(libc: ctypes.CDLL, ruleset: int, access: int, paths: Iterable[str]) -> None:
    only_files: Callable[[int], int] = lambda wanted: wanted & (_EXECUTE | _WRITE | _READ_FILE | _TRUNCATE)  # noqa: E731
    for path in paths:
        try:
            opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:  # not every system has all of them
            continue
        wanted = access if os.path.isdir(path) else only_files(access)  # noqa: PTH112
        rule = ctypes.create_string_buffer(struct.pack("=Qi", wanted, opened), 12)
        libc.syscall(_LANDLOCK_ADD, ruleset, 1, ctypes.byref(rule), 0)
        os.close(opened)
