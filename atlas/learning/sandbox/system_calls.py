"""The system calls that a program may make, as a filter that the kernel runs before each call.

The filter contains the calls that CPython and numpy need. All others are refused, including calls of later kernels.
The module uses the standard library only, because the process that runs it imports nothing else.
"""

from __future__ import annotations

import os
import platform
import struct
from collections.abc import Iterator, Mapping, Sequence

Step = tuple[int, int, int, int]
"""Instruction of classic BPF: code, steps to skip if a test holds, steps to skip if not, operand."""

ArgumentRule = tuple[int, frozenset[int]]
"""Half of an argument, and its permitted values. The lower half of argument `n` has the index `2 * n`."""

# fmt: off
_CALL_NUMBERS: Mapping[str, tuple[int, int | None]] = {
    # memory
    "brk": (12, 214), "mmap": (9, 222), "mprotect": (10, 226), "mremap": (25, 216), "msync": (26, 227),
    "munmap": (11, 215), "madvise": (28, 233),
    # files
    "open": (2, None), "openat": (257, 56), "creat": (85, None), "close": (3, 57), "close_range": (436, 436),
    "read": (0, 63), "readv": (19, 65), "pread64": (17, 67), "preadv": (295, 69), "preadv2": (327, 286),
    "write": (1, 64), "writev": (20, 66), "pwrite64": (18, 68), "pwritev": (296, 70), "pwritev2": (328, 287),
    "lseek": (8, 62), "dup": (32, 23), "dup2": (33, None), "dup3": (292, 24), "fcntl": (72, 25), "ioctl": (16, 29),
    "fsync": (74, 82), "fdatasync": (75, 83), "fallocate": (285, 47), "truncate": (76, 45), "ftruncate": (77, 46),
    "sendfile": (40, 71), "copy_file_range": (326, 285),
    # directories
    "access": (21, None), "faccessat": (269, 48), "faccessat2": (439, 439), "stat": (4, None), "fstat": (5, 80),
    "lstat": (6, None), "newfstatat": (262, 79), "statx": (332, 291), "statfs": (137, 43), "fstatfs": (138, 44),
    "getdents": (78, None), "getdents64": (217, 61), "getcwd": (79, 17), "chdir": (80, 49), "fchdir": (81, 50),
    "umask": (95, 166), "mkdir": (83, None), "mkdirat": (258, 34), "rmdir": (84, None), "rename": (82, None),
    "renameat": (264, 38), "renameat2": (316, 276), "link": (86, None), "linkat": (265, 37), "symlink": (88, None),
    "symlinkat": (266, 36), "unlink": (87, None), "unlinkat": (263, 35), "readlink": (89, None),
    "readlinkat": (267, 78), "getxattr": (191, 8), "lgetxattr": (192, 9), "fgetxattr": (193, 10),
    "listxattr": (194, 11), "llistxattr": (195, 12), "flistxattr": (196, 13),
    # pipes and event loops
    "pipe": (22, None), "pipe2": (293, 59), "socketpair": (53, 199), "sendto": (44, 206), "recvfrom": (45, 207),
    "shutdown": (48, 210), "getsockname": (51, 204), "getpeername": (52, 205), "getsockopt": (55, 209),
    "poll": (7, None), "ppoll": (271, 73), "select": (23, None), "pselect6": (270, 72), "epoll_create": (213, None),
    "epoll_create1": (291, 20), "epoll_ctl": (233, 21), "epoll_wait": (232, None), "epoll_pwait": (281, 22),
    "eventfd": (284, None), "eventfd2": (290, 19),
    # threads
    "clone": (56, 220), "exit": (60, 93), "exit_group": (231, 94), "futex": (202, 98), "rseq": (334, 293),
    "set_robust_list": (273, 99), "set_tid_address": (218, 96), "arch_prctl": (158, None), "prctl": (157, 167),
    "restart_syscall": (219, 128), "sched_yield": (24, 124), "sched_getaffinity": (204, 123),
    "sched_getparam": (143, 121), "sched_getscheduler": (145, 120), "sched_get_priority_max": (146, 125),
    "sched_get_priority_min": (147, 126), "getpriority": (140, 141),
    # signals to its own process
    "kill": (62, 129), "tgkill": (234, 131), "pause": (34, None), "alarm": (37, None), "getitimer": (36, 102),
    "setitimer": (38, 103), "rt_sigaction": (13, 134), "rt_sigpending": (127, 136), "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139), "rt_sigsuspend": (130, 133), "rt_sigtimedwait": (128, 137), "sigaltstack": (131, 132),
    # time
    "time": (201, None), "times": (100, 153), "gettimeofday": (96, 169), "clock_gettime": (228, 113),
    "clock_getres": (229, 114), "clock_nanosleep": (230, 115), "nanosleep": (35, 101),
    # identity of the process and the system
    "getpid": (39, 172), "getppid": (110, 173), "gettid": (186, 178), "getpgid": (121, 155), "getpgrp": (111, None),
    "getsid": (124, 156), "getuid": (102, 174), "geteuid": (107, 175), "getresuid": (118, 148), "getgid": (104, 176),
    "getegid": (108, 177), "getresgid": (120, 150), "getgroups": (115, 158), "getcpu": (309, 168),
    "getrandom": (318, 278), "getrusage": (98, 165), "getrlimit": (97, 163), "prlimit64": (302, 261),
    "sysinfo": (99, 179), "uname": (63, 160),
}
# fmt: on
"""Numbers of the allowed calls on x86-64 and aarch64, by the kernel's `syscall_64.tbl` and `asm-generic/unistd.h`."""

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""Column of `_CALL_NUMBERS`, and AUDIT_ARCH of `linux/audit.h`, for each type of machine."""

_FIRST_COMMON_NUMBER = 424
"""First number that means the same on all architectures. The C library has a fallback for these newer calls.

