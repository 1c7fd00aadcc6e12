"""How many poisoned records a scan finds, and how many clean ones it reports.

`poisoned.json` has records of our own, built after published attacks. One half was for choosing the rules, the other
half proves them. The clean records are those of the given logs, as they are imported.

Where `agent-memory-guard` is installed, its detectors of injections are the baseline:

    pip install --no-deps agent-memory-guard==0.3.3
    python -m benchmarks poisoning

Sources of the attacks:
    MINJA (Dong et al., 2025): bridging steps and shortened orders, planted by plain queries.
    AgentPoison (Chen et al., NeurIPS 2024): a trigger phrase beside a harmful demonstration.
    Greshake et al., AISec 2023: orders in retrieved texts, hidden or encoded.
    Rehberger, 2024: orders that persist in an assistant's long-term memory, and messages in tag characters.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from atlas.core.exchange import ExportedConcept, ExportedExperience, ExportedStrategy
from atlas.core.settings import Settings
from atlas.core.types import CodeConcept, Experience, JournalEntry, Outcome, Strategy, Task, Trajectory
from atlas.importers.rows import Item
from atlas.importers.run import AddCount, import_paths
from atlas.memory.effects.scan import readable_parts, scan_record
from atlas.memory.experience.extraction import to_experience
from atlas.scanning.text import SUSPICIOUS
from benchmarks.measuring import Figure
from benchmarks.memories import START

REPOSITORY = Path(__file__).resolve().parents[2]
RECORDS = Path(__file__).with_name("poisoned.json")
HALVES = ("development", "proof")
AIMS: Mapping[str, str] = {"orders": "70%", "tool calls": "70%", "hidden text": "70%", "lies": "none expected"}
"""Aims of the share that is caught, by attack."""

PROGRAMS = "programs"
"""The kind of the clean records that are programs of a published evaluation, which are easy."""

Detector = Callable[[str, Any], bool]
"""Returns whether a record of a memory is reported."""


def figures() -> Iterator[Figure]:
    """Yield the share of each attack that is caught, in both halves, then the share of clean records reported."""
    baseline = _memory_guard()
    poisoned = json.loads(RECORDS.read_text(encoding="utf-8"))
    for half in HALVES:
        for attack in dict.fromkeys(row["attack"] for row in poisoned):
            records = [poisoned_record(row) for row in poisoned if (row["attack"], row["half"]) == (attack, half)]
            yield _share(f"{half}: {attack} caught", records, baseline, AIMS.get(attack, ""))
    real = Path(os.environ.get("ATLAS_REAL_DATA") or REPOSITORY.parent / "shared" / "data")
    yield from _clean_figures(clean_records([real, REPOSITORY / "sample_data"]), baseline)


def poisoned_record(row: Mapping[str, str]) -> tuple[str, Any]:
    """Return the name of the memory, and the record."""
    text = row["text"]
    if row["memory"] == "strategies":
        return "strategies", Strategy(situation="a task of this kind", suggestion=text)
    if row["memory"] == "journal":
        return "journal", JournalEntry(entry_type="reflection", content=text, generation=0)
    return "experience", _experience(Trajectory(Task("", "", text), (), Outcome(None)))


def clean_records(paths: Sequence[Path]) -> dict[str, list[tuple[str, Any]]]:
    """Return the records in files and directories, as an import makes them, by kind."""
    sink = _Items()
    for path in paths:
        import_paths(sink, [path], settings=Settings())
    records: dict[str, list[tuple[str, Any]]] = {"attempts": [], "journal": [], "concepts": [], "strategies": []}
    for item in sink.items:
        record = _record(item)
        if isinstance(record, Experience):
            records["attempts"].append(("experience", record))
        elif isinstance(record, JournalEntry | CodeConcept | Strategy):
            name = {JournalEntry: "journal", CodeConcept: "concepts", Strategy: "strategies"}[type(record)]
            records[name].append((name, record))
    records[PROGRAMS] = [
        ("concepts", CodeConcept(name=f"{file.stem} {n}", description="", code=program))
        for path in paths
        for file in sorted(path.glob("stitch/*.json"))
        for n, program in enumerate(json.loads(file.read_text(encoding="utf-8")))
    ]
    return {kind: found for kind, found in records.items() if found}


class _Items:
    """A sink that keeps all items in memory."""

    def __init__(self) -> None:
        self.items: list[Item] = []

    def add(self, items: list[Item], source: str) -> AddCount:
        self.items += items
        return AddCount(added={"record": len(items)}, skipped=0)


def _experience(attempt: Trajectory) -> Experience:
    return to_experience(attempt, experience_id=attempt.id, embedding_text=attempt.task.description, now=START)


def _record(item: Item) -> Any:
    if isinstance(item, Trajectory):
        return _experience(item)
    if isinstance(item, ExportedExperience):
        return item.experience
    if isinstance(item, ExportedConcept):
        return item.concept
    return item.strategy if isinstance(item, ExportedStrategy) else item


def _clean_figures(records: Mapping[str, list[tuple[str, Any]]], baseline: Detector | None) -> Iterator[Figure]:
    start = time.process_time()
    for kind, found in records.items():
        yield _share(f"clean: {kind} reported ({len(found):,})", found, baseline, "")
    seconds = time.process_time() - start
    every = [record for found in records.values() for record in found]
    without_programs = [record for kind, found in records.items() if kind != PROGRAMS for record in found]
    yield _share(f"clean: all without programs ({len(without_programs):,})", without_programs, baseline, "at most 1%")
    yield _share(f"clean: all ({len(every):,})", every, baseline, "at most 1%")
    yield Figure(what="time for a record", ours=1000 * seconds / len(every), baseline=None, unit="ms", aim="")


def _share(what: str, records: Sequence[tuple[str, Any]], baseline: Detector | None, aim: str) -> Figure:
    return Figure(
        what=f"{what}, of {len(records)}" if "clean" not in what else what,
        ours=_percent(records, lambda memory, record: scan_record(memory, record).score >= SUSPICIOUS),
        baseline=None if baseline is None else _percent(records, baseline),
        unit="%",
        aim=aim,
    )


def _percent(records: Sequence[tuple[str, Any]], detect: Detector) -> float:
    return 100 * sum(detect(memory, record) for memory, record in records) / len(records)


def _memory_guard() -> Detector | None:
    """Return the detectors of injections of OWASP's agent-memory-guard as one, or None if it is not installed."""
    if find_spec("agent_memory_guard") is None:
        return None
    module = "agent_memory_guard.detectors"
    detectors = [
        import_module(f"{module}.injection").PromptInjectionDetector(),
        import_module(f"{module}.memory_persistence_injection").MemoryPersistenceInjectionDetector(),
    ]

    def detect(memory: str, record: Any) -> bool:
        texts = [part.text for part in readable_parts(memory, record)]
        return any(each.inspect("", text, operation="write").matched for each in detectors for text in texts)

    return detect
