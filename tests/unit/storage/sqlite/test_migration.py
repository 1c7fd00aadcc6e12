"""A store that an older version wrote is brought up to date when it is opened, once, and loses nothing."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from atlas.core.errors import InvalidInput, ReadOnlyStore, StoreUnavailable
from atlas.core.operations import Marks, Usage, Use
from atlas.core.settings import Settings
from atlas.infra.clock import SystemClock
from atlas.storage.maintenance.backup import restore
from atlas.storage.maintenance.doctor import examine
from atlas.storage.sqlite import mark_migration, schema
from atlas.storage.sqlite.database import SqliteDatabase
from atlas.storage.sqlite.ledger import open_sqlite
from atlas.storage.sqlite.schema import SCHEMA_VERSION
from atlas.storage.store import Store
from atlas.testing import FixedClock
from tests.support.storage.ledgers import THINGS, Opened, files_in, vector_of, without_privileges
from tests.support.storage.old_schemas import (
    make_version_1,
    make_version_2,
    make_version_3,
    make_version_4,
    make_version_5,
    schema_version,
    write_old_file,
)

TEXTS = {"a": "call getUserById", "b": "数据库连接失败", "c": "the reservation was cancelled"}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The directory of a store of version 1: three records, one of them marked, an edit, and a deleted one."""
    path = tmp_path / "store"
    with Store.open(path, settings=Settings(actor="tester")) as store:
        opened = Opened(store)
        things = store.collection(THINGS)
        things.add([*TEXTS], [vector_of(i) for i in TEXTS], [{"n": 1}] * 3, ["first", *list(TEXTS.values())[1:]])
        opened.edit("a", TEXTS["a"], n=2)
        opened.mark(b=Marks(pinned=True))
        opened.add("gone")
        opened.delete("gone")
    make_version_1(path)
    return path


def found(store: Store, text: str) -> list[str]:
    return store.collection(THINGS).search_text(text, 5).ids


def usage_of(store: Store, record_id: str) -> tuple[Usage, list[Use]]:
    things = store.collection(THINGS)
    return things.usage([record_id])[record_id], things.uses([record_id])[record_id]


def problems(store: Store) -> Mapping[str, str]:
    return {finding.check: finding.problem for finding in examine(store) if finding.problem}


def ledger_version(path: Path) -> int:
    return schema_version(path / "atlas.sqlite")


def test_version_1_did_not_find_what_this_version_finds(old):
    """So the tests below test the migration."""
    with closing(sqlite3.connect(old / "atlas.sqlite")) as connection:
        for word, n in (("user", 0), ("数", 0), ("cancel", 1)):
            query = "SELECT count(*) FROM records_fts WHERE records_fts MATCH ?"
            assert connection.execute(query, (f'"{word}"',)).fetchone() == (n,)


def test_opening_it_indexes_its_words_anew_and_keeps_the_rest(old):
    with Store.open(old) as store:
        assert [found(store, text) for text in ("user", "数", "cancelling")] == [["a"], ["b"], ["c"]]
        assert Opened(store).marks("b") == Marks(pinned=True)
        assert Opened(store).nearest("c") == ["c"]
        assert [operation.kind for operation in store.history()] == ["delete", "store", "mark", "edit", "store"]
        with store.ledger.database.read() as connection:
            old_parts = connection.execute("SELECT name FROM sqlite_master WHERE name LIKE 'records_fts%'").fetchall()
        assert old_parts == []
        store.catch_up()
        assert problems(store) == {}
    assert ledger_version(old) == SCHEMA_VERSION
    assert json.loads((old / "store.json").read_text())["schema_version"] == SCHEMA_VERSION


def test_what_version_1_did_can_still_be_undone(old):
    with Store.open(old) as store:
        deletion, _, _, edit, _ = store.history()
        store.undo(deletion.id)
        store.undo(edit.id)
        assert found(store, "gone") == ["gone"]
        assert found(store, "first") == ["a"]
        assert found(store, "user") == []
        store.catch_up()
        assert problems(store) == {}


