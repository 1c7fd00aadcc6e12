"""A store with something of every kind, made through the public names alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import atlas
from atlas.testing import FixedClock, HashEmbedder
from tests.support import records
from tests.support.records import concept
from tests.support.repository import REPOSITORY
from tests.support.stores import DIMENSION, MODEL

NOW = records.START
EMBEDDER = HashEmbedder(DIMENSION, MODEL)
"""What pages open a store with by its name; they draw these without embedding anything."""


@contextmanager
def opened(path: Path) -> Iterator[atlas.MemorySystem]:
    """The memory at a path, at an hour that stands still."""
    settings = atlas.Settings(actor="tester")
    with atlas.open_memory(path, embedder=EMBEDDER, settings=settings, clock=FixedClock(NOW)) as memory:
        yield memory


def make_sample(path: Path) -> dict[str, str]:
    """Make a store of the sample data and a few records of the other kinds; an id for each page that opens one."""
    with opened(path) as memory:
        attempts = memory.experience.as_operation("import", "sample data").store_many(sample_attempts())
        concepts = memory.concepts.add_many([concept(number) for number in range(3)])
        strategy = memory.strategies.add(atlas.Strategy(situation="a report is late", suggestion="mend the query"))
        memory.strategies.update_stats(strategy, True)
        entries = memory.journal.add_entries([entry(number) for number in range(6)])
        memory.experience.delete(attempts[-1:])
        memory.judge("a report is late", attempts[0], True)
        return {
            "experiences": attempts[0],
            "concepts": concepts[0],
            "strategies": strategy,
            "journal": entries[1],
            "history": memory.history()[0].id,
        }


def sample_attempts() -> Iterator[atlas.Trajectory]:
    """The attempts of the sample data."""
    for file in sorted((REPOSITORY / "sample_data").glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            yield _trajectory(json.loads(line)["trajectory"])


def _trajectory(given: Mapping[str, Any]) -> atlas.Trajectory:
    task = {**given["task"], "verification": atlas.VerificationSpec(**given["task"]["verification"])}
    decoded = {
        "task": atlas.Task(**task),
        "steps": tuple(atlas.Step(**step) for step in given["steps"]),
        "outcome": atlas.Outcome(**given["outcome"]),
        "timestamp": datetime.fromisoformat(given["timestamp"]) if given["timestamp"] else None,
    }
    return atlas.Trajectory(**{**given, **decoded})


def attempt(number: int, *, success: bool | None = True) -> atlas.Trajectory:
    """One of some attempts that are told apart by their number."""
    return records.attempt(
        f"Mend the report of customer {number}",
        success,
        task_id=f"task-{number}",
        domain="reports",
        steps=(atlas.Step(thought="Look first", action=f"open({number})", observation="a broken total"),),
        agent="analyst",
        at=NOW - timedelta(hours=number),
    )


def entry(number: int) -> atlas.JournalEntry:
    """One of some entries of a journal that are told apart by their number, the latest first."""
    return records.entry(number, created_at=NOW - timedelta(hours=number))
