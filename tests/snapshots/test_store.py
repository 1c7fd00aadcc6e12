"""What a store is on disk: its schema, and its files, tables and history while it is used."""

from __future__ import annotations

import re
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import atlas
from atlas.cli import main
from atlas.storage.marks.files import FILES
from tests.support.records import concept
from tests.support.sample import attempt, entry, opened
from tests.support.snapshots import assert_unchanged, numbered

Step = Callable[[atlas.MemorySystem], object]

COPIES = frozenset((*FILES.values(), "marks.lock"))
"""Files that a thread writes, at a time that differs."""


def store(memory: atlas.MemorySystem) -> None:
    memory.store(attempt(0))
    memory.experience.store_many([attempt(1, success=False), attempt(2, success=None), attempt(3)])


def add_others(memory: atlas.MemorySystem) -> None:
    memory.concepts.add_many([concept(1), concept(2)])
    memory.strategies.add(atlas.Strategy(situation="a report is late", suggestion="mend the query"))
    memory.journal.add_entries([entry(0), entry(1)])


def use(memory: atlas.MemorySystem) -> None:
    hits = memory.experience.search_hits("Mend the report of customer 3", k=2)
    memory.experience.record_use(hits[0].item.id, True, task_id="task-9")
    memory.query_sync(attempt(3).task, 2)


def mark(memory: atlas.MemorySystem) -> None:
    memory.experience.change_marks(ids(memory)[:2], add_tags=["kept"], pinned=True, note="look here")


def edit(memory: atlas.MemorySystem) -> None:
    memory.experience.edit(ids(memory)[0], feedback="well done")


def prune(memory: atlas.MemorySystem) -> None:
    memory.experience.as_operation("prune", "tidying up").prune({"min_success_rate": 0.5})


def undo(memory: atlas.MemorySystem) -> None:
    memory.undo(memory.history()[0].id)


def purge(memory: atlas.MemorySystem) -> None:
    memory.apply_purge(memory.plan_purge(ids(memory)[:1]), reason="a leaked key")


def ids(memory: atlas.MemorySystem) -> list[str]:
    return [row["id"] for row in memory.experience.browse(order_by="created_at", descending=False)]


COUNTED_LATER = ("usage",)
"""Tables that searches fill at some time until the store is closed."""

STEPS: tuple[Step, ...] = (store, add_others, use, mark, edit, prune, undo, purge)


def test_the_schema_of_a_store_is_the_same(tmp_path):
    with opened(tmp_path) as memory:
        lines = ["new", *schema(tmp_path)]
        store(memory)
        add_others(memory)
        assert_unchanged("schema", [*lines, "", "with records of every kind", *schema(tmp_path)])


def test_a_store_is_the_same_after_each_step_from_its_creation_to_its_backup(tmp_path):
    assert_unchanged("life_of_a_store", map(numbered(), life(tmp_path / "store", tmp_path / "backup.zip")))


def life(path: Path, backup: Path) -> Iterator[str]:
    """The state of a store after it was made, after each step, after it was closed, and its backup."""
    told: list[list[str]] = []
    with opened(path) as memory:
        yield from ["created", *state(path, but=COUNTED_LATER), ""]
        for step in STEPS:
            step(memory)
            now = list(history(memory))
            yield from [step.__name__, *state(path, but=COUNTED_LATER)]
            yield from [line for operation in now if operation not in told for line in operation]
            yield ""
            told = now
    yield from ["closed", *state(path), ""]
    yield from ["backed up", *backed_up(path, backup), ""]


def state(path: Path, *, but: tuple[str, ...] = ()) -> Iterator[str]:
    """The files of a store, and how many rows each table has that has any, but for some tables.

    Copies of marks are left out, because a thread writes them at a time of its own.
    """
    files = (file.relative_to(path) for file in path.rglob("*") if file.is_file() and file.name not in COPIES)
    yield from (f"    {name}" for name in sorted({_name(file) for file in files}))
    for database in databases(path):
        yield from (f"    {database.name} {name}: {n}" for name, n in n_rows(database).items() if n and name not in but)


def databases(path: Path) -> list[Path]:
    return sorted(path.glob("*.sqlite"))


def schema(path: Path) -> Iterator[str]:
    """What the databases of a store define, without the comments in it."""
    for database in databases(path):
        with closing(sqlite3.connect(database)) as connection:
            found = connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name").fetchall()
        for kind, name, sql in found:
            yield f"    {database.name} {kind} {name}: {' '.join(re.sub('--.*', '', sql or '').split())}"


def n_rows(database: Path) -> dict[str, int]:
    """The rows of each table; of a full-text index the texts that it holds, as all else is SQLite's affair."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        found = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        indexes = [name for name, sql in found if "VIRTUAL TABLE" in sql]
        inside = (*indexes, *(f"{name}_{part}" for name in indexes for part in ("config", "data", "idx")))
        names = [name for name, _ in found if name not in inside]
        return {name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names}


def history(memory: atlas.MemorySystem) -> Iterator[list[str]]:
    """The operations, latest first, each with the records and fields that it changed."""
    for operation in memory.history():
        yield [f"    {operation}", *(f"        {change}" for change in memory.changes(operation.id))]


def backed_up(path: Path, backup: Path) -> Iterator[str]:
    """What the files of a backup are called, and what its restoring elsewhere gives."""
    assert main(["--store", str(path), "backup", str(backup)]) == 0
    with zipfile.ZipFile(backup) as archive:
        yield from (f"    {name}" for name in sorted(archive.namelist()))
    yield "restored elsewhere"
    other = path.with_name("other")
    assert main(["--store", str(other), "restore", str(backup)]) == 0
    yield from state(other)


def _name(file: Path) -> str:
    """The name of a file in a store; of an index only that there is one, as its files are ChromaDB's affair."""
    return (
        f"{file.parts[0]}/{file.parts[1]}/…" if len(file.parts) > 2 and file.parts[0] == "chroma" else file.as_posix()
    )