def test_opening_one_of_version_2_keeps_its_uses_and_lets_those_that_follow_be_undone(tmp_path):
    with Store.open(tmp_path / "store", clock=FixedClock()) as store:
        Opened(store).add("a")
        store.collection(THINGS).record_use("a", True, "task", "one")
        before = usage_of(store, "a")
    make_version_2(tmp_path / "store")
    with Store.open(tmp_path / "store", clock=FixedClock()) as store:
        assert usage_of(store, "a") == before
        assert [use.trajectory_id for use in before[1]] == ["one"]
        scoped = store.collection(THINGS).as_operation("store")
        scoped.add(["b"], [vector_of("b")], [{}], ["b"])
        scoped.record_use("a", False, "task", "two")
        store.undo(scoped.operation_id)
        assert usage_of(store, "a") == before
        store.catch_up()
        assert problems(store) == {}
    assert ledger_version(tmp_path / "store") == SCHEMA_VERSION
    assert schema_version(tmp_path / "store" / "atlas.schema-2.sqlite") == 2


def test_a_copy_of_what_it_was_is_kept_beside_it(old):
    with Store.open(old):
        pass
    assert schema_version(old / "atlas.schema-1.sqlite") == 1


def test_a_store_with_nothing_in_it_is_brought_up_to_date_too(tmp_path):
    Store.open(tmp_path / "store").close()
    make_version_1(tmp_path / "store")
    with Store.open(tmp_path / "store") as store:
        Opened(store).add("a")
        assert found(store, "text") == ["a"]
        store.catch_up()
        assert problems(store) == {}


def test_reading_only_it_says_what_to_do_and_leaves_it_as_it_is(old):
    before = files_in(old)
    with pytest.raises(ReadOnlyStore, match=r"has schema 1, .* reads schema 6\. Open it once without read_only"):
        Store.open(old, read_only=True)
    assert files_in(old) == before
    with Store.open(old):
        pass
    with Store.open(old, read_only=True) as store:
        assert found(store, "user") == ["a"]


