"""Merging keeps the best attempt, says what it stands for, and can be undone to the last figure."""

from __future__ import annotations

from datetime import timedelta

import pytest

from atlas.core.errors import InvalidInput, PlanOutdated
from atlas.core.operations import Marks, Usage
from atlas.core.types import Outcome
from tests.support.memories import attempt, taken_back, task


def last_operation(memory):
    return memory._store._ledger.history.operations(1)[0]


def everything(memory):
    """All that can be seen of a memory."""
    ids = sorted(memory.ids())
    return (
        [memory.get(i) for i in ids],
        memory.marks(ids),
        memory.usage(ids),
        memory.column("stored_at"),
        [memory.column(key) for key in ("merged_from", "outcome", "usage.n_uses", "usage.last_used_at", "marks.tags")],
    )


@pytest.fixture
def attempts(stored):
    """Four attempts at one task: two successes, a failure, an unknown one; the second is the best."""
    return stored.store_many(
        [
            attempt("sort a list", True, age_days=5, solution="old"),
            attempt("sort a list", True, age_days=1, solution="new"),
            attempt("sort a list", False, solution="bad"),
            attempt("sort a list", None, solution="?"),
        ]
    )


def test_the_best_attempt_stays_under_its_own_id_and_says_what_it_stands_for(stored, attempts):
    plan = stored.plan_merge([attempts])
    [group] = plan.groups
    assert len(stored) == 4
    assert (group.kept_id, group.kept_title) == (attempts[1], "sort a list")
    assert group.why_kept == "it succeeded; of 2 it is the newest"
    assert {(away.id, away.outcome) for away in group.removed} == {
        (attempts[0], "succeeded"),
        (attempts[2], "failed"),
        (attempts[3], "unknown"),
    }
    assert (plan.n_total, plan.n_removed, plan.share) == (4, 3, 0.75)
    [merged] = stored.apply_merge(plan)
    assert merged == group.merged == stored.get(attempts[1])
    assert merged.solution_output == "new"
    assert merged.metadata["merged_from"] == [attempts[0], attempts[2], attempts[3]]
    assert merged.metadata["merged_outcomes"] == {"succeeded": 2, "failed": 1, "unknown": 1}
    assert stored.ids() == [attempts[1]]
    assert stored.ids({"merged_from": attempts[2]}) == [attempts[1]]
    assert stored.search(task("sort a list"), 4) == [merged]
    assert last_operation(stored).kind == "merge"
    assert last_operation(stored).reason == f"merged 4 records into {attempts[1][:8]}"


def test_marks_are_joined(stored, attempts):
    stored.mark(
        {
            attempts[1]: Marks(tags=("b",), note="kept", buried=True),
            attempts[0]: Marks(tags=("a", "b"), note="other", pinned=True),
            attempts[2]: Marks(note="kept"),
        }
    )
    stored.merge(attempts[:3])
    assert stored.marks([attempts[1]])[attempts[1]] == Marks(tags=("b", "a"), note="kept\nother", pinned=True)


def test_only_what_is_buried_throughout_stays_buried(stored, attempts):
    stored.change_marks(attempts[:2], buried=True)
    assert stored.plan_merge([attempts[:2]]).groups[0].marks.buried
    assert not stored.plan_merge([attempts[:3]]).groups[0].marks.buried


def test_usage_of_all_counts_for_the_one_that_stays(stored, attempts, clock):
    stored.record_use(attempts[0], True)
    clock.advance(timedelta(hours=1))
    stored.record_use(attempts[2], False)
    stored.record_use(attempts[1], True)
    stored.merge(attempts[:3])
    kept = attempts[1]
    expected = Usage(n_uses=3, n_successes=2, last_used_at=clock.now())
    assert stored.usage([kept])[kept] == expected
    assert stored.column("usage.n_uses") == {kept: 3}
    assert stored.ids({"usage.n_uses": 3}) == [kept]
    assert stored.ids({"usage.n_uses": {"$lt": 3}}) == [attempts[3]]
    assert stored.ids({"usage.n_uses": 0}) == [attempts[3]]
    assert stored.ids({"usage.last_used_at": {"$gte": clock.now().isoformat()}}) == [kept]
    stored.record_use(kept, True)
    assert stored.usage([kept])[kept].n_uses == 4
    stored.restore([attempts[2]])
    assert stored.usage([kept, attempts[2]])[kept].n_uses == 3
    assert stored.usage([attempts[2]])[attempts[2]].n_uses == 1


