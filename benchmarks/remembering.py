"""How much memory a process needs to search a store, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measuring import Figure, clustered_vectors, filled_store

_PROBE = """
import os, sys
import numpy as np
from pathlib import Path
from atlas.storage.store import Store


def resident():  # not `ru_maxrss`: a child inherits that of the process that started it
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


with Store.open(Path(sys.argv[1])) as store:
    before = resident()
    vector = np.ones(384, np.float32)
    store.collection("atlas_experiences").query(vector, 10)
    print(resident() - before)
"""


def figures(sizes: tuple[int, ...] = (10_000, 100_000)) -> Iterator[Figure]:
    for n_rows in sizes:
        with tempfile.TemporaryDirectory() as scratch:
            filled_store(Path(scratch), clustered_vectors(n_rows, seed=1)).close()
            size = sum(path.stat().st_size for path in Path(scratch).rglob("*") if path.is_file()) / 2**20
            probe = subprocess.run([sys.executable, "-c", _PROBE, scratch], capture_output=True, text=True, check=True)
        vectors = n_rows * 384 * 4 / 2**20
        yield Figure(
            what=f"memory of the first query at {n_rows:,} rows, beside the bare vectors",
            ours=float(probe.stdout),
            baseline=vectors,
            unit="MB",
            aim="",
        )
        yield Figure(
            what=f"store directory at {n_rows:,} rows, beside the bare vectors",
            ours=size,
            baseline=vectors,
            unit="MB",
            aim="",
        )
