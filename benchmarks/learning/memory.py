"""The most memory that processes take, seen from the process that started them. It is read from `/proc` on Linux."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

SECONDS = 0.5
"""Time between two looks."""

PROCESSES = Path("/proc")


@dataclass(slots=True)
class Peak:
    """Memory in MB at its highest, Python counted."""

    largest: float = 0.0
    """That of the largest process, which the system keeps count of."""

    together: float = 0.0
    """Sampled total of all processes, shared pages counted once."""


@contextmanager
def watched() -> Iterator[Peak]:
    """Watch the processes that this one starts, and those that they start."""
    peak, is_over = Peak(), threading.Event()
    thread = threading.Thread(target=_watch, args=(peak, is_over), daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        is_over.set()
        thread.join()


def _watch(peak: Peak, is_over: threading.Event) -> None:
    while True:
        sizes = [_megabytes(process) for process in _started(PROCESSES / "self")]
        peak.largest = max([peak.largest, *(highest for highest, _ in sizes)])
        peak.together = max(peak.together, sum(now for _, now in sizes))
        if is_over.wait(SECONDS):
            return


def _started(process: Path) -> Iterator[Path]:
    """Yield the processes that a process has started, and those that they have."""
    with suppress(OSError):  # it ended meanwhile
        for children in process.glob("task/*/children"):
            for number in children.read_text("ascii").split():
                yield PROCESSES / number
                yield from _started(PROCESSES / number)


def _megabytes(process: Path) -> tuple[float, float]:
    """Return the memory of a process at its highest, and its part of the memory now."""
    with suppress(OSError):
        return _sum(process / "status", "VmHWM"), _sum(process / "smaps_rollup", "Pss")
    return 0.0, 0.0


def _sum(path: Path, name: str) -> float:
    match = re.search(rf"^{name}:\s+(\d+) kB", path.read_text("ascii"), re.MULTILINE)
    return int(match[1]) * 1_024 / 1e6 if match else 0.0
