"""The public benchmark of DreamCoder's compressor: its inputs, and the results that DreamCoder had on them.

It is read from a checkout, and no part of it is copied: it has no licence.

Source:
    https://github.com/mlb2251/compression_benchmark, as used in Bowers et al., POPL 2023, section 6.1.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from atlas.core.errors import InvalidInput

NO_RESULT = "no result of DreamCoder's is stored"
NOTHING_FOUND = "DreamCoder found nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Programs that DreamCoder had, and what its compressor made of them."""

    name: str
    """Name of the group and of the file."""

    domain: str
    path: Path
    """Programs in DreamCoder's own form."""

    n_found: int
    """Inventions that DreamCoder found, at least 1."""

    ratio: float
    """Cost of the cheapest program of each task before / after, the inventions counted after."""

    milliseconds: float
    """Time of day for each invention, on eight processors."""

    megabytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The benches of a checkout."""

    benches: tuple[Bench, ...]
    left_out: Mapping[str, str]
    """Why each of the others cannot be compared, by name."""


def read(directory: Path) -> Reading:
    """Return the benches of a checkout, in order.

    Raises:
        InvalidInput: There are none in this directory.
    """
    paths = sorted(directory.glob("benches/*/bench*.json"))
    if not paths:
        raise InvalidInput(
            "expected ATLAS_BENCH_DATA to name a checkout of github.com/mlb2251/compression_benchmark, which has files "
            f"benches/GROUP/bench….json, got {str(directory)!r}; clone it, and set ATLAS_BENCH_DATA to its directory"
        )
    benches_by_name = {f"{path.parent.name}/{path.stem}": _bench(path) for path in paths}
    return Reading(
        benches=tuple(bench for bench in benches_by_name.values() if isinstance(bench, Bench)),
        left_out={name: bench for name, bench in benches_by_name.items() if isinstance(bench, str)},
    )


def _bench(path: Path) -> Bench | str:
    """Return a bench, or why it cannot be compared."""
    stored = sorted(path.parent.glob(f"out/dc/*/processed/{path.name}"))
    if not stored:
        return NO_RESULT
    try:
        result = json.loads(stored[-1].read_text("utf-8"))  # the latest run, which is named by its time
        n_found = int(result["num_inventions"])
        return _compared(path, n_found, result["metrics"]) if n_found else NOTHING_FOUND
    except (ValueError, KeyError, TypeError) as error:
        return f"DreamCoder's result is damaged: {type(error).__name__}: {error}"


def _compared(path: Path, n_found: int, metrics: Mapping[str, float]) -> Bench:
    return Bench(
        name=f"{path.parent.name}/{path.stem}",
        domain=path.parent.name.partition("_")[0],
        path=path,
        n_found=n_found,
        ratio=float(metrics["compression_ratio_min"]),
        milliseconds=float(metrics["time_per_inv_with_rewrite"]),
        megabytes=float(metrics["mem_peak_kb"]) * 1_024 / 1e6,
    )
