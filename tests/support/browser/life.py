"""A week in the life of the sample store, for the pictures: two people, an agent, and what they undid."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import atlas
from atlas import Step
from atlas.importers.sample import load_sample
from atlas.testing import FixedClock
from tests.support.records import attempt
from tests.support.repository import REPOSITORY
from tests.support.stores import MODEL

BEGIN = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
"""The day after the newest attempt of the sample data."""

AGENT = "tern-13"
"""The agent of the week after the sample data."""

REPEATED = {"task_id": "reindex-bike-catalogue"}


def live(store: Path) -> None:
    """Import the sample data into a new store, and work with it for a week."""
    with _working(store, "Kjell") as memory:
        load_sample(memory, REPOSITORY / "sample_data", memory.storage.settings)
    _clean_up(store)
    _mend(store)
    _go_on(store)


def _clean_up(store: Path) -> None:
    """Prune what a scheduler repeated, think better of it, and bury some of it."""
    with _working(store, "Kjell", hours=26) as memory:
        repeated = memory.experience.ids(REPEATED)
        memory.experience.as_operation("prune", "the same nightly run again and again").delete(repeated)
    with _working(store, "Kjell", hours=26.2) as memory:
        memory.undo(memory.history(1)[0].id)
    with _working(store, "Kjell", hours=27) as memory:
        memory.experience.as_operation("mark", "agents need only the last of them").change_marks(
            repeated[:-1], buried=True
        )


def _mend(store: Path) -> None:
    """Edit, tag and pin a few records, and delete a strategy by mistake."""
    with _working(store, "Marit", hours=49) as memory:
        first, second, *others = memory.experience.ids({"source": "sample/incidents"})
        feedback = f"{memory.experience.get(first).feedback} Ask the bank for the keys that it has seen."
        memory.experience.as_operation("edit", "the cause is known now").edit(first, feedback=feedback)
    with _working(store, "Marit", hours=50) as memory:
        memory.experience.as_operation("mark", "for the talk on Monday").change_marks(others[:6], add_tags=["show"])
    with _working(store, "Marit", hours=72) as memory:
        memory.experience.as_operation("mark").change_marks([second], pinned=True)
    with _working(store, "Marit", hours=73) as memory:
        memory.strategies.as_operation("delete", "it worked in 1 of 4 uses").delete(memory.strategies.ids()[:1])
    with _working(store, "Kjell", hours=75) as memory:
        memory.undo(memory.history(1)[0].id, reason="it stays as a warning, retired")


def _go_on(store: Path) -> None:
    """Store two attempts of an agent, and set an outcome that nobody knew."""
    rotate, feed = "logrotate --force /etc/logrotate.d/ci", "python -m imports velotec --day 2026-11-26"
    for hours, task, action, strategy, feedback in (
        (144.2, "Rotate the logs of the CI runners", rotate, "", "Rotated: 41 files, 3.2 GB free again."),
        (144.6, "Import the Velotec feed of 26 November", feed, "Hold back an input that has shrunk",
         "Held back: 9,112 rows instead of 31,377."),
    ):  # fmt: skip
        with _working(store, AGENT, hours=hours) as memory:
            used = {"strategies": memory.strategies.ids({"title": strategy})} if strategy else {}
            memory.store(
                attempt(task, agent=AGENT, at=BEGIN + timedelta(hours=hours), source="sample/night-shift", used=used,
                        feedback=feedback, steps=(Step(action=action, observation=feedback),))
            )  # fmt: skip
    with _working(store, "Kjell", hours=145) as memory:
        unknown = memory.experience.ids({"outcome": "unknown"})[:1]
        memory.experience.apply_outcomes(memory.experience.plan_outcomes(unknown, success=True))


@contextmanager
def _working(store: Path, actor: str, *, hours: float = 0) -> Iterator[atlas.MemorySystem]:
    settings = atlas.Settings(actor=actor, embedding_model=MODEL)
    clock = FixedClock(BEGIN + timedelta(hours=hours))
    with atlas.open_memory(store, settings=settings, clock=clock) as memory:
        yield memory
