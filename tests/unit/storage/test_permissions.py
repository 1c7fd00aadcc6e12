"""A store is for its owner alone, unless its directory is shared with a group."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import atlas
from atlas.access.keys import ApiKeys
from atlas.core.operations import Marks
from atlas.core.settings import Settings
from atlas.infra.actor import Role
from atlas.infra.permissions import file_mode, restrict_permissions, temporary_path
from atlas.storage.erasing import find_foreign_files
from atlas.storage.maintenance.backup import backup, restore
from atlas.storage.maintenance.doctor import examine
from atlas.storage.maintenance.freeze import freeze
from atlas.storage.store import Store
from atlas.testing import HashEmbedder
from tests.support.memories import attempt
from tests.support.storage.ledgers import Opened, without_privileges
from tests.support.storage.old_schemas import make_version_4


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    """The umask under which everybody may read what is made."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(directory: Path) -> dict[str, int]:
    """The permissions of a directory and of all that is below it."""
    paths = [directory, *directory.rglob("*")]
    return {path.relative_to(directory).as_posix(): stat.S_IMODE(path.lstat().st_mode) for path in paths}


def loose(directory: Path, allowed: int = 0) -> dict[str, int]:
    """Those that more may use than should."""
    return {name: mode for name, mode in modes(directory).items() if mode & 0o077 & ~allowed}


def filled(path: Path) -> Store:
    """An open store with marks, an index, and what libraries and threads make."""
    store = Store.open(path, settings=Settings(exact_max_rows=2, index_lag_rows=1))
    opened = Opened(store)
    opened.add("a", "b", "c", "d")
    opened.mark(a=Marks(note="mine"))
    store.catch_up()
    return store


def test_a_new_store_is_for_its_owner_alone_also_while_it_is_open(tmp_path):
    with filled(tmp_path / "deep" / "store") as store:
        Opened(store).add("e")
        assert loose(store.path) == {}
    assert modes(store.path)["."] == 0o700
    assert modes(store.path)["atlas.sqlite"] == 0o600
    assert loose(store.path) == {}
    assert modes(tmp_path / "deep")["."] == 0o755


def test_the_journals_of_a_new_store_are_for_its_owner_alone(tmp_path):
    with filled(tmp_path / "store") as store:
        held = modes(store.path)
        assert (held["atlas.sqlite-wal"], held["atlas.sqlite-shm"]) == (0o600, 0o600)


