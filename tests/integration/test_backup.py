"""Backup and restore, with other writers about."""

from __future__ import annotations

import json
import sqlite3
import stat
import warnings
import zipfile
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from atlas.core.errors import InvalidInput, PlanOutdated, StoreUnavailable
from atlas.core.operations import Marks
from atlas.core.settings import Settings
from atlas.maps import labels as names
from atlas.maps.labels import DomainNames
from atlas.memory.experience.memory import ChromaExperienceMemory
from atlas.storage.maintenance import backup as backups
from atlas.storage.maintenance.backup import NAMES, backup, inspect_backup, restore
from atlas.storage.marks.files import marks_file
from atlas.storage.store import LABEL, LEDGER, EmbeddingModel, Store
from atlas.testing import HashEmbedder
from tests.support.memories import attempt

COLLECTION = "atlas_experiences"
VECTORS = np.eye(8, dtype=np.float32)


def opened(path) -> Store:
    store = Store.open(path, settings=Settings(actor="tester"))
    store.bind(EmbeddingModel("test", 8))
    return store


def add(store: Store, *ids: str) -> None:
    collection = store.collection(COLLECTION)
    rows = [VECTORS[len(record_id) % 8] for record_id in ids]
    collection.add(list(ids), rows, [{"title": record_id} for record_id in ids], list(ids))


def ids_of(store: Store) -> list[str]:
    return [row["id"] for row in store.collection(COLLECTION).scan()]


def test_a_restore_brings_records_marks_and_history_back(tmp_path):
    with opened(tmp_path / "store") as store:
        add(store, "a", "bb", "ccc")
        store.collection(COLLECTION).mark({"a": Marks(tags=("kept",), pinned=True)})
        report = backup(store, tmp_path / "backup.zip")
        assert report.n_records == 3

        store.collection(COLLECTION).delete(["a", "bb"])
        store.collection(COLLECTION).mark({"ccc": Marks(note="made after the backup")})
        assert restore(store, tmp_path / "backup.zip").n_records == 3

        assert ids_of(store) == ["a", "bb", "ccc"]
        marks = store.collection(COLLECTION).marks(["a", "ccc"])
        assert marks == {"a": Marks(tags=("kept",), pinned=True), "ccc": Marks()}
        assert [operation.kind for operation in store.history()] == ["mark", "store"]
        assert store.collection(COLLECTION).query(VECTORS[1], 1).ids == ["a"]


def test_a_restore_into_a_new_directory_makes_the_same_store(tmp_path):
    with opened(tmp_path / "one") as store:
        add(store, "a", "bb")
        backup(store, tmp_path / "backup.zip")
    with Store.open(tmp_path / "two", settings=Settings(actor="tester")) as other:
        restore(other, tmp_path / "backup.zip")
        assert other.model == EmbeddingModel("test", 8)
        assert ids_of(other) == ["a", "bb"]
        assert other.collection(COLLECTION).query(VECTORS[2], 1).ids == ["bb"]


def test_a_process_that_has_the_store_open_sees_what_was_restored(tmp_path):
    with opened(tmp_path / "store") as store, opened(tmp_path / "store") as other:
        add(store, "a")
        backup(store, tmp_path / "backup.zip")
        add(store, "bb")
        assert other.collection(COLLECTION).query(VECTORS[2], 1).ids == ["bb"]
        restore(store, tmp_path / "backup.zip")
        assert other.collection(COLLECTION).query(VECTORS[2], 2).ids == ["a"]
        add(other, "ccc")
        assert store.collection(COLLECTION).query(VECTORS[3], 1).ids == ["ccc"]


def test_a_backup_never_replaces_a_file(tmp_path):
    (tmp_path / "backup.zip").write_text("something else")
    with opened(tmp_path / "store") as store, pytest.raises(InvalidInput, match="exists already"):
        backup(store, tmp_path / "backup.zip")
    assert (tmp_path / "backup.zip").read_text() == "something else"


@pytest.mark.parametrize("content", [b"", b"no zip at all", b"PK\x03\x04 cut off"])
def test_what_is_not_a_backup_is_refused_and_the_store_stays(tmp_path, content):
    (tmp_path / "backup.zip").write_bytes(content)
    with opened(tmp_path / "store") as store:
        add(store, "a")
        with pytest.raises(InvalidInput, match=r"cannot be restored.*the store is unchanged"):
            restore(store, tmp_path / "backup.zip")
        assert ids_of(store) == ["a"]


