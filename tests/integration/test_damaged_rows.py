"""What SQLite does not notice, such as a bit that flipped in a text, is said to be damage too, whoever reads it."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

import atlas
from atlas.cli import main
from atlas.core.errors import StoreDamaged
from atlas.embedding.sentence_transformers import BUNDLED
from atlas.storage.maintenance.backup import backup
from atlas.storage.maintenance.doctor import examine
from atlas.testing import HashEmbedder

SAID = r"the ledger .*is damaged \(.*Nothing was changed\. Copy the whole directory"
NO_UTF8 = "CAST(x'7bff7d' AS TEXT)"
NO_JSON = "'{\"title\"'"


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store with three attempts, of which one was edited, one used and one deleted, and one of each other memory."""
    monkeypatch.setenv("ATLAS_STORE", str(tmp_path / "store"))
    with opened() as memory:
        ids = memory.experience.store_many(map(attempt, ("sort a list", "parse a date", "draw a chart", "rotate it")))
        memory.experience.edit(ids[0], feedback="better")
        memory.experience.record_use(ids[1], True)
        memory.experience.delete([ids[2]])
        memory.concepts.add(atlas.CodeConcept(name="f", description="sort", code="def f(x):\n    return sorted(x)\n"))
        memory.strategies.add(atlas.Strategy(situation="a list", suggestion="sort it"))
        memory.journal.add_entries([atlas.JournalEntry(entry_type="task", content="sort it", generation=1)])
    return tmp_path / "store"


def opened(**options) -> atlas.MemorySystem:
    return atlas.open_memory(embedder=HashEmbedder(384, BUNDLED), **options)


def attempt(text: str) -> atlas.Trajectory:
    return atlas.Trajectory(
        task=atlas.Task(text, "", text), steps=(atlas.Step(action="do"),), outcome=atlas.Outcome(True)
    )


def spoil(store, statement: str) -> None:
    """Change the ledger behind our back, as a failing disk does."""
    with closing(sqlite3.connect(store / "atlas.sqlite")) as connection, connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute(statement)


def kinds(memory: atlas.MemorySystem):
    return memory.experience, memory.concepts, memory.strategies, memory.journal


@pytest.mark.parametrize("text", [NO_UTF8, NO_JSON, "'[]'", "''", "NULL || 1", "x'00'"])
@pytest.mark.parametrize("column", ["metadata", "content"])
def test_a_record_that_cannot_be_read_is_damage_in_every_memory(store, column, text):
    spoil(store, f"UPDATE records SET {column} = coalesce({text}, 5) WHERE deleted = 0")
    with opened(read_only=True) as memory:
        for kind in kinds(memory):
            with pytest.raises(StoreDamaged, match=SAID):
                kind.get_many(kind.ids())
            if column == "metadata":
                for read in (kind.browse, lambda kind=kind: kind.search_hits("sort")):
                    with pytest.raises(StoreDamaged, match=SAID):
                        read()
        found = memory.query_sync(atlas.Task("t", "", "sort"))
        assert found.errors
        assert all("is damaged" in str(error) for error in found.errors.values())


@pytest.mark.parametrize("text", [NO_UTF8, NO_JSON, "'{}'"])
def test_a_before_image_that_cannot_be_read_is_damage(store, text):
    spoil(store, f"UPDATE changes SET before = {text} WHERE before IS NOT NULL")
    with opened() as memory:
        deletion = next(operation for operation in memory.storage.history() if operation.kind == "delete")
        edited = memory.experience.ids()[0]
        for read in (
            memory.experience.trash,
            lambda: memory.storage.changes(deletion.id),
            lambda: memory.storage.undo(deletion.id),
            lambda: memory.storage.ledger.history.versions("atlas_experiences", edited),
        ):
            with pytest.raises(StoreDamaged, match=SAID):
                read()


@pytest.mark.parametrize("text", ["'2026-13-01'", "x'ff'", "''", NO_UTF8])
def test_a_time_that_cannot_be_read_is_damage(store, text):
    spoil(store, f"UPDATE operations SET created_at = {text}")
    spoil(store, f"UPDATE records SET stored_at = {text}")
    with opened(read_only=True) as memory:
        for read in (memory.storage.history, lambda: memory.experience.never_retrieved(1)):
            with pytest.raises(StoreDamaged, match=SAID):
                read()


@pytest.mark.parametrize("vector", ["x'0000'", "zeroblob(1536) || x'00'", "'text'", "x'0000807f'"])
def test_a_vector_that_cannot_be_read_is_damage_and_warns_of_nothing(store, vector):
    spoil(store, f"UPDATE vectors SET vector = {vector} WHERE seq = 1")
    with opened(read_only=True) as memory, pytest.raises(StoreDamaged, match=SAID):
        memory.experience.search_hits("sort")


