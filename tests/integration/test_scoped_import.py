"""One file imported into two scopes of a store: each has all of it, and none of the other's."""

from __future__ import annotations

from pathlib import Path

import pytest

import atlas
from atlas.cli import main
from atlas.core.types import JournalEntry, Link
from atlas.importers.sink import MemorySink
from atlas.infra.actor import Actor, Role, acting
from atlas.testing import HashEmbedder
from tests.support.records import attempts

SETTINGS = atlas.Settings(embedding_model="all-MiniLM-L6-v2")


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    """The export of a store with attempts and a strategy."""
    with atlas.open_memory(tmp_path / "source", settings=SETTINGS) as memory:
        memory.experience.store_many(attempts(4))
        memory.strategies.add(atlas.Strategy(situation="a crash at start-up", suggestion="read the log from its end"))
    file = tmp_path / "all.jsonl"
    assert main(["--store", str(tmp_path / "source"), "export", str(file)]) == 0
    return file


def imported(store: Path, file: Path, project: str) -> None:
    assert main(["--store", str(store), "import", str(file), "--scope", f"project={project}"]) == 0


def seen_in(memory: atlas.MemorySystem, project: str) -> dict[str, set[str]]:
    """Ids of all records that a key of a project sees, by memory."""
    with acting(Actor("agent", Role.WRITER, scope=(("scope.project", project),))):
        return {name: set(getattr(memory, name).ids()) for name in ("experience", "strategies", "journal")}


def test_each_project_has_its_own_copy_of_a_file(exported, tmp_path, monkeypatch):
    monkeypatch.setenv("ATLAS_EMBEDDING_MODEL", "all-MiniLM-L6-v2")
    store = tmp_path / "shared"
    for project in ("shop", "bank", "shop"):
        imported(store, exported, project)
    with atlas.open_memory(store) as memory:
        shop, bank = seen_in(memory, "shop"), seen_in(memory, "bank")
        assert {name: len(ids) for name, ids in shop.items()} == {"experience": 4, "strategies": 1, "journal": 0}
        assert {name: len(ids) for name, ids in bank.items()} == {"experience": 4, "strategies": 1, "journal": 0}
        for name, ids in shop.items():
            assert not ids & bank[name]
            assert len(getattr(memory, name)) == 2 * len(ids)


def test_entries_are_linked_within_their_own_scope(tmp_path):
    entries = [
        JournalEntry(
            id="one", entry_type="crash_log", generation=1, content="The worker ended with status 9 while it loaded"
        ),
        JournalEntry(
            id="two",
            entry_type="reflection",
            generation=1,
            content="The index does not fit into memory; load it in parts",
            links=(Link(type="caused_by", target_id="one"),),
        ),
    ]
    with atlas.open_memory(tmp_path / "shared", embedder=HashEmbedder()) as memory:
        for project in ("shop", "bank"):
            with acting(Actor("agent", Role.WRITER, scope=(("scope.project", project),))):
                assert MemorySink(memory, "a log").add([*entries], "log").added == {"entry": 2}
        for project in ("shop", "bank"):
            ids = seen_in(memory, project)["journal"]
            assert len(ids) == 2
            links = [link.target_id for entry in memory.journal.get_many([*ids]) for link in entry.links]
            assert len(links) == 1
            assert set(links) < ids


def test_a_scope_that_is_malformed_is_refused_and_nothing_is_imported(exported, tmp_path, capsys):
    store = tmp_path / "shared"
    with pytest.raises(SystemExit):
        main(["--store", str(store), "import", str(exported), "--scope", "shop"])
    assert "expected NAME=VALUE such as project=shop, got 'shop'" in capsys.readouterr().err
    assert main(["--store", str(store), "import", str(exported), "--scope", "=shop"]) == 1
    assert not store.exists()
