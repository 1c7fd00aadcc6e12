"""What was done can be taken back, exactly, once, and only if nothing has changed since."""

from __future__ import annotations

import numpy as np
import pytest

from atlas.core.errors import InvalidInput, NotFound, PlanOutdated, UndoRefused
from atlas.core.operations import NO_MARKS, Marks
from tests.support.storage.engines import every_engine
from tests.support.storage.ledgers import THINGS, vector_of

engine = every_engine


def test_every_operation_is_in_the_history_newest_first(open_store):
    opened = open_store()
    stored = opened.add("a", "b")
    edited = opened.edit("a", "other")
    deleted = opened.delete("b", "never there")
    marked = opened.mark(a=Marks(pinned=True))
    undone = opened.store.undo(deleted, reason="a mistake")
    history = opened.store.history()
    assert [(o.id, o.kind, dict(o.counts)) for o in history] == [
        (undone.id, "undo", {"added": 1}),
        (marked, "mark", {"marked": 1}),
        (deleted, "delete", {"removed": 1}),
        (edited, "edit", {"changed": 1}),
        (stored, "store", {"added": 2}),
    ]
    assert history[0].reason == "a mistake"
    assert history[0].undoes == deleted
    assert history[2].undone_by == undone.id
    assert {operation.actor for operation in history} == {"tester"}
    assert opened.store.history(limit=2, offset=1) == history[1:3]


def test_undoing_a_deletion_brings_everything_back_as_it_was(open_store):
    opened = open_store()
    windows = np.stack([vector_of("x"), vector_of("y")])
    metadata = {"n": 1, "tags": ["t"], "content": '{"all": 1}', "search_text": "umbrella", "content_hash": "abc"}
    things = opened.store.collection(THINGS)
    things.add(["a"], [windows], [metadata], ["the text"])
    opened.add("b")
    opened.mark(a=Marks(note="mine"))
    before = opened.contents()
    opened.store.undo(opened.delete("a", "b"))
    assert opened.contents() == before
    assert opened.ids() == ["a", "b"]
    assert opened.ids({"tags": "t"}) == ["a"]
    assert opened.marks("a") == Marks(note="mine")
    assert opened.nearest("y") == ["a"]
    assert things.search_text("umbrella", 5).ids == ["a"]
    assert things.ids_by_hash(["abc", "abd"]) == {"abc": "a"}


def test_undoing_an_edit_brings_the_old_text_and_vector_back(open_store):
    opened = open_store()
    opened.add("a", n=1)
    opened.add("b")
    before = opened.contents()
    edited = opened.edit("a", "something else", n=2)
    assert opened.nearest("something else") == ["a"]
    opened.store.undo(edited)
    assert opened.contents() == before
    assert opened.nearest("a") == ["a"]
    assert opened.ids({"n": 2}) == []


def test_undoing_marks_brings_the_old_ones_back(open_store):
    opened = open_store()
    opened.add("a", "b")
    opened.mark(a=Marks(tags=("x",)))
    marked = opened.mark(a=Marks(note="n"), b=Marks(pinned=True))
    opened.store.undo(marked)
    assert opened.marks("a") == Marks(tags=("x",))
    assert opened.marks("b") == NO_MARKS
    assert opened.ids({"marks.pinned": True}) == []


def test_an_undo_can_be_undone_and_done_again(open_store):
    opened = open_store()
    stored = opened.add("a")
    for _ in range(2):
        undone = opened.store.undo(stored)
        assert opened.ids() == []
        redone = opened.store.undo(undone.id)
        assert opened.ids() == ["a"]
        assert redone.undoes == undone.id
        assert opened.store.ledger.history.operation(stored).undone_by is None


def test_undoing_twice_is_refused_and_says_how_to_do_it_again(open_store):
    opened = open_store()
    stored = opened.add("a")
    undone = opened.store.undo(stored)
    with pytest.raises(UndoRefused, match=rf"store {stored[:8]} was undone already.*atlas undo {undone.id[:8]}"):
        opened.store.undo(stored)


def test_undoing_what_was_changed_since_is_refused_and_names_the_change(open_store):
    opened = open_store()
    stored = opened.add("a", "b")
    edited = opened.edit("a", "other")
    with pytest.raises(UndoRefused, match=rf"a was changed later, by edit {edited[:8]} of .*atlas undo {edited[:8]}"):
        opened.store.undo(stored)
    assert opened.ids() == ["a", "b"]
    opened.store.undo(edited)
    opened.store.undo(stored)
    assert opened.ids() == []


def test_changes_of_other_records_do_not_stand_in_the_way(open_store):
    opened = open_store()
    stored = opened.add("a")
    opened.add("b")
    opened.edit("b", "other")
    opened.mark(b=Marks(note="x"))
    opened.store.undo(stored)
    assert opened.ids() == ["b"]


def test_an_operation_of_many_batches_is_undone_as_one(open_store):
    opened = open_store()
    scoped = opened.store.collection(THINGS).as_operation("import", "a file")
    for batch in (["a", "b"], ["c"]):
        scoped.add(batch, [vector_of(i) for i in batch], [{} for _ in batch], batch)
    (operation,) = opened.store.history()
    assert (operation.kind, operation.reason, operation.counts) == ("import", "a file", {"added": 3})
    assert opened.store.undo(operation.id).counts == {"removed": 3}
    assert opened.ids() == []


def test_an_operation_may_be_named_by_an_unambiguous_beginning(open_store):
    opened = open_store()
    stored = opened.add("a")
    opened.store.undo(stored[:6])
    assert opened.ids() == []