def test_an_attempt_that_used_several_counts_once_for_the_one_that_stays(stored, attempts):
    for record_id, success, trajectory_id in (
        (attempts[0], True, "one"),
        (attempts[1], True, "one"),
        (attempts[1], False, "two"),
        (attempts[2], True, "one"),
        (attempts[0], True, ""),
        (attempts[1], True, ""),
        (attempts[3], True, "one"),
    ):
        stored.record_use(record_id, success, trajectory_id=trajectory_id)
    before = everything(stored)
    kept = stored.merge(attempts[:3]).id
    [uses] = stored._store.uses([kept]).values()
    assert [(use.trajectory_id, use.success) for use in uses] == [("one", True), ("two", False), ("", True), ("", True)]
    usage = stored.usage([kept])[kept]
    assert (usage.n_uses, usage.n_successes) == (4, 3)
    assert stored.column("usage.n_uses") == {kept: 4, attempts[3]: 1}
    assert stored.column("usage.n_successes") == {kept: 3, attempts[3]: 1}
    assert stored.ids({"usage.n_uses": 4}) == [kept]
    taken_back(stored, last_operation(stored).id)
    assert everything(stored) == before


def test_undoing_a_merge_brings_everything_back(stored, attempts):
    stored.mark({attempts[0]: Marks(tags=("a",)), attempts[3]: Marks(note="n")})
    for record_id in attempts[:3]:
        stored.record_use(record_id, True)
    before = everything(stored)
    stored.merge(attempts)
    assert everything(stored) != before
    undone = taken_back(stored, last_operation(stored).id)
    assert everything(stored) == before
    taken_back(stored, undone.id)
    assert stored.get(attempts[1]).metadata["merged_outcomes"]["succeeded"] == 2


def test_merging_the_merged_keeps_the_whole_lineage(stored, attempts):
    first = stored.merge(attempts[:2])
    for record_id in attempts:
        if record_id in stored.ids():
            stored.record_use(record_id, True)
    second = stored.merge([first.id, *attempts[2:]])
    assert second.id == first.id
    assert set(second.metadata["merged_from"]) == {attempts[0], attempts[2], attempts[3]}
    assert second.metadata["merged_outcomes"] == {"succeeded": 2, "failed": 1, "unknown": 1}
    assert stored.usage([second.id])[second.id].n_uses == 3
    [newer] = stored.store_many([attempt("sort a list", True, solution="newest")])
    third = stored.merge([second.id, newer])
    assert third.id == newer
    assert set(third.metadata["merged_from"]) == set(attempts)
    assert third.metadata["merged_outcomes"] == {"succeeded": 3, "failed": 1, "unknown": 1}
    assert stored.usage([newer])[newer].n_uses == 3


def test_metadata_that_only_looks_like_a_lineage_does_no_harm(stored):
    ids = stored.store_many(
        [
            attempt("a", merged_from="text", merged_outcomes={"succeeded": "many"}),
            attempt("a", False, merged_from=[1, None], merged_outcomes=7),
        ]
    )
    merged = stored.merge(ids)
    assert merged.metadata["merged_from"] == [ids[1]]
    assert merged.metadata["merged_outcomes"] == {"succeeded": 1, "failed": 1}


def test_several_groups_are_one_operation(stored):
    ids = stored.store_many([attempt(f"task {i // 2}", i % 2 == 0, age_days=i) for i in range(6)])
    plan = stored.plan_merge([ids[:2], ids[2:4], ids[4:]])
    assert [merged.id for merged in stored.apply_merge(plan)] == ids[::2]
    assert dict(last_operation(stored).counts) == {"changed": 3, "removed": 3}
    taken_back(stored, last_operation(stored).id)
    assert sorted(stored.ids()) == sorted(ids)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([["a"]], "expected at least two records in a group to merge, got 1"),
        ([["a", "a"]], "expected at least two records in a group to merge, got 1"),
        ([[]], "expected at least two records in a group to merge, got 0"),
        (["ab"], "expected at least two records in a group to merge, got 1"),
        ([["a", "b"], ["b", "c"]], "expected each record in one group, got 'b' in two"),
        ([["a", "b"]], "there is no record 'a' to merge"),
    ],
)
def test_impossible_groups_are_refused(stored, groups, message):
    with pytest.raises(InvalidInput, match=message):
        stored.plan_merge(groups)


def test_no_groups_are_nothing_to_do(stored):
    assert stored.apply_merge(stored.plan_merge([])) == []


@pytest.mark.parametrize("what", ["edit", "mark", "delete", "delete the kept one", "undo"])
def test_a_plan_is_refused_once_one_of_its_records_has_changed(stored, attempts, what):
    plan = stored.plan_merge([attempts])
    if what == "edit":
        stored.edit(attempts[3], feedback="changed")
    elif what == "mark":
        stored.change_marks([attempts[3]], pinned=True)
    elif what == "delete":
        stored.delete([attempts[3]])
    elif what == "delete the kept one":
        stored.delete([attempts[1]])
    else:
        taken_back(stored, last_operation(stored).id)
    before = everything(stored)
    with pytest.raises(PlanOutdated, match="nothing was done"):
        stored.apply_merge(plan)
    assert everything(stored) == before


