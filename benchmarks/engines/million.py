"""A million attempts in PostgreSQL, beside the same in SQLite's file: import, size, search, filters, pages, memory."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import atlas
from atlas.core.settings import bulk_settings
from atlas.core.types import Vectors
from atlas.memory.experience.memory import COLLECTION
from atlas.protocols.infra import Where
from benchmarks.dashboard.visiting import FLAGS, REPOSITORY, fastest, served, visit
from benchmarks.measuring import Figure, clustered_vectors
from benchmarks.retrieving import (
    FILTER,
    N_BUCKETS,
    N_LOTS,
    NARROW_FILTER,
    FixedVectors,
    K,
    Query,
    fill,
    foreign_queries,
    made_queries,
    retrieve,
    seconds,
)
from tests.support.storage.postgres import running

SIZES = tuple(int(n) for n in os.environ.get("ATLAS_BENCHMARK_SIZES", "100000,1000000").split(","))
"""ATLAS_BENCHMARK_SIZES: numbers of attempts, with commas."""

WITH_WORD_PIECES = 100_000
"""Attempts up to which word pieces are compared, too."""

N_QUERIES = 100
PAGES = ("", "experiences", "history")
SHARED_BUFFERS = "2GB"
"""What the server keeps of its files in memory: less than a million attempts take."""


@dataclass(frozen=True, slots=True)
class Value:
    """One measured value, with its unit and what it should be."""

    value: float
    unit: str
    aim: str = ""


def figures() -> Iterator[Figure]:
    with running(fsync=True, shared_buffers=SHARED_BUFFERS) as server, tempfile.TemporaryDirectory() as scratch:
        os.environ["ATLAS_LOCAL"] = f"{scratch}/local"
        for n in SIZES:
            vectors = clustered_vectors(n, seed=1)
            places = {"PostgreSQL": server.address(f"made_{n}"), "SQLite": f"{scratch}/made-{n}"}
            first: Mapping[str, Value] = {}
            for engine, place in places.items():
                measured = _measured(place, vectors)
                for what, one in measured.items():  # at once, as the other engine takes as long again
                    beside = first[what].value if first else None
                    what = f"{engine}, {n:,} attempts: {what}"
                    yield Figure(what=what, ours=one.value, baseline=beside, unit=one.unit, aim=one.aim)
                first = first or measured
            shutil.rmtree(places["SQLite"])


def _measured(place: str, vectors: Vectors) -> Mapping[str, Value]:
    queries = made_queries(2 * N_QUERIES)
    embedder = FixedVectors([*queries, *foreign_queries()])
    settings = atlas.Settings.from_environment({"ATLAS_STORE": place})
    if len(vectors) > WITH_WORD_PIECES:
        settings = replace(settings, late_interaction=False)
    written, closed = fill(place, vectors, embedder, bulk_settings(settings))
    found = {
        "import (attempts a second)": Value(len(vectors) / written, "/s", "ratio ≥ 0.9"),
        "import and index (attempts a second)": Value(len(vectors) / (written + closed), "/s", "ratio ≥ 0.9"),
    }
    with atlas.open_memory(place, embedder=embedder, settings=settings) as memory:
        found["size"] = Value(memory.storage.n_bytes() / 2**20, "MB")
        found |= _searches(memory, queries)
        found |= _recalls(memory, queries, vectors)
    return found | _pages(place)


def _searches(memory: atlas.MemorySystem, queries: list[Query]) -> dict[str, Value]:
    found = {"the first retrieve": Value(1e3 * seconds(partial(retrieve, memory, queries[0], None)), "ms")}
    for where, filtered in ((None, ""), (FILTER, ", 5% pass"), (NARROW_FILTER, ", 0.5% pass")):
        for query in queries[:N_QUERIES]:
            retrieve(memory, query, where)
        took = [1e3 * seconds(partial(retrieve, memory, query, where)) for query in queries[N_QUERIES:]]
        found[f"retrieve{filtered}, p50"] = Value(float(np.percentile(took, 50)), "ms")
        found[f"retrieve{filtered}, p95"] = Value(float(np.percentile(took, 95)), "ms", "≤ 300 ms")
    return found


def _recalls(memory: atlas.MemorySystem, queries: list[Query], vectors: Vectors) -> dict[str, Value]:
    numbers = np.arange(len(vectors))
    passing = {
        "": (None, numbers),
        ", 5% pass": (FILTER, numbers[numbers % N_BUCKETS == FILTER["bucket"]]),
        ", 0.5% pass": (NARROW_FILTER, numbers[numbers % N_LOTS == NARROW_FILTER["lot"]]),
    }
    return {
        f"recall@{K}{filtered}": Value(_recall(memory, queries, vectors, where, rows), "", "≥ 0.99")
        for filtered, (where, rows) in passing.items()
    }


def _recall(
    memory: atlas.MemorySystem, queries: list[Query], vectors: Vectors, where: Where | None, rows: Any
) -> float:
    collection, shares, narrowed = memory.storage.collection(COLLECTION), [], vectors[rows]
    for query in queries[:N_QUERIES]:
        true = {f"{row:032x}" for row in rows[np.argsort(-(narrowed @ query.vector))[:K]]}
        shares.append(len(true & set(collection.query(query.vector, K, where).ids)) / K)
    return float(np.mean(shares))


def _pages(place: str) -> dict[str, Value]:
    from playwright.sync_api import sync_playwright

    found = {}
    with sync_playwright() as playwright, served(REPOSITORY / "app.py", place) as (address, process):
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for name in PAGES:
            title, url = name or "overview", f"{address}/{name}"
            found[f"{title}: first visit of the server"] = Value(visit(browser, url).seconds, "s")
            found[f"{title}: in a browser that never saw it"] = Value(fastest(browser, url).seconds, "s", "≤ 1 s")
        found["memory of the dashboard"] = Value(_resident_megabytes(process), "MB")
    return found


def _resident_megabytes(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024