def test_one_that_reads_meanwhile_is_not_disturbed(old):
    """As a process of the older version would: it sees one state until its transaction ends."""
    query = "SELECT rowid FROM records_fts WHERE records_fts MATCH 'cancel'"
    with closing(sqlite3.connect(old / "atlas.sqlite", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        assert reader.execute(query).fetchall() == [(3,)]
        with Store.open(old) as store:
            assert found(store, "cancel") == ["c"]
            assert reader.execute(query).fetchall() == [(3,)]
            reader.execute("ROLLBACK")
            with pytest.raises(sqlite3.OperationalError, match="no such table: records_fts"):
                reader.execute(query)


def test_one_of_the_older_version_that_writes_afterwards_is_refused(old):
    with closing(sqlite3.connect(old / "atlas.sqlite", isolation_level=None)) as writer, Store.open(old) as store:
        with pytest.raises(sqlite3.OperationalError, match="no such function: searchable"):
            writer.execute("UPDATE records SET document = 'other' WHERE id = 'a'")
        assert found(store, "user") == ["a"]


def test_one_in_a_directory_that_cannot_be_written_says_so_and_stays_as_it_is(open_directory):
    with Store.open(open_directory / "store") as store:
        Opened(store).add("a")
    make_version_4(open_directory / "store")
    ledger = open_directory / "store" / "atlas.sqlite"
    ledger.parent.chmod(0o755)
    with closing(sqlite3.connect(ledger)) as reader:  # while another process has it open, SQLite needs no new file
        reader.execute("SELECT count(*) FROM records").fetchone()
        for path in ledger.parent.glob("atlas.sqlite*"):
            path.chmod(0o666)
        before = files_in(ledger.parent)
        with without_privileges(), pytest.raises(StoreUnavailable, match=r"atlas\.sqlite cannot be copied to"):
            open_sqlite(ledger, clock=SystemClock())
        assert files_in(ledger.parent) == before


def test_a_migration_that_fails_leaves_it_as_it_was(old, monkeypatch):
    def fail(connection: sqlite3.Connection, *_: object) -> None:
        connection.execute("DROP TABLE records_fts")
        raise OSError("the power is gone")

    with monkeypatch.context() as broken:
        broken.setattr(schema, "migrate", fail)
        with pytest.raises(OSError, match="the power is gone"):
            Store.open(old)
    assert ledger_version(old) == 1
    with Store.open(old) as store:
        assert found(store, "user") == ["a"]


def packed(old: Path, target: Path) -> Path:
    """The backup that version 1 wrote of it."""
    with zipfile.ZipFile(target, "w") as file:
        file.write(old / "atlas.sqlite", "atlas.sqlite")
        file.writestr("marks.json", (old / "things_meta.json").read_text().replace('"marks"', '"things"', 1))
    return target


def test_a_backup_of_version_1_restores(old, tmp_path):
    backup = packed(old, tmp_path / "old.zip")
    with Store.open(tmp_path / "other") as other:
        assert restore(other, backup).n_records == 3
        assert [found(other, text) for text in ("user", "数")] == [["a"], ["b"]]
        assert Opened(other).marks("b") == Marks(pinned=True)
        other.catch_up()
        assert problems(other) == {}


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("DROP TABLE records_fts", "is damaged"),
        ("DROP TRIGGER records_fts_insert", "is damaged"),
        ("PRAGMA user_version = 0", "has schema 0"),
        ("PRAGMA user_version = 7", "has schema 7, .* up to 6"),
        ("UPDATE records SET collection = '../evil'", "cannot be used .*evil"),
    ],
)
def test_a_backup_of_version_1_that_cannot_be_used_is_refused(old, tmp_path, sql, words):
    with closing(sqlite3.connect(old / "atlas.sqlite")) as connection:
        connection.execute(sql)
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with Store.open(tmp_path / "other") as other:
        Opened(other).add("kept")
        with pytest.raises(InvalidInput, match=f"{words}.*; the store is unchanged"):
            restore(other, packed(old, tmp_path / "old.zip"))
        assert found(other, "kept") == ["kept"]


@pytest.mark.parametrize("comes", ["before the copy", "after it"])
def test_the_copy_of_who_comes_first_is_kept_by_who_comes_second(old, monkeypatch, comes):
    copy_to = SqliteDatabase.copy_to

    def interrupted(database, target):
        monkeypatch.setattr(SqliteDatabase, "copy_to", copy_to)
        if comes == "after it":
            copy_to(database, target)
        open_sqlite(old / "atlas.sqlite", clock=SystemClock()).close()
        if comes == "before the copy":
            copy_to(database, target)

    monkeypatch.setattr(SqliteDatabase, "copy_to", interrupted)
    with Store.open(old) as store:
        assert found(store, "user") == ["a"]
    assert schema_version(old / "atlas.schema-1.sqlite") == 1
    assert ledger_version(old) == SCHEMA_VERSION
    assert [*old.glob(".atlas.*")] == []


def written_by_version_3(path: Path) -> Path:
    """The directory of a store of version 3: one record marked twice, one once, one whose only mark was taken back."""
    with Store.open(path, settings=Settings(actor="tester")) as store:
        opened = Opened(store)
        opened.add("a", "b", "c", "d", "gone")
        opened.mark(a=Marks(tags=("old",)), gone=Marks(note="of a deleted record"))
        opened.mark(a=Marks(tags=("new",), pinned=True), b=Marks(note="only"))
        taken_back = opened.mark(c=Marks(pinned=True))
        store.undo(taken_back)
        opened.mark(d=Marks(note="kept"))
        store.undo(opened.mark(d=Marks(note="taken back")))
        opened.delete("gone")
    make_version_3(path)
    return path