def test_a_vector_too_long_to_multiply_is_damage_and_warns_of_nothing(store):
    spoil(store, f"UPDATE vectors SET vector = x'{'0000707f' * 384}' WHERE seq = 1")
    with opened(read_only=True) as memory, pytest.raises(StoreDamaged, match="not finite"):
        memory.experience.search_hits("sort")


def test_an_index_that_names_a_record_which_is_not_there_is_damage(store):
    spoil(store, "UPDATE attributes SET seq = seq + 900")
    with opened(read_only=True) as memory:
        for read in (
            lambda: memory.experience.column("title"),
            lambda: memory.experience.browse(order_by="created_at", limit=2),
        ):
            with pytest.raises(StoreDamaged, match=SAID):
                read()


def test_a_write_that_meets_what_should_not_be_there_is_damage(store):
    spoil(store, "DELETE FROM records WHERE seq > 4")
    with opened() as memory, pytest.raises(StoreDamaged, match=r"UNIQUE constraint failed"):
        memory.experience.store_many([attempt("a"), attempt("b"), attempt("c"), attempt("d")])


@pytest.mark.parametrize("word", ["actor", "kind"])
def test_the_command_line_calls_damage_no_bug(store, capsys, word):
    spoil(store, f"UPDATE operations SET {word} = {NO_UTF8}")
    assert main(["history"]) == 1
    said = capsys.readouterr().err
    assert "is damaged (Could not decode to UTF-8" in said
    assert "bug" not in said
    assert len(said) < 800


def test_the_doctor_names_what_cannot_be_read_and_mends_nothing(store, capsys):
    spoil(store, f"UPDATE records SET metadata = {NO_UTF8} WHERE seq = 2")
    spoil(store, "DELETE FROM attributes WHERE seq = 1")
    before = (store / "atlas.sqlite").read_bytes()
    assert main(["doctor", "--fix"]) == 1
    said = capsys.readouterr().out
    assert "ledger file      ok" in said
    assert "1 texts cannot be read, such as the text of " in said
    assert "or repaired" in said
    assert "filters" not in said
    assert (store / "atlas.sqlite").read_bytes() == before


def test_the_doctor_mends_nothing_in_a_file_that_is_malformed(store, capsys):
    spoil(store, "DELETE FROM attributes WHERE seq = 1")
    content = bytearray((store / "atlas.sqlite").read_bytes())
    page = index_page(store, "records_by_revision")
    content[page : page + 200] = bytes(200)
    (store / "atlas.sqlite").write_bytes(content)
    assert main(["doctor", "--fix"]) == 1
    said = capsys.readouterr()
    assert "is damaged" in said.err or "or repaired" in said.out
    assert (store / "atlas.sqlite").read_bytes() == content


def index_page(store, name: str) -> int:
    """Where the root page of an index begins in the file."""
    with closing(sqlite3.connect(store / "atlas.sqlite")) as connection:
        [root] = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchone()
        [size] = connection.execute("PRAGMA page_size").fetchone()
    return (root - 1) * size


def test_a_damaged_ledger_is_not_backed_up_as_if_it_were_whole(store, tmp_path):
    content = bytearray((store / "atlas.sqlite").read_bytes())
    page = index_page(store, "changes_by_operation")
    content[page : page + 200] = bytes(200)
    (store / "atlas.sqlite").write_bytes(content)
    with opened(read_only=True) as memory, pytest.raises(StoreDamaged, match=r"store/atlas\.sqlite is damaged"):
        backup(memory.storage, tmp_path / "copy.zip")
    assert not list(tmp_path.glob("*copy.zip*"))


@pytest.mark.parametrize(
    "label",
    ["[" * 100_000, '{"a":' * 100_000, "{" + " " * 10_000_000 + "}", "\0\xff", '{"schema_version": []}', "null"],
    ids=["lists", "objects", "huge", "binary", "of another kind", "nothing"],
)
def test_a_label_that_cannot_be_read_stands_in_nobodys_way(store, label):
    (store / "store.json").write_bytes(label.encode("latin-1"))
    with opened() as memory:
        assert len(memory.experience) == 3
        assert not any(finding.problem for finding in examine(memory.storage) if finding.check == "ledger file")


@pytest.mark.parametrize("kind", ["directory", "link to itself", "link to nothing"])
def test_a_label_that_is_no_file_stands_in_nobodys_way(store, kind):
    label = store / "store.json"
    label.unlink()
    if kind == "directory":
        label.mkdir()
    else:
        label.symlink_to(label if kind == "link to itself" else store / "nothing")
    for read_only in (True, False):
        with opened(read_only=read_only) as memory:
            assert len(memory.experience) == 3