def test_a_damaged_ledger_in_a_backup_is_refused_and_the_store_stays(tmp_path):
    with zipfile.ZipFile(tmp_path / "backup.zip", "w") as file:
        file.writestr("atlas.sqlite", b"garbage" * 1000)
        file.writestr("marks.json", "{}")
    with opened(tmp_path / "store") as store:
        add(store, "a")
        with pytest.raises(InvalidInput, match="damaged"):
            restore(store, tmp_path / "backup.zip")
        assert ids_of(store) == ["a"]


def crafted(tmp_path, *, marks: object = None, sql: str = "", parameters: tuple = (), method=zipfile.ZIP_STORED):
    """A backup of a store with the record "a", changed by hand."""
    with opened(tmp_path / "source") as store:
        add(store, "a")
        backup(store, tmp_path / "whole.zip")
    with zipfile.ZipFile(tmp_path / "whole.zip") as whole:
        whole.extract("atlas.sqlite", tmp_path)
    connection = sqlite3.connect(tmp_path / "atlas.sqlite")
    with connection:
        connection.execute(sql or "SELECT 1", parameters)
    connection.close()
    with zipfile.ZipFile(tmp_path / "crafted.zip", "w", method) as file:
        file.write(tmp_path / "atlas.sqlite", "atlas.sqlite")
        file.writestr("marks.json", json.dumps({} if marks is None else marks))
    return tmp_path / "crafted.zip"


def assert_refused(tmp_path, source, words: str) -> None:
    """The restore is refused, the store is what it was, and it opens again."""
    with opened(tmp_path / "deep" / "store") as store:
        add(store, "bb")
        before = {path for path in tmp_path.rglob("*") if path.is_file() and "store" not in path.parts}
        with pytest.raises(InvalidInput, match=words):
            restore(store, source)
        assert ids_of(store) == ["bb"]
        assert {path for path in tmp_path.rglob("*") if path.is_file() and "store" not in path.parts} == before
    with opened(tmp_path / "deep" / "store") as store:
        assert ids_of(store) == ["bb"]


@pytest.mark.parametrize("name", ["../../evil", "a/b", "", "a\n", "..", "a b"])
def test_a_collection_whose_name_could_leave_the_store_has_no_marks_file(name):
    with pytest.raises(InvalidInput, match="letters, digits, _ and -"):
        marks_file(name)


def test_a_backup_whose_marks_would_be_written_elsewhere_is_refused(tmp_path):
    source = crafted(tmp_path, marks={"../../evil": {"a": {"note": "x"}}})
    assert_refused(tmp_path, source, "evil.*the store is unchanged")


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO marks VALUES ('../../evil', 'a', 'note', 0, 'x')",
        "UPDATE records SET collection = '../../evil'",
        "UPDATE changes SET collection = '../../evil'",
    ],
)
def test_a_backup_whose_ledger_names_a_collection_elsewhere_is_refused(tmp_path, sql):
    assert_refused(tmp_path, crafted(tmp_path, sql=sql), "evil.*the store is unchanged")


@pytest.mark.parametrize(
    "marks",
    [
        [],
        {COLLECTION: []},
        {COLLECTION: {"x": 5}},
        {COLLECTION: {"x": {"tags": "not a list"}}},
        {COLLECTION: {"x": {"tags": [1]}}},
        {COLLECTION: {"x": {"note": 1}}},
        {COLLECTION: {"x": {"note": "\ud800"}}},
        {COLLECTION: {"\ud800": {}}},
    ],
)
def test_a_backup_with_marks_that_are_none_is_refused(tmp_path, marks):
    assert_refused(tmp_path, crafted(tmp_path, marks=marks), "cannot be restored.*the store is unchanged")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("'tags'", "5"),
        ("'pinned'", "'yes'"),
        ("'stars'", "'x'"),
        ("'note'", "x'ff'"),
        ("'note'", "cast(x'ff' AS TEXT)"),
    ],
)
def test_a_backup_whose_ledger_holds_marks_that_are_none_is_refused(tmp_path, name, value):
    source = crafted(tmp_path, sql=f"INSERT INTO marks VALUES ('{COLLECTION}', 'a', {name}, 0, {value})")
    assert_refused(tmp_path, source, "the store is unchanged")


def test_a_backup_without_a_table_is_refused(tmp_path):
    assert_refused(tmp_path, crafted(tmp_path, sql="DROP TABLE marks"), "damaged.*the store is unchanged")


def damaged_inside(source) -> None:
    content = bytearray(source.read_bytes())
    content[3000:3400] = bytes(400)
    source.write_bytes(content)


def encrypted(source) -> None:
    content = source.read_bytes()
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = content.index(mark) + offset
        content = content[:at] + b"\x01" + content[at + 1 :]
    source.write_bytes(content)


