"""What an operation changed can be told field by field, also after others have changed the same records."""

from __future__ import annotations

import json

import pytest

from atlas.core.errors import NotFound
from atlas.core.operations import Marks
from atlas.storage.sql.history.diff import MAX_CHARACTERS
from tests.support.storage.engines import every_engine

engine = every_engine


def told(opened, operation_id, **page):
    return [(c.record_id, c.aspect, c.kind, c.title, c.fields) for c in opened.store.changes(operation_id, **page)]


def content(**fields):
    return json.dumps(fields)


def test_each_operation_says_what_it_did_and_not_what_came_later(open_store):
    opened = open_store()
    stored = opened.add("a", title="first", content=content(task={"description": "sort"}, steps=[1], feedback=""))
    said = content(task={"description": "sort"}, steps=[1, 2], feedback="good", embedding_text="derived")
    edited = opened.edit("a", "other", title="second", content=said)
    deleted = opened.delete("a")
    undone = opened.store.undo(deleted).id
    assert told(opened, stored) == [("a", "record", "added", "first", ())]
    assert told(opened, edited) == [
        ("a", "record", "changed", "second", (("steps", "[1]", "[1, 2]"), ("feedback", "", "good")))
    ]
    assert told(opened, deleted) == [("a", "record", "removed", "second", ())]
    assert told(opened, undone[:12]) == [("a", "record", "added", "second", ())]


def test_marks_before_and_after_are_told(open_store):
    opened = open_store()
    opened.add("a", "b", title="named")
    first = opened.mark(a=Marks(tags=("x", "y"), pinned=True))
    second = opened.mark(a=Marks(tags=("x",), note="n", buried=True))
    opened.delete("a")
    assert told(opened, first) == [("a", "marks", "marked", "named", (("tags", "", "x, y"), ("pinned", "", "true")))]
    assert told(opened, second) == [
        (
            "a",
            "marks",
            "marked",
            "named",
            (("tags", "x, y", "x"), ("pinned", "true", ""), ("note", "", "n"), ("buried", "", "true")),
        )
    ]


def test_changes_come_in_pages(open_store):
    opened = open_store()
    stored = opened.add(*"abcde")
    assert [c.record_id for c in opened.store.changes(stored, limit=2, offset=1)] == ["b", "c"]
    assert len(opened.store.changes(stored)) == 5
    assert opened.store.changes(stored, offset=5) == []


def test_records_without_content_are_told_by_their_metadata_and_text(open_store):
    opened = open_store()
    opened.add("a", n=1, tags=["t"])
    edited = opened.edit("a", "other", n=2, tags=["t"])
    [change] = opened.store.changes(edited)
    assert change.fields == (("n", "1", "2"), ("document", "text of a", "other"))


def test_huge_texts_are_cut(open_store):
    opened = open_store()
    opened.add("a", content=content(feedback="x" * 100_000))
    edited = opened.edit("a", "a", content=content(feedback="y" * 100_000))
    [(name, before, after)] = opened.store.changes(edited)[0].fields
    assert (name, len(before), len(after), after[-1]) == ("feedback", MAX_CHARACTERS + 1, MAX_CHARACTERS + 1, "…")


def test_operations_are_counted_and_found_by_a_beginning(open_store):
    opened = open_store()
    stored = opened.add("a")
    opened.delete("a")
    assert opened.store.count_operations() == 2
    assert opened.store.operation(stored[:10]).id == stored
    for ask in (opened.store.operation, opened.store.changes):
        with pytest.raises(NotFound, match="no operation has an id that begins with 'zz'"):
            ask("zz")
