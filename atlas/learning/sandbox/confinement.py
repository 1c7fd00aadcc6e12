"""Limits that a process sets on itself: seccomp, Landlock and resource limits, which the kernel enforces.

The module uses the standard library only, because the process that runs it imports nothing else. No limit can be lifted
again, not even by root. The limits stop faulty programs, not programs that attack the kernel.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct
import sys
from collections.abc import Callable, Iterable
from typing import Any

from atlas.learning.sandbox.system_calls import filter_code

NETWORK, PROCESSES, FILES = "network", "processes", "files"
"""Restrictions: no sockets, no access to other processes, no files outside the working directory."""

MEGABYTE = 2**20
MAX_OPEN_FILES = 64

_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446  # the same on every architecture
_EXECUTE, _WRITE, _READ_FILE, _READ_DIRECTORY, _TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_MAKE_CHARACTER_DEVICE, _MAKE_BLOCK_DEVICE = 1 << 6, 1 << 11
_FILE_ACCESSES = {1: (1 << 13) - 1, 2: (1 << 14) - 1}
_TRUNCATION_ABI = 3  # earlier versions do not restrict truncation
_SCOPES_SINCE, _SCOPE_SIGNALS = 6, 1 << 1
_NEWEST_FILE_ACCESSES = (1 << 15) - 1  # from version 3; version 5 adds ioctl, which no program here needs
_READABLE_PATHS = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/dev/urandom", "/dev/zero")
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38


def confine(directory: str, readable: Iterable[str] = ()) -> frozenset[str]:
    """Drop permissions of this process irrevocably. Return the restrictions that the kernel enforces from now on.

    Args:
        directory: The only directory where files may be created and written.
        readable: Directories that may be read, besides Python's own.
    """
    if not sys.platform.startswith("linux"):
        return frozenset()
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    enforced = {FILES} if _restrict_file_access(libc, directory, readable) else set()
    return frozenset(enforced | {NETWORK, PROCESSES} if _filter_system_calls(libc) else enforced)


def set_resource_limits(*, cpu_seconds: int, memory_megabytes: int, file_megabytes: int) -> None:
    """Set the resource limits of this process. Call it before `confine`, which forbids later changes."""
    _lower_limit(resource.RLIMIT_CPU, cpu_seconds, cpu_seconds + 1)
    _lower_limit(resource.RLIMIT_AS, memory_megabytes * MEGABYTE)
    _lower_limit(resource.RLIMIT_FSIZE, file_megabytes * MEGABYTE)
    _lower_limit(resource.RLIMIT_NOFILE, MAX_OPEN_FILES)
    _lower_limit(resource.RLIMIT_CORE, 0)
    if not sys.platform.startswith("linux"):  # on Linux, threads count as processes, and root is exempt
        _lower_limit(resource.RLIMIT_NPROC, 0)


def end_with_parent() -> None:
    """Ask the kernel to kill this process when its parent ends. This works on Linux only."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def raise_not_permitted(*_: object, **__: object) -> None:
    """Raise PermissionError in place of a function that a confined program may not call."""
    raise PermissionError("this operation is not permitted in the sandbox")


def disable_functions() -> None:
    """Make functions that start, signal or slow processes, or open sockets, raise PermissionError.

    This is for systems without kernel restrictions. Disabled functions prevent accidents, not attacks.
    """
    import _posixsubprocess
    import _socket

    starters = ("fork", "forkpty", "posix_spawn", "posix_spawnp", "execv", "execve", "system")
    signals = ("kill", "killpg", "setsid", "setpgid")
    scheduling = ("nice", "setpriority", "sched_setaffinity", "sched_setparam", "sched_setscheduler")
    disabled: dict[Any, tuple[str, ...]] = {
        os: starters + signals + scheduling,
        _posixsubprocess: ("fork_exec",),
        sys.modules.get("subprocess"): ("_fork_exec",),  # if it was imported ahead, it has the function already
    }
    for module, names in disabled.items():
        for name in names:
            if hasattr(module, name):
                setattr(module, name, raise_not_permitted)

    initialize = _socket.socket.__init__

    class Socket(_socket.socket):
        __slots__ = ()

        def __init__(self, family: int = -1, type: int = -1, proto: int = -1, fileno: int | None = None) -> None:
            if fileno is None:
                raise_not_permitted()
            initialize(self, family, type, proto, fileno)  # `self` may be of a class that is older than this one

    _socket.socket = _socket.SocketType = Socket  # type: ignore[misc, assignment]
    sys.modules["multiprocessing"] = None  # type: ignore[assignment]  # importing it raises


