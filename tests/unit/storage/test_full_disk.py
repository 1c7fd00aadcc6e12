"""A disk without room: a clear error, nothing half written, and writing works again once there is room."""

from __future__ import annotations

import os

import numpy as np
import pytest

from atlas.core.errors import StoreUnavailable
from atlas.core.operations import Marks
from atlas.storage.metadata import AtomicJSONStorage
from atlas.storage.records import Record
from tests.unit.storage.conftest import MODEL, THINGS, vector_of


def records(*ids, size):
    return [Record(id=i, metadata={}, document=i, content="x" * size, vectors=np.stack([vector_of(i)])) for i in ids]


def leave_pages(ledger, n_pages):
    """Let this thread's connection write so many pages more, and no others."""
    with ledger.database.session() as connection:
        used = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {used + n_pages}")


def test_a_write_that_does_not_fit_is_refused_as_a_whole(open_store):
    opened = open_store()
    opened.add("old")
    ledger = opened.store.ledger
    leave_pages(ledger, 20)
    before = ledger.revision()
    with pytest.raises(StoreUnavailable, match=r"the disk that holds .*atlas\.sqlite is full .*nothing was written"):
        ledger.add(THINGS, records("a", "b", "c", size=200_000), ledger.draft("store", actor="t"), model=MODEL.name)
    assert opened.ids() == ["old"]
    assert ledger.revision() == before
    assert len(opened.store.history()) == 1
    assert opened.nearest("a") == ["old"]


def test_writing_goes_on_once_there_is_room(open_store):
    opened = open_store()
    opened.add("old")
    ledger = opened.store.ledger
    leave_pages(ledger, 5)
    draft = ledger.draft("store", actor="t")
    with pytest.raises(StoreUnavailable, match="full"):
        ledger.add(THINGS, records("a", size=200_000), draft, model=MODEL.name)
    leave_pages(ledger, 10_000)
    ledger.add(THINGS, records("a", size=200_000), draft, model=MODEL.name)
    assert opened.ids() == ["old", "a"]
    assert opened.store.undo(draft.id).counts == {"removed": 1}
    assert opened.ids() == ["old"]


def test_an_undo_that_does_not_fit_changes_nothing(open_store):
    opened = open_store()
    ledger = opened.store.ledger
    ledger.add(THINGS, records("a", size=200_000), ledger.draft("store", actor="t"), model=MODEL.name)
    deletion = opened.delete("a")
    with ledger.database.write() as connection:
        connection.execute("CREATE TABLE filler AS SELECT randomblob(300000) AS content")
    leave_pages(ledger, 2)
    with pytest.raises(StoreUnavailable, match="full"):
        opened.store.undo(deletion)
    assert opened.ids() == []
    assert [operation.kind for operation in opened.store.history()] == ["delete", "store"]
    leave_pages(ledger, 10_000)
    opened.store.undo(deletion)
    assert opened.ids() == ["a"]


def test_marks_that_cannot_reach_their_file_are_kept_in_the_ledger(open_store, caplog):
    opened = open_store()
    opened.add("a", "b")
    opened.mark(a=Marks(note="old"))
    file = opened.store.path / f"{THINGS}_meta.json"
    in_the_way = file.with_name(f".{file.name}.{os.getpid()}")
    in_the_way.mkdir()
    opened.mark(a=Marks(note="new"))
    assert "the marks cannot be written to their files yet" in caplog.text
    assert opened.marks("a") == Marks(note="new")
    assert "old" in file.read_text(encoding="utf-8")
    in_the_way.rmdir()
    opened.mark(b=Marks(pinned=True))
    assert "new" in file.read_text(encoding="utf-8")
    assert open_store().marks("a") == Marks(note="new")


def test_a_file_of_marks_is_replaced_as_a_whole_or_not_at_all(tmp_path):
    storage = AtomicJSONStorage(tmp_path / "m.json")
    storage.write({"marks": {"a": {"note": "old"}}})
    with pytest.raises(TypeError):
        storage.write({"marks": {"a": {"note": object()}}})
    with pytest.raises(RuntimeError, match="midway"), storage.batch():
        storage.write({"marks": {"a": {"note": "half"}}})
        raise RuntimeError("midway")
    assert storage.read() == {"marks": {"a": {"note": "old"}}}
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]
