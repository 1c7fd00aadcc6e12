"""Stitch beside DreamCoder, on DreamCoder's own programs and with as many inventions as it found.

DreamCoder's figures are those stored with the benchmark, of another machine: its compressor is not run.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.learning.alone import Measurement, MissingAnswer, stitch
from benchmarks.learning.benches import Bench, read
from benchmarks.measuring import Figure

SECONDS = 600
"""Time of day after which a bench is given up."""

ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Stitch and DreamCoder on one bench."""

    bench: Bench
    ours: Measurement

    @property
    def is_as_good(self) -> bool:
        return self.ours.ratio_with_library >= self.bench.ratio - ROUNDING

    @property
    def milliseconds(self) -> float:
        """Processor time for each invention, or for finding none."""
        return 1_000 * self.ours.seconds / max(self.ours.n_found, 1)

    @property
    def times_faster(self) -> float:
        return self.bench.milliseconds / self.milliseconds


def figures(directory: Path) -> Iterator[Figure]:
    """Yield our figures for each domain of a checkout beside DreamCoder's.

    Raises:
        InvalidInput: There are no benches in the directory.
    """
    reading = read(directory)
    left_out = dict(reading.left_out)
    rows: list[Comparison] = []
    for domain in sorted({bench.domain for bench in reading.benches}):
        compared = list(_measured(reading.benches, domain, left_out))
        yield from _rows(domain, compared) if compared else ()
        rows += compared
    yield _as_good("DreamCoder's benches of all domains", rows)
    for name, reason in sorted(left_out.items()):
        print(f"left out {name}: {reason}", file=sys.stderr)
    yield Figure(what="DreamCoder's benches left out", ours=len(left_out), baseline=None, unit="", aim="")


def _measured(benches: Sequence[Bench], domain: str, left_out: dict[str, str]) -> Iterator[Comparison]:
    for bench in benches:
        if bench.domain == domain:
            try:
                ours = stitch(dreamcoder=str(bench.path), iterations=bench.n_found, seconds=SECONDS)
            except MissingAnswer as error:
                left_out[bench.name] = str(error)
            else:
                yield Comparison(bench=bench, ours=ours)


def _rows(domain: str, compared: Sequence[Comparison]) -> Iterator[Figure]:
    def row(what: str, unit: str, ours: Callable[[Comparison], float], theirs: Callable[[Bench], float]) -> Figure:
        median = statistics.median(map(ours, compared))
        baseline = statistics.median(theirs(each.bench) for each in compared)
        return Figure(what=f"{heading}: {what}", ours=median, baseline=baseline, unit=unit, aim="")

    heading = f"DreamCoder's {domain}, {len(compared)} benches"
    yield Figure(
        what=f"{heading}: compression, library counted, mean; DreamCoder",
        ours=statistics.fmean(each.ours.ratio_with_library for each in compared),
        baseline=statistics.fmean(each.bench.ratio for each in compared),
        unit="x",
        aim="more",
    )
    yield _as_good(heading, compared)
    yield row("time an invention, median; DreamCoder", "ms", lambda each: each.milliseconds, lambda b: b.milliseconds)
    yield Figure(
        what=f"{heading}: times faster an invention, median",
        ours=statistics.median(each.times_faster for each in compared),
        baseline=None,
        unit="x",
        aim="",
    )
    yield row("most memory, median; DreamCoder", "MB", lambda each: each.ours.megabytes, lambda b: b.megabytes)


def _as_good(heading: str, compared: Sequence[Comparison]) -> Figure:
    n_good = sum(each.is_as_good for each in compared)
    return Figure(
        what=f"{heading}: at least as good as DreamCoder, of {len(compared)}",
        ours=n_good,
        baseline=None,
        unit="",
        aim="most of them",
    )
