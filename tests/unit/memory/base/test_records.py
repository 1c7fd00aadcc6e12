"""Looking over records a column at a time gives what reading each of them whole gives."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import timedelta

import pytest

from atlas.core.errors import InvalidInput, NotFound
from atlas.core.operations import Marks
from atlas.storage.sql import columns
from tests.support.memories import attempt, memory_over, taken_back, task

WHERE = [None, {"success": True}, {"source": {"$in": ["a", "b"]}}, {"source": "nowhere"}]


@pytest.fixture
def filled(stored):
    for i in range(40):
        stored.store(
            attempt(f"task {i}", (True, False, None)[i % 3], age_days=i / 4, source="abc"[i % 3], share=i / 7, n=i)
        )
    stored.delete(stored.ids()[:5])
    return stored


@pytest.fixture(params=["one by one", "in one pass"])
def either_way(request, monkeypatch):
    if request.param == "in one pass":
        monkeypatch.setattr(columns, "MAX_LOOKUPS", 0)


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("where", WHERE)
def test_columns_titles_and_days_are_those_of_the_rows(filled, where):
    rows = filled.browse(where, order_by="", descending=False)
    assert filled.ids(where) == [row["id"] for row in rows]
    for key in ("outcome", "source", "share", "n", "created_at", "success", "merged_from"):
        expected = {row["id"]: row["metadata"][key] for row in rows if key in row["metadata"]}
        assert filled.column(key, where) == expected, key
    assert filled.column("stored_at", where) == {row["id"]: row["stored_at"] for row in rows}
    titles = {row["id"]: row["metadata"]["title"] for row in rows}
    assert filled.titles([*titles, "never there"]) == titles
    days = defaultdict(Counter)
    for row in rows:
        days[row["metadata"]["created_at"][:10]][row["metadata"]["outcome"]] += 1
    assert filled.counts_by_day(where) == {day: dict(counts) for day, counts in days.items()}
    assert list(filled.counts_by_day(where)) == sorted(days)


def test_floats_come_back_exactly(stored):
    shares = [0.1 + 0.2, 1 / 3, 1e-300, 123456789.123456789]
    ids = stored.store_many([attempt(f"task {i}", share=share) for i, share in enumerate(shares)])
    assert stored.column("share") == dict(zip(ids, shares, strict=True))


def test_every_store_can_be_looked_over(memory):
    ids = memory.store_many([attempt("a"), attempt("b", False, age_days=2)])
    assert sorted(memory.ids()) == sorted(ids)
    assert memory.column("outcome") == {ids[0]: "succeeded", ids[1]: "failed"}
    assert memory.titles([ids[1], "never there"]) == {ids[1]: "b"}
    assert list(memory.counts_by_day().values()) == [{"failed": 1}, {"succeeded": 1}]


def test_marks_and_usage_are_columns_too(stored):
    first, second, third = stored.store_many([attempt("a"), attempt("b"), attempt("c", False)])
    stored.mark({first: Marks(tags=("x", "y"), pinned=True), third: Marks(note="n", buried=True)})
    stored.record_use(second, True)
    assert stored.column("marks.tags") == {first: ("x", "y")}
    assert stored.column("marks.pinned") == {first: True}
    assert stored.column("marks.buried") == {third: True}
    assert stored.column("marks.buried", {"success": True}) == {}
    assert stored.column("usage.n_uses") == {second: 1}
    assert stored.column("usage.n_uses", {"success": False}) == {}
    with pytest.raises(InvalidInput, match=r"expected one of usage\.n_uses, .*, got 'usage\.color'"):
        stored.column("usage.color")
    with pytest.raises(InvalidInput, match=r"expected one of marks\.tags.*, got 'marks\.color'"):
        stored.column("marks.color")


def test_what_nobody_found_and_what_nobody_finds_any_more_are_told_apart(stored, clock):
    never, once, used, lately = stored.store_many([attempt(text) for text in ("sort", "parse", "draw", "rotate")])
    stored.search(task("parse"), 1)
    stored.record_use(used, True)
    assert stored.never_retrieved(0) == [never, lately]
    clock.advance(timedelta(days=10))
    stored.search(task("rotate"), 1)
    assert stored.never_retrieved(10) == [never]
    assert stored.never_retrieved(10.1) == []
    assert stored.stale(10.1) == []
    clock.advance(timedelta(days=1))
    assert stored.stale(12) == []
    assert stored.stale(11) == [once, used]
    assert stored.stale(0.5) == [once, used, lately]


def test_deleted_records_are_listed_newest_first_and_come_back_as_they_were(stored, clock):
    first, second, third = stored.store_many([attempt("sort"), attempt("parse", False), attempt("draw", None)])
    stored.mark({first: Marks(note="mine")})
    before = stored.get(first), stored.marks([first]), stored.column("stored_at")
    clock.advance(timedelta(hours=1))
    stored.as_operation("delete", "tidying").delete([first])
    clock.advance(timedelta(hours=1))
    stored.prune({"min_success_rate": 0.5})
    assert [(r.id, r.title, r.outcome, r.kind, r.reason) for r in stored.trash()] == [
        (second, "parse", "failed", "prune", "min_success_rate 0.5"),
        (first, "sort", "succeeded", "delete", "tidying"),
    ]
    assert stored.trash()[0].deleted_at == clock.now()
    assert [record.id for record in stored.trash(1, offset=1)] == [first]
    assert stored.count_trash() == 2
    assert stored.restore([first, third, first]) == 1
    assert (stored.get(first), stored.marks([first])) == before[:2]
    assert stored.column("stored_at")[first] == before[2][first]
    assert [record.id for record in stored.trash()] == [second]
    assert [hit.item.id for hit in stored.search_hits("sort", 1)] == [first]


@pytest.mark.parametrize("method", ["titles", "marks", "usage", "restore", "change_marks", "get_many"])
def test_one_text_in_place_of_ids_is_refused_with_what_to_give(stored, method):
    there = stored.store(attempt("sort"))
    with pytest.raises(InvalidInput, match=rf"expected a list of ids, got the string '{there}'; .* give \['{there}'\]"):
        getattr(stored, method)(there)
    assert stored.ids() == [there]
    assert stored.delete((there,)) == 1


def test_a_restoration_is_one_operation_and_can_be_undone(stored):
    ids = stored.store_many([attempt("sort"), attempt("parse")])
    stored.delete(ids)
    scoped = stored.as_operation("restore")
    assert scoped.restore(ids) == 2
    assert stored.count_trash() == 0
    taken_back(stored, scoped.operation_id)
    assert len(stored) == 0
    assert stored.count_trash() == 2


def test_restoring_what_never_was_is_refused_as_a_whole(stored):
    [gone] = stored.store_many([attempt("sort")])
    stored.delete([gone])
    with pytest.raises(NotFound, match="there is no deleted record 'nobody'"):
        stored.restore([gone, "nobody"])
    assert len(stored) == 0


@pytest.mark.parametrize("kind", ["memory", "dict"])
def test_a_store_without_history_says_what_it_cannot_do(tmp_path, kind):
    with memory_over(kind, tmp_path) as memory:
        check_that_it_refuses(memory, memory.store_many([attempt("a"), attempt("b")]))


def check_that_it_refuses(memory, ids):
    assert memory.count_trash() == 0
    for act in (lambda: memory.trash(), lambda: memory.restore(ids), lambda: memory.merge(ids)):
        with pytest.raises(InvalidInput, match=r"keeps no history, so it cannot .*; use a memory from atlas\."):
            act()
    with pytest.raises(InvalidInput, match="keeps no marks"):
        memory.change_marks(ids, buried=True)
    assert memory.change_marks(ids, buried=False) == 0