A refused call is answered as by a kernel without it. The C library then makes an older call, whose arguments can be
checked here, such as `clone` for `clone3`.
"""

_THREAD_FLAGS = frozenset({0x3D0F00, 0x7D0F00})
"""The flags with which glibc and musl start a thread. Other flags start a process, or leave a namespace."""

_RULES: Mapping[str, Sequence[ArgumentRule]] = {
    "clone": [(0, _THREAD_FLAGS)],
    # duplicates, flags and locks. Other commands set the receiver of a file's signals, or lease the file
    "fcntl": [(2, frozenset({0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030}))],
    # FIOCLEX, FIONCLEX, FIONBIO, FIONREAD, TCGETS, TIOCGWINSZ
    "ioctl": [(2, frozenset({0x5451, 0x5450, 0x5421, 0x541B, 0x5401, 0x5413}))],
    # from MADV_NORMAL to MADV_FREE, huge pages, and dumps. MADV_HWPOISON would let root poison memory
    "madvise": [(4, frozenset({0, 1, 2, 3, 4, 8, 14, 15, 16, 17}))],
    # PR_SET_NAME, PR_GET_NAME, PR_SET_VMA
    "prctl": [(0, frozenset({15, 16, 0x53564D41}))],
    # AF_UNIX with SOCK_STREAM, which stays on this machine, with or without SOCK_CLOEXEC and SOCK_NONBLOCK
    "socketpair": [(0, frozenset({1})), (2, frozenset({1, 0x801, 0x80001, 0x80801}))],
}
"""Rules on the arguments of allowed calls. A call without an entry is allowed with any arguments."""

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_EPERM, _ENOSYS = 1, 38
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # where `struct seccomp_data` has them


def filter_code(machine: str | None = None, own_pid: int | None = None) -> bytes:
    """Return the system call filter of this process in classic BPF. Empty for an unknown machine architecture."""
    machine = machine or platform.machine()
    if machine not in _MACHINES or struct.calcsize("P") != 8:
        return b""
    own_rules = _rules_for_process(own_pid or os.getpid())
    return b"".join(map(_pack, _first_steps(machine, own_rules))) + _LAST_STEPS[machine]


def _pack(step: Step) -> bytes:
    return struct.pack("HBBI", *step)


def _first_steps(machine: str, own_rules: Mapping[str, Sequence[ArgumentRule]]) -> Iterator[Step]:
    """Yield the steps that refuse other architectures, and decide on the calls with rules for this process."""
    _, architecture = _MACHINES[machine]
    yield from ((_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _KILL))
    yield (_LOAD, 0, 0, _NUMBER)
    for name, rules in own_rules.items():
        yield from _decide_call(name, machine, rules)


def _last_steps(machine: str) -> Iterator[Step]:
    """Yield the steps that decide on all other calls."""
    own_rules = _rules_for_process(0)
    for name in _CALL_NUMBERS:
        if name not in own_rules:
            yield from _decide_call(name, machine, _RULES.get(name, []))
    yield from ((_AT_LEAST, 0, 1, _FIRST_COMMON_NUMBER), (_RETURN, 0, 0, _REFUSE | _ENOSYS))
    yield (_RETURN, 0, 0, _REFUSE | _EPERM)


def _decide_call(name: str, machine: str, rules: Sequence[ArgumentRule]) -> Iterator[Step]:
    """Yield the steps that decide on one system call. There are none for a call that the machine does not have."""
    column, _ = _MACHINES[machine]
    if (number := _CALL_NUMBERS[name][column]) is not None:
        decision = [*_check_arguments(rules), (_RETURN, 0, 0, _ALLOW)]
        yield from ((_EQUAL, 0, len(decision), number), *decision)


def _rules_for_process(own_pid: int) -> Mapping[str, Sequence[ArgumentRule]]:
    """Return the rules that depend on the process id. A process may signal only itself, and read its own limits."""
    targets_itself = (0, frozenset({own_pid}))
    reads_own_limits = (0, frozenset({0, own_pid}))  # prlimit64(pid, resource, new_limits, old_limits)
    has_no_new_limits = [(4, frozenset({0})), (5, frozenset({0}))]  # both halves of the pointer `new_limits`
    return {"kill": [targets_itself], "tgkill": [targets_itself], "prlimit64": [reads_own_limits, *has_no_new_limits]}


def _check_arguments(rules: Sequence[ArgumentRule]) -> Iterator[Step]:
    """Yield the steps that refuse a call unless each half of an argument has a permitted value."""
    for index, values in rules:
        yield (_LOAD, 0, 0, _ARGUMENTS + 4 * index)
        for position, value in enumerate(sorted(values), start=1):
            n_remaining = len(values) - position
            yield (_EQUAL, n_remaining + 1, 0, value)  # jump over the other comparisons and the refusal
        yield (_RETURN, 0, 0, _REFUSE | _EPERM)


_LAST_STEPS = {machine: b"".join(map(_pack, _last_steps(machine))) for machine in _MACHINES}
"""Packed steps that are the same in every process, keyed by machine. They are packed once for all forks."""
