"""The files of marks: TinyDB copies of what the ledger has, written in the background, and never waited for."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest
from tinydb import TinyDB, where

from atlas.core.errors import StoreUnavailable
from atlas.core.operations import NO_MARKS, Marks
from atlas.infra.fork_safety import InterProcessLock
from atlas.storage.maintenance.backup import backup, restore
from atlas.storage.maintenance.doctor import examine
from atlas.storage.maintenance.purge import apply_purge, plan_purge
from atlas.storage.marks import files
from atlas.storage.store import Store
from tests.support.storage.forks import fork
from tests.support.storage.ledgers import THINGS, Opened, vector_of

FILE = f"{THINGS}_meta.json"


@pytest.fixture(autouse=True)
def _no_settling(monkeypatch):
    """A file that is not what the ledger is stays so, except where a test lets somebody copy."""
    monkeypatch.setattr(files, "SETTLING_SECONDS", 0.0)


def rows(path: Path) -> dict[str, dict[str, object]]:
    """What a file says of each record, as TinyDB reads it."""
    with TinyDB(path / FILE, access_mode="r") as database:
        return {row["id"]: dict(row) for row in database.table("marks").all()}


def path_of(opened: Opened) -> Path:
    return opened.store.path


def finished(opened: Opened) -> dict[str, dict[str, object]]:
    opened.store.marks_files.finish()
    return rows(path_of(opened))


def join_copying() -> None:
    """Wait until every thread that copies has ended."""
    for thread in threading.enumerate():
        if thread.name == "atlas-marks-files":
            thread.join()


def problem(opened: Opened, *, fix: bool = False) -> str:
    return next(finding.problem for finding in examine(opened.store, fix=fix) if finding.check == "marks")


def test_a_file_exists_from_the_first_record_on(open_store):
    opened = open_store()
    opened.store.marks_files.finish()
    assert not (path_of(opened) / FILE).exists()
    opened.add("a", title="Grüße", created_at="2026-05-01")
    assert finished(opened) == {
        "a": {
            "id": "a",
            "title": "Grüße",
            "created_at": "2026-05-01",
            "tags": [],
            "pinned": False,
            "note": "",
            "n_uses": 0,
            "success_rate": None,
        }
    }


def test_a_file_is_written_while_the_store_is_open(open_store, monkeypatch):
    monkeypatch.setattr(files, "PAUSE_SECONDS", 0.0)
    opened = open_store()
    opened.add("a")
    join_copying()
    assert list(rows(path_of(opened))) == ["a"]


def test_a_file_has_marks_uses_and_the_success_rate(open_store):
    opened = open_store()
    opened.add("a", "b")
    opened.mark(a=Marks(tags=("red", "blue"), note='two\nlines "'), b=Marks(pinned=True, buried=True))
    for success in (True, True, False):
        opened.store.collection(THINGS).record_use("a", success)
    found = finished(opened)
    assert found["a"]["tags"] == ["red", "blue"]
    assert (found["a"]["note"], found["a"]["n_uses"], found["a"]["success_rate"]) == ('two\nlines "', 3, 0.6667)
    assert (found["b"]["pinned"], found["b"]["buried"], found["b"]["success_rate"]) == (True, True, None)


def test_uses_that_are_undone_and_done_again_are_followed(open_store):
    opened = open_store()
    opened.add("a")
    others = opened.store.collection("others").as_operation("store")
    others.add(["b"], [vector_of("b")], [{}], ["text of b"])
    opened.store.collection(THINGS).as_operation("store", operation_id=others.operation_id).record_use("a", True)
    assert (finished(opened)["a"]["n_uses"], finished(opened)["a"]["success_rate"]) == (1, 1.0)
    undo = opened.store.undo(str(others.operation_id))
    assert (finished(opened)["a"]["n_uses"], finished(opened)["a"]["success_rate"]) == (0, None)
    opened.store.undo(undo.id)
    assert finished(opened)["a"]["n_uses"] == 1


def test_tinydb_finds_records_by_their_tags(open_store):
    opened = open_store()
    opened.add("a", "b")
    opened.mark(b=Marks(tags=("red",)))
    opened.store.marks_files.finish()
    with TinyDB(path_of(opened) / FILE, access_mode="r") as database:
        assert [row["id"] for row in database.table("marks").search(where("tags").any(["red"]))] == ["b"]


def test_what_is_deleted_undone_or_restored_is_followed(open_store):
    opened = open_store()
    opened.add("a")
    added = opened.add("b")
    opened.delete("a")
    assert list(finished(opened)) == ["b"]
    opened.store.undo(added)
    assert list(finished(opened)) == []
    opened.store.collection(THINGS).restore(["a"])
    assert list(finished(opened)) == ["a"]


def test_of_many_records_a_file_has_those_that_were_marked_or_used(open_store, monkeypatch):
    monkeypatch.setattr(files, "MAX_ROWS", 4)
    opened = open_store()
    opened.add("a", "b", "c", "d")
    assert list(finished(opened)) == ["a", "b", "c", "d"]
    opened.add("e", "f", "g")
    opened.mark(
        a=Marks(tags=("x",)), b=Marks(pinned=True), c=Marks(note="n"), d=Marks(buried=True), g=Marks(tags=("y",))
    )
    opened.mark(g=NO_MARKS)
    opened.store.collection(THINGS).record_use("f", False)
    assert list(finished(opened)) == ["a", "b", "c", "d", "f"]


def test_a_file_that_is_up_to_date_is_not_written_again(open_store):
    opened = open_store()
    opened.add("a")
    finished(opened)
    number = (path_of(opened) / FILE).stat().st_ino
    opened.store.ledger.notes.write({"a note": "of something else"})
    opened.store.marks_files.finish()
    open_store().store.close()
    assert (path_of(opened) / FILE).stat().st_ino == number


@pytest.mark.parametrize(
    "how", ["gone", "cut off", "cut off later", "edited", "changed", "of another state", "a text of another program"]
)
def test_a_file_that_is_no_copy_of_the_ledger_is_written_when_the_store_is_opened_next(open_store, how):
    opened = open_store()
    opened.add("a")
    opened.mark(a=Marks(note="of the ledger"))
    expected = finished(opened)
    file = path_of(opened) / FILE
    text = file.read_text(encoding="utf-8")
    damaged = {
        "gone": None,
        "cut off": text[:9],
        "cut off later": text[:-9],
        "edited": text.replace("of the ledger", "of the editor"),
        "changed": "{}",
        "of another state": text.replace('state": "', 'state": "9'),
    }
    content = damaged.get(how, "\0\ud800" * 999)
    file.unlink() if content is None else file.write_bytes(content.encode("utf-8", "surrogatepass"))
    assert problem(open_store(read_only=True)) == f"{FILE} differs from the ledger"
    open_store().store.close()
    assert rows(path_of(opened)) == expected


def test_a_process_that_is_killed_before_the_copy_loses_nothing(open_store):
    opened = open_store()
    opened.add("a", "b")
    finished(opened)

    def work() -> None:
        open_store().mark(a=Marks(note="committed"))
        os._exit(9)

    assert os.waitstatus_to_exitcode(os.waitpid(fork(work), 0)[1]) == 9
    assert rows(path_of(opened))["a"]["note"] == ""
    open_store().store.close()
    assert rows(path_of(opened))["a"]["note"] == "committed"


def test_a_forked_child_copies_what_it_writes(open_store):
    opened = open_store()
    opened.add("a", "b")

    def work() -> None:
        opened.mark(b=Marks(note="of the child"))
        opened.store.close()

    assert os.waitstatus_to_exitcode(os.waitpid(fork(work), 0)[1]) == 0
    assert rows(path_of(opened))["b"]["note"] == "of the child"
    opened.mark(a=Marks(note="of the parent"))
    assert {name: row["note"] for name, row in finished(opened).items()} == {"a": "of the parent", "b": "of the child"}


def test_what_another_process_has_read_before_a_purge_is_not_put_in_place_after_it(open_store, monkeypatch):
    """Another process has read the rows and is about to replace the file, when this one purges."""
    opened, other = open_store(), open_store()
    opened.add("a", title="secret title")
    replace, has_read, go_on = files.replace_atomically, threading.Event(), threading.Event()

    def replace_late(path: Path, text: str) -> None:
        if not has_read.is_set():
            has_read.set()
            go_on.wait()
        replace(path, text)

    monkeypatch.setattr(files, "replace_atomically", replace_late)
    copying = threading.Thread(target=other.store.marks_files.write)
    copying.start()
    has_read.wait()
    plan, problems = plan_purge(opened.store, ["a"]), list[str]()
    purging = threading.Thread(target=lambda: problems.append(apply_purge(opened.store, plan).problem))
    purging.start()
    purging.join(0.5)  # it waits for the other one, which has read what is purged
    assert purging.is_alive()
    go_on.set()
    copying.join()
    purging.join()
    assert problems == [""]
    assert rows(path_of(opened)) == {}


def test_a_copy_that_a_killed_process_has_begun_is_removed_at_the_next_opening_and_by_doctor(open_store):
    opened = open_store()
    opened.add("a")
    opened.store.marks_files.finish()
    begun = path_of(opened) / f".{FILE}.4711"
    begun.write_text("begun")
    open_store().store.close()
    assert not begun.exists()
    begun.write_text("begun")
    assert problem(opened, fix=True) == f"{begun.name} is a remainder of a killed process"
    assert not begun.exists()


def test_a_file_is_not_written_while_another_process_writes_it(open_store, monkeypatch):
    monkeypatch.setattr(files, "WAIT_SECONDS", 0.0)
    opened, other = open_store(), open_store()
    opened.add("a")
    with (
        InterProcessLock(path_of(opened) / "marks.lock").locked(),
        pytest.raises(StoreUnavailable, match="another process"),
    ):
        other.store.marks_files.write()


def test_a_file_that_cannot_be_written_fails_no_write(open_store, caplog):
    opened = open_store()
    (path_of(opened) / FILE).mkdir()
    (path_of(opened) / FILE / "inside").write_text("stays")
    opened.add("a")
    opened.mark(a=Marks(note="committed"))
    opened.store.close()
    assert open_store().marks("a") == Marks(note="committed")
    assert "the files of marks are not up to date" in caplog.text
    assert problem(open_store(read_only=True)) == f"{FILE} differs from the ledger"


def test_a_write_while_another_thread_finishes_is_copied(open_store, monkeypatch):
    """The other thread has ended the copying thread, and copies what is left, when somebody writes again."""
    monkeypatch.setattr(files, "PAUSE_SECONDS", 60.0)
    opened = open_store()
    opened.add("a")
    replace, is_first = files.replace_atomically, True

    def replace_and_write(path: Path, text: str) -> None:
        nonlocal is_first
        replace(path, text)
        if is_first:
            is_first = False
            monkeypatch.setattr(opened.store.marks_files, "_pause", 0.0)
            opened.mark(a=Marks(note="written meanwhile"))

    monkeypatch.setattr(files, "replace_atomically", replace_and_write)
    opened.store.marks_files.finish()
    join_copying()
    assert rows(path_of(opened))["a"]["note"] == "written meanwhile"


def test_a_thread_that_ended_by_an_unexpected_error_is_begun_anew(open_store, monkeypatch):
    opened = open_store()
    opened.add("a")
    finished(opened)
    ended = threading.Thread(target=lambda: None)
    ended.start()
    ended.join()
    monkeypatch.setattr(opened.store.marks_files, "_thread", ended)
    monkeypatch.setattr(opened.store.marks_files, "_pause", 0.0)
    opened.mark(a=Marks(note="after it"))
    join_copying()
    assert rows(path_of(opened))["a"]["note"] == "after it"


def test_a_copy_that_failed_is_tried_again_when_the_store_is_closed(open_store, caplog):
    opened = open_store()
    opened.add("a")
    finished(opened)
    (path_of(opened) / FILE).unlink()
    (path_of(opened) / FILE).mkdir()
    opened.mark(a=Marks(note="committed"))
    opened.store.marks_files.finish()
    assert "the files of marks are not up to date" in caplog.text
    (path_of(opened) / FILE).rmdir()
    opened.store.close()
    assert rows(path_of(opened))["a"]["note"] == "committed"


def test_an_edit_in_the_file_itself_is_replaced_and_changes_no_marks(open_store):
    opened = open_store()
    opened.add("a")
    opened.mark(a=Marks(note="of the ledger"))
    finished(opened)
    file = path_of(opened) / FILE
    file.write_text(file.read_text(encoding="utf-8").replace("of the ledger", "by hand"), encoding="utf-8")
    opened.add("b")
    assert finished(opened)["a"]["note"] == "of the ledger"
    assert opened.marks("a") == Marks(note="of the ledger")


def test_a_purge_leaves_nothing_of_a_record_in_the_file(open_store):
    opened = open_store()
    opened.add("a", "b", title="secret title")
    opened.mark(a=Marks(note="secret note"))
    finished(opened)
    (path_of(opened) / f".{FILE}.4711").write_text("secret, begun by a process that was killed")
    (path_of(opened) / f"{THINGS}_meta.unreadable-1.json").write_text("secret, of an older version")
    purged = apply_purge(opened.store, plan_purge(opened.store, ["a", "b"]))
    assert purged.problem == ""
    assert rows(path_of(opened)) == {}
    assert not [file for file in path_of(opened).glob("*meta*") if "secret" in file.read_text(encoding="utf-8")]


def test_a_purge_is_not_done_while_the_file_cannot_be_written(open_store):
    opened = open_store()
    opened.add("a")
    file = path_of(opened) / FILE
    finished(opened)
    file.unlink()
    file.mkdir()
    (file / "inside").write_text("stays")
    assert "purged data may still be in files" in apply_purge(opened.store, plan_purge(opened.store, ["a"])).problem
    (file / "inside").unlink()
    file.rmdir()
    assert open_store().store.ledger.purges.unfinished() == {}


def test_a_restored_store_has_the_files_of_its_backup(open_store, tmp_path):
    opened = open_store()
    opened.add("a")
    opened.mark(a=Marks(note="then"))
    backup(opened.store, tmp_path / "backup.zip")
    opened.mark(a=Marks(note="now"))
    opened.add("b")
    finished(opened)
    restore(opened.store, tmp_path / "backup.zip")
    assert {name: row["note"] for name, row in finished(opened).items()} == {"a": "then"}


def test_doctor_writes_a_file_that_is_gone(open_store):
    opened = open_store()
    opened.add("a")
    finished(opened)
    (path_of(opened) / FILE).unlink()
    assert problem(opened, fix=True) == f"{FILE} differs from the ledger"
    assert list(rows(path_of(opened))) == ["a"]
    assert problem(opened) == ""


def test_doctor_does_not_report_what_another_process_is_about_to_copy(open_store, monkeypatch):
    opened, other = open_store(), open_store()
    opened.add("a")
    opened.store.marks_files.finish()
    monkeypatch.setattr(other.store.marks_files, "_pause", 0.3)
    monkeypatch.setattr(files, "SETTLING_SECONDS", 60.0)
    other.store.marks_files.finish()
    other.mark(a=Marks(note="of another process"))
    assert problem(opened) == ""
    assert rows(path_of(opened))["a"]["note"] == "of another process"


def test_a_store_that_is_only_read_has_its_files_left_alone(open_store):
    opened = open_store()
    opened.add("a")
    opened.store.close()
    (path_of(opened) / FILE).write_text("{}")
    open_store(read_only=True).store.close()
    assert json.loads((path_of(opened) / FILE).read_text()) == {}


def test_closing_ends_the_thread(tmp_path):
    others = set(threading.enumerate())
    with Store.open(tmp_path / "store") as store:
        Opened(store).add("a")
    assert set(threading.enumerate()) <= others
    assert list(rows(tmp_path / "store")) == ["a"]
