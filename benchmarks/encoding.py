"""The embedding model in onnxruntime beside sentence-transformers: first answers, memory and processor time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from atlas.embedding.sentence_transformers import BUNDLED, SentenceTransformerEmbedder
from benchmarks.measuring import Figure, task_texts

REPOSITORY = Path(__file__).resolve().parents[1]
NOWHERE = Path(__file__) / "cache"
"""A cache directory that cannot be made, so that sentence-transformers serves."""

QUESTION = "a customer wants to cancel a flight and get the money back"
N_COLD = 5
N_QUERIES = 50
N_TEXTS = 256
N_WORDS = 150
"""Words of a text, which are some 200 word pieces."""

COLD_PAGE = """
import sys, time
from streamlit.testing.v1 import AppTest

def draw(**asked):
    app = AppTest.from_file("app.py", default_timeout=600)
    app.query_params.update(asked)
    start = time.perf_counter()
    app.switch_page("pages/ask.py").run()
    assert not app.exception and not app.error
    return time.perf_counter() - start

draw()
print(draw(ask_text=sys.argv[1]))
"""


def figures() -> Iterator[Figure]:
    ours, theirs = SentenceTransformerEmbedder(BUNDLED), SentenceTransformerEmbedder(BUNDLED, cache=NOWHERE)
    for embedder in (ours, theirs):
        embedder.prepare()
    yield from _warm(ours, theirs)
    with tempfile.TemporaryDirectory() as scratch:
        _run(["init", "--sample", "sample_data"], Path(scratch))
        yield from _cold(Path(scratch), "machine otherwise idle")
        with _neighbours():
            yield from _cold(Path(scratch), "all processors busy")


def _warm(ours: SentenceTransformerEmbedder, theirs: SentenceTransformerEmbedder) -> Iterator[Figure]:
    questions = task_texts(N_QUERIES, seed=1)
    cpu = [_processor_seconds(lambda e=e: [e.encode_query(text) for text in questions]) for e in (ours, theirs)]  # type: ignore[misc]
    yield Figure(
        what="one query, processor time",
        ours=cpu[0] / N_QUERIES * 1e3,
        baseline=cpu[1] / N_QUERIES * 1e3,
        unit="ms",
        aim="≤ 10 ms",
    )
    texts = [f"{number}: " + " ".join(task_texts(30, seed=number))[: N_WORDS * 7] for number in range(N_TEXTS)]
    encoder = [e.encode_batch(texts) for e in (ours, theirs)]
    yield Figure(
        what=f"largest difference of any component, {N_TEXTS} texts, in millionths",
        ours=float(np.abs(encoder[0] - encoder[1]).max()) * 1e6,
        baseline=None,
        unit="",
        aim="≤ 10",
    )
    cpu = [_processor_seconds(lambda e=e: e.encode_batch(texts)) for e in (ours, theirs)]  # type: ignore[misc]
    yield Figure(
        what=f"{N_TEXTS} texts of {N_WORDS} words, processor time",
        ours=cpu[0],
        baseline=cpu[1],
        unit="s",
        aim="ratio ≤ 0.67",
    )


def _cold(store: Path, when: str) -> Iterator[Figure]:
    """Yield the cost of the first answer of a process, for both encoders in turns."""
    search = [sys.executable, "-m", "atlas", "search", QUESTION]
    runs = [[_measured(search, store, cache) for cache in (None, NOWHERE)] for _ in range(N_COLD)]
    seconds, megabytes = ([float(np.median([run[way][what] for run in runs])) for way in (0, 1)] for what in (0, 1))
    yield Figure(
        what=f"cold `atlas search`, {when}", ours=seconds[0], baseline=seconds[1], unit="s", aim=_aim(when, "search")
    )
    page = [sys.executable, "-c", COLD_PAGE, QUESTION]
    answers = [[float(_output(page, store, cache)) for cache in (None, NOWHERE)] for _ in range(N_COLD)]
    first = np.median(answers, axis=0)
    yield Figure(
        what=f"first answer on the page Ask, {when}",
        ours=float(first[0]),
        baseline=float(first[1]),
        unit="s",
        aim=_aim(when, "page"),
    )
    if when == "machine otherwise idle":
        yield Figure(
            what="memory of `atlas search` at its highest",
            ours=megabytes[0],
            baseline=megabytes[1],
            unit="MB",
            aim="≤ 250 MB",
        )


def _aim(when: str, what: str) -> str:
    return "≤ 2 s" if "idle" in when else ("≤ 4 s" if what == "search" else "")


def _measured(command: Sequence[str], store: Path, cache: Path | None) -> tuple[float, float]:
    """Return how many seconds a command took, and its memory at its highest in MB."""
    program = (
        "import json, resource, subprocess, sys, time; start = time.perf_counter(); "
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); "
        "seconds = time.perf_counter() - start; "
        "print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024]))"
    )
    seconds, megabytes = json.loads(_output([sys.executable, "-c", program, *command], store, cache))
    return seconds, megabytes


def _output(command: Sequence[str], store: Path, cache: Path | None) -> str:
    run = subprocess.run(
        command, cwd=REPOSITORY, env=_environment(store, cache), check=True, capture_output=True, text=True
    )
    return run.stdout


def _run(arguments: Sequence[str], store: Path) -> None:
    _output([sys.executable, "-m", "atlas", *arguments], store, None)


def _environment(store: Path, cache: Path | None) -> dict[str, str]:
    chosen = {"ATLAS_STORE": str(store), "ATLAS_EMBEDDING_MODEL": BUNDLED}
    return {**os.environ, **chosen, **({"ATLAS_CACHE": str(cache)} if cache else {})}


@contextmanager
def _neighbours() -> Iterator[None]:
    """Keep every processor busy with programs of others."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for neighbour in busy:
            neighbour.kill()
            neighbour.wait()


def _processor_seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start
