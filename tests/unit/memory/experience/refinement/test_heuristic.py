"""Refining without a language model: near-duplicates are merged, noise is dropped, and each fate has a reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from atlas.core.types import Outcome, Step
from atlas.infra.bridge import run
from atlas.memory.experience.extraction import to_experience
from atlas.memory.experience.refinement.heuristic import HeuristicRefineStrategy, PassthroughRefineStrategy
from atlas.testing import HashEmbedder
from tests.support.memories import NOW, attempt, memory_over, task


def experience(name, description, success=True, **details):
    trajectory = attempt(description, success, **details)
    return to_experience(trajectory, experience_id=name, embedding_text=description, now=NOW)


def explain(*experiences, context=None, **options):
    strategy = HeuristicRefineStrategy(HashEmbedder(), **options)
    return run(strategy.refine_with_reasons(list(experiences), context))


def ids(experiences):
    return [e.id for e in experiences]


def fates(refined):
    return {decision.experience_id: (decision.action, decision.into) for decision in refined.decisions}


def test_passing_through_changes_nothing():
    given = [experience("a", "x"), experience("b", "x")]
    assert run(PassthroughRefineStrategy().refine(given)) == given


def test_near_duplicates_become_their_best_attempt_with_its_lineage():
    old = experience("old", "cancel a flight", True, age_days=9, source="s")
    new = experience("new", "cancel a flight", True, age_days=1, source="s")
    failed = experience("failed", "cancel a flight", False)
    refined = explain(failed, old, new)
    assert ids(refined.experiences) == ["new"]
    assert refined.experiences[0].metadata == {"source": "s", "merged_from": ["failed", "old"]}
    assert fates(refined) == {"new": ("keep", ""), "old": ("merge", "new"), "failed": ("merge", "new")}
    assert {decision.reason for decision in refined.decisions} == {
        "the best of 3 near-duplicates",
        "near-duplicate of new, the better or newer attempt (outcome: succeeded)",
    }


def test_the_same_task_done_otherwise_is_no_duplicate():
    refined = explain(
        experience("a", "cancel a flight", solution="cancel(1)"),
        experience("b", "cancel a flight", solution="refund()"),
    )
    assert set(ids(refined.experiences)) == {"a", "b"}
    assert {decision.reason for decision in refined.decisions} == {"it has no near-duplicate in the set"}


def test_a_store_keeps_attempts_at_different_tasks_apart_though_they_read_alike():
    given = [
        experience(one, f"put a pencil in desk {number} of the office in the house")
        for one, number in (("a", 1), ("b", 2))
    ]
    assert len(explain(*given, duplicate_similarity=0.5).experiences) == 1
    assert len(explain(*given, duplicate_similarity=0.5, mix_outcomes=False).experiences) == 2
    again = [replace(one, task=given[0].task) for one in given]
    assert len(explain(*again, duplicate_similarity=0.5, mix_outcomes=False).experiences) == 1


def test_what_teaches_nothing_is_dropped():
    silent = replace(experience("noise", "x", solution=""), steps=(Step(), Step(action=" … ")), solution_output="")
    refined = explain(silent, experience("a", "x"))
    assert ids(refined.experiences) == ["a"]
    assert fates(refined)["noise"] == ("drop", "")
    assert refined.decisions[0].reason == "it has no solution, no feedback and no informative step"
    assert explain(silent).experiences == []


@pytest.mark.parametrize("said", [{"feedback": "too slow"}, {"steps": (Step(thought="hm"),)}, {"solution_output": "x"}])
def test_anything_said_is_worth_keeping(said):
    silent = replace(experience("e", "x", solution=""), steps=(), solution_output="")
    assert ids(explain(replace(silent, **said)).experiences) == ["e"]


def test_an_unknown_outcome_is_better_than_a_failure():
    failed, unknown = experience("f", "x", False, age_days=0), experience("u", "x", None, age_days=9)
    assert ids(explain(failed, unknown).experiences) == ["u"]


def test_what_repeats_itself_comes_last():
    given = [
        experience("a", "cancel a flight to rome", solution="one"),
        experience("b", "cancel a flight to rome", solution="two"),
        experience("c", "sort numbers", solution="three"),
    ]
    assert ids(explain(*given, diversity=0.6).experiences) == ["a", "c", "b"]
    assert ids(explain(*given, diversity=0.0).experiences) == ["a", "b", "c"]


def test_a_task_at_hand_decides_what_is_relevant():
    given = [experience("a", "cancel a flight", solution="one"), experience("b", "sort numbers", solution="two")]
    assert ids(explain(*given, context=task("sort some numbers")).experiences) == ["b", "a"]


def test_every_experience_has_exactly_one_fate():
    given = [experience(str(i), f"task {i % 3}", solution=f"way {i % 2}" if i % 5 else "") for i in range(12)]
    refined = explain(*given)
    assert sorted(decision.experience_id for decision in refined.decisions) == sorted(ids(given))
    assert all(decision.reason for decision in refined.decisions)
    kept = {decision.experience_id for decision in refined.decisions if decision.action == "keep"}
    assert kept == set(ids(refined.experiences))
    assert explain().experiences == []


@pytest.mark.parametrize("kind", ["memory", "dict", "ledger"])
def test_a_memory_refines_with_its_strategy_and_is_not_changed(kind, tmp_path):
    strategy = HeuristicRefineStrategy(HashEmbedder())
    with memory_over(kind, tmp_path, refine_strategy=strategy) as memory:
        memory.store_many([attempt("cancel a flight"), attempt("cancel a flight"), attempt("sort numbers", False)])
        found = memory.search(task("cancel a flight"), k=9)
        refined = memory.refine(found, task("cancel a flight"))
        assert [e.task.description for e in refined] == ["cancel a flight", "sort numbers"]
        assert len(refined[0].metadata["merged_from"]) == 1
        assert len(memory) == 3
        assert refined[0].outcome == Outcome(True)