def packed_by_an_unknown_method(source) -> None:
    content = source.read_bytes()
    for mark, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        at = content.index(mark) + offset
        content = content[:at] + b"\x63" + content[at + 1 :]
    source.write_bytes(content)


@pytest.mark.parametrize("spoil", [damaged_inside, encrypted, packed_by_an_unknown_method])
def test_a_backup_that_cannot_be_unpacked_is_refused(tmp_path, spoil):
    source = crafted(tmp_path, method=zipfile.ZIP_DEFLATED)
    spoil(source)
    assert_refused(tmp_path, source, "cannot be restored.*the store is unchanged")


def test_a_backup_packed_so_that_it_cannot_be_unpacked_in_pieces_is_refused(tmp_path):
    assert_refused(tmp_path, crafted(tmp_path, method=zipfile.ZIP_BZIP2), "cannot be restored.*the store is unchanged")


def test_marks_that_unpack_to_too_much_are_refused(tmp_path, monkeypatch):
    source = crafted(tmp_path, marks={COLLECTION: {"a": {"note": "x" * 2_000}}})
    monkeypatch.setattr(backups, "MAX_BYTES", 1_000)
    assert_refused(tmp_path, source, "marks.json .*the store is unchanged")


def test_marks_that_are_packed_to_more_than_is_read_at_once_are_restored(tmp_path):
    note = "x" * (backups._MAX_READ_BYTES + 1)
    source = crafted(tmp_path, marks={COLLECTION: {"a": {"note": note}}})
    with opened(tmp_path / "deep" / "store") as store:
        assert restore(store, source).n_records == 1


def test_a_backup_that_is_larger_than_what_the_disk_has_free_is_not_unpacked(tmp_path, monkeypatch):
    source = crafted(tmp_path)
    usage = namedtuple("usage", "total used free")
    with opened(tmp_path / "store") as store:
        monkeypatch.setattr(backups.shutil, "disk_usage", lambda path: usage(10_000, 9_000, 1_000))
        with pytest.raises(StoreUnavailable, match=r"unpacks to .* MB, .* has .* MB free.*the store is unchanged"):
            restore(store, source)


def packed(tmp_path, *entries: tuple[str | zipfile.ZipInfo, bytes]):
    """A zip of a good backup's ledger and of other entries."""
    with zipfile.ZipFile(crafted(tmp_path)) as whole:
        ledger = whole.read(LEDGER)
    with zipfile.ZipFile(tmp_path / "packed.zip", "w", zipfile.ZIP_DEFLATED) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of names that are there twice
        for name, content in ((LEDGER, ledger), *entries):
            file.writestr(name, content)
    return tmp_path / "packed.zip"


@pytest.fixture(scope="module")
def bomb(tmp_path_factory) -> Path:
    """A small file whose ledger unpacks to 600 MB."""
    path = tmp_path_factory.mktemp("bomb") / "bomb.zip"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file,
        file.open(LEDGER, "w", force_zip64=True) as entry,
    ):
        for _ in range(600):
            entry.write(bytes(1 << 20))
    return path


@pytest.mark.parametrize("use", [restore, inspect_backup])
def test_a_small_file_that_unpacks_to_a_large_one_is_refused_before_it_is_unpacked(bomb, tmp_path, monkeypatch, use):
    n_unpacked = []
    monkeypatch.setattr(backups.shutil, "copyfileobj", lambda *arguments: n_unpacked.append(arguments))
    assert bomb.stat().st_size < 1 << 20
    with opened(tmp_path / "store") as store:
        add(store, "a")
        with pytest.raises(InvalidInput, match=r"unpacks to 600\.0 MB, over 50 times its size of 0\.6 MB.*_MAX_RATIO"):
            use(store, bomb)
        assert ids_of(store) == ["a"]
    assert n_unpacked == []


def test_a_setting_lets_an_honest_backup_through_that_packs_very_well(tmp_path, monkeypatch):
    monkeypatch.setattr(backups, "_ALWAYS_ALLOWED_BYTES", 1_000)
    source = crafted(tmp_path, method=zipfile.ZIP_DEFLATED)
    strict = Store.open(tmp_path / "strict", settings=Settings(restore_max_ratio=1.5))
    with strict as store, pytest.raises(InvalidInput, match="ATLAS_RESTORE_MAX_RATIO"):
        restore(store, source)
    with Store.open(tmp_path / "trusting", settings=Settings(restore_max_ratio=1_000)) as store:
        assert restore(store, source).n_records == 1


def link() -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(NAMES)
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("nested/atlas.sqlite", "got 'nested/atlas.sqlite'"),
        ("../../evil", "got '../../evil'"),
        ("/etc/passwd", "got '/etc/passwd'"),
        (LEDGER, "each at most once, got 'atlas.sqlite'"),
        (link(), "domain_names.json is not a plain file"),
    ],
)
def test_a_backup_with_entries_that_none_has_is_refused(tmp_path, entry, words):
    assert_refused(tmp_path, packed(tmp_path, (entry, b"x")), words)


