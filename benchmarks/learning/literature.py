"""The tables of the literature: Stitch's own, and Stitch beside DreamCoder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from atlas.core.errors import InvalidInput
from benchmarks.compressing import GIVEN
from benchmarks.learning import domains, dreamcoder
from benchmarks.measuring import Figure

BENCHES = os.environ.get("ATLAS_BENCH_DATA")
"""ATLAS_BENCH_DATA: a checkout of github.com/mlb2251/compression_benchmark, which is read where it is."""


def figures() -> Iterator[Figure]:
    """Yield DreamCoder's table where its benchmark is at hand, then Stitch's."""
    if BENCHES:
        try:
            yield from dreamcoder.figures(Path(BENCHES))
        except InvalidInput as error:
            raise SystemExit(str(error)) from error
    else:
        message = "set ATLAS_BENCH_DATA to a checkout of github.com/mlb2251/compression_benchmark"
        print(f"nothing beside DreamCoder: {message}", file=sys.stderr)
    yield from domains.figures(GIVEN)
