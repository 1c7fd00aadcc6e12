"""Compression at growing sizes: all given solved programs, and copies of them under other names for their variables."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from atlas.learning.compression import compress
from atlas.learning.sandbox.runner import Sandbox
from atlas.learning.sandbox.verification import Verifier
from atlas.learning.search.limits import Limits
from atlas.learning.terms.programs import Program
from benchmarks.compressing import solved_programs
from benchmarks.learning.copies import repeated
from benchmarks.learning.memory import Peak, watched
from benchmarks.measuring import Figure

SIZES = tuple(int(n) for n in os.environ.get("ATLAS_BENCHMARK_COPIES", "400,800,2000").split(","))
"""ATLAS_BENCHMARK_COPIES: numbers of programs, with commas."""

DEFAULT = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressionFigures:
    """What a compression came to, and the processor time of it and of all that it started."""

    n_programs: int
    """Programs that were looked at."""

    n_found: int
    """Functions that the search proposed."""

    n_kept: int
    n_rewritten: int
    saved: float
    """Tokens in percent of those programs, the library counted."""

    seconds: float
    notes: tuple[str, ...]
    """What was left out, and why the search ended before its end."""


def figures() -> Iterator[Figure]:
    """Yield each size twice: as a user gets it, and with no program left out."""
    programs = solved_programs()
    if not programs:
        print("no real programs: set ATLAS_REAL_DATA to the directory of real agent runs", file=sys.stderr)
        return
    for n in SIZES:
        copies = repeated(programs, n)
        yield from _rows(f"{len(copies)} programs, as by default", copies, DEFAULT)
        yield from _rows(f"{len(copies)} programs, none left out", copies, _unlimited(n))


def _unlimited(n: int) -> Limits:
    """Return the default gates, without a limit on the programs that are searched."""
    return Limits(max_programs=n, max_heads=sys.maxsize, seconds=3_600, megabytes=8_000)


def _rows(heading: str, programs: Sequence[Program], limits: Limits) -> Iterator[Figure]:
    with watched() as peak:
        result = compressed(programs, limits)
    for note in result.notes:
        print(f"{heading}: {note}", file=sys.stderr)
    yield Figure(what=f"{heading}: looked at", ours=result.n_programs, baseline=len(programs), unit="", aim="all")
    what = f"{heading}: functions kept, of {result.n_found} found"
    yield Figure(what=what, ours=result.n_kept, baseline=None, unit="", aim="")
    yield Figure(what=f"{heading}: programs rewritten", ours=result.n_rewritten, baseline=None, unit="", aim="")
    yield Figure(
        what=f"{heading}: tokens saved, library counted",
        ours=result.saved,
        baseline=None,
        unit="%",
        aim="more with more",
    )
    yield from _costs(heading, result, peak)


def _costs(heading: str, result: CompressionFigures, peak: Peak) -> Iterator[Figure]:
    what = f"{heading}: processor time of all processes"
    yield Figure(what=what, ours=result.seconds, baseline=None, unit="s", aim="2000: at most 600")
    what = f"{heading}: most memory of a process"
    yield Figure(what=what, ours=peak.largest, baseline=None, unit="MB", aim="2000: at most 1500")
    what = f"{heading}: most memory of all processes at a time"
    yield Figure(what=what, ours=peak.together, baseline=None, unit="MB", aim="2000: at most 1500")


def compressed(programs: Sequence[Program], limits: Limits) -> CompressionFigures:
    """Compress programs in a process of its own, with their tests run."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
        return alone.submit(_compressed, programs, limits).result()


def _compressed(programs: Sequence[Program], limits: Limits) -> CompressionFigures:
    begin = _processor_seconds()
    with Sandbox() as sandbox:
        compression = compress(programs, limits=limits, verify=Verifier(sandbox).compare_all)
    return CompressionFigures(
        n_programs=compression.n_programs,
        n_found=compression.n_found,
        n_kept=len(compression.abstractions),
        n_rewritten=len(compression.rewritten),
        saved=100 * (1 - 1 / compression.ratio),
        seconds=_processor_seconds() - begin,
        notes=compression.notes,
    )


def _processor_seconds() -> float:
    """Return the time of this process and of those that it has seen end, with those that they have."""
    this_process, ended = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return this_process.ru_utime + this_process.ru_stime + ended.ru_utime + ended.ru_stime
