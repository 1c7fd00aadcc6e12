"""What Ask demonstrates: questions to begin with, diversity, strictness, a trial with a model, and a report."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from atlas.core.errors import LLMUnavailable
from atlas.core.settings import RankingWeights
from atlas.core.types import CodeConcept, Strategy
from atlas.llm.trial import run_trial
from atlas.memory.open import open_memory
from atlas.testing import FixedClock, HashEmbedder, ScriptedLLM
from atlas.views.ask.answer import (
    THERE_WAS_ROOM,
    Configuration,
    agents_call,
    answered,
    block_difference,
    block_of,
    counts,
    hits_for,
)
from atlas.views.ask.by_words import cards_by_words
from atlas.views.ask.cards import hit_card_of
from atlas.views.ask.examples import LONGEST, example_questions
from atlas.views.ask.html import Report, ReportedSide, report_page
from atlas.views.ask.report import about_store
from atlas.views.ask.strictness import strictness_rows
from atlas.views.lists.facts import Badge
from tests.support.memories import attempt

REFUND = "refund the cancelled flight of a customer"
HOSTILE = "<script>alert(1)</script> %BODY% &amp;"


@pytest.fixture
def memory(tmp_path):
    with open_memory(tmp_path / "store", embedder=HashEmbedder(), clock=FixedClock()) as made:
        yield made


def ask(memory, text=REFUND, configuration=None):
    configuration = configuration or Configuration()
    result = hits_for(memory, text, configuration)
    return answered(result, block_of(memory, result, 2_000), configuration, counts(memory))


def test_examples_are_tasks_of_the_store_each_about_something_else(memory):
    for n in range(30):
        memory.experience.store(attempt(f"{REFUND}, number {n} of many"))
    memory.experience.store(attempt("rebuild the search index after a crash of the node"))
    memory.experience.store(attempt("Read the manual before anything else is done. " + "Then go on. " * 40))
    questions = example_questions(memory, 3)
    assert len(questions) == 3
    assert sum("refund" in question for question in questions) == 1
    assert "rebuild the search index after a crash of the node" in questions
    cut = next(question for question in questions if question.startswith("Read the manual"))
    assert len(cut) <= LONGEST
    assert cut.endswith(".")


def test_an_empty_store_has_no_examples(memory):
    assert example_questions(memory) == ()


def test_copies_of_one_failure_are_one_hit_unless_that_is_turned_off(memory):
    memory.experience.store_many([attempt(REFUND, False, n=n) for n in range(6)])
    (part,) = (part for part in ask(memory).parts if part.name == "experience")
    assert len(part.hits) == 1
    assert part.hits[0].hit.outcomes == {"failed": 6}
    (part,) = (part for part in ask(memory, configuration=Configuration(is_diverse=False)).parts if part.hits)
    assert len(part.hits) == 6


def test_a_hit_just_above_the_level_is_weak(memory):
    memory.experience.store_many([attempt(REFUND, False), attempt(f"{REFUND} of the night train", True)])
    (part,) = (part for part in ask(memory, configuration=Configuration(is_diverse=False)).parts if part.hits)
    second = part.hits[1].hit.relevance / 2
    weak = replace(part.hits[1], hit=replace(part.hits[1].hit, relevance=second))
    sure = replace(part.hits[0], hit=replace(part.hits[0].hit, relevance=1.0))
    for level, n_weak, words in (
        (second / 3, 0, f"2 hits, level {second / 3:.2f}"),
        (second / 1.01, 1, f"2 hits, 1 weak, level {second / 1.01:.2f}"),
    ):
        measured = replace(part, level=level, hits=(sure, weak))
        assert sum(map(measured.is_weak, measured.hits)) == n_weak
        assert measured.reach_sentence == words
    assert [measured.strength(hit) for hit in measured.hits] == ["strong", "weak"]
    assert [measured.note(hit) for hit in measured.hits] == ["", THERE_WAS_ROOM]
    assert measured.note(replace(weak, place=0, reason="too long by 4 tokens")) == "too long by 4 tokens"
    between = replace(measured, level=0.0, hits=(replace(weak, hit=replace(weak.hit, relevance=0.3)),))
    assert [between.strength(hit) for hit in between.hits] == ["medium"]


def test_the_call_that_gives_an_agent_the_same_is_named(memory):
    usual = RankingWeights()
    assert agents_call(Configuration(), 2_000, usual) == (
        "An agent gets exactly this from `build_context(task, distinct=True, diversity=0.2)`."
    )
    assert "`build_context(task, budget_tokens=500, k=3)`" in agents_call(
        Configuration(k=3, is_diverse=False), 500, usual
    )
    assert "once all searches use these weights" in agents_call(
        Configuration(weights=replace(usual, use=0.1)), 2_000, usual
    )
    assert agents_call(Configuration(off=("journal",)), 2_000, usual).startswith("No agent gets exactly this")


def test_the_lines_in_which_two_blocks_differ(memory):
    memory.experience.store(attempt(REFUND))
    memory.journal.add("reflection", f"to {REFUND} takes the fare class", generation=1)
    left, right = ask(memory), ask(memory, configuration=Configuration(off=("journal",)))
    lines = block_difference(left, right).splitlines()
    assert "-## Journal: what was noted on the way" in lines
    assert not any(line.startswith("+") for line in lines[2:])
    assert block_difference(left, left) == ""


def test_strictness_shows_how_many_hits_it_would_leave(memory):
    memory.experience.store(attempt(REFUND))
    memory.experience.store(attempt("parse the log file of a web server"))
    chosen = Configuration(weights=RankingWeights(strictness=0.7))
    rows = strictness_rows(memory, REFUND, chosen)
    assert [row.strictness for row in rows] == [0.0, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0]
    assert [row.is_chosen for row in rows].index(True) == 2
    assert rows[0].n_hits["Experiences"] == 2
    shown = [row.n_hits["Experiences"] for row in rows]
    assert shown == sorted(shown, reverse=True)


def test_until_the_model_is_there_every_memory_answers_by_words(memory):
    memory.experience.store(attempt(REFUND, False))
    memory.strategies.add(Strategy(title="Refunds", situation=f"asked to {REFUND}", suggestion="read the fare rules"))
    memory.concepts.add(CodeConcept(name="refund", description=f"to {REFUND}", code="def refund(): ...\n"))
    memory.journal.add("reflection", f"to {REFUND} takes the fare class", generation=4)
    n_embedded = len(memory.experience.embedder.texts)
    cards = cards_by_words(memory, "refund of a flight", 4)
    assert {name: len(found) for name, found in cards.items()} == {
        "strategies": 1, "experience": 1, "concepts": 1, "journal": 1,
    }  # fmt: skip
    assert cards["experience"][0].badge == Badge.of_outcome("failed")
    assert cards["experience"][0].bar is None
    assert len(memory.experience.embedder.texts) == n_embedded


def test_a_model_answers_a_task_with_the_block_and_without():
    llm = ScriptedLLM(["I would ask for the fare class.", "Read the fare rules first."])
    trial = run_trial(llm, REFUND, "a block of memories")
    assert (trial.without.text, trial.with_block.text) == (
        "I would ask for the fare class.",
        "Read the fare rules first.",
    )
    assert "a block of memories" not in llm.prompts[0]
    assert "a block of memories" in llm.prompts[1]
    assert llm.prompts[1].endswith(REFUND)
    assert re.fullmatch(r"about \d+ tokens read, 11 written · .*", trial.without.cost)
    assert trial.model == "scripted"


def test_one_answer_may_fail_by_itself():
    trial = run_trial(ScriptedLLM([LLMUnavailable("busy"), "Read the fare rules first."]), REFUND, "a block")
    assert (trial.without.text, trial.without.problem) == ("", "busy")
    assert trial.with_block.text == "Read the fare rules first."


def reported(memory, text, answer, title="", configuration=None):
    configuration = configuration or Configuration()
    cards = {
        (part.name, hit.id): hit_card_of(memory, part.name, hit.hit, text, configuration.weights)
        for part in answer.parts
        for hit in part.hits
    }
    return ReportedSide(title=title, call="As an agent asks.", answer=answer, cards=cards)


def test_a_report_holds_the_task_the_hits_the_block_and_both_answers_escaped(memory):
    memory.experience.store(attempt(f"{REFUND} {HOSTILE}"))
    text = f"{REFUND} {HOSTILE}"
    trial = run_trial(ScriptedLLM([HOSTILE, "done"]), text, "block")
    page = report_page(
        Report(task=text, about=about_store(memory), sides=(reported(memory, text, ask(memory, text)),), trial=trial)
    )
    assert "<script" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 3
    assert "A store of 0 strategies, 1 experience, 0 concepts and 0 journal entries." in page
    assert "<mark>refund</mark>" in page
    assert "Answered by scripted" in page
    assert "prefers-color-scheme: dark" in page
    assert "http" not in page.replace("http-equiv", "")


def test_a_report_of_two_says_where_they_differ(memory):
    memory.experience.store(attempt(REFUND))
    memory.journal.add("reflection", f"to {REFUND} takes the fare class", generation=1)
    less = Configuration(off=("journal",))
    left, right = ask(memory), ask(memory, configuration=less)
    page = report_page(
        Report(
            task=REFUND,
            about=about_store(memory),
            sides=(reported(memory, REFUND, left, "A"), reported(memory, REFUND, right, "B", less)),
            difference="A and B differ in: memories left out.",
            block_difference=block_difference(left, right),
        )
    )
    assert "Configuration A" in page
    assert "Configuration B" in page
    assert '<span class="cut">-## Journal: what was noted on the way</span>' in page
