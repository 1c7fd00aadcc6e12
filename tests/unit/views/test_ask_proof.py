"""The task with and without memory on Ask: which task it is of, which attempts stand for it, and where they part."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

import atlas
from atlas.core.settings import Settings
from atlas.core.types import Step, Strategy
from atlas.memory.effects.strategy_effects import Tries
from atlas.testing import FixedClock, HashEmbedder
from atlas.views.ask.answer import Configuration, answered, block_of, counts, hits_for
from atlas.views.ask.examples import demonstrations, invitations, neighbour
from atlas.views.ask.proof import (
    attempts_phrase,
    compared_tasks_sentence,
    example_of,
    parting_step,
    proof_as_json,
    proof_of,
    strength_of,
    tries_phrase,
)

NOW = datetime(2026, 11, 1, tzinfo=UTC)
REFUND = "refund the cancelled flight of a customer"
STEPS = ("read the booking", "cancel the flight", "pay the money back")
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(), settings=Settings(), clock=FixedClock(NOW)) as opened:
        yield opened


def tried(task_id, text, success, *, hours, actions=STEPS, used=()):
    """An attempt that ended so many hours from now."""
    steps = tuple(Step(action=action, observation=f"Error: {HOSTILE}") for action in actions)
    return atlas.Trajectory(
        atlas.Task(task_id, "", text),
        steps,
        atlas.Outcome(success),
        timestamp=NOW + timedelta(hours=hours),
        metadata={"used": {"strategies": list(used)}},
    )


@pytest.fixture
def both_ways(memory):
    """Refunds failed twice without memory and succeeded twice with it. Eggs were boiled without memory alone."""
    made = Strategy(title="Fare rules", situation="asked for money back", suggestion="read the fare rules first")
    [used] = [memory.strategies.add(made)]
    for hours in (1, 2):
        memory.store(tried("r", f"{REFUND} {hours}", False, hours=hours))
    for hours in (3, 4):
        actions = ("read the booking", f"read the fare rules {hours}")
        memory.store(tried("r", f"{REFUND} {hours}", True, hours=hours, actions=actions, used=[used]))
    memory.store(tried("e", "boil an egg for breakfast", True, hours=5))
    return memory


def test_a_proof_has_the_outcome_of_every_attempt_and_its_task(both_ways):
    proof = proof_of(both_ways, asked(both_ways, REFUND), both_ways.memory_effect())
    assert proof.outcomes == ((False, False), (True, True))
    assert proof.task.startswith(REFUND)
    assert proof.quotation == proof.task


def test_a_weak_hit_has_no_proof_and_others_say_how_strong_they_are(both_ways):
    answer, effect = asked(both_ways, REFUND), both_ways.memory_effect()
    proof = proof_of(both_ways, answer, effect)

    def measured(relevance):
        """Return the answer as if all of its hits had this relevance."""
        parts = (
            replace(part, level=0.1, hits=tuple(
                replace(hit, hit=replace(hit.hit, relevance=relevance)) for hit in part.hits
            ))
            for part in answer.parts
        )  # fmt: skip
        return replace(answer, parts=tuple(parts))

    assert [strength_of(measured(relevance), proof) for relevance in (0.9, 0.3)] == ["strong", "medium"]
    assert proof_of(both_ways, measured(0.3), effect) == proof
    assert proof_of(both_ways, measured(0.11), effect) is None


def test_a_long_task_is_quoted_by_its_first_sentences(both_ways):
    proof = proof_of(both_ways, asked(both_ways, REFUND), both_ways.memory_effect())
    first, second = "Refund the night train.", "Ask the guard first!"
    long = replace(proof, task=f"{first} {second} {'Then write down who paid and when ' * 5}.")
    assert long.quotation == f"{first} {second} …"
    endless = replace(proof, task="read the fare rules and then " * 20)
    assert endless.quotation.startswith("read the fare rules")
    assert len(endless.quotation) <= 165


def asked(memory, text):
    configuration = Configuration()
    result = hits_for(memory, text, configuration)
    return answered(result, block_of(memory, result, 2_000), configuration, counts(memory))


def test_the_proof_counts_the_attempts_and_shows_the_latest_of_each_kind(both_ways):
    effect = both_ways.memory_effect()
    proof = proof_of(both_ways, asked(both_ways, REFUND), effect)
    assert proof.sentence == ("Tried 2 times without memory: both failed. Tried 2 times with memory: both succeeded.")
    assert [trace.experience.task.description for trace in (proof.without, proof.with_memory)] == [
        f"{REFUND} 2", f"{REFUND} 4",
    ]  # fmt: skip
    assert (proof.without.used, proof.with_memory.used) == ((), ("strategy: Fare rules",))
    assert proof.parting == 2
    assert compared_tasks_sentence(effect) == (
        "1 task of this store was tried both ways: 1 went better with memory, 0 worse and 0 alike."
    )


def test_the_example_is_the_task_that_gained_most_if_more_tasks_gained_than_lost(both_ways):
    effect = both_ways.memory_effect()
    assert example_of(both_ways, effect) == proof_of(both_ways, asked(both_ways, REFUND), effect)
    assert example_of(both_ways, replace(effect, tasks=())) is None


def test_a_hit_whose_task_was_not_tried_both_ways_has_no_proof(both_ways):
    assert proof_of(both_ways, asked(both_ways, "boil an egg for breakfast"), both_ways.memory_effect()) is None


def test_an_attempt_that_was_deleted_since_is_not_shown(both_ways):
    effect = both_ways.memory_effect()
    answer = asked(both_ways, REFUND)
    latest = proof_of(both_ways, answer, effect).without.experience.id
    both_ways.experience.delete([latest])
    assert proof_of(both_ways, answer, effect).without.experience.task.description == f"{REFUND} 1"


def test_traces_for_the_browser_have_their_texts_and_errors(both_ways):
    drawn = proof_as_json(proof_of(both_ways, asked(both_ways, REFUND), both_ways.memory_effect()))
    without, with_memory = drawn["traces"]
    assert (without["outcome"], with_memory["outcome"]) == ("✗ failed", "✓ succeeded")
    assert (without["used"], with_memory["used"]) == (["no memory"], ["strategy: Fare rules"])
    assert without["steps"][0]["is_error"]
    assert [turn["text"] for turn in without["steps"][0]["turns"]] == [STEPS[0], f"Error: {HOSTILE}"]
    assert drawn["parting"] == 2


@pytest.mark.parametrize(
    ("one", "other", "parting"),
    [
        ("a b c", "a b c", None),
        ("a b c", "a x c", 2),
        ("a", "a b", 2),
        ("x", "y", 1),
        ("", "a", 1),
        ("", "", None),
    ],
)
def test_attempts_part_at_the_first_step_that_is_another(one, other, parting):
    assert parting_step(*([Step(action=f" {action} ") for action in side.split()] for side in (one, other))) == parting


def test_steps_without_an_action_are_compared_by_their_thoughts():
    assert parting_step([Step(thought="a")], [Step(thought="b")]) == 1


@pytest.mark.parametrize(
    ("n_succeeded", "n", "text"),
    [(1, 1, "succeeded"), (0, 1, "failed"), (0, 2, "both failed"), (3, 3, "all succeeded"), (2, 3, "2 succeeded")],
)
def test_attempts_went_so(n_succeeded, n, text):
    assert tries_phrase(Tries(n=n, n_succeeded=n_succeeded)) == text


@pytest.mark.parametrize(
    ("outcomes", "phrase"),
    [
        ((True,), "succeeded"),
        ((False,), "failed"),
        ((False, False), "failed twice"),
        ((True,) * 3, "succeeded all 3 times"),
        ((False, True), "succeeded in 1 of 2 attempts"),
    ],
)
def test_the_verdict_says_how_attempts_went(outcomes, phrase):
    assert attempts_phrase(outcomes) == phrase


def test_a_first_visit_is_offered_the_task_that_gained_most_before_others(both_ways):
    assert invitations(both_ways, both_ways.memory_effect())[0] == f"{REFUND} 4"


def test_tasks_that_were_tried_both_ways_are_presented(both_ways):
    assert demonstrations(both_ways, both_ways.memory_effect()) == (f"{REFUND} 4",)


def test_without_such_a_task_the_examples_are_presented(memory):
    memory.store(tried("e", "boil an egg for breakfast", True, hours=5))
    assert demonstrations(memory, memory.memory_effect()) == ("boil an egg for breakfast",)


def test_examples_go_round_and_begin_at_an_end():
    questions = ("a", "b", "c")
    assert [neighbour(questions, text, is_next=True) for text in ("", "a", "c", "my own")] == ["a", "b", "a", "a"]
    assert [neighbour(questions, text, is_next=False) for text in ("", "a", "c")] == ["c", "c", "b"]