@pytest.mark.parametrize("name", ["", "nothing begins so", "%"])
def test_an_operation_that_is_not_there_is_not_found(open_store, name):
    opened = open_store()
    opened.add("a")
    opened.add("b")
    with pytest.raises(NotFound, match=r"operation has an id that begins with '.*'; see: atlas history"):
        opened.store.undo(name)


def test_what_was_refused_leaves_no_trace(open_store):
    opened = open_store()
    opened.add("a")
    with pytest.raises(InvalidInput, match="already"):
        opened.add("b", "a")
    with pytest.raises(NotFound, match="there is no record 'c'"):
        opened.mark(a=Marks(note="x"), c=Marks(note="y"))
    assert [operation.kind for operation in opened.store.history()] == ["store"]
    assert opened.marks("a") == NO_MARKS


def test_a_deletion_is_refused_if_a_record_has_changed_since_but_not_if_one_was_added(open_store):
    opened = open_store()
    opened.add("a", "b")
    things = opened.store.collection(THINGS)
    moment = things.moment()
    opened.add("new")
    assert things.delete_unchanged(["a"], moment) == 1
    for change in (lambda: opened.edit("b", "x"), lambda: opened.mark(b=Marks(note="x"))):
        moment = things.moment()
        change()
        with pytest.raises(PlanOutdated, match=r"has changed since the plan was made .*nothing was done"):
            things.delete_unchanged(["b"], moment)
    assert opened.ids() == ["b", "new"]


def test_an_edit_of_a_record_that_was_deleted_since_is_outdated_and_of_an_unknown_one_not_found(open_store):
    opened = open_store()
    opened.add("a")
    things = opened.store.collection(THINGS)
    moment = things.moment()
    opened.delete("a")
    with pytest.raises(PlanOutdated, match="nothing was done"):
        things.update(["a"], [vector_of("a")], [{}], ["new"], unchanged_since=moment)
    with pytest.raises(NotFound, match="there is no record 'b'"):
        things.update(["b"], [vector_of("b")], [{}], ["new"], unchanged_since=moment)


def test_usage_survives_a_deletion_that_is_undone(open_store):
    opened = open_store()
    opened.add("a")
    things = opened.store.collection(THINGS)
    things.record_use("a", True)
    opened.store.undo(opened.delete("a"))
    assert opened.store.ledger.usage.read(THINGS, ["a"])["a"].n_successes == 1


def test_uses_are_undone_with_their_operation_and_come_back_with_it(open_store):
    opened = open_store()
    opened.add("a")
    things = opened.store.collection(THINGS)
    things.record_use("a", True, "", "one")

    def counted():
        usage, uses = things.usage(["a"])["a"], things.uses(["a"])["a"]
        filtered = things.column("usage.n_uses"), things.column("usage.n_successes")
        assert filtered == ({"a": usage.n_uses}, {"a": usage.n_successes})
        assert (usage.n_uses, usage.n_successes) == (len(uses), sum(use.success for use in uses))
        assert usage.last_used_at == max(use.at for use in uses)
        return [use.trajectory_id for use in uses]

    scoped = things.as_operation("store")
    scoped.add(["b"], [vector_of("b")], [{}], ["b"])
    for success, trajectory_id in ((True, "two"), (False, "three"), (True, "")):
        scoped.record_use("a", success, "", trajectory_id)
    assert counted() == ["one", "two", "three", ""]
    last = scoped.operation_id
    for expected in (["one"], ["one", "two", "three", ""]) * 2:  # an undo, its undo, the undo of that …
        last = opened.store.undo(last).id
        assert counted() == expected
    last = opened.store.undo(last).id
    things.record_use("a", True, "", "two")
    opened.store.undo(last)
    assert counted() == ["one", "three", "", "two"]


def test_storing_is_not_undone_once_the_record_was_marked(open_store):
    opened = open_store()
    stored = opened.add("a", "b")
    marked = opened.mark(a=Marks(pinned=True, note="keep this"))
    with pytest.raises(UndoRefused, match=rf"a was changed later, by mark {marked[:8]} of .*atlas undo {marked[:8]}"):
        opened.store.undo(stored)
    assert opened.ids() == ["a", "b"]
    assert opened.marks("a") == Marks(pinned=True, note="keep this")
    opened.store.undo(marked)
    opened.store.undo(stored)
    assert opened.ids() == []


def test_marks_made_since_stand_in_the_way_of_deleting_again_but_not_of_what_keeps_the_record(open_store):
    opened = open_store()
    opened.add("a")
    opened.mark(a=Marks(note="from before"))
    edited = opened.edit("a", "other")
    brought_back = opened.store.undo(opened.delete("a"))
    marked = opened.mark(a=Marks(note="made since"))
    with pytest.raises(UndoRefused, match=rf"a was changed later, by mark {marked[:8]}"):
        opened.store.undo(brought_back.id)
    opened.store.undo(edited)
    assert opened.marks("a") == Marks(note="made since")


def test_an_operation_that_stores_and_marks_is_undone_as_a_whole(open_store):
    opened = open_store()
    scoped = opened.store.collection(THINGS).as_operation("import")
    scoped.add(["a"], [vector_of("a")], [{}], ["a"])
    scoped.mark({"a": Marks(note="imported too")})
    opened.store.undo(scoped.operation_id)
    assert opened.ids() == []
    assert opened.marks("a") == NO_MARKS


def test_deleting_nothing_is_no_operation(open_store):
    opened = open_store()
    stored = opened.add("a")
    opened.delete("nope")
    assert [operation.id for operation in opened.store.history()] == [stored]


def test_a_deletion_counts_each_record_once(open_store):
    opened = open_store()
    opened.add("a", "b")
    assert opened.store.collection(THINGS).delete(["a", "a", "nope"]) == 1
    assert opened.store.history()[0].counts == {"removed": 1}