def test_a_backup_with_a_long_list_of_entries_is_refused_before_the_list_is_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "many.zip", "w") as file:
        for number in range(50_000):
            file.writestr(f"{number:060}", b"")
    assert_refused(tmp_path, tmp_path / "many.zip", "expected a list of entries of at most.*the store is unchanged")


def test_the_label_names_the_restored_model(tmp_path):
    with Store.open(tmp_path / "store", settings=Settings(actor="tester")) as store:
        store.bind(EmbeddingModel("other", 4), SimpleNamespace(checksum="sum"))
        restore(store, crafted(tmp_path))
        label = json.loads((store.path / LABEL).read_text())
    assert (label["embedding_model"], label["embedding_dimension"], label["embedding_checksum"]) == ("test", 8, "")


@pytest.mark.parametrize("act", ["prune", "merge"])
def test_a_plan_does_not_outlive_a_restore(tmp_path, act):
    with opened(tmp_path / "store") as store:
        memory = ChromaExperienceMemory(HashEmbedder(8, "test"), store.collection(COLLECTION))
        bad, good = memory.store_many([attempt("a", False), attempt("b")])
        memory.change_marks([bad], pinned=True)
        backup(store, tmp_path / "backup.zip")
        memory.change_marks([bad], pinned=False)
        plan = memory.plan_prune({"min_success_rate": 0.5}) if act == "prune" else memory.plan_merge([[bad, good]])
        restore(store, tmp_path / "backup.zip")
        with pytest.raises(PlanOutdated, match="nothing was done"):
            memory.apply_prune(plan) if act == "prune" else memory.apply_merge(plan)
        assert memory.ids() == [bad, good]
        assert memory.marks([bad])[bad].pinned


def test_an_edit_does_not_outlive_a_restore(tmp_path):
    with opened(tmp_path / "store") as store:
        add(store, "a")
        backup(store, tmp_path / "backup.zip")
        collection = store.collection(COLLECTION)
        moment = collection.moment()
        restore(store, tmp_path / "backup.zip")
        with pytest.raises(PlanOutdated, match="nothing was done"):
            collection.update(["a"], [VECTORS[0]], [{}], ["new"], unchanged_since=moment)


def test_names_that_people_gave_to_domains_are_part_of_a_backup(tmp_path):
    assert NAMES == names.FILE
    held = '{"atlas_experiences": [{"name": "Sorting ü", "members": ["a"], "n": 1}]}\n'
    with opened(tmp_path / "store") as store:
        add(store, "a")
        backup(store, tmp_path / "without.zip")
        (store.path / NAMES).write_text(held, encoding="utf-8")
        backup(store, tmp_path / "with.zip")
        (store.path / NAMES).write_text("{}", encoding="utf-8")
        restore(store, tmp_path / "with.zip")
        assert (store.path / NAMES).read_text(encoding="utf-8") == held
        restore(store, tmp_path / "without.zip")
        assert not (store.path / NAMES).exists()
        assert not list(store.path.glob(f".{NAMES}*"))
    with opened(tmp_path / "other") as other:
        restore(other, tmp_path / "with.zip")
        assert DomainNames(other.path, COLLECTION).load()[0].name == "Sorting ü"


def test_a_backup_of_before_domains_had_names_still_restores(tmp_path):
    with opened(tmp_path / "store") as store:
        add(store, "a")
        backup(store, tmp_path / "backup.zip")
        with zipfile.ZipFile(tmp_path / "backup.zip") as new, zipfile.ZipFile(tmp_path / "old.zip", "w") as old:
            old.writestr(LEDGER, new.read(LEDGER))
        (store.path / NAMES).write_text("{}", encoding="utf-8")
        restore(store, tmp_path / "old.zip")
        assert ids_of(store) == ["a"]
        assert not (store.path / NAMES).exists()


def test_names_that_are_too_large_are_refused_before_anything_is_changed(tmp_path, monkeypatch):
    with opened(tmp_path / "store") as store:
        add(store, "a")
        (store.path / NAMES).write_text("x" * 2_000, encoding="utf-8")
        backup(store, tmp_path / "backup.zip")
        add(store, "bb")
        monkeypatch.setattr(backups, "MAX_BYTES", 1_000)
        with pytest.raises(InvalidInput, match=r"domain_names\.json unpacks to"):
            restore(store, tmp_path / "backup.zip")
        assert ids_of(store) == ["a", "bb"]
