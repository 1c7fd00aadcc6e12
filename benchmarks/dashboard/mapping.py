"""The map: how long it takes, how true it is and what its domains are, beside plain umap-learn with HDBSCAN."""

from __future__ import annotations

import json
import os
import random
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import comb
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import atlas
from atlas.core.types import Vectors
from atlas.importers.run import import_paths
from atlas.importers.sink import MemorySink
from atlas.jobs.duplicates import find_duplicates
from atlas.maps.domains import default_min_size
from atlas.maps.duplicates import near_duplicates
from atlas.maps.map import MemoryMap, make_map
from atlas.maps.projection import trustworthiness
from atlas.maps.snapshot import EmbeddedRecords, read_embedded
from atlas.memory.experience.memory import COLLECTION
from benchmarks.measuring import Figure, clustered_vectors

REPOSITORY = Path(__file__).resolve().parent.parent
SIZES = tuple(int(n) for n in os.environ.get("ATLAS_BENCHMARK_SIZES", "1000,10000,100000").split(","))
"""ATLAS_BENCHMARK_SIZES: numbers of records, with commas."""

REAL = ("tau_bench", "reflexion", "swe_agent")
DRAWN = 100
"""Groups of near-duplicates that are drawn to be judged."""


def figures() -> Iterator[Figure]:
    """Yield the figures at each size, then on real texts."""
    for n in SIZES:
        yield from _at(n)
    yield from _sample_figures(REPOSITORY / "sample_data")
    yield from _real_figures(Path(os.environ.get("ATLAS_REAL_DATA") or REPOSITORY.parent / "shared" / "data"))


def _at(n: int) -> Iterator[Figure]:
    vectors = clustered_vectors(n, seed=1)
    embedded = _embedded(vectors)
    seconds, memory_map = _timed(lambda: make_map(embedded))
    plain_seconds, (plain_coordinates, plain_domains) = _timed(lambda: _plain(vectors))
    plain_trust = trustworthiness(vectors, plain_coordinates)
    size = f"{n:,} records"
    yield Figure(what=f"{size}: map and domains", ours=seconds, baseline=plain_seconds, unit="s", aim="")
    yield Figure(
        what=f"{size}: trustworthiness@15",
        ours=memory_map.trustworthiness,
        baseline=plain_trust,
        unit="",
        aim="as umap-learn",
    )
    yield Figure(what=f"{size}: domains", ours=len(memory_map.domains), baseline=plain_domains, unit="", aim="")
    seconds, _ = _timed(lambda: near_duplicates(embedded))
    yield Figure(what=f"{size}: near-duplicates", ours=seconds, baseline=None, unit="s", aim="100,000 under 60")


def _plain(vectors: Vectors) -> tuple[Any, int]:
    """Draw a map as the documentation of both libraries shows, with the compilation that a first call pays."""
    from sklearn.cluster import HDBSCAN

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from umap import UMAP

        coordinates = UMAP(n_neighbors=15, metric="cosine", random_state=42).fit_transform(vectors)
    labels = HDBSCAN(min_cluster_size=default_min_size(len(vectors)), copy=True).fit_predict(coordinates)
    return coordinates.astype(np.float32), int(labels.max()) + 1


