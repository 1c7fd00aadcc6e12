"""An index, and what a process holds in memory, follow the ledger that is there: whatever was deleted or put back."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from atlas.core.operations import Marks
from atlas.storage.following_index import IndexCheckpoint
from atlas.storage.maintenance.doctor import examine
from atlas.storage.store import Store
from atlas.storage.vectors import following as following_module
from tests.support.storage.ledgers import THINGS, Opened, vector_of

FEW = {"exact_max_rows": 10, "index_lag_rows": 10**6}
IDS = [f"r{i}" for i in range(70)]


def missed(opened: Opened, ids: list[str]) -> list[str]:
    """Those that their own vector does not find."""
    return [record_id for record_id in ids if opened.nearest(record_id) != [record_id]]


def checkpoint_of(store: Store) -> IndexCheckpoint:
    return store.collection(THINGS).parts.nearest.updater.checkpoint()


def problem_of(store: Store) -> str:
    (finding,) = [finding for finding in examine(store) if finding.check == "index"]
    return finding.problem


def delete(index: Path, older: Path) -> None:
    shutil.rmtree(index)


def empty(index: Path, older: Path) -> None:
    shutil.rmtree(index)
    (index / THINGS).mkdir(parents=True)


def put_older_back(index: Path, older: Path) -> None:
    shutil.rmtree(index)
    shutil.copytree(older, index)


STEPS = ["before the first", "between two", "after the last"]


@pytest.mark.parametrize("interfere", [delete, empty, put_older_back])
@pytest.mark.parametrize("step", STEPS)
def test_an_index_that_goes_while_it_catches_up_is_whole_afterwards(open_store, monkeypatch, step, interfere):
    """It hands over three batches, and a fourth reading finds nothing."""
    monkeypatch.setattr(following_module, "BATCH", 10)
    opened = open_store(**FEW)
    path = opened.store.path
    opened.add(*IDS[:20])
    opened.store.catch_up()
    shutil.copytree(path / "chroma", path / "older")
    opened.add(*IDS[20:40])
    opened.store.catch_up()
    opened.add(*IDS[40:])
    at = {"before the first": 1, "between two": 2, "after the last": 4}[step]
    call_at(opened.store, at, lambda: interfere(path / "chroma", path / "older"))
    assert opened.store.catch_up() > 0
    assert (checkpoint_of(opened.store).revision, checkpoint_of(opened.store).n_keys) == (70, 70)
    assert missed(opened, IDS) == []
    assert problem_of(opened.store) == ""
    assert missed(open_store(**FEW), IDS) == []


def call_at(store: Store, number: int, act: Callable[[], None]) -> None:
    """Do something just before the ledger is asked for changes for the n-th time."""
    follow, n_calls = store.ledger.vector_changes, 0

    def follow_then(*arguments):
        nonlocal n_calls
        n_calls += 1
        if n_calls == number:
            act()
        return follow(*arguments)

    store.ledger.vector_changes = follow_then


@pytest.mark.parametrize("interfere", [delete, empty, put_older_back])
def test_an_index_that_goes_just_before_it_is_asked_hides_nothing(open_store, interfere):
    opened = open_store(**FEW)
    path = opened.store.path
    opened.add(*IDS[:20])
    opened.store.catch_up()
    shutil.copytree(path / "chroma", path / "older")
    opened.add(*IDS[20:40])
    opened.store.catch_up()
    opened.add(*IDS[40:45])
    index = opened.store.collection(THINGS).parts.nearest.index
    query = index.query

    def interfere_and_query(*arguments, **options):
        interfere(path / "chroma", path / "older")
        return query(*arguments, **options)

    index.query = interfere_and_query
    assert opened.nearest("r3") == ["r3"]
    index.query = query
    assert missed(opened, IDS[:45]) == []


def checkpoint_the_last_five_alone(opened: Opened, **options: object) -> None:
    """Leave an index as earlier versions did if it was deleted while it caught up: it lacks all but the newest."""
    index, checkpoint = opened.store.collection(THINGS).parts.nearest.index, checkpoint_of(opened.store)
    index.clear()
    index.upsert([f"{seq}:0" for seq in range(66, 71)], [vector_of(record_id) for record_id in IDS[65:]])
    index.set_checkpoint(checkpoint.ledger_id, checkpoint.revision, **options)


@pytest.mark.parametrize("mend", ["catch up", "a write", "doctor"])
def test_a_checkpoint_of_an_earlier_version_over_fewer_vectors_than_the_ledger_has_is_none(open_store, mend):
    opened = open_store(exact_max_rows=10, index_lag_rows=5)
    opened.add(*IDS)
    checkpoint_the_last_five_alone(opened)
    assert checkpoint_of(opened.store) == IndexCheckpoint()
    assert problem_of(opened.store) == f"{THINGS} has an index of an earlier version, which may lack records"
    assert missed(opened, IDS) == []
    if mend == "catch up":
        assert opened.store.catch_up() == 70
    elif mend == "a write":
        opened.add("new")
    else:
        assert [finding.check for finding in examine(opened.store, fix=True) if finding.is_fixed] == ["index"]
    assert checkpoint_of(opened.store).n_keys == opened.store.ledger.vectors.count(THINGS)
    assert missed(opened, IDS) == []


@pytest.mark.parametrize("mend", ["catch up", "doctor"])
def test_an_index_that_lacks_records_below_its_checkpoint_is_built_anew(open_store, mend):
    opened = open_store(**FEW)
    opened.add(*IDS)
    opened.store.catch_up()
    checkpoint = checkpoint_of(opened.store)
    checkpoint_the_last_five_alone(opened, change=checkpoint.change, change_name=checkpoint.change_name)
    assert problem_of(opened.store) == f"the index of {THINGS} has 5 vectors, but the ledger 70"
    if mend == "catch up":
        opened.add("new")
        opened.store.catch_up()
    else:
        assert [finding.check for finding in examine(opened.store, fix=True) if finding.is_fixed] == ["index"]
    assert checkpoint_of(opened.store).n_keys == opened.store.ledger.vectors.count(THINGS)
    assert missed(opened, IDS) == []


def forge(opened: Opened, **fields: int) -> None:
    """Write other values into the checkpoint on the disk, as a hand or a fault does."""
    path = opened.store.path / "chroma" / THINGS / "seal.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


@pytest.mark.parametrize("revision", [63, 70, 71, 1_060])
def test_a_checkpoint_that_the_ledger_cannot_have_written_is_no_index(open_store, revision):
    """The index has followed up to 60, and the ledger is at 70."""
    opened = open_store(**FEW)
    opened.add(*IDS[:60])
    opened.store.catch_up()
    opened.add(*IDS[60:])
    forge(opened, revision=revision)
    assert missed(opened, IDS) == []
    assert checkpoint_of(opened.store) == IndexCheckpoint()
    assert problem_of(opened.store).startswith(f"{THINGS} has an index ")
    assert [finding.check for finding in examine(opened.store, fix=True) if finding.is_fixed] == ["index"]
    assert problem_of(opened.store) == ""
    assert (checkpoint_of(opened.store).revision, checkpoint_of(opened.store).n_keys) == (70, 70)
    assert missed(opened, IDS) == []


def test_a_forged_checkpoint_is_mended_by_the_next_process_that_closes_the_store(open_store):
    opened = open_store(**FEW)
    opened.add(*IDS[:60])
    opened.store.catch_up()
    forge(opened, revision=1_060)
    opened.add(*IDS[60:])
    opened.store.close()
    again = open_store(**FEW)
    assert problem_of(again.store) == ""
    assert missed(again, IDS) == []


def test_a_checkpoint_stays_sound_whatever_is_changed_and_undone_after_it(open_store):
    opened = open_store(**FEW)
    added = opened.add(*IDS[:20])
    opened.store.catch_up()
    checkpoint = checkpoint_of(opened.store)
    undone = opened.store.undo(added)
    opened.store.undo(undone.id)
    opened.edit("r3", "another text")
    opened.delete("r4")
    opened.mark(r5=Marks(note="mine"))
    assert checkpoint_of(opened.store) == checkpoint


@pytest.mark.parametrize("n_new", [0, 1, 40, 60])
@pytest.mark.parametrize("mend", ["catch up", "doctor"])
def test_an_index_ahead_of_its_ledger_is_none(open_store, n_new, mend):
    """A copy of the ledger is put back beside a later index; new records bring it to that revision, or past it."""
    opened = open_store(**FEW)
    path = opened.store.path
    opened.add(*IDS[:20])
    opened.store.ledger.database.copy_to(path / "copy")
    opened.add(*IDS[20:60])
    opened.store.close()
    assert checkpoint_of(opened.store).revision == 60
    (path / "copy").replace(path / "atlas.sqlite")
    again, new = open_store(**FEW), [f"new {i}" for i in range(n_new)]
    if new:
        again.add(*new)
    assert checkpoint_of(again.store) == IndexCheckpoint()
    assert problem_of(again.store).startswith(f"{THINGS} has an index ")
    assert missed(again, IDS[:20] + new) == []
    assert not {*IDS[20:60]} & {*(again.nearest(record_id)[0] for record_id in IDS)}
    if mend == "catch up":
        again.store.catch_up()
    else:
        assert [finding.check for finding in examine(again.store, fix=True) if finding.is_fixed] == ["index"]
    assert checkpoint_of(again.store).n_keys == 20 + n_new
    assert problem_of(again.store) == ""
    assert missed(again, IDS[:20] + new) == []


def test_one_operation_that_goes_on_in_a_ledger_that_was_put_back_leads_to_other_records(open_store):
    opened = open_store(**FEW)
    path = opened.store.path

    def add(store: Store, ids: list[str]) -> None:
        vectors, nothing = [vector_of(record_id) for record_id in ids], [{} for _ in ids]
        store.collection(THINGS).as_operation("store", "", "one").add(ids, vectors, nothing, ids)

    add(opened.store, IDS[:20])
    opened.store.ledger.database.copy_to(path / "copy")
    add(opened.store, IDS[20:40])
    opened.store.close()
    (path / "copy").replace(path / "atlas.sqlite")
    again = open_store(**FEW)
    add(again.store, IDS[40:60])
    assert missed(again, IDS[:20] + IDS[40:60]) == []


def test_an_index_is_still_believed_when_its_ledger_is_put_back_as_it_was_then(open_store):
    opened = open_store(**FEW)
    path = opened.store.path
    opened.add(*IDS[:20])
    opened.store.catch_up()
    opened.store.ledger.database.copy_to(path / "copy")
    checkpoint = checkpoint_of(opened.store)
    opened.add(*IDS[20:25])
    opened.store.ledger.close()
    (path / "copy").replace(path / "atlas.sqlite")
    again = open_store(**FEW)
    again.add(*IDS[25:30])
    assert checkpoint_of(again.store) == checkpoint
    assert missed(again, IDS[:20] + IDS[25:30]) == []


@pytest.mark.parametrize("exact_max_rows", [10, 1_000])
@pytest.mark.parametrize("n_new", [5, 40, 45])
def test_a_process_that_stays_open_follows_the_ledger_that_was_put_back(open_store, exact_max_rows, n_new):
    """What it holds in memory is of the same id and revision, or an earlier one, but of other records."""
    opened = open_store(exact_max_rows=exact_max_rows, index_lag_rows=10**6)
    things, other = opened.store.collection(THINGS), open_store(**FEW)
    opened.add(*IDS[:20])
    opened.store.catch_up()
    opened.store.ledger.database.copy_to(opened.store.path / "copy")
    opened.add(*IDS[20:25], number="some")
    assert missed(opened, IDS[:25]) == []
    opened.add(*IDS[25:60])
    assert missed(opened, IDS[:60]) == []
    assert things.search_text("omega", 3).ids == []
    other.store.ledger.database.replace_with(opened.store.path / "copy")
    new = [f"new omega {i}" for i in range(n_new)]
    other.add(*new)
    assert missed(opened, IDS[:20] + new) == []
    assert len(things.search_text("omega", 50).ids) == n_new
    assert not {*IDS[20:60]} & {*(opened.nearest(record_id)[0] for record_id in IDS)}


def test_an_index_built_while_the_ledger_is_put_back_holds_that_ones_records(open_store, monkeypatch):
    monkeypatch.setattr(following_module, "BATCH", 10)
    opened, other = open_store(**FEW), open_store(**FEW)
    opened.add(*IDS[:20])
    opened.store.ledger.database.copy_to(opened.store.path / "copy")
    opened.add(*IDS[20:40])

    def put_back() -> None:
        other.store.ledger.database.replace_with(opened.store.path / "copy")
        other.add(*IDS[40:60])

    call_at(opened.store, 2, put_back)
    opened.store.catch_up()
    assert checkpoint_of(opened.store).n_keys == 40
    assert missed(opened, IDS[:20] + IDS[40:60]) == []
