"""A store with something of every kind that a call of the library may be about."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import atlas
from atlas.access.links import Links
from atlas.access.people import Identity, People
from atlas.cli.common import calibrate
from atlas.infra.actor import Actor, Role, acting
from atlas.protocols.access import AUDIT
from atlas.storage.maintenance.backup import backup
from atlas.storage.store import LEDGER
from atlas.views.settings import keys, links
from tests.support.records import START, attempt, concept, entry
from tests.support.sample import opened

Ids = dict[str, Any]
CRASH = "Gen 4 died after 5s. Reason: AssertionError in check_occurences"
LESSON = "The AssertionError in check_occurences, of which Gen 4 died, had an unsorted pair as its reason"


class Loader:
    """A library of one primitive, of which there are two versions."""

    def __init__(self, version: int) -> None:
        self.version = version

    def load(self) -> dict[str, atlas.CodeConcept]:
        return {"crop": concept(self.version, id="c" * 32, name="crop", source="primitive")}


class Abstractor:
    """Says of every attempt that its situation was its task."""

    async def abstract(self, trajectory: atlas.Trajectory) -> atlas.Strategy:
        return strategy(trajectory.task.description)


def strategy(what: str) -> atlas.Strategy:
    return atlas.Strategy(situation=f"{what} is slow", suggestion="cache it")


def make_everything(store: Path) -> Ids:
    """Make the store; the ids of what is in it."""
    ids: Ids = {}
    with opened(store) as memory:
        ids |= _records(memory) | _exported(store.parent / "elsewhere")
        with acting(Actor("crawler", Role.WRITER, is_reviewed=True)):
            ids |= {f"held {name}": made for name, made in _one_of_each(memory, "held").items()}
        ids["backup"] = store.parent / "kept.zip"
        backup(memory.storage, ids["backup"])
        ids["key"] = keys.key_rows(memory)[0].id if keys.make_key(memory, "spare", "writer", 0) else ""
        person = Identity(issuer="https://id.example", subject="eve", name="Eve")
        people = People(store, {"*": Role.VIEWER})
        ids["person"] = people.set_role(people.sign_in(person).id, Role.WRITER).id
        links.make_link(memory, "board", 7)
        ids["link"] = Links(store).all()[0].id
        calibrate(memory)  # or the first search would keep what it measured
    return ids


def _records(memory: atlas.MemorySystem) -> Ids:
    gone = _one_of_each(memory, "gone")
    for name, record_id in gone.items():
        getattr(memory, name).delete([record_id])
    made = _one_of_each(memory, "made")
    ids: Ids = {f"deleted {name}": record_id for name, record_id in gone.items()} | made
    ids["alike"] = memory.experience.store_many([attempt("sort the crates", task_id="crates") for _ in range(2)])
    ids["two strategies"] = [memory.strategies.add(strategy("a shop")), memory.strategies.add(strategy("the shop"))]
    memory.concepts.load_primitives(Loader(1))
    ids["retired"] = memory.strategies.add(strategy("an old page"))
    memory.strategies.retire([ids["retired"]])
    ids["quarantined"] = memory.experience.store(attempt("planted"))
    memory.quarantine([ids["quarantined"]], reason="planted")
    ids["two concepts"] = memory.concepts.add_many([concept(5), concept(6)])
    crash = memory.journal.add("crash_log", CRASH, generation=4)
    lesson = memory.journal.add("reflection", LESSON, generation=5)
    ids["crash"], ids["two entries"] = crash, (lesson, made["journal"])
    ids["linked"] = (made["journal"], crash)
    memory.experience.store(attempt("open the locked gate", False, task_id="gate"))
    memory.journal.link(*ids["linked"])
    memory.journal.link(crash, lesson, "fixed_by")
    memory.journal.add("crash_log", CRASH.replace("AssertionError", "KeyError").replace("4", "7"), generation=7)
    memory.journal.add("reflection", LESSON.replace("AssertionError", "KeyError").replace("4", "7"), generation=8)
    ids["entry"] = entry(40)
    memory.journal.add("observation", "ok", generation=6)
    ids["refused"] = memory.journal.rejected(1).latest[0].id
    memory.experience.change_marks([made["experience"]], pinned=True)
    return ids


def _exported(store: Path) -> Ids:
    """Records of another store, as an export of it holds them."""
    with opened(store) as memory:
        made = _one_of_each(memory, "elsewhere")
        names = ("experience", "strategies", "concepts")
        return {f"exported {name}": getattr(memory, name).export([made[name]]) for name in names}


def _one_of_each(memory: atlas.MemorySystem, what: str) -> dict[str, str]:
    number = sum(map(ord, what))
    return {
        "experience": memory.experience.store(attempt(f"mend the report of a customer, {what}", task_id=what)),
        "strategies": memory.strategies.add(strategy(f"the {what} report")),
        "concepts": memory.concepts.add(concept(number)),
        "journal": memory.journal.add_entries([entry(number, created_at=START - timedelta(days=400))])[0],
    }


def content(store: Path) -> dict[str, str]:
    """Everything that a store holds, but the audit log, which says who was refused, and copies that a thread writes."""
    with closing(sqlite3.connect(f"file:{store / LEDGER}?mode=ro", uri=True)) as connection:
        tables = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
        ).fetchall()
        held = {name: sorted(map(repr, connection.execute(f'SELECT * FROM "{name}"'))) for (name,) in tables}
    names = [path for path in store.rglob("*") if path.suffix in (".json", ".zip", ".jsonl")]
    files = [path for path in names if path.is_file() and not path.name.endswith("_meta.json")]
    hashes = {str(path.relative_to(store)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    hashes.pop(AUDIT, None)
    return {
        f"table {name}": hashlib.sha256("\n".join(rows).encode()).hexdigest() for name, rows in held.items()
    } | hashes
