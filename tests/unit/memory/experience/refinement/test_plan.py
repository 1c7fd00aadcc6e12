"""Refining a store: judged in sets that are alike, planned without a touch, applied whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import atlas
from atlas.core.errors import LLMUnavailable, PlanOutdated
from atlas.jobs.artefact import CACHE
from atlas.jobs.refinement import RefinementFile, RefinementJob, plan_now
from atlas.llm.budget import TokenUsage
from atlas.llm.client import ModelClient
from atlas.llm.prompts.refinement import REFINEMENT
from atlas.memory.experience.memory import COLLECTION
from atlas.memory.experience.refinement.decisions import NO_JUDGEMENT_REASON
from atlas.memory.experience.refinement.llm import LLMRefineStrategy
from atlas.memory.experience.refinement.plan import PlannedDecision, RefinePlan, partition_by_similarity
from atlas.testing import ScriptedLLM
from atlas.views.experience.refinement import headline
from tests.support.messages_server import call, message, serving
from tests.support.processes.jobs import kill_when_opening
from tests.support.records import attempt
from tests.support.stores import make_store, opened_store


@pytest.fixture
def memory(tmp_path) -> Iterator[atlas.MemorySystem]:
    """Three attempts, of which two say the same and one failed at it."""
    make_store(
        tmp_path,
        [
            attempt("Water the garden", agent="one"),
            attempt("Water the garden", agent="two"),
            attempt("Water the garden", success=False, agent="three"),
        ],
    )
    with opened_store(tmp_path) as opened:
        yield opened


def decide(name: str, action: str = "keep", into: str = "") -> dict[str, str]:
    return {"id": name, "action": action, "reason": f"{action} it", **({"into": into} if into else {})}


def answer(*decisions: dict[str, str]) -> dict[str, object]:
    return {"decisions": list(decisions)}


def actions(plan: RefinePlan) -> dict[str, str]:
    return {decision.id: decision.action for decision in plan.decisions}


def test_rules_keep_apart_what_ended_differently_and_touch_nothing(memory):
    one, two, failed = memory.experience.ids()
    revision = memory.revision()
    plan = plan_now(memory)
    assert plan.made_by == "rules"
    assert plan.spent == ""
    assert sorted([actions(plan)[one], actions(plan)[two]]) == ["keep", "merge"]
    assert actions(plan)[failed] == "keep"
    assert memory.revision() == revision


def test_a_model_keeps_merges_drops_and_reorders_and_what_it_cost_is_said(memory):
    one, two, failed = memory.experience.ids()
    llm = ScriptedLLM([answer(decide("e3"), decide("e1", "drop"), decide("e2"))])
    llm.spent = TokenUsage(n_calls=1, input_tokens=900, output_tokens=100, cost_usd=0.002)
    plan = plan_now(memory, llm=llm)
    assert plan.made_by == "scripted"
    assert plan.spent == "1 call, 1,000 tokens, $0.0020"
    assert actions(plan) == {failed: "keep", one: "drop", two: "keep"}
    places = {decision.id: (decision.after, decision.is_moved) for decision in plan.decisions}
    before = [decision.id for decision in plan.decisions if decision.id != one]
    assert places[failed] == (1, before != [failed, two])
    assert places[one] == (0, False)
    assert "There is no task at hand: the memory itself is tidied." in llm.prompts[0]


def test_a_model_behind_a_server_judges_and_its_bill_is_in_the_plan(memory):
    one, two, failed = memory.experience.ids()
    decisions = answer(decide("e2"), decide("e1", "merge", into="e2"), decide("e3"))
    with serving(message(call(answer(decide("elsewhere")))), message(call(decisions))) as server:
        llm = ModelClient(atlas.Settings(llm_base_url=server.url), api_key="key")
        plan = plan_now(memory, llm=llm)
        llm.close()
    assert plan.made_by == "claude-haiku-5-5"
    assert actions(plan) == {one: "merge", two: "keep", failed: "keep"}
    assert plan.spent.startswith("2 calls, ")
    assert plan.failures == ()


def test_merges_and_drops_are_one_operation_and_one_undo(memory):
    one, two, _ = before = memory.experience.ids()
    llm = ScriptedLLM([answer(decide("e2"), decide("e1", "merge", into="e2"), decide("e3", "drop"))])
    plan = plan_now(memory, llm=llm)
    scoped = memory.experience.as_operation("refine", plan.reason)
    assert scoped.apply_refine(plan) == 2
    (kept,) = memory.experience.get_many(memory.experience.ids())
    assert kept.id == two, "what was merged into stays, whichever is newer"
    assert kept.metadata["merged_from"] == [one]
    assert kept.metadata["merged_outcomes"] == {"succeeded": 2}
    (operation, *_) = memory.history()
    by = f"scripted, {REFINEMENT.version}"
    assert (operation.kind, operation.reason) == ("refine", f"merged 1 and dropped 1 of 3, by {by}")
    memory.undo(scoped.operation_id)
    assert memory.experience.ids() == before
    assert memory.experience.get(two).metadata == {}


@pytest.mark.parametrize("change", ["edit", "delete", "mark"])
@pytest.mark.parametrize("which", [0, 1, 2], ids=["merged", "kept", "dropped"])
def test_where_what_it_touches_has_changed_nothing_is_done(memory, change, which):
    ids = memory.experience.ids()
    llm = ScriptedLLM([answer(decide("e2"), decide("e1", "merge", into="e2"), decide("e3", "drop"))])
    plan = plan_now(memory, llm=llm)
    if change == "edit":
        memory.experience.edit(ids[which], feedback="changed")
    elif change == "delete":
        memory.experience.delete([ids[which]])
    else:
        memory.experience.change_marks([ids[which]], pinned=True)
    left = memory.experience.ids()
    with pytest.raises(PlanOutdated, match="nothing was done"):
        memory.experience.apply_refine(plan)
    assert memory.experience.ids() == left


def test_what_it_does_not_touch_may_change(memory):
    *_, failed = memory.experience.ids()
    plan = plan_now(memory, llm=ScriptedLLM([answer(decide("e2"), decide("e1", "merge", into="e2"), decide("e3"))]))
    memory.experience.edit(failed, feedback="changed")
    memory.experience.store(attempt("Something new"))
    assert memory.experience.apply_refine(plan) == 1


def test_what_is_pinned_is_not_dropped(memory):
    *_, failed = memory.experience.ids()
    memory.experience.change_marks([failed], pinned=True)
    plan = plan_now(memory, llm=ScriptedLLM([answer(decide("e1"), decide("e2"), decide("e3", "drop"))]))
    (saved,) = [decision for decision in plan.decisions if decision.id == failed]
    assert (saved.action, saved.reason, saved.after) == ("keep", "it is pinned; otherwise removed: drop it", 3)


def test_a_model_that_merges_what_ended_differently_is_asked_again_and_then_reported(memory):
    mixing = answer(decide("e1"), decide("e2"), decide("e3", "merge", into="e1"))
    llm = ScriptedLLM([mixing, mixing])
    plan = plan_now(memory, llm=llm)
    assert set(actions(plan).values()) == {"keep"}
    assert "have different outcomes; do not merge such attempts" in plan.failures[0]
    assert "have different outcomes" in llm.prompts[1]


def test_an_id_outside_the_set_is_refused_and_reported(memory):
    outside = answer(*map(decide, ("e1", "e2", "e3")), decide("elsewhere", "drop"))
    plan = plan_now(memory, llm=ScriptedLLM([outside, outside]))
    assert set(actions(plan).values()) == {"keep"}
    assert "Set 1 was not judged" in plan.failures[0]
    assert "'elsewhere' is not one of ['e1', 'e2', 'e3']" in plan.failures[0]
    assert memory.experience.apply_refine(plan) == 0


def test_a_model_that_cannot_be_asked_is_asked_once_for_all_sets(memory):
    ids = memory.experience.store_many(attempt(f"Task {n}", task_id=f"t-{n}") for n in range(12))
    llm = ScriptedLLM([LLMUnavailable("no model")])
    strategy = LLMRefineStrategy(llm)
    strategy.set_size = 2
    plan = memory.experience.plan_refine(ids, strategy)
    assert plan.n_sets == 6
    assert len(llm.prompts) == 1
    first, *others = (failure.split(": ", 1)[1] for failure in plan.failures)
    assert first == "no model"
    assert all("after an earlier failure: no model" in failure for failure in others[:2])
    assert others[2:] == ["it was skipped after several failures in a row"] * 3
    assert headline(plan) == "None of the 12 experiences was judged, so all of them stay."


def test_experiences_that_were_not_judged_are_counted_apart():
    decisions = [
        PlannedDecision(id=str(n), title="t", outcome="failed", action="keep", reason=reason, set_number=1, before=n)
        for n, reason in enumerate(["of use", NO_JUDGEMENT_REASON, NO_JUDGEMENT_REASON], start=1)
    ]
    plan = RefinePlan(decisions=tuple(decisions), made_by="scripted", n_total=3)
    assert headline(plan) == (
        "1 experience judged: all of them are worth keeping as they are. 2 more could not be judged and stay."
    )


def test_what_is_alike_is_judged_together():
    vectors = np.array([[1, 0], [0, 1], [1, 0], [0, 1], [1, 0]], np.float32)
    assert partition_by_similarity(list("abcde"), vectors, 3) == [["a", "c", "e"], ["b", "d"]]
    assert partition_by_similarity([], vectors[:0], 3) == []


def test_a_plan_is_kept_as_it_was_made(memory, tmp_path):
    plan = plan_now(memory, {"outcome": "succeeded"})
    file = RefinementFile(tmp_path / CACHE, COLLECTION)
    file.save(plan)
    assert file.load() == plan
    assert file.load().where == {"outcome": "succeeded"}


def test_a_plan_that_merges_into_what_goes_counts_as_absent(memory, tmp_path):
    plan = plan_now(memory)
    damaged = [replace(decision, into="elsewhere" if decision.into else "") for decision in plan.decisions]
    file = RefinementFile(tmp_path / CACHE, COLLECTION)
    file.save(replace(plan, decisions=tuple(damaged)))
    assert file.load() is None


def test_a_worker_that_is_killed_leaves_store_and_plan_as_they_were(memory, tmp_path):
    file = RefinementFile(tmp_path / CACHE, COLLECTION)
    plan = plan_now(memory)
    file.save(plan)
    revision = memory.revision()
    kill_when_opening(RefinementJob(store=str(tmp_path), output=str(tmp_path / CACHE)))
    assert memory.revision() == revision
    assert file.load() == plan


def test_a_job_that_is_to_ask_a_model_says_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    job = RefinementJob(store=str(tmp_path), output=str(tmp_path), with_model=True)
    with pytest.raises(LLMUnavailable, match="set ANTHROPIC_API_KEY"):
        job.run(lambda done, total, message: None)
