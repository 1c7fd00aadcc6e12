"""The advice at the head of Ask: which memory gives it, and in which words."""

from __future__ import annotations

import pytest

import atlas
from atlas.core.types import CodeConcept, Strategy
from atlas.testing import FixedClock, HashEmbedder
from atlas.views.ask.advice import advice_of
from atlas.views.ask.answer import Configuration, answered, block_of, counts, hits_for
from tests.support.records import attempt

REFUND = "refund the cancelled flight of a customer"


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(), clock=FixedClock()) as made:
        yield made


def strategy(title, suggestion="Read the fare rules.", situation=f"asked to {REFUND}", **fields):
    return Strategy(title=title, situation=situation, suggestion=suggestion, **fields)


def advice(memory, text=REFUND, budget=2_000):
    configuration = Configuration()
    result = hits_for(memory, text, configuration)
    return advice_of(memory, answered(result, block_of(memory, result, budget), configuration, counts(memory)))


def use(memory, strategy_id, *outcomes):
    for outcome in outcomes:
        memory.strategies.update_stats(strategy_id, outcome)


def test_a_strategy_that_mostly_succeeded_goes_before_one_without_uses_and_one_that_mostly_failed(memory):
    titles = ("untried", "proven", "poor")
    ids = {title: memory.strategies.add(strategy(title, f"Do {title}.")) for title in titles}
    assert advice(memory).source.endswith(": not used yet")
    use(memory, ids["proven"], True, True, False)
    use(memory, ids["poor"], True, False, False)
    found = advice(memory)
    assert (found.memory, found.text) == ("strategies", "Do proven.")
    assert found.source == "Strategy “proven”: succeeded in 2 of 3 uses (likely 19–93%)"


def test_a_strategy_for_something_else_gives_way_to_an_attempt_that_succeeded_and_says_what_it_did(memory):
    memory.experience.store(attempt(REFUND, solution="Paid back the fare."))
    far = "refund a hotel room by the sea in winter for a family with two dogs that came late"
    memory.strategies.add(strategy("far", situation=far))
    found = advice(memory)
    assert (found.memory, found.text, found.source) == (
        "experience", "Paid back the fare.", f"What worked for “{REFUND}”",
    )  # fmt: skip


def test_code_of_an_attempt_is_no_sentence_of_advice(memory):
    memory.experience.store(attempt(REFUND, solution="def refund(flight):\n    return flight.\n"))
    found = advice(memory)
    assert (found.place, found.text) == (1, "")


def test_a_concept_advises_what_it_does(memory):
    memory.concepts.add(CodeConcept(name="refund", description=f"To {REFUND}.", code="def refund():\n    return 1\n"))
    assert advice(memory).text == f"To {REFUND}."


def test_where_all_attempts_failed_the_advice_is_what_went_wrong(memory):
    memory.experience.store(attempt(REFUND, success=False, feedback="It paid twice. The key was missing."))
    found = advice(memory)
    assert (found.text, found.source) == (
        "It paid twice. The key was missing.", f"What went wrong at “{REFUND}”",
    )  # fmt: skip


def test_attempts_that_failed_for_no_noted_reason_and_what_the_block_does_not_show_give_no_advice(memory):
    memory.experience.store(attempt(REFUND, success=False))
    assert advice(memory) is None
    memory.strategies.add(strategy("shown"))
    assert advice(memory).source == "Strategy “shown”: not used yet"
    assert advice(memory, budget=0) is None
    assert advice(memory, "zzz qqq xyzzy") is None


def test_advice_is_its_first_sentences_with_parameters_as_words(memory):
    long = "Compare {table} with {other}. " + "Then wait a little. " * 20
    memory.strategies.add(strategy("long", long, parameters=({"name": "table", "type": "str"},)))
    text = advice(memory).text
    assert text.startswith("Compare table with {other}. Then wait")
    assert text.endswith("little. …")
    assert len(text) <= 242
