"""The marks' JSON files: whatever becomes of one, the ledger has the marks; what people write into one is taken in."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from atlas.core.errors import PlanOutdated, UndoRefused
from atlas.core.operations import NO_MARKS, Marks
from atlas.storage.maintenance.doctor import examine
from atlas.storage.marks.tinydb import TinyMetadataStore
from atlas.storage.records import Merge
from tests.support.storage.forks import fork
from tests.support.storage.ledgers import THINGS, Opened, files_in, leave_pending, vector_of, without_privileges

FILE = f"{THINGS}_meta.json"
MARKED = {"marks": {"a": {"note": "first", "tags": ["red", "blue"]}, "b": {"pinned": True}, "c": {"tags": ["red"]}}}


@pytest.fixture
def marked(open_store):
    opened = open_store()
    opened.add("a", "b", "c", "d")
    opened.mark(a=Marks(tags=("red", "blue"), note="first"), b=Marks(pinned=True), c=Marks(tags=("red",)))
    return opened


def file_of(opened: Opened) -> Path:
    return opened.store.path / FILE


def held(opened: Opened) -> object:
    return json.loads(file_of(opened).read_text(encoding="utf-8"))


def change_by_hand(opened: Opened, **entries: object) -> None:
    """Save the file as an editor does, with these entries in place of what it said of their records."""
    said = json.loads(file_of(opened).read_text(encoding="utf-8"))
    said["marks"] = {key: entry for key, entry in {**said["marks"], **entries}.items() if entry is not None}
    beside = file_of(opened).with_name("edited.json")
    beside.write_text(json.dumps(said), encoding="utf-8")
    beside.replace(file_of(opened))


def problem(opened: Opened, *, fix: bool = False) -> str:
    return next(finding.problem for finding in examine(opened.store, fix=fix) if finding.check == "marks")


def told(opened: Opened) -> list[tuple[str, str, str]]:
    return [(operation.kind, operation.actor, operation.reason) for operation in opened.store.history(10)]


def text(content: str) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(content.encode("utf-8", "surrogatepass")) and None


def directory(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "inside").write_text("kept")


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**33)


DAMAGES = {
    "cut off": text('{"marks": {"a": {"no'),
    "empty": text(""),
    "binary": lambda path: path.write_bytes(bytes(range(256)) * 40) and None,
    "nested": text("[" * 100_000),
    "no text": text("\ud800"),
    "lone surrogate": text('{"marks": {"a": {"note": "\\ud800"}}}'),
    "NUL": text('{"marks": {"a": {"note": "\\u0000"}}}'),
    "a list": text("[]"),
    "no table of marks": text("{}"),
    "no records": text('{"marks": []}'),
    "no marks": text('{"marks": {"a": 5}}'),
    "no tags": text('{"marks": {"a": {"tags": 5}}}'),
    "no texts": text('{"marks": {"a": {"tags": [1]}}}'),
    "no note": text('{"marks": {"a": {"note": []}}}'),
    "directory": directory,
    "pipe": pipe,
    "huge": huge,
}


def assert_all_is_there(opened: Opened) -> None:
    assert opened.marks("a") == Marks(tags=("red", "blue"), note="first")
    assert opened.ids({"marks.tags": "red"}) == ["a", "c"]
    assert opened.ids({"marks.pinned": False}) == ["a", "c", "d"]
    assert opened.nearest("d") == ["d"]


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_file_that_cannot_be_read_is_set_aside_and_written_again(marked, open_store, caplog, damage):
    damage(file_of(marked))
    status = file_of(marked).stat()
    assert_all_is_there(marked)
    assert FILE in problem(open_store(read_only=True))
    again = open_store()
    assert_all_is_there(again)
    assert held(again) == MARKED
    aside = marked.store.path / f"{THINGS}_meta.unreadable-1.json"
    assert (aside.stat().st_ino, aside.stat().st_size) == (status.st_ino, status.st_size)
    assert f"It is named {aside.name} now, and is written again from the ledger" in caplog.text
    assert problem(again) == ""
    assert [operation.kind for operation in again.store.history()] == ["mark", "store"]


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_marks_are_changed_while_their_file_cannot_be_read(marked, damage):
    damage(file_of(marked))
    marked.mark(d=Marks(note="new"))
    assert_all_is_there(marked)
    assert held(marked) == {"marks": {**MARKED["marks"], "d": {"note": "new"}}}


def test_no_file_that_was_set_aside_is_written_over(marked, open_store):
    for n in (1, 2, 3):
        file_of(marked).write_text(f"{n}")
        open_store()
    aside = sorted(marked.store.path.glob("*unreadable*"))
    assert [(path.name, path.read_text()) for path in aside] == [
        (f"{THINGS}_meta.unreadable-{n}.json", f"{n}") for n in (1, 2, 3)
    ]


def test_a_file_that_was_set_aside_is_taken_in_when_it_is_mended_and_put_back(marked, open_store):
    file_of(marked).write_text('{"marks": {"d": {"note": "mended"}}')
    open_store()
    aside = marked.store.path / f"{THINGS}_meta.unreadable-1.json"
    aside.write_text(aside.read_text() + "}")
    aside.replace(file_of(marked))
    assert open_store().store.ledger.marks.read(THINGS) == {"d": Marks(note="mended")}


def test_doctor_sees_damage_that_leaves_the_files_date_and_mends_it(marked, open_store):
    status = file_of(marked).stat()
    with file_of(marked).open("r+b") as file:
        file.write(b"x")
    os.utime(file_of(marked), ns=(status.st_atime_ns, status.st_mtime_ns))
    opened = open_store()
    assert "not readable JSON" in problem(opened)
    assert [finding.check for finding in examine(opened.store, fix=True) if finding.is_fixed] == ["marks"]
    assert held(opened) == MARKED


def test_damage_that_leaves_the_files_date_keeps_nobody_from_marking(marked, open_store):
    status = file_of(marked).stat()
    with file_of(marked).open("r+b") as file:
        file.write(b"x")
    os.utime(file_of(marked), ns=(status.st_atime_ns, status.st_mtime_ns))
    open_store().mark(d=Marks(note="new"))
    assert held(marked) == {"marks": {**MARKED["marks"], "d": {"note": "new"}}}


def test_a_file_that_is_gone_is_written_again(marked, open_store):
    file_of(marked).unlink()
    assert_all_is_there(marked)
    assert problem(open_store(read_only=True)) == f"{FILE} is gone"
    assert held(open_store()) == MARKED
    file_of(marked).unlink()
    marked.mark(c=Marks(note="new"))
    assert held(marked) == {"marks": {**MARKED["marks"], "c": {"note": "new"}}}
    assert problem(marked) == ""


def test_a_store_without_marks_has_no_file(open_store):
    opened = open_store()
    opened.add("a")
    open_store()
    assert problem(opened, fix=True) == ""
    opened.store.marks.settle(thoroughly=True)
    assert not file_of(opened).exists()


def test_reading_only_a_file_that_cannot_be_read_is_left_as_it_is(marked, open_store):
    file_of(marked).write_text("{")
    before = files_in(marked.store.path)
    reader = open_store(read_only=True)
    assert_all_is_there(reader)
    assert "not readable JSON" in problem(reader, fix=True)
    assert files_in(marked.store.path) == before


def test_a_file_that_nobody_may_read_is_set_aside(open_store, open_directory):
    (open_directory / "store").mkdir(mode=0o777)
    (open_directory / "store").chmod(0o777)
    with without_privileges():
        opened = open_store(open_directory / "store")
        opened.add("a")
        opened.mark(a=Marks(pinned=True))
        change_by_hand(opened, a={"note": "secret"})
        file_of(opened).chmod(0)
        again = open_store(open_directory / "store")
        assert again.marks("a") == Marks(pinned=True)
        assert held(again) == {"marks": {"a": {"pinned": True}}}


def test_what_is_changed_by_hand_is_taken_in_as_one_operation_that_can_be_undone(marked, open_store):
    change_by_hand(marked, a={"note": "by hand"}, b=None, d={"tags": ["red"]})
    opened = open_store()
    assert opened.store.ledger.marks.read(THINGS) == {
        "a": Marks(note="by hand"),
        "c": Marks(tags=("red",)),
        "d": Marks(tags=("red",)),
    }
    assert opened.ids({"marks.tags": "red"}) == ["c", "d"]
    operation = opened.store.history(1)[0]
    assert (operation.kind, operation.actor, operation.reason) == ("mark", "by hand", f"{FILE} was changed")
    assert operation.counts == {"marked": 3}
    opened.store.undo(operation.id)
    assert opened.store.ledger.marks.read(THINGS) == {
        "a": Marks(tags=("red", "blue"), note="first"),
        "b": Marks(pinned=True),
        "c": Marks(tags=("red",)),
    }
    assert held(opened) == MARKED


def test_what_is_changed_by_hand_is_taken_in_once(marked, open_store):
    change_by_hand(marked, d={"pinned": True})
    n_before = marked.store.count_operations()
    for n in range(3):
        open_store().mark(a=Marks(note=f"after {n}"))
    assert marked.store.count_operations() == n_before + 4


def test_a_file_that_is_only_written_otherwise_changes_nothing(marked, open_store):
    change_by_hand(marked)
    content = file_of(marked).read_bytes()
    n_before = marked.store.count_operations()
    opened = open_store()
    assert opened.store.count_operations() == n_before
    assert problem(opened) == ""
    assert file_of(opened).read_bytes() == content


def test_what_is_changed_by_hand_stands_before_the_next_change_of_marks(marked):
    change_by_hand(marked, a={"note": "by hand", "tags": ["red"]})
    marked.store.marks.change(
        THINGS, ["a"], lambda marks: Marks(note=marks.note, pinned=True), marked.store.ledger.draft("mark", actor="t")
    )
    assert marked.marks("a") == Marks(note="by hand", pinned=True)
    assert told(marked)[:2] == [("mark", "t", ""), ("mark", "by hand", f"{FILE} was changed")]


def test_what_is_changed_by_hand_stands_before_an_undo_and_a_merge(marked):
    operation, moment = marked.store.history(1)[0], marked.store.ledger.moment()
    change_by_hand(marked, a={"note": "by hand"})
    with pytest.raises(UndoRefused, match="a was changed since"):
        marked.store.undo(operation.id)
    change_by_hand(marked, a={"note": "by hand again"})
    merging = Merge(
        kept_id="a", embedding=vector_of("a"), metadata={}, document="a", removed=["b"], marks=Marks(note="merged")
    )
    with pytest.raises(PlanOutdated, match="'a' has changed"):
        marked.store.collection(THINGS).merge([merging], moment)
    assert marked.marks("a") == Marks(note="by hand again")


def test_a_change_on_its_way_to_the_file_wins_over_what_the_file_says(marked, open_store):
    leave_pending(marked.store, THINGS, a=Marks(note="committed"), b=NO_MARKS)
    change_by_hand(marked, a={"note": "by hand"}, d={"note": "also by hand"})
    opened = open_store()
    assert opened.store.ledger.marks.read(THINGS) == {
        "a": Marks(note="committed"),
        "c": Marks(tags=("red",)),
        "d": Marks(note="also by hand"),
    }
    assert held(opened) == {
        "marks": {"a": {"note": "committed"}, "c": {"tags": ["red"]}, "d": {"note": "also by hand"}}
    }


def test_what_others_keep_in_the_file_stays(marked, open_store):
    change_by_hand(marked, b={"pinned": True, "reviewed": "yes"})
    said = held(marked)
    said["others"] = {"x": {"note": "y"}}
    file_of(marked).write_text(json.dumps(said))
    open_store().mark(a=NO_MARKS)
    assert held(marked) == {
        "marks": {"b": {"pinned": True, "reviewed": "yes"}, "c": {"tags": ["red"]}},
        "others": {"x": {"note": "y"}},
    }


def test_marks_for_a_record_that_comes_later_are_found_then(marked, open_store):
    change_by_hand(marked, later={"pinned": True})
    opened = open_store()
    assert opened.ids({"marks.pinned": True}) == ["b"]
    opened.add("later")
    assert opened.ids({"marks.pinned": True}) == ["b", "later"]


def test_a_file_that_somebody_made_before_anything_was_marked_is_taken_in(open_store):
    opened = open_store()
    opened.add("a")
    file_of(opened).write_text('{"marks": {"a": {"pinned": true}}}')
    assert open_store().marks("a") == Marks(pinned=True)


def test_a_copied_store_takes_nothing_in(marked, open_store, tmp_path):
    marked.store.close()
    copied = tmp_path / "copied"
    copied.mkdir()
    for file in marked.store.path.glob("*"):
        if file.is_file():
            (copied / file.name).write_bytes(file.read_bytes())
    opened = open_store(copied)
    assert_all_is_there(opened)
    assert [operation.kind for operation in opened.store.history()] == ["mark", "store"]


def test_doctor_tells_of_what_was_changed_by_hand_and_takes_it_in(marked):
    change_by_hand(marked, a=None, d={"note": "x"})
    assert problem(marked) == f"{FILE} differs from the ledger in 2 records: 'a' …"
    problem(marked, fix=True)
    assert problem(marked) == ""
    assert marked.marks("d") == Marks(note="x")


@pytest.mark.parametrize("dies", ["before the file is replaced", "after it", "after it was set aside"])
def test_a_process_that_dies_between_ledger_and_file_loses_nothing_and_makes_nothing_up(
    marked, open_store, monkeypatch, dies
):
    change_by_hand(marked, d={"note": "by hand"})
    replace = TinyMetadataStore.replace

    def replace_and_die(store: TinyMetadataStore, marks: dict[str, Marks]) -> None:
        if dies == "after it":
            replace(store, marks)
        os._exit(9)

    def work() -> None:
        monkeypatch.setattr(TinyMetadataStore, "replace", replace_and_die)
        opened = open_store()
        if dies == "after it was set aside":
            file_of(opened).write_text("{")
        opened.mark(a=Marks(note="committed"), c=NO_MARKS)

    assert os.waitstatus_to_exitcode(os.waitpid(fork(work), 0)[1]) == 9
    expected = {"a": Marks(note="committed"), "b": Marks(pinned=True), "d": Marks(note="by hand")}
    if dies == "after it was set aside":
        expected |= {"a": Marks(tags=("red", "blue"), note="first"), "c": Marks(tags=("red",))}
    for opened in (open_store(), open_store()):
        assert opened.store.ledger.marks.read(THINGS) == expected
        assert TinyMetadataStore(file_of(opened)).all() == expected
        assert [actor for _, actor, _ in told(opened)].count("by hand") == 1
    assert problem(marked) == ""


def test_the_ledger_names_no_marks_that_were_taken_away(marked):
    """So what a person takes back is nowhere but in the history."""
    marked.mark(a=NO_MARKS, b=NO_MARKS, c=NO_MARKS)
    with closing(sqlite3.connect(marked.store.path / "atlas.sqlite")) as connection:
        for table in ("marks", "pending_marks", "lost_marks"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    assert held(marked) == {"marks": {}}
