"""Why a memory that a person names is not among the hits."""

from __future__ import annotations

import re

import pytest

from atlas.core.operations import Marks
from atlas.core.types import CodeConcept, Strategy
from atlas.core.unseen import shown_id
from atlas.memory.open import open_memory
from atlas.testing import FixedClock, HashEmbedder
from atlas.views.ask.answer import Configuration, answered, block_of, counts, hits_for
from atlas.views.ask.hidden import closest_rows, hidden_hits
from atlas.views.ask.missing import NamedRecord, Question, explained, named_records
from tests.support.memories import attempt

REFUND = "refund the cancelled flight of a customer"


@pytest.fixture
def memory(tmp_path):
    with open_memory(tmp_path / "store", embedder=HashEmbedder(), clock=FixedClock()) as made:
        yield made


def asked(memory, budget=2_000, text=REFUND, **options):
    configuration = Configuration(**options)
    result = hits_for(memory, text, configuration)
    answer = answered(result, block_of(memory, result, budget), configuration, counts(memory))
    return Question(text=text, configuration=configuration, answer=answer)


def why(memory, name, record_id, **options):
    record = NamedRecord(memory=name, id=record_id, title="")
    return explained(memory, record, asked(memory, **options))


def test_a_memory_is_named_by_its_id_the_beginning_of_it_or_words(memory):
    first = memory.experience.store(attempt(REFUND))
    memory.experience.store(attempt("boil an egg for breakfast"))
    strategy = memory.strategies.add(Strategy(title="Eggs", situation="hungry", suggestion="boil an egg"))
    for words in (first, shown_id(first), f"[experience {shown_id(first)}]"):
        assert [(record.memory, record.id) for record in named_records(memory, words)] == [("experience", first)]
    assert named_records(memory, first)[0].label == f"experience {shown_id(first)}: {REFUND}"
    by_words = {(record.memory, record.id) for record in named_records(memory, "egg")}
    assert ("strategies", strategy) in by_words
    assert ("experience", first) not in by_words
    assert named_records(memory, "xyzzy") == ()
    assert named_records(memory, "00000000") == ()


def test_a_hit_says_its_rank_and_its_place(memory):
    record_id = memory.experience.store(attempt(REFUND))
    assert why(memory, "experience", record_id).sentence == (
        "It was found: rank 1 of 1 in experiences, at place 1 of the block."
    )
    assert why(memory, "experience", record_id, budget=0).sentence.startswith(
        "It was found: rank 1 of 1 in experiences, not in the context block: "
    )


def test_what_is_not_relevant_enough_names_the_level_that_it_misses(memory):
    memory.experience.store(attempt(REFUND))
    other = memory.experience.store(attempt("boil an egg for breakfast"))
    explanation = why(memory, "experience", other)
    assert explanation.sentence.startswith("Its relevance of 0.0")
    assert "does not reach the level of 0." in explanation.sentence
    assert explanation.card.bar.segments


def test_what_a_search_hides_is_listed_below_its_level(memory):
    memory.experience.store(attempt(REFUND))
    memory.experience.store(attempt("boil an egg for breakfast"))
    question = asked(memory)
    part = next(part for part in question.answer.parts if part.name == "experience")
    assert part.hidden == "1 less relevant one not shown"
    [hidden] = hidden_hits(memory, REFUND, part, question.configuration)
    assert hidden.title == "boil an egg for breakfast"
    assert hidden.relevance < part.level


@pytest.mark.parametrize(
    ("text", "relevance", "title"),
    [
        ("boil an egg for breakfast", "0.00", ""),
        ("boil an egg for breakfast of a guest", "0.01", "boil an egg for breakfast of a guest"),
    ],
)
def test_a_memory_without_hits_shows_the_closest_that_it_has_and_the_level(memory, text, relevance, title):
    memory.experience.store(attempt(text))
    memory.journal.add("reflection", f"to {REFUND} takes time", generation=4)
    question = asked(memory)
    [row] = closest_rows(memory, REFUND, question.answer, question.configuration)
    assert (row.memory, row.title) == ("Experiences", title)
    assert (row.closest.text, row.closest.tick) == (f"{relevance}, needs 0.13", 0.13)


def test_what_is_buried_or_left_out_says_so(memory):
    record_id = memory.experience.store(attempt(REFUND))
    assert why(memory, "experience", record_id, off=("experience",)).sentence == (
        "The memory that holds it (experiences) is left out here."
    )
    memory.experience.mark({record_id: Marks(buried=True)})
    assert why(memory, "experience", record_id).sentence == (
        "It is retired, so searches leave it out. Its own page can bring it back."
    )


def test_a_strategy_that_failed_too_often_is_retired(memory):
    strategy = Strategy(title="Refunds", situation=f"asked to {REFUND}", suggestion="guess the fare class")
    record_id = memory.strategies.add(strategy)
    for n in range(12):
        memory.strategies.record_use(record_id, success=False, trajectory_id=f"t{n}")
    assert why(memory, "strategies", record_id).sentence == (
        "It is retired, because it failed too often, so searches leave it out."
    )


def test_a_rank_behind_the_last_hit_is_named(memory):
    for n in range(4):
        memory.concepts.add(
            CodeConcept(name=f"refund_{n}", description=REFUND, code=f"def refund_{n}():\n    return {n}")
        )
    found = {hit.id for part in asked(memory, k=1).answer.parts for hit in part.hits}
    behind = next(record_id for record_id in memory.concepts.ids() if record_id not in found)
    assert re.fullmatch(
        r"It is relevant enough and has rank [234], behind the hit asked for\.",
        why(memory, "concepts", behind, k=1).sentence,
    )


def test_an_attempt_that_another_stands_for_names_that_hit(memory):
    ids = memory.experience.store_many([attempt(REFUND, False, n=n) for n in range(3)])
    found = {hit.id for part in asked(memory).answer.parts for hit in part.hits}
    behind = next(record_id for record_id in ids if record_id not in found)
    assert why(memory, "experience", behind).sentence.startswith("Hit 1 stands for it: ")


def test_a_memory_that_was_deleted_meanwhile_cannot_be_ranked(memory):
    memory.experience.store(attempt(REFUND))
    explanation = why(memory, "experience", "0" * 32)
    assert explanation.sentence == "It cannot be ranked. It may have been deleted meanwhile."
    assert explanation.card is None
