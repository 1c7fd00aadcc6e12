"""A file from elsewhere whose schema holds more than ATLAS has made is refused before anything of it runs."""

from __future__ import annotations

import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from atlas.core.errors import InvalidInput
from atlas.core.operations import Marks
from atlas.core.settings import Settings
from atlas.storage.maintenance.backup import backup, inspect_backup, restore
from atlas.storage.maintenance.copying import copy_store
from atlas.storage.maintenance.doctor import examine
from atlas.storage.sqlite.reference import foreign_objects
from atlas.storage.store import LEDGER, Store
from tests.support.storage.ledgers import THINGS, Opened
from tests.support.storage.old_schemas import make_version_1, make_version_2, make_version_3, make_version_4

OLDER = {1: make_version_1, 2: make_version_2, 3: make_version_3, 4: make_version_4}


def rewritten(table: str, old: str, new: str) -> str:
    """SQL that changes the definition of a table in place, as no statement of SQLite's can."""
    return (
        "PRAGMA writable_schema = ON; "
        f"UPDATE sqlite_master SET sql = replace(sql, '{old}', '{new}') WHERE name = '{table}'; "
        "PRAGMA writable_schema = OFF;"
    )


FOREIGN = {
    "trigger": (
        "CREATE TRIGGER evil AFTER INSERT ON operations BEGIN DELETE FROM changes; DELETE FROM operations; END",
        "trigger 'evil'",
    ),
    "trigger of a name that is ours": (
        "DROP TRIGGER words_1_insert; CREATE TRIGGER words_1_insert AFTER INSERT ON records BEGIN "
        "DELETE FROM changes; END",
        "trigger 'words_1_insert'",
    ),
    "view": ("CREATE VIEW mine AS SELECT * FROM records", "view 'mine'"),
    "view in place of a table": (
        "ALTER TABLE usage RENAME TO uses; CREATE VIEW usage AS SELECT * FROM uses",
        "'usage'",
    ),
    "table": ("CREATE TABLE stranger (a)", "table 'stranger'"),
    "index": ("CREATE INDEX mine ON records (content)", "index 'mine'"),
    "virtual table": ("CREATE VIRTUAL TABLE mine USING fts5(a)", "table 'mine'"),
    "tokenizer": (rewritten("words_1", "remove_diacritics 2", "remove_diacritics 0"), "table 'words_1'"),
    "content": (rewritten("words_1", "searchable_1", "records"), "table 'words_1'"),
    "check": (
        rewritten("meta", "value TEXT NOT NULL", "value TEXT NOT NULL CHECK (length(value) < 9999)"),
        "table 'meta'",
    ),
    "default": (rewritten("events", "DEFAULT 0", "DEFAULT 1"), "table 'events'"),
    "generated column": ("ALTER TABLE vectors ADD COLUMN n AS (length(vector))", "table 'vectors'"),
    "column": ("ALTER TABLE records ADD COLUMN more TEXT", "table 'records'"),
    "collation": (
        rewritten("marks", "record_id  TEXT    NOT NULL", "record_id TEXT COLLATE NOCASE NOT NULL"),
        "'marks'",
    ),
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The directory of a closed store."""
    with Store.open(tmp_path / "source", settings=Settings(actor="tester")) as store:
        opened = Opened(store)
        opened.add("a", "b")
        opened.mark(a=Marks(note="mine"))
        opened.delete("b")
    return tmp_path / "source"


def change(directory: Path, script: str) -> None:
    with closing(sqlite3.connect(directory / LEDGER)) as connection:
        connection.create_function("searchable", 1, lambda text: text, deterministic=True)
        connection.executescript(script)


def packed(directory: Path, target: Path) -> Path:
    """A backup of a closed store as somebody packs it by hand."""
    with zipfile.ZipFile(target, "w") as file:
        file.write(directory / LEDGER, LEDGER)
    return target


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_backup_with_foreign_objects_is_refused_and_the_store_stays(tmp_path, source, kind):
    script, named = FOREIGN[kind]
    change(source, script)
    crafted = packed(source, tmp_path / "crafted.zip")
    with Store.open(tmp_path / "live") as store:
        opened = Opened(store)
        opened.add("kept")
        for use in (inspect_backup, restore):
            with pytest.raises(
                InvalidInput, match=f"contains objects that ATLAS did not create.*{named}.*the store is unchanged"
            ):
                use(store, crafted)
        assert opened.ids() == ["kept"]
        assert examine(store) == examine(store, fix=True)
        assert not any(finding.problem for finding in examine(store))


@pytest.mark.parametrize("version", OLDER)
def test_a_backup_of_an_older_schema_with_a_trigger_is_refused_before_it_is_migrated(tmp_path, source, version):
    OLDER[version](source)
    change(source, "CREATE TRIGGER evil AFTER UPDATE ON meta BEGIN SELECT raise(FAIL, 'ran'); END")
    crafted = packed(source, tmp_path / "crafted.zip")
    with Store.open(tmp_path / "live") as store, pytest.raises(InvalidInput, match="trigger 'evil'"):
        restore(store, crafted)


@pytest.mark.parametrize("version", [*OLDER, 5])
def test_a_backup_of_every_schema_is_restored_and_then_has_nothing_foreign(tmp_path, source, version):
    make: Callable[[Path], None] = OLDER.get(version, lambda path: None)
    make(source)
    with Store.open(tmp_path / "live") as store:
        assert restore(store, packed(source, tmp_path / "old.zip")).n_records == 1
        assert [finding.problem for finding in examine(store) if finding.check == "schema"] == [""]
        assert Opened(store).ids() == ["a"]


@pytest.mark.parametrize("version", OLDER)
def test_a_ledger_of_every_schema_has_nothing_foreign_before_and_after_it_is_migrated(source, version):
    OLDER[version](source)
    with closing(sqlite3.connect(source / LEDGER)) as connection:
        assert foreign_objects(connection, version) == []
    with Store.open(source) as store:
        assert not any(finding.problem for finding in examine(store))


@pytest.mark.parametrize("kind", FOREIGN)
def test_doctor_finds_foreign_objects_and_mends_nothing_else(source, kind):
    script, named = FOREIGN[kind]
    change(source, script)
    with Store.open(source, read_only=True) as store:
        findings = examine(store, fix=True)
    assert [finding.check for finding in findings] == ["ledger file", "schema"]
    assert named in findings[-1].problem
    assert not findings[-1].is_fixed


def test_a_restore_of_a_good_backup_takes_a_trigger_out_of_the_store(tmp_path, source):
    good = packed(source, tmp_path / "good.zip")
    change(source, FOREIGN["trigger"][0])
    with Store.open(source) as store:
        assert "trigger 'evil'" in [finding.problem for finding in examine(store)][-1]
        restore(store, good)
        assert not any(finding.problem for finding in examine(store))


@pytest.mark.parametrize("which", ["source", "target"])
def test_a_store_with_a_trigger_is_neither_copied_nor_copied_into(tmp_path, source, which):
    Store.open(tmp_path / "target").close()
    change(tmp_path / which, "CREATE TRIGGER evil AFTER INSERT ON operations BEGIN DELETE FROM changes; END")
    with Store.open(source) as from_store, Store.open(tmp_path / "target") as target:
        with pytest.raises(InvalidInput, match=r"trigger 'evil'.*Nothing was copied"):
            copy_store(from_store, target)
        assert target.ledger.collections() == []


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_store_with_foreign_objects_is_not_backed_up(tmp_path, source, kind):
    script, named = FOREIGN[kind]
    change(source, script)
    before = {*tmp_path.iterdir()}
    with Store.open(source) as store, pytest.raises(InvalidInput, match=f"{named}.*Nothing was copied"):
        backup(store, tmp_path / "backup.zip")
    assert {*tmp_path.iterdir()} == before


@pytest.mark.parametrize("key", [-1, 0, 2**63 - 1])
def test_a_row_of_a_key_that_no_collection_has_makes_nothing_foreign(source, key):
    change(source, f"INSERT INTO word_tables (key, collection) VALUES ({key}, 'strange')")
    with closing(sqlite3.connect(source / LEDGER)) as connection:
        assert foreign_objects(connection) == []


def test_the_statistics_of_analyze_and_a_vacuum_are_nothing_foreign(tmp_path, source):
    change(source, "ANALYZE; VACUUM;")
    with Store.open(source) as store:
        assert not any(finding.problem for finding in examine(store))
        backup(store, tmp_path / "backup.zip")
        restore(store, tmp_path / "backup.zip")
        assert not any(finding.problem for finding in examine(store))


def test_a_collection_whose_name_has_quotes_is_nothing_foreign(tmp_path):
    with Store.open(tmp_path / "store") as store:
        opened = Opened(store)
        opened.add("a")
        store.collection("it's -- one").add(["x"], [[1.0] * 8], [{}], ["text"])
        assert [finding.problem for finding in examine(store) if finding.check == "schema"] == [""]
        assert THINGS in store.ledger.collections()