def _lower_limit(kind: int, soft: int, hard: int | None = None) -> None:
    """Set a limit of this process, at most to its current hard limit."""
    current_hard_limit = resource.getrlimit(kind)[1]
    hard_limit = soft if hard is None else hard
    if current_hard_limit != resource.RLIM_INFINITY:
        soft, hard_limit = min(soft, current_hard_limit), min(hard_limit, current_hard_limit)
    try:
        resource.setrlimit(kind, (soft, hard_limit))
    except (ValueError, OSError):
        if sys.platform.startswith("linux"):
            raise  # other systems refuse some limits, but the time limit still applies


class _Filter(ctypes.Structure):
    """The kernel's `struct sock_fprog`."""

    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]


def _filter_system_calls(libc: ctypes.CDLL) -> bool:
    """Restrict this process to the permitted system calls. Return whether the kernel accepted the filter."""
    code = filter_code()
    steps = ctypes.create_string_buffer(code, len(code))
    program = _Filter(len(code) // 8, ctypes.addressof(steps))
    return bool(code) and bool(libc.prctl(_PR_SET_SECCOMP, 2, ctypes.byref(program), 0, 0) == 0)


def _restrict_file_access(libc: ctypes.CDLL, directory: str, readable: Iterable[str]) -> bool:
    """Restrict file access to these directories, with Landlock. Return whether the kernel enforces it completely."""
    version = libc.syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return False
    supported = _FILE_ACCESSES.get(version, _NEWEST_FILE_ACCESSES)
    scopes = _SCOPE_SIGNALS if version >= _SCOPES_SINCE else 0
    attributes = (ctypes.c_uint64 * 3)(supported, 0, scopes)  # older versions accept unknown fields that are 0
    ruleset = libc.syscall(_LANDLOCK_CREATE, ctypes.byref(attributes), ctypes.c_size_t(ctypes.sizeof(attributes)), 0)
    if ruleset < 0:
        return False
    python_directories = {sys.prefix, sys.base_prefix, *filter(os.path.isabs, sys.path)}
    read_access = supported & (_READ_FILE | _READ_DIRECTORY)
    _allow_paths(libc, ruleset, supported & ~(_EXECUTE | _MAKE_CHARACTER_DEVICE | _MAKE_BLOCK_DEVICE), [directory])
    _allow_paths(libc, ruleset, supported & (_READ_FILE | _WRITE | _TRUNCATE), ["/dev/null"])
    _allow_paths(libc, ruleset, read_access, [*python_directories, *_READABLE_PATHS, *readable])
    is_enforced = bool(libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0) == 0)
    os.close(ruleset)
    return is_enforced and version >= _TRUNCATION_ABI


def _allow_paths(libc: ctypes.CDLL, ruleset: int, access: int, paths: Iterable[str]) -> None:
    only_files: Callable[[int], int] = lambda requested: requested & (_EXECUTE | _WRITE | _READ_FILE | _TRUNCATE)  # noqa: E731
    for path in paths:
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:  # some of these paths exist on some systems only
            continue
        permitted = access if os.path.isdir(path) else only_files(access)  # noqa: PTH112
        rule = ctypes.create_string_buffer(struct.pack("=Qi", permitted, descriptor), 12)
        libc.syscall(_LANDLOCK_ADD, ruleset, 1, ctypes.byref(rule), 0)
        os.close(descriptor)
