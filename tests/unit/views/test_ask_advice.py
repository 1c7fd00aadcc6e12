"""The advice at the head of Ask: which memory gives it, and in which words."""

from __future__ import annotations

import pytest

import atlas
from atlas.core.types import CodeConcept, Strategy
from atlas.testing import FixedClock, HashEmbedder
from atlas.views.ask.advice import FAILED, SUGGESTS, WORKED, advice_of
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


def test_a_reliable_strategy_goes_before_one_without_uses_and_one_that_is_not_clear_does_not(memory):
    titles = ("untried", "proven", "unclear")
    ids = {title: memory.strategies.add(strategy(title, f"Do {title}.")) for title in titles}
    first = advice(memory).source
    assert first.endswith(", not used yet")
    use(memory, ids["unclear"], True, True, False)
    use(memory, ids["proven"], True, True, False)
    assert advice(memory).source.split(",")[0] == first.split(",")[0], "2 of 3 prove nothing"
    use(memory, ids["proven"], *[True] * 10)
    found = advice(memory)
    assert (found.memory, found.heading, found.text) == ("strategies", SUGGESTS, "Do proven.")
    assert found.source.startswith("Strategy “proven”, succeeded in 12 of 13 uses")


def test_a_strong_match_of_another_memory_goes_before_a_medium_strategy_that_is_unproven(memory):
    strategy_id = memory.strategies.add(
        strategy("A seat", situation="the flight of a customer is late, and the next train leaves in an hour")
    )
    assert (advice(memory).memory, advice(memory).strength) == ("strategies", "medium")
    memory.experience.store(attempt(REFUND, solution="It was paid back."))
    assert (advice(memory).heading, advice(memory).text) == (WORKED, "It was paid back.")
    use(memory, strategy_id, *[True] * 12)
    assert advice(memory).memory == "strategies", "it is proven"


def test_where_the_nearest_attempts_failed_one_that_succeeded_at_another_task_gives_no_advice(memory):
    memory.experience.store(
        attempt("refund the cancelled hotel of a guest who was ill", solution="Paid the fare back.")
    )
    assert advice(memory).heading == WORKED
    memory.experience.store(attempt(REFUND, False, solution="", feedback="The fare rules were not read."))
    assert (advice(memory).heading, advice(memory).text) == (FAILED, "The fare rules were not read.")


def test_steps_without_full_stops_are_parted_by_semicolons(memory):
    memory.strategies.add(strategy("calls", suggestion="1. get_user(id=id)\n2. cancel(id=id)"))
    assert advice(memory).text == "get_user(id=id); cancel(id=id)"


def test_a_strategy_that_is_clearly_worse_than_the_others_or_mostly_fails_gives_no_advice(memory):
    worse = memory.strategies.add(strategy("worse"))
    use(memory, worse, *[n % 2 == 0 for n in range(40)])
    assert advice(memory).source.startswith("Strategy “worse”")
    other = memory.strategies.add(strategy("other", situation="asked to mend a shoe in the rain"))
    use(memory, other, *[True] * 200)
    assert advice(memory) is None
    failing = memory.strategies.add(strategy("failing", situation=f"asked to {REFUND} now"))
    use(memory, failing, *[False] * 8)
    assert advice(memory) is None


def test_a_concept_that_is_clearly_worse_than_the_others_gives_no_advice(memory):
    made = [
        memory.concepts.add(CodeConcept(name=name, description=text, code=f"def {name}():\n    return {n}\n"))
        for n, (name, text) in enumerate((("refund", f"To {REFUND}."), ("mend", "Mend a shoe in the rain.")))
    ]
    assert advice(memory).text == f"To {REFUND}."
    for concept_id, is_good in zip(made, (False, True), strict=True):
        for n in range(40):
            memory.concepts.record_use(concept_id, is_good, task_id=f"t{n}", trajectory_id=f"{concept_id} {n}")
    assert advice(memory) is None


def test_a_strategy_for_something_else_gives_way_to_an_attempt_that_succeeded_and_says_what_it_did(memory):
    memory.experience.store(attempt(REFUND, solution="Paid back the fare."))
    far = "refund a hotel room by the sea in winter for a family with two dogs that came late"
    memory.strategies.add(strategy("far", situation=far))
    found = advice(memory)
    assert (found.memory, found.heading, found.strength, found.text, found.source) == (
        "experience", WORKED, "strong", "Paid back the fare.", f"Experience “{REFUND}”",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("solution", "text"),
    [
        ("42", "42"),
        ("https://example.org/fares", "https://example.org/fares"),
        ("def refund(flight):\n    return flight.\n", ""),
        ('{"fare": 12}', ""),
        ("    fare = 12\n    return fare", ""),
        ('pay_back({"fare": 12})', ""),
    ],
)
def test_a_short_answer_is_advice_itself_and_code_only_points_to_its_place(memory, solution, text):
    memory.experience.store(attempt(REFUND, solution=solution))
    found = advice(memory)
    assert (found.place, found.text, found.quotation) == (1, text, f"“{text}”" if text else "")


def test_an_attempt_is_named_as_lists_name_it(memory):
    memory.experience.store(attempt(f"Hello, {REFUND}. The train had been late.", solution="Paid."))
    assert advice(memory).source == "Experience “Refund the cancelled flight of a customer”"


def test_an_attempt_without_an_answer_gives_no_advice(memory):
    memory.experience.store(attempt(REFUND, steps=(), solution=""))
    assert advice(memory) is None


def test_a_concept_advises_what_it_does(memory):
    memory.concepts.add(CodeConcept(name="refund", description=f"To {REFUND}.", code="def refund():\n    return 1\n"))
    assert (advice(memory).text, advice(memory).quotation) == (f"To {REFUND}.", f"To {REFUND}.")


def test_where_all_attempts_failed_the_advice_is_what_went_wrong(memory):
    memory.experience.store(attempt(REFUND, success=False, feedback="It paid twice. The key was missing."))
    found = advice(memory)
    assert (found.heading, found.text, found.source) == (
        FAILED, "It paid twice. The key was missing.", f"Experience “{REFUND}”",
    )  # fmt: skip


def test_attempts_that_failed_for_no_noted_reason_and_what_the_block_does_not_show_give_no_advice(memory):
    memory.experience.store(attempt(REFUND, success=False))
    assert advice(memory) is None
    memory.strategies.add(strategy("shown"))
    assert advice(memory).source == "Strategy “shown”, not used yet"
    assert advice(memory, budget=0) is None
    assert advice(memory, "zzz qqq xyzzy") is None


def test_advice_is_its_first_sentences_with_parameters_as_words(memory):
    long = "Compare {table} with {other}. " + "Then wait a little. " * 20
    memory.strategies.add(strategy("long", long, parameters=({"name": "table", "type": "str"},)))
    text = advice(memory).text
    assert text.startswith("Compare table with {other}. Then wait")
    assert text.endswith("little. …")
    assert len(text) <= 242