def _sample_figures(directory: Path) -> Iterator[Figure]:
    """Yield how pure the domains are by the files of the sample data, which are nowhere in what is embedded."""
    fields = {
        _description(line): path.stem
        for path in sorted(directory.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.strip()
    }
    if fields:
        with _store_of([directory]) as memory:
            yield from _purity("sample data by file", *_labelled(memory, lambda _, text: fields.get(text, "")))


def _real_figures(directory: Path) -> Iterator[Figure]:
    paths = [directory / name for name in REAL if (directory / name).is_dir()]
    if paths:
        with _store_of(paths) as memory:
            labelled = _labelled(memory, lambda metadata, _: str(metadata.get("source", "")))
            yield from _purity("real runs by source", *labelled)
            yield from _duplicate_figures(memory)


def _duplicate_figures(memory: atlas.MemorySystem) -> Iterator[Figure]:
    """Yield how many groups of near-duplicates are of one task by its id, and how many pairs at one task they hold."""
    groups = find_duplicates(memory.storage, COLLECTION).groups
    tasks = memory.experience.column("task_id")
    sample = random.Random(1).sample(groups, min(DRAWN, len(groups)))
    pure = sum(len({tasks[record_id] for record_id in group.ids}) == 1 for group in sample) / max(1, len(sample))
    n_pairs = sum(comb(n, 2) for n in Counter(tasks.values()).values())
    n_found = sum(comb(n, 2) for group in groups for n in Counter(tasks[record_id] for record_id in group.ids).values())
    yield Figure(
        what=f"{len(sample)} groups of near-duplicates: of one task", ours=pure, baseline=None, unit="", aim=""
    )
    yield Figure(
        what="pairs of attempts at one task: found", ours=n_found / max(1, n_pairs), baseline=None, unit="", aim=""
    )


def _purity(what: str, embedded: EmbeddedRecords, truth: Sequence[str]) -> Iterator[Figure]:
    from sklearn.metrics import adjusted_mutual_info_score

    memory_map = make_map(embedded)
    inside = memory_map.labels >= 0
    agreement = adjusted_mutual_info_score(np.array(truth)[inside], memory_map.labels[inside])
    yield Figure(what=f"{what}: purity of domains", ours=_pure_share(memory_map, truth), baseline=None, unit="", aim="")
    yield Figure(what=f"{what}: adjusted mutual information", ours=agreement, baseline=None, unit="", aim="")
    yield Figure(what=f"{what}: domains", ours=len(memory_map.domains), baseline=len(set(truth)), unit="", aim="")
    yield Figure(what=f"{what}: share unclustered", ours=memory_map.share_unclustered, baseline=None, unit="", aim="")
    yield Figure(what=f"{what}: trustworthiness@15", ours=memory_map.trustworthiness, baseline=None, unit="", aim="")


def _pure_share(memory_map: MemoryMap, truth: Sequence[str]) -> float:
    """Return the share of the records in domains that have the most frequent label of their domain."""
    labels = np.array(truth)
    most = sum(
        Counter(labels[memory_map.labels == domain.number].tolist()).most_common(1)[0][1]
        for domain in memory_map.domains
    )
    return most / max(1, sum(domain.n for domain in memory_map.domains))


@contextmanager
def _store_of(paths: Sequence[Path]) -> Iterator[atlas.MemorySystem]:
    """Yield a store of files, embedded by the bundled model."""
    with TemporaryDirectory() as directory:
        settings = atlas.Settings(store=Path(directory), embedding_model="all-MiniLM-L6-v2")
        with atlas.open_memory(directory, settings=settings) as memory:
            import_paths(MemorySink(memory, "benchmark"), list(paths), settings=settings)
            yield memory


def _labelled(
    memory: atlas.MemorySystem, label: Callable[[Mapping[str, Any], str], str]
) -> tuple[EmbeddedRecords, list[str]]:
    """Return the records of a store, and each one's label."""
    embedded = read_embedded(memory.storage, COLLECTION)
    rows = {row["id"]: row["metadata"] for row in memory.experience.browse()}
    experiences = [memory.experience.get(record_id) for record_id in embedded.ids]
    return embedded, [
        label(rows[record_id.id], record_id.task.description) for record_id in experiences if record_id is not None
    ]


def _description(line: str) -> str:
    row = json.loads(line)
    return str((row.get("trajectory") or row.get("experience") or row)["task"]["description"])


def _embedded(vectors: Vectors) -> EmbeddedRecords:
    ids = tuple(str(row) for row in range(len(vectors)))
    return EmbeddedRecords(ids=ids, vectors=vectors, titles=ids, texts=ids, revision=1, model="benchmark")


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result