def test_what_a_memory_makes_is_for_its_owner_alone(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as memory:
        memory.experience.store(attempt("sum the invoices"))
        memory.storage.audit.add_event("signed in", who="ada")
        freeze(memory.storage, "copy")
    assert loose(tmp_path / "store") == {}


def test_a_store_that_others_may_read_is_tightened_where_it_is_opened_for_writing(tmp_path):
    filled(tmp_path / "store").close()
    for path in (tmp_path / "store", *(tmp_path / "store").rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    Store.open(tmp_path / "store", read_only=True).close()
    assert loose(tmp_path / "store") != {}
    Store.open(tmp_path / "store").close()
    assert loose(tmp_path / "store") == {}


def test_doctor_names_what_others_may_use_and_mends_it(tmp_path):
    with filled(tmp_path / "store") as store:
        (store.path / "store.json").chmod(0o644)
        (finding,) = [finding for finding in examine(store) if finding.problem]
        assert finding.check == "permissions"
        assert finding.problem == f"other users have access to 1 of the store's files, such as {store.path}/store.json"
        assert [finding.check for finding in examine(store, fix=True) if finding.is_fixed] == ["permissions"]
        assert modes(store.path)["store.json"] == 0o600


@pytest.mark.parametrize(("mode", "group"), [(0o770, 0o060), (0o2770, 0o060), (0o2750, 0o060), (0o775, 0o060)])
def test_a_directory_that_is_shared_with_a_group_stays_shared_and_is_closed_to_others(tmp_path, mode, group):
    os.umask(0o002)
    (tmp_path / "store").mkdir()
    (tmp_path / "store").chmod(mode)
    filled(tmp_path / "store").close()
    (tmp_path / "store" / "atlas.sqlite").chmod(0o666)
    with Store.open(tmp_path / "store") as store:
        Opened(store).mark(b=Marks(note="shared"))
        store.marks_files.finish()
        assert not any(finding.problem for finding in examine(store))
        held = modes(store.path)
    assert held["."] == mode & 0o7770
    assert held["atlas.sqlite"] == held["things_meta.json"] == held["store.json"] == 0o600 | group
    assert file_mode(tmp_path / "store") == 0o600 | group
    assert loose(tmp_path / "store", allowed=0o070) == {}


def test_who_may_enter_a_shared_store_is_for_its_group_as_well(tmp_path):
    os.umask(0o002)
    store = tmp_path / "store"
    store.mkdir()
    store.chmod(0o2770)
    filled(store).close()
    ApiKeys(store).add("crawler", Role.WRITER, created_by="ada")
    assert {modes(store)[name] for name in ("keys.json", "keys.json.lock", "audit.jsonl", "audit.jsonl.lock")} == {
        0o660
    }


def test_a_directory_in_which_other_things_are_keeps_its_permissions(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    tmp_path.chmod(0o755)
    (tmp_path / "thesis.tex").chmod(0o644)
    filled(tmp_path).close()
    held = modes(tmp_path)
    assert (held["."], held["thesis.tex"], held["atlas.sqlite"]) == (0o755, 0o644, 0o600)
    assert {*loose(tmp_path)} == {".", "thesis.tex"}


def test_no_link_is_followed(tmp_path):
    filled(tmp_path / "store").close()
    (tmp_path / "elsewhere").mkdir(mode=0o755)
    (tmp_path / "elsewhere" / "file").write_text("not ours")
    (tmp_path / "store" / "cache").symlink_to(tmp_path / "elsewhere")
    Store.open(tmp_path / "store").close()
    assert (modes(tmp_path / "elsewhere")["."], modes(tmp_path / "elsewhere")["file"]) == (0o755, 0o644)


def test_no_link_is_followed_that_took_the_place_of_a_file_meanwhile(tmp_path):
    target, file, last = (tmp_path / name for name in ("target", "file", "last"))
    for path in (target, file, last):
        path.touch()
        path.chmod(0o666)

    def swapped() -> Iterator[Path]:
        yield file
        file.unlink()
        file.symlink_to(target)
        yield last

    restrict_permissions(tmp_path, swapped())
    assert (modes(tmp_path)["target"], modes(tmp_path)["last"]) == (0o666, 0o600)


def test_a_ledger_that_is_tightened_keeps_the_locks_that_this_process_has_on_it(open_store):
    opened = open_store()
    opened.add("a")
    ledger, locks = (opened.store.path / name for name in ("atlas.sqlite", "atlas.sqlite-shm"))
    writing = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"
    with opened.store.ledger.database.write():
        locks.chmod(0o644)
        restrict_permissions(opened.store.path, [locks])
        other = subprocess.run([sys.executable, "-c", writing, ledger], capture_output=True, text=True, check=False)
    assert "database is locked" in other.stderr
    assert modes(opened.store.path)[locks.name] == 0o600


def test_files_of_somebody_else_stay_as_they_are(open_directory):
    (open_directory / "store").mkdir()
    filled(open_directory / "store").close()
    (open_directory / "store").chmod(0o777)
    for path in (open_directory / "store").rglob("*"):
        path.chmod(0o777 if path.is_dir() else 0o666)
    before = modes(open_directory / "store")
    with without_privileges():
        Store.open(open_directory / "store").close()
    after = modes(open_directory / "store")
    assert {name: after[name] for name in before if name in after} == {
        name: mode for name, mode in before.items() if name in after
    }


def test_backups_and_the_copies_of_older_schemas_are_for_their_owner_alone(tmp_path):
    with filled(tmp_path / "store") as store:
        backup(store, tmp_path / "backup.zip")
        restore(store, tmp_path / "backup.zip")
    make_version_4(tmp_path / "store")
    (tmp_path / "store" / "atlas.sqlite").chmod(0o644)
    Store.open(tmp_path / "store").close()
    assert modes(tmp_path)["backup.zip"] == 0o600
    assert modes(tmp_path / "store")["atlas.schema-4.sqlite"] == 0o600
    assert loose(tmp_path / "store") == {}


@pytest.mark.parametrize("name", ["store.json", "things_meta.json", "domain_names.json", "keys.json", "token-8501"])
def test_what_was_begun_in_place_of_a_file_is_the_stores_own(tmp_path, name):
    filled(tmp_path / "store").close()
    begun = temporary_path(tmp_path / "store" / name)
    begun.touch()
    assert find_foreign_files(tmp_path / "store") == []
    assert temporary_path(tmp_path / "store" / name) != begun


def test_opening_a_store_leaves_the_umask_of_the_process_alone(tmp_path):
    os.umask(0o027)
    filled(tmp_path / "store").close()
    assert os.umask(0o022) == 0o027
