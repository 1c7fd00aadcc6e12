"""What the memories give for a task, as the page tells it: found, hidden, left out, and shown in the block."""

from __future__ import annotations

from dataclasses import replace

import pytest

from atlas.core.settings import RankingWeights
from atlas.core.types import CodeConcept, Strategy, Task
from atlas.memory.open import open_memory
from atlas.testing import FixedClock, HashEmbedder
from atlas.views.ask.answer import (
    NONE_YET,
    Configuration,
    answered,
    block_of,
    compared,
    counts,
    difference_sentence,
    hits_for,
    settings_differing,
)
from atlas.views.ask.cards import hit_card_of
from atlas.views.lists.facts import Badge
from tests.support.memories import attempt

REFUND = "refund the cancelled flight of a customer"
CODE = "import numpy as np\n\n\ndef refund(flight):\n    return flight\n"


@pytest.fixture
def memory(tmp_path):
    with open_memory(tmp_path / "store", embedder=HashEmbedder(), clock=FixedClock()) as made:
        yield made


@pytest.fixture
def full(memory):
    """Each memory holds one record about refunds."""
    memory.experience.store(attempt(REFUND, False))
    memory.strategies.add(Strategy(title="Refunds", situation=f"asked to {REFUND}", suggestion="read the fare rules"))
    memory.concepts.add(CodeConcept(name="refund", description=f"to {REFUND}", code=CODE))
    memory.journal.add("reflection", f"to {REFUND} takes the fare class first", generation=4)
    return memory


def ask(memory, text=REFUND, budget=2_000, **options):
    configuration = Configuration(**options)
    result = hits_for(memory, text, configuration)
    return answered(result, block_of(memory, result, budget), configuration, counts(memory))


def sentences(answer):
    return {part.name: part.sentence for part in answer.parts}


def card(memory, answer, name):
    part = next(part for part in answer.parts if part.name == name)
    return hit_card_of(memory, name, part.hits[0].hit, REFUND, RankingWeights())


def test_every_memory_says_what_it_found_in_the_order_of_the_block(full):
    answer = ask(full)
    assert [(part.title, part.sentence) for part in answer.parts] == [
        ("Strategies", "1 found"),
        ("Experiences", "1 found"),
        ("Concepts", "1 found"),
        ("Journal", "1 found"),
    ]
    assert all(hit.is_shown for part in answer.parts for hit in part.hits)
    assert answer.block_sentence.startswith("4 memories in ")
    assert answer.verdict == "Memory has 1 concept, 1 experience, 1 strategy and 1 journal entry for this task."


def test_the_block_is_the_one_that_an_agent_gets(full):
    answer = ask(full)
    assert answer.block == full.build_context(Task("t", "", REFUND))


def test_looking_counts_as_nothing(full):
    ask(full)
    for held in (full.experience, full.strategies, full.concepts, full.journal):
        assert [usage.n_retrieved for usage in held.usage(held.ids()).values()] == [0]


def test_nonsense_finds_nothing_that_is_relevant_and_an_empty_block(full):
    answer = ask(full, "zzz qqq xyzzy")
    assert set(sentences(answer).values()) == {"Nothing reaches the level of 0.13."}
    assert {part.hidden for part in answer.parts} == {"1 not shown"}
    assert answer.block.text == ""
    assert "an agent is told nothing" in answer.block_sentence


def test_a_store_of_experiences_alone_says_what_the_others_lack(memory):
    memory.experience.store(attempt(REFUND))
    told = sentences(ask(memory))
    assert told == NONE_YET | {"experience": "1 found"}


def test_a_memory_that_is_left_out_says_so_and_gives_nothing(full):
    answer = ask(full, off=("strategies", "journal"))
    assert sentences(answer)["strategies"] == sentences(answer)["journal"] == "Left out here."
    assert answer.verdict == "Memory has 1 concept and 1 experience for this task."
    assert "## Strategies" not in answer.block.text


def test_a_memory_that_fails_costs_its_own_line(full):
    configuration = Configuration()
    result = replace(hits_for(full, REFUND, configuration), strategy_hits=(), errors={"strategies": "gone"})
    answer = answered(result, block_of(full, result, 2_000), configuration, counts(full))
    assert sentences(answer)["strategies"] == "This memory failed, so the answer is without it: gone"
    assert [part.is_failed for part in answer.parts] == [True, False, False, False]
    assert answer.n_hits == 3


def test_what_has_no_room_is_found_but_not_in_the_block(full):
    answer = ask(full, budget=0)
    assert answer.n_hits == 4
    assert not any(hit.is_shown for part in answer.parts for hit in part.hits)
    assert answer.block_sentence == "The block is empty: none of the 4 memories found fits into the budget."
    assert {hit.memory for hit in answer.left_out} == {"Strategies", "Experiences", "Concepts", "Journal"}
    assert all(hit.reason.startswith("too long by ") for hit in answer.left_out)


def test_two_answers_say_how_they_differ(full):
    full.experience.store(attempt(f"{REFUND} by phone", True))
    left, right = compared(ask(full), ask(full, off=("journal",), k=1))
    assert difference_sentence(left, right).startswith("Hits: 3 memories in both, 2 only in A, 0 only in B.")
    moves = {part.name: [hit.move for hit in part.hits] for part in left.parts}
    assert moves == {"strategies": ["="], "experience": ["=", "only here"], "concepts": ["="], "journal": ["only here"]}


def test_two_answers_that_agree_say_so(full):
    told = difference_sentence(ask(full), ask(full))
    assert told == "Hits: the same 4 memories in A and B. Blocks: the same 4 memories in A and B."
    nothing = ask(full, "zzz qqq xyzzy")
    assert difference_sentence(nothing, nothing) == "Hits: none in A or B. Blocks: none in A or B."


def test_a_hit_that_only_one_block_shows_is_marked_on_both_sides(full):
    left, right = compared(ask(full), ask(full, budget=0))
    assert all(hit.is_shown_otherwise for side in (left, right) for part in side.parts for hit in part.hits)


def test_configurations_say_in_what_they_differ():
    one = Configuration()
    assert settings_differing(one, one) == "A and B are the same configuration."
    other = Configuration(weights=RankingWeights(words=0.1), k=3, off=("journal",))
    assert settings_differing(one, other) == ("A and B differ in: hits per memory, memories left out, words.")


def test_a_strategy_s_card_tells_its_rate_on_how_many_tries_and_how_sure(full):
    [strategy_id] = full.strategies.ids()
    assert card(full, ask(full), "strategies").outcome == "not used yet"
    for success in (True, True, False):
        full.strategies.record_use(strategy_id, success)
    made = card(full, ask(full), "strategies")
    assert made.outcome == "succeeded in 2 of 3 uses (likely 19–93%)"
    assert (made.title, made.passage.name) == ("Refunds", "When")
    assert {"meaning", "words", "success"} <= {segment.name for segment in made.bar.segments}


def test_a_concept_s_card_shows_what_it_does_rather_than_its_code(full):
    made = card(full, ask(full), "concepts")
    assert (made.title, made.passage.name) == ("refund", "Does")
    assert made.outcome == "python, imported, not used yet"


def test_an_entry_s_card_says_what_was_noted_and_when(full):
    made = card(full, ask(full), "journal")
    assert (made.badge, made.outcome) == (Badge("reflection", "gray"), "round 4")
    assert "importance" in {segment.name for segment in made.bar.segments}
    assert "fare class" in made.passage.text
