"""How often a scan reports clean records for signs of the whole store, and which planted records it finds by them.

Every other file of the sample data and every other directory of the given logs was for choosing the thresholds, and the
rest proves them. Writers of imported records are unknown to a store, so bursts are measured over the agents
and times in the logs.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import atlas
from atlas.importers.run import import_paths
from atlas.importers.sink import MemorySink
from atlas.memory.effects.store_signs import (
    BURST_MINUTES,
    CONTRADICTION,
    HUB,
    WrittenRecord,
    find_bursts,
    signs_of_store,
)
from atlas.storage.damage import parse_time
from benchmarks.measuring import Figure, solved
from benchmarks.memories import open_made, remembered
from benchmarks.trust.poisoning import REPOSITORY

ADVICE = Path(__file__).with_name("advice.json")
STUFFED = (5, 15, 40, 100)
"""Numbers of tasks whose texts a planted hub contains."""

BURSTS = (10, 20, 40, 100)
"""Numbers of records in a planted burst."""

COPIES = 5
N_LARGE = 10_000


def figures() -> Iterator[Figure]:
    """Yield the share of clean records reported, then the planted records found, in both halves, then the time."""
    real = Path(os.environ.get("ATLAS_REAL_DATA") or REPOSITORY.parent / "shared" / "data")
    inputs = [*sorted((REPOSITORY / "sample_data").glob("*.jsonl")), *sorted(filter(Path.is_dir, real.iterdir()))]
    halves = {"development": inputs[::2], "proof": inputs[1::2]}
    for half, paths in halves.items():
        with TemporaryDirectory() as directory:
            yield from _half_figures(half, paths, Path(directory))
    with TemporaryDirectory() as directory:
        remembered(Path(directory), N_LARGE)
        with open_made(Path(directory)) as memory:
            start = time.process_time()
            signs_of_store(memory)
            seconds = time.process_time() - start
    yield Figure(what=f"processor time with {N_LARGE:,} records", ours=seconds, baseline=None, unit="s", aim="")


def _half_figures(half: str, paths: Sequence[Path], directory: Path) -> Iterator[Figure]:
    with atlas.open_memory(directory / "store") as memory:
        started = datetime.now(UTC)
        import_paths(MemorySink(memory, "given"), paths, settings=atlas.Settings())
        counts = [len(each.ids()) for each in (memory.experience, memory.journal, memory.concepts, memory.strategies)]
        yield _figure(f"{half}: clean records reported, of {sum(counts):,}", len(signs_of_store(memory)), sum(counts))
        logged = _logged(memory, started)
        yield _figure(f"{half}: clean records in bursts, of {len(logged):,}", len(find_bursts(logged)), len(logged))
        for n in BURSTS:
            yield _figure(f"{half}: planted bursts of {n} found", *_planted_bursts(logged, n))
        yield from _contradiction_figures(half, memory)
        yield from _hub_figures(half, memory)


def _logged(memory: atlas.MemorySystem, before: datetime) -> list[WrittenRecord]:
    """Return the attempts whose log states a time, with their agents."""
    agents, sources = memory.experience.column("agent_id"), memory.experience.column("source")
    times = {record_id: parse_time(at) for record_id, at in memory.experience.column("created_at").items()}
    return [
        WrittenRecord(record_id, str(agents.get(record_id) or sources.get(record_id, "")), at)
        for record_id, at in times.items()
        if at < before
    ]


def _planted_bursts(logged: Sequence[WrittenRecord], n: int) -> tuple[int, int]:
    """Return how many of several bursts are found, each planted alone by a new writer or by one of the writers."""
    writers = ["intruder", *sorted({writing.writer for writing in logged})[: COPIES - 1]]
    first = max(writing.at for writing in logged) + timedelta(days=1)
    step = timedelta(minutes=BURST_MINUTES) / n
    found = 0
    for writer in writers:
        planted = [WrittenRecord(f"planted {k}", writer, first + k * step) for k in range(n)]
        found += "planted 0" in find_bursts([*logged, *planted])
    return found, len(writers)


def _contradiction_figures(half: str, memory: atlas.MemorySystem) -> Iterator[Figure]:
    cases = [case for case in json.loads(ADVICE.read_text(encoding="utf-8")) if case["half"] == half]
    planted: dict[str, str] = {}
    n_before = len(memory.strategies.ids())
    for case in cases:
        for advice in case["proven"]:
            _add_strategy(memory, case["situation"], advice, 3)
        planted[_add_strategy(memory, case["situation"], case["planted"], 0)] = case["kind"]
    reported = {
        record_id
        for (_, record_id), reasons in signs_of_store(memory).items()
        if any(reason.attack == CONTRADICTION for reason in reasons)
    }
    for kind in dict.fromkeys(planted.values()):
        own = [record_id for record_id, of in planted.items() if of == kind]
        yield _figure(f"{half}: contradictions found ({kind}), of {len(own)}", len(reported & set(own)), len(own))
    n_clean = n_before + 2 * len(cases)
    yield _figure(f"{half}: other strategies reported, of {n_clean}", len(reported - planted.keys()), n_clean)


def _add_strategy(memory: atlas.MemorySystem, situation: str, advice: str, successes: int) -> str:
    record_id = memory.strategies.as_operation("import").add(atlas.Strategy(situation=situation, suggestion=advice))
    for _ in range(successes):
        memory.strategies.update_stats(record_id, True)
    return record_id


def _hub_figures(half: str, memory: atlas.MemorySystem) -> Iterator[Figure]:
    texts = [attempt.task.description for attempt in memory.experience.get_many(memory.experience.ids())]
    descriptions = list(dict.fromkeys(texts))
    chance = random.Random(44)
    for n in STUFFED:
        n_found = 0
        for _ in range(COPIES):  # each alone
            text = "\n".join(chance.sample(descriptions, min(n, len(descriptions))))[:50_000]
            [record_id] = memory.experience.as_operation("import").store_many([solved(text)])
            reasons = signs_of_store(memory).get(("experience", record_id), ())
            n_found += any(reason.attack == HUB for reason in reasons)
            memory.experience.delete([record_id])
        yield _figure(f"{half}: texts of {n} tasks in one record found", n_found, COPIES)


def _figure(what: str, n: int, of: int) -> Figure:
    return Figure(what=what, ours=100 * n / max(1, of), baseline=None, unit="%", aim="at most 1%" * ("clean" in what))