@pytest.mark.parametrize("older", [make_version_1, make_version_2, make_version_3, make_version_4, make_version_5])
def test_marks_come_from_their_files_into_the_ledger(tmp_path, older):
    with Store.open(tmp_path / "store") as store:
        opened = Opened(store)
        opened.add("a", "b")
        marking = opened.mark(a=Marks(tags=("x", "y"), note="n"), b=Marks(pinned=True, buried=True))
        before = store.ledger.marks.read(THINGS)
    older(tmp_path / "store")
    with Store.open(tmp_path / "store") as store:
        assert store.ledger.marks.read(THINGS) == before
        assert store.ledger.count(THINGS, {"marks.tags": "y"}) == 1
        store.catch_up()
        assert problems(store) == {}
        assert [operation.kind for operation in store.history()] == ["mark", "store"]
        store.undo(marking)
        assert store.ledger.marks.read(THINGS) == {}


def test_marks_that_version_3_had_not_written_to_their_file_are_kept(tmp_path):
    old = written_by_version_3(tmp_path / "store")
    waiting = [("things", "b", '{"note": "committed"}'), ("things", "a", "5"), ("../../evil", "a", "{}")]
    with closing(sqlite3.connect(old / "atlas.sqlite")) as connection, connection:
        connection.executemany("INSERT INTO pending_marks VALUES (?, ?, ?)", waiting)
    with Store.open(old) as store:
        assert store.ledger.marks.read(THINGS)["b"] == Marks(note="committed")
        assert store.ledger.marks.read(THINGS)["a"] == Marks(tags=("new",), pinned=True)
        assert store.count_operations() == 9
    assert rows_of(old)["b"]["note"] == "committed"


def lose(path: Path) -> None:
    path.unlink()


def spoil(path: Path) -> None:
    path.write_text('{"marks": {"a"')


@pytest.mark.parametrize("damage", [lose, spoil])
def test_of_a_marks_file_that_was_lost_the_history_gives_what_it_has_and_doctor_names_the_rest(tmp_path, damage):
    old = written_by_version_3(tmp_path / "store")
    damage(old / "things_meta.json")
    with Store.open(old) as store:
        kept = {"a": Marks(tags=("old",)), "d": Marks(note="kept")}
        assert store.ledger.marks.read(THINGS) == kept
        store.catch_up()
        assert problems(store)["marks"].endswith("until they are marked again: a, b")
        examine(store, fix=True)
        assert rows_of(old)["a"]["tags"] == ["old"]
    with Store.open(old) as store:
        assert problems(store)["marks"].endswith("until they are marked again: a, b")
        Opened(store).mark(b=Marks(note="only"))
        assert problems(store)["marks"].endswith("marked again: a")
        store.ledger.marks.change(THINGS, ["a"], lambda marks: marks, store.ledger.new_operation("mark", actor="t"))
        assert problems(store) == {}
        assert store.ledger.marks.read(THINGS) == kept | {"b": Marks(note="only")}


def test_an_operation_whose_mark_was_lost_can_be_undone(tmp_path):
    old = written_by_version_3(tmp_path / "store")
    (old / "things_meta.json").unlink()
    with Store.open(old) as store:
        *_, second, first = [operation for operation in store.history(20) if operation.kind == "mark"]
        store.undo(second.id)
        assert store.ledger.marks.read(THINGS)["a"] == Marks(tags=("old",))
        store.catch_up()
        assert problems(store) == {}
        store.undo(first.id)
        assert "a" not in store.ledger.marks.read(THINGS)


