"""What pruning would remove, what it saves, and that applying a plan does exactly what it says."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from atlas.core.errors import InvalidInput, PlanOutdated
from atlas.core.operations import Marks
from atlas.core.types import Outcome
from atlas.memory.experience import pruning
from atlas.memory.experience.pruning import PruneCandidate, PruneCriteria, plan_prune
from atlas.storage.store import Store
from tests.support.memories import NOW, ago, attempt, memory_over, task


def titles(decisions):
    return sorted(decision.title for decision in decisions)


def store(memory, *attempts):
    return dict(zip([a.task.description for a in attempts], memory.store_many(attempts), strict=True))


def test_failures_go_and_unknown_outcomes_stay_under_a_success_rate(memory):
    store(memory, attempt("good"), attempt("bad", False), attempt("unknown", None))
    plan = memory.plan_prune({"min_success_rate": 1.0})
    assert titles(plan.removals) == ["bad"]
    assert plan.removals[0].reasons == ("0% of 1 succeeded, under 100%",)
    assert (plan.n_total, plan.n_unknown, round(plan.share, 3)) == (3, 1, 0.333)
    assert memory.plan_prune({"min_success_rate": 0}).removals == ()


def test_old_attempts_go(memory):
    store(memory, attempt("new", age_days=9.9), attempt("edge", age_days=10), attempt("old", age_days=10.1))
    plan = memory.plan_prune({"max_age_days": 10})
    assert titles(plan.removals) == ["old"]
    assert plan.removals[0].reasons == ("10 days old, over 10",)
    assert titles(memory.plan_prune({"max_age_days": 0.5}).removals) == ["edge", "new", "old"]


def test_the_least_successful_then_the_oldest_go_beyond_a_count(memory):
    store(
        memory,
        attempt("good old", age_days=9),
        attempt("good new"),
        attempt("unknown", None, age_days=99),
        attempt("bad new", False),
        attempt("bad old", False, age_days=5),
    )
    expected = ["bad old", "bad new", "unknown", "good old", "good new"]
    for n_kept in range(7):
        plan = memory.plan_prune({"max_count": n_kept})
        assert titles(plan.removals) == sorted(expected[: max(0, 5 - n_kept)])
    assert memory.plan_prune({"max_count": 4}).removals[0].reasons == ("over the 4 to keep",)


def test_a_record_goes_if_any_criterion_says_so_and_names_them_all(memory):
    store(
        memory,
        attempt("bad old", False, age_days=50),
        attempt("bad", False),
        attempt("old", age_days=50),
        attempt("ok"),
    )
    plan = memory.plan_prune({"min_success_rate": 0.5, "max_age_days": 10})
    assert titles(plan.removals) == ["bad", "bad old", "old"]
    reasons = {decision.title: len(decision.reasons) for decision in plan.removals}
    assert reasons == {"bad old": 2, "bad": 1, "old": 1}


def test_what_other_criteria_remove_counts_towards_the_count_to_keep(memory):
    store(memory, attempt("bad", False), attempt("a", age_days=3), attempt("b", age_days=2), attempt("c", age_days=1))
    assert titles(memory.plan_prune({"min_success_rate": 0.5, "max_count": 3}).removals) == ["bad"]
    assert titles(memory.plan_prune({"min_success_rate": 0.5, "max_count": 2}).removals) == ["a", "bad"]


def test_the_last_of_each_neighbourhood_is_saved_and_says_for_whom(memory):
    store(
        memory,
        attempt("sort a list of numbers", True),
        attempt("sort a list of numbers now", False),
        attempt("cancel a flight", False, age_days=3),
        attempt("cancel a flight please", False, age_days=1),
        attempt("write poems about the rain in spring", False),
    )
    plan = memory.plan_prune({"min_success_rate": 0.5, "keep_diverse": True})
    assert titles(plan.removals) == ["cancel a flight", "sort a list of numbers now"]
    saved = {decision.title: decision.saved_because for decision in plan.saved}
    assert saved == {
        "cancel a flight please": "no kept record is near it and 1 like it, such as 'cancel a flight'",
        "write poems about the rain in spring": "no kept record is near it",
    }
    assert len(memory.plan_prune({"min_success_rate": 0.5}).removals) == 4


def test_applying_a_plan_removes_exactly_what_it_says(memory):
    ids = store(memory, *[attempt(f"sort a long list of numbers {i}", i % 3 == 0, age_days=i) for i in range(12)])
    plan = memory.plan_prune({"min_success_rate": 0.5, "max_age_days": 10, "keep_diverse": True})
    doomed = {decision.id for decision in plan.removals}
    assert doomed
    assert memory.apply_prune(plan) == len(doomed)
    assert {record_id for record_id in ids.values() if memory.get(record_id) is None} == doomed
    assert len(memory) == 12 - len(doomed)


def test_pruning_gives_how_many_went(memory):
    store(memory, attempt("a", False), attempt("b", False), attempt("c"))
    assert memory.prune({"min_success_rate": 0.5}) == 2
    assert memory.prune({"min_success_rate": 0.5}) == 0
    assert memory.prune({}) == 0
    assert len(memory) == 1


@pytest.mark.parametrize(
    ("criteria", "message"),
    [
        ({"min_sucess_rate": 0.5}, "expected one of min_success_rate, max_age_days"),
        ({"min_success_rate": 1.01}, "expected a number from 0 to 1 for min_success_rate, got 1.01"),
        ({"min_success_rate": -0.1}, "from 0 to 1"),
        ({"min_success_rate": float("nan")}, "from 0 to 1 for .*, got nan"),
        ({"min_success_rate": True}, "from 0 to 1 for .*, got True"),
        ({"min_success_rate": "0.5"}, "from 0 to 1 for .*, got '0.5'"),
        ({"max_age_days": -1}, "expected a number from 0 up for max_age_days, got -1"),
        ({"max_age_days": float("inf")}, "from 0 up for .*, got inf"),
        ({"max_age_days": timedelta(days=3)}, "from 0 up"),
        ({"never_retrieved_days": -1}, "for never_retrieved_days, got"),
        ({"max_count": -1}, "for max_count, got"),
        ({"max_count": 2.5}, "expected a whole number for max_count, got 2.5"),
        ({"keep_diverse": 1}, "expected true or false for keep_diverse, got 1"),
        ({"keep_diverse": None}, "expected true or false for keep_diverse"),
    ],
)
def test_impossible_criteria_are_refused(memory, criteria, message):
    store(memory, attempt("a", False))
    for method in (memory.plan_prune, memory.prune):
        with pytest.raises(InvalidInput, match=message):
            method(criteria)
    assert len(memory) == 1


def test_a_very_large_age_is_no_error(memory):
    store(memory, attempt("a", age_days=10_000))
    assert memory.prune({"max_age_days": 1e15, "never_retrieved_days": 1e15, "max_count": 10**30}) == 0


def test_pinned_experiences_are_never_pruned(stored):
    ids = store(stored, attempt("pinned", False, age_days=99), attempt("not", False, age_days=99), attempt("ok"))
    stored.mark({ids["pinned"]: Marks(pinned=True)})
    everything = {"min_success_rate": 1.0, "max_age_days": 1, "never_retrieved_days": 1, "max_count": 0}
    plan = stored.plan_prune(everything)
    assert titles(plan.removals) == ["not", "ok"]
    assert [(d.title, d.saved_because) for d in plan.saved] == [("pinned", "it is pinned")]
    assert stored.prune({**everything, "keep_diverse": True}) == 0
    assert stored.prune(everything) == 2
    assert stored.get(ids["pinned"])


def test_what_was_not_retrieved_for_long_goes(stored, clock):
    ids = store(stored, attempt("cancel a flight"), attempt("write a poem"))
    clock.advance(timedelta(days=30))
    stored.search_hits("cancel a flight", 1)
    store(stored, attempt("new", age_days=-30))
    clock.advance(timedelta(days=20))
    plan = stored.plan_prune({"never_retrieved_days": 25})
    assert [decision.id for decision in plan.removals] == [ids["write a poem"]]
    assert plan.removals[0].reasons == ("not retrieved for 50 days",)


def test_an_old_attempt_that_was_stored_just_now_has_not_been_idle_for_long(stored, clock):
    store(stored, attempt("cancel a flight", age_days=400))
    assert stored.plan_prune({"never_retrieved_days": 25}).removals == ()
    clock.advance(timedelta(days=25))
    (removal,) = stored.plan_prune({"never_retrieved_days": 25}).removals
    assert removal.reasons == ("not retrieved for 25 days",)


def test_a_pruning_is_one_operation_that_can_be_undone(tmp_path):
    with memory_over("ledger", tmp_path) as memory:
        ids = store(memory, attempt("a", False), attempt("b", False), attempt("c"))
        before = [memory.get(record_id) for record_id in ids.values()]
        memory.prune({"min_success_rate": 0.5, "max_age_days": 400})
        with Store.open(tmp_path / "store") as opened:
            (operation,) = opened.history(1)
            assert (operation.kind, operation.counts) == ("prune", {"removed": 2})
            assert operation.reason == "min_success_rate 0.5, max_age_days 400"
            assert len(memory) == 1
            opened.undo(operation.id)
            assert [memory.get(record_id) for record_id in ids.values()] == before
            memory.delete(list(ids.values()))


@pytest.mark.parametrize("change", ["edit", "delete", "mark", "use of one that goes"])
def test_a_plan_is_refused_when_a_record_has_changed_since(stored, change):
    ids = store(stored, attempt("bad", False), attempt("good"))
    plan = stored.plan_prune({"min_success_rate": 0.5})
    if change == "edit":
        stored.edit(ids["good"], outcome=Outcome(False))
    elif change == "delete":
        stored.delete([ids["good"]])
    elif change == "mark":
        stored.mark({ids["bad"]: Marks(pinned=True)})
    else:
        stored.record_use(ids["bad"], True)
    with pytest.raises(PlanOutdated, match=r"nothing was done\. Plan again"):
        stored.apply_prune(plan)
    assert stored.get(ids["bad"])


def test_a_plan_still_holds_when_a_record_was_only_added(stored):
    ids = store(stored, attempt("bad", False), attempt("good"))
    plan = stored.plan_prune({"min_success_rate": 0.5})
    store(stored, attempt("new and bad", False))
    stored.search_hits("good", 1)
    assert stored.apply_prune(plan) == 1
    assert stored.get(ids["bad"]) is None
    assert len(stored) == 2


def test_a_plan_cannot_be_applied_twice(stored):
    store(stored, attempt("bad", False), attempt("good"))
    plan = stored.plan_prune({"min_success_rate": 0.5})
    assert stored.apply_prune(plan) == 1
    with pytest.raises(PlanOutdated, match="nothing was done"):
        stored.apply_prune(plan)


def test_without_a_criterion_all_of_those_chosen_go(stored):
    ids = store(stored, attempt("a"), attempt("b"), attempt("c"), attempt("d", False))
    stored.mark({ids["b"]: Marks(pinned=True)})
    plan = stored.plan_prune({}, [ids["a"], ids["b"], "gone"])
    assert [(d.title, d.reasons) for d in plan.removals] == [("a", ("chosen",))]
    assert [(d.title, d.saved_because) for d in plan.saved] == [("b", "it is pinned")]
    assert (plan.n_total, plan.n_judged, plan.n_gone, plan.share) == (4, 2, 1, 0.25)
    scoped = stored.as_operation("prune", plan.reason)
    assert scoped.apply_prune(plan) == 1
    assert stored._store._ledger.history.operation(scoped.operation_id).reason == "chosen, among 2"
    assert stored.plan_prune({}, []).removals == ()
    assert stored.plan_prune({}).removals == ()


def test_criteria_judge_only_those_chosen(memory):
    ids = store(memory, attempt("a", age_days=9), attempt("b", age_days=5), attempt("c", False, age_days=7))
    chosen = [ids["a"], ids["b"]]
    assert titles(memory.plan_prune({"max_age_days": 6}, chosen).removals) == ["a"]
    assert memory.plan_prune({"min_success_rate": 0.5}, chosen).removals == ()
    assert titles(memory.plan_prune({"max_count": 1}, chosen).removals) == ["a"]
    assert memory.plan_prune({"max_age_days": 6}, chosen).reason == "max_age_days 6, among 2"


def test_of_those_chosen_the_best_of_a_neighbourhood_with_none_left_is_saved(memory):
    ids = store(
        memory,
        attempt("sort a list of numbers", True),
        attempt("sort a list of numbers now", False),
        attempt("draw a chart", False),
        attempt("draw a chart", True, age_days=3),
    )
    sorts = [ids["sort a list of numbers"], ids["sort a list of numbers now"]]
    plan = memory.plan_prune({"keep_diverse": True}, sorts)
    assert titles(plan.saved) == ["sort a list of numbers"]
    assert titles(plan.removals) == ["sort a list of numbers now"]
    assert titles(memory.plan_prune({"keep_diverse": True}, sorts[1:]).removals) == ["sort a list of numbers now"]


def subject(name, **known):
    values = {"title": name, "success": None, "created_at": None, "stored_at": None} | known
    return PruneCandidate(id=name, **values)


def test_a_tag_limits_what_goes_by_age_and_by_count_and_alone_removes_all_but_the_pinned(stored):
    names = ("old crawl", "new crawl", "pinned crawl")
    ids = store(
        stored, *(attempt(name, age_days=99 if "old" in name else 1) for name in names), attempt("old", age_days=99)
    )
    stored.change_marks([ids[name] for name in names], add_tags=["crawl"])
    stored.change_marks([ids["pinned crawl"]], pinned=True)
    plan = stored.plan_prune({"tag": "crawl", "max_age_days": 30})
    assert (titles(plan.removals), plan.n_judged, plan.n_gone) == (["old crawl"], 3, 0)
    assert plan.reason == "max_age_days 30, tag crawl, among 3"
    assert titles(stored.plan_prune({"tag": "crawl", "max_count": 2}).removals) == ["old crawl"]
    alone = stored.plan_prune({"tag": "crawl"})
    assert (titles(alone.removals), titles(alone.saved)) == (["new crawl", "old crawl"], ["pinned crawl"])
    assert alone.removals[0].reasons == ("tagged crawl",)
    assert stored.plan_prune({"tag": "other"}).removals == ()
    assert stored.plan_prune({"tag": "crawl"}, among=[ids["old"], ids["new crawl"], "gone"]).n_gone == 1
    assert stored.apply_prune(alone) == 2
    with pytest.raises(InvalidInput, match="expected a tag's name or None for tag, got ''"):
        stored.plan_prune({"tag": ""})


def test_a_plan_for_a_tag_that_was_taken_away_since_is_outdated(stored):
    ids = store(stored, attempt("crawl"))
    stored.change_marks([ids["crawl"]], add_tags=["crawl"])
    plan = stored.plan_prune({"tag": "crawl"})
    stored.change_marks([ids["crawl"]], remove_tags=["crawl"])
    with pytest.raises(PlanOutdated):
        stored.apply_prune(plan)


def test_what_is_not_known_of_a_record_never_makes_it_go():
    known = {"success": True, "created_at": ago(50), "stored_at": ago(50)}
    candidates = [subject("known", **known), subject("unknown")]
    for criteria, goes in [
        ({"min_success_rate": 1.0}, False),
        ({"max_age_days": 1}, True),
        ({"never_retrieved_days": 1}, True),
        ({"max_count": 0}, True),
    ]:
        plan = plan_prune(candidates, None, PruneCriteria.parse(criteria), NOW)
        assert [decision.id for decision in plan.removals] == ["known"] * goes
        assert plan.missing == dict.fromkeys(criteria, 1)
    everything = {"min_success_rate": 1.0, "max_age_days": 1, "never_retrieved_days": 1, "max_count": 0}
    assert plan_prune(candidates, None, PruneCriteria.parse(everything), NOW).missing == dict.fromkeys(everything, 1)
    assert plan_prune(candidates, None, PruneCriteria.parse({"keep_diverse": True}), NOW).missing == {}


def test_each_neighbourhood_that_would_vanish_keeps_exactly_its_best_however_many_there_are(monkeypatch):
    monkeypatch.setattr(pruning, "BLOCK", 7)
    draw = np.random.default_rng(5)
    centres = np.linalg.qr(draw.standard_normal((32, 32)))[0][:20]
    vectors = np.repeat(centres, 5, axis=0) + 0.02 * draw.standard_normal((100, 32))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    candidates = [subject(f"{i:02}", success=False, created_at=ago(float(draw.random()))) for i in range(100)]
    candidates[0] = subject("00", success=True, created_at=ago(1))  # stays, and so covers its neighbourhood
    plan = plan_prune(candidates, vectors, PruneCriteria(min_success_rate=0.5, keep_diverse=True), NOW)
    newest = [max(candidates[i : i + 5], key=lambda s: s.created_at).id for i in range(5, 100, 5)]
    assert sorted(decision.id for decision in plan.saved) == sorted(newest)
    assert len(plan.removals) == 99 - 19
    assert all("and 4 like it" in decision.saved_because for decision in plan.saved)


def test_a_search_since_the_plan_counts_as_use_though_its_count_is_not_written_yet(stored):
    ids = store(stored, attempt("bad", False), attempt("good"))
    plan = stored.plan_prune({"never_retrieved_days": 0})
    assert [decision.id for decision in plan.removals] == list(ids.values())
    assert stored.search(task("bad"), 1)
    with pytest.raises(PlanOutdated, match="have been used since"):
        stored.apply_prune(plan)
    assert len(stored) == 2
