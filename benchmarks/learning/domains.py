"""Stitch's own table: its eight domains of 250 programs each, split as its authors split them.

Source:
    Bowers et al., Top-Down Synthesis for Library Learning, POPL 2023, and the programs that came with it (MIT).
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.learning.alone import Measurement, MissingAnswer, stitch
from benchmarks.measuring import Figure

N_SPLITS = int(os.environ.get("ATLAS_BENCHMARK_SEEDS", "3"))
"""ATLAS_BENCHMARK_SEEDS: number of splits of each domain."""

N_TRAINING = 200
N_ITERATIONS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """A domain, and what was published about it: means over 50 splits."""

    name: str
    """Name in the paper."""

    file: str
    training: float
    """Ratio of costs before and after, the library not counted."""

    unseen: float
    seconds: float
    megabytes: float


DOMAINS = (
    Domain(name="nuts & bolts", file="nuts-bolts", training=12.00, unseen=11.57, seconds=0.20, megabytes=11),
    Domain(name="gadgets", file="dials", training=4.03, unseen=3.91, seconds=1.43, megabytes=31),
    Domain(name="furniture", file="furniture", training=4.95, unseen=4.85, seconds=2.48, megabytes=32),
    Domain(name="vehicles", file="wheels", training=4.28, unseen=4.14, seconds=1.27, megabytes=27),
    Domain(name="bridges", file="bridge", training=4.36, unseen=3.78, seconds=14.7, megabytes=199),
    Domain(name="houses", file="house", training=8.92, unseen=8.85, seconds=11.4, megabytes=244),
    Domain(name="cities", file="city", training=3.15, unseen=3.06, seconds=38.0, megabytes=432),
    Domain(name="castles", file="castle", training=2.57, unseen=2.55, seconds=59.9, megabytes=715),
)


def figures(directory: Path) -> Iterator[Figure]:
    """Yield the measured figures of each domain beside the published ones.

    Args:
        directory: Holds `stitch/*.json`, lists of programs.
    """
    for domain in DOMAINS:
        path = directory / "stitch" / f"{domain.file}.json"
        if not path.is_file():
            print(f"no programs at {path}: set ATLAS_REAL_DATA to the directory of given data", file=sys.stderr)
            continue
        try:
            yield from _rows(domain, [split(path, seed) for seed in range(1, N_SPLITS + 1)])
        except MissingAnswer as error:
            print(f"left out Stitch's {domain.name}: {error}", file=sys.stderr)


def split(path: Path, seed: int, *, n_training: int = N_TRAINING) -> Measurement:
    """Learn from the first programs of a file, shuffled, and rewrite the others."""
    programs = json.loads(path.read_text("utf-8"))
    random.Random(seed).shuffle(programs)  # as the authors do, so that the same seed is the same split
    return stitch(programs=programs[:n_training], others=programs[n_training:], iterations=N_ITERATIONS)


def _rows(domain: Domain, splits: Sequence[Measurement]) -> Iterator[Figure]:
    def row(what: str, measure: Callable[[Measurement], float], published: float | None, unit: str) -> Figure:
        mean = statistics.fmean(map(measure, splits))
        return Figure(what=f"{heading}: {what}", ours=mean, baseline=published, unit=unit, aim="")

    heading = f"Stitch's {domain.name}, {len(splits)} splits"
    yield row("compression; published", lambda each: each.ratio, domain.training, "x")
    yield row("compression of unseen programs; published", lambda each: each.ratio_of_others, domain.unseen, "x")
    yield row("compression, the library counted", lambda each: each.ratio_with_library, None, "x")
    yield row("processor time; published", lambda each: each.seconds, domain.seconds, "s")
    yield row("most memory, Python counted; published", lambda each: each.megabytes, domain.megabytes, "MB")
