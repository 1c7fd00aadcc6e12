"""`POST /context` and `POST /attempts` of `atlas serve`, beside the same calls in Python on the same store."""

from __future__ import annotations

import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import httpx

import atlas
from atlas.embedding.sentence_transformers import BUNDLED, SentenceTransformerEmbedder
from benchmarks.measuring import Figure, interleaved_seconds, solved, task_texts

N_STORED = 2_000
N_ASKED = 200
PATIENCE_SECONDS = 300


def figures() -> Iterator[Figure]:
    """Yield the medians and the 95th percentiles, in milliseconds."""
    with (
        tempfile.TemporaryDirectory() as scratch,
        filled_memory(Path(scratch)) as memory,
        serve(Path(scratch)) as (address, _),
    ):
        elsewhere = atlas.connect(address)
        tasks = [atlas.Task(f"a{i}", "", text) for i, text in enumerate(task_texts(N_ASKED, seed=1))]
        yield from _figures(
            "`POST /context`, beside `memory.build_context`",
            [partial(elsewhere.build_context, task) for task in tasks],
            [partial(memory.build_context, task) for task in tasks],
        )
        yield from _figures(
            "`POST /attempts`, beside `memory.store`",
            [partial(elsewhere.store, solved(text)) for text in task_texts(N_ASKED, seed=3)],
            [partial(memory.store, solved(text)) for text in task_texts(N_ASKED, seed=2)],
        )


def filled_memory(store: Path) -> atlas.MemorySystem:
    """Return an open memory of attempts at distinct tasks."""
    memory = atlas.open_memory(store, embedder=SentenceTransformerEmbedder(BUNDLED))
    memory.experience.store_many(map(solved, task_texts(N_STORED)))
    return memory


def _figures(
    what: str, there: Sequence[Callable[[], object]], here: Sequence[Callable[[], object]]
) -> Iterator[Figure]:
    ours, raw = interleaved_seconds(there, here)
    for name, share in (("p50", 50), ("p95", 95)):
        yield Figure(
            what=f"{what}, {name}",
            ours=1_000 * statistics.quantiles(ours, n=100)[share - 1],
            baseline=1_000 * statistics.quantiles(raw, n=100)[share - 1],
            unit="ms",
            aim="",
        )


@contextmanager
def serve(store: Path) -> Iterator[tuple[str, int]]:
    """Serve a store in a process of its own, and yield its address and the process once its model is ready."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "atlas", "--store", str(store), "serve", "--port", str(port), "--no-token"]
    process = subprocess.Popen(command, env=os.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait(f"{address}/api/v1/health")
        yield address, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_SECONDS)


def _wait(health: str) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        try:
            if httpx.get(health, timeout=30).json()["is_model_ready"]:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.2)
    raise SystemExit(f"the server at {health} was not ready after {PATIENCE_SECONDS} seconds")