def test_a_backup_of_version_3_restores_over_marks_that_it_does_not_know(tmp_path):
    old = written_by_version_3(tmp_path / "old")
    backup = packed(old, tmp_path / "old.zip")
    with Store.open(tmp_path / "other") as other:
        opened = Opened(other)
        opened.add("a", "z")
        opened.mark(a=Marks(note="other"), z=Marks(pinned=True))
        restore(other, backup)
        assert other.ledger.marks.read(THINGS)["a"] == Marks(tags=("new",), pinned=True)
        other.catch_up()
        assert problems(other) == {}
        assert [operation.actor for operation in other.history() if operation.actor != "tester"] == []


def rows_of(path: Path) -> dict[str, dict[str, Any]]:
    """What the marks file says of each record."""
    return {row["id"]: row for row in json.loads((path / "things_meta.json").read_text())["marks"].values()}


def written_by_version_5(path: Path) -> Path:
    """The directory of a store of version 5 whose ledger and marks file agree."""
    with Store.open(path, settings=Settings(actor="tester")) as store:
        opened = Opened(store)
        opened.add("a", "b", "c", "d")
        opened.mark(a=Marks(tags=("red", "blue"), note="first"), b=Marks(pinned=True), c=Marks(tags=("red",)))
    make_version_5(path)
    return path


def test_what_people_changed_in_a_file_of_version_5_is_taken_in_once_and_can_be_undone(tmp_path):
    old = written_by_version_5(tmp_path / "store")
    by_hand = {"a": Marks(note="by hand"), "c": Marks(tags=("red",)), "d": Marks(tags=("red",))}
    write_old_file(old / "things_meta.json", by_hand)
    with Store.open(old) as store:
        assert store.ledger.marks.read(THINGS) == by_hand
        operation = store.history(1)[0]
        assert (operation.actor, operation.reason) == ("by hand", "things_meta.json was changed")
        assert operation.counts == {"marked": 3}
    assert rows_of(old)["a"]["note"] == "by hand"
    with Store.open(old) as store:
        assert store.count_operations() == 3
        store.undo(operation.id)
        assert store.ledger.marks.read(THINGS)["a"] == Marks(tags=("red", "blue"), note="first")
        store.catch_up()
        assert problems(store) == {}


def test_a_change_that_version_5_had_not_copied_to_the_file_stays_as_the_ledger_has_it(tmp_path):
    old = written_by_version_5(tmp_path / "store")
    with closing(sqlite3.connect(old / "atlas.sqlite")) as connection, connection:
        connection.execute("INSERT INTO pending_marks VALUES ('things', 'a', 9)")
    write_old_file(old / "things_meta.json", {"a": Marks(note="by hand"), "b": Marks(note="by hand")})
    with Store.open(old) as store:
        marks = store.ledger.marks.read(THINGS)
        assert marks == {"a": Marks(tags=("red", "blue"), note="first"), "b": Marks(note="by hand")}


def test_a_file_of_version_5_that_cannot_be_read_is_kept_under_another_name(tmp_path, caplog):
    old = written_by_version_5(tmp_path / "store")
    spoil(old / "things_meta.json")
    with Store.open(old) as store:
        assert store.ledger.marks.read(THINGS)["a"] == Marks(tags=("red", "blue"), note="first")
    assert (old / "things_meta.unreadable-1.json").read_text() == '{"marks": {"a"'
    assert "The file was renamed to things_meta.unreadable-1.json" in caplog.text
    assert rows_of(old)["a"]["note"] == "first"


def test_a_file_of_version_5_is_taken_in_by_the_next_opening_where_one_is_cut_off(tmp_path, monkeypatch):
    old = written_by_version_5(tmp_path / "store")
    write_old_file(old / "things_meta.json", {"d": Marks(note="by hand")})

    def fail(*_: object) -> None:
        raise OSError("the power is gone")

    with monkeypatch.context() as broken:
        broken.setattr(mark_migration, "_import_file", fail)
        with pytest.raises(OSError, match="the power is gone"):
            Store.open(old)
    with Store.open(old) as store:
        assert store.ledger.marks.read(THINGS) == {"d": Marks(note="by hand")}