def test_a_plan_holds_while_other_records_change(stored, attempts):
    [other] = stored.store_many([attempt("draw")])
    plan = stored.plan_merge([attempts])
    stored.edit(other, feedback="changed")
    assert len(stored.apply_merge(plan)) == 1


def test_what_was_merged_is_not_embedded_anew(stored, attempts):
    n_texts = len(stored.embedder.texts)
    stored.merge(attempts)
    assert len(stored.embedder.texts) == n_texts


def restored_beside_what_stands_for_it(stored):
    """A and B become A, A and C become C; then A is brought back, so that both A and C name B."""
    a, b, c = stored.store_many(
        [attempt("sort", True, age_days=2), attempt("sort", False), attempt("sort", True, age_days=1)]
    )
    assert stored.merge([a, b]).id == a
    assert stored.merge([a, c]).id == c
    stored.restore([a])
    return a, b, c


def test_usage_of_a_record_that_two_others_stand_for_counts_once(stored):
    a, b, c = stored.store_many(
        [attempt("sort", True, age_days=2), attempt("sort", False), attempt("sort", True, age_days=1)]
    )
    for record_id in (a, b, b, c):
        stored.record_use(record_id, True)
    stored.merge([a, b])
    stored.merge([a, c])
    assert stored.column("usage.n_uses") == {c: 4}
    stored.restore([a])
    assert stored.column("usage.n_uses") == {a: 3, c: 1}
    assert {record_id: usage.n_uses for record_id, usage in stored.usage([a, c]).items()} == {a: 3, c: 1}
    assert stored.ids({"usage.n_uses": 1}) == [c]
    stored.merge([a, c])
    assert stored.column("usage.n_uses") == {c: 4}


def test_outcomes_of_what_two_of_the_merged_stand_for_count_once(stored):
    a, b, c = restored_beside_what_stands_for_it(stored)
    merged = stored.merge([a, c])
    assert merged.id == c
    assert merged.metadata["merged_from"] == [a, b]
    assert merged.metadata["merged_outcomes"] == {"succeeded": 2, "failed": 1}


def test_the_outcome_that_counts_is_that_of_the_record_as_it_is_now(stored):
    a, b, c = restored_beside_what_stands_for_it(stored)
    stored.edit(a, outcome=Outcome(False))
    stored.restore([b])
    stored.edit(b, outcome=Outcome(None))
    assert stored.merge([c, a, b]).metadata["merged_outcomes"] == {"succeeded": 1, "failed": 1, "unknown": 1}


@pytest.mark.parametrize(("both", "expected"), [(False, None), (True, True)])
def test_an_attempt_of_ones_own_is_not_sample_data_once_merged_into_it(stored, both, expected):
    own = {"is_sample": True} if both else {}
    ids = stored.store_many([attempt("sort", True, is_sample=True), attempt("sort", False, **own)])
    merged = stored.merge(ids)
    assert merged.id == ids[0]
    assert merged.metadata.get("is_sample") is expected
    assert stored.ids({"is_sample": True}) == ([ids[0]] if both else [])
    taken_back(stored, last_operation(stored).id)
    assert stored.get(ids[0]).metadata["is_sample"] is True


def test_importing_again_what_a_merge_removed_does_not_bring_it_back(stored):
    said = [attempt("sort", True, solution=f"way {i}", age_days=i) for i in range(4)]
    ids = stored.store_many(said)
    stored.merge(ids[1:3])
    stored.merge(ids[:2])
    stored.edit(ids[0], feedback="well done")
    assert stored.store_many(said, skip_known=True) == []
    exported = stored.export(stored.ids())
    stored.delete([ids[0]])
    assert len(stored.store_many(said[1:3], skip_known=True)) == 2
    stored.delete(stored.ids())
    stored.restore_many([item for item in exported if item.experience.id == ids[0]])
    assert stored.store_many(said[:3], skip_known=True) == []


def test_an_exported_record_that_was_merged_away_since_stays_away(stored, attempts):
    exported = stored.export(attempts)
    stored.merge(attempts)
    assert stored.restore_many(exported) == []
    assert stored.ids() == [attempts[1]]


@pytest.mark.parametrize("held", [7, [], {"x": 1}, {"x": {"outcome": "won", "content_hash": 3}}, {"x": {}}])
def test_metadata_that_only_looks_like_merged_attempts_does_no_harm(stored, held):
    ids = stored.store_many([attempt("a", merged_attempts=held), attempt("a", False)])
    merged = stored.merge(ids)
    assert merged.metadata["merged_outcomes"] == {"succeeded": 1, "failed": 1}
    assert list(merged.metadata["merged_attempts"]) == [ids[1]]
