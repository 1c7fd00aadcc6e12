"""A checkout of DreamCoder's public benchmark as its layout is, with programs of our own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.learning.dreamcoder_programs import INVENTION, TASKS

RESULT = {
    "num_inventions": 1,
    "inventions": [{"name": "fn_1", "dreamcoder": "#(lambda (twice (more $0)))", "arity": 1}],
    "metrics": {"compression_ratio_min": 1.05, "time_per_inv_with_rewrite": 8_000.0, "mem_peak_kb": 500_000},
}


def add_bench(
    checkout: Path,
    group: str,
    name: str = "bench000_it0",
    *,
    tasks: Sequence[Sequence[str]] = TASKS,
    result: dict[str, Any] | str | None = RESULT,
    time: str = "2022-04-12_20-46-50",
) -> Path:
    """Write a bench, and DreamCoder's result on it, which may be any text or absent. Return the bench's path."""
    productions = [{"expression": expression, "logProbability": 0.0} for expression in ("twice", "more", INVENTION)]
    frontiers = [{"programs": [{"program": each, "logLikelihood": 0.0} for each in programs]} for programs in tasks]
    bench = {"DSL": {"logVariable": 0.0, "productions": productions}, "arity": 3, "frontiers": frontiers}
    path = checkout / "benches" / group / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(bench), "utf-8")
    if result is not None:
        stored = path.parent / "out" / "dc" / time / "processed" / path.name
        stored.parent.mkdir(parents=True, exist_ok=True)
        stored.write_text(result if isinstance(result, str) else json.dumps(result), "utf-8")
    return path
