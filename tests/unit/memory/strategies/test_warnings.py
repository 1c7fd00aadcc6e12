"""Failures teach too: a model makes warnings of them, and repeats nothing that the memory has."""

from __future__ import annotations

import pytest

import atlas
from atlas.core.errors import LLMReplyInvalid
from atlas.llm.prompts.warning import WARNING_PROMPT
from atlas.memory.strategies.induction.template import TemplateStrategyAbstractor
from atlas.memory.strategies.records import is_warning
from atlas.memory.strategy_sources import unwritten_attempts
from atlas.testing import HashEmbedder, ScriptedLLM
from atlas.views.strategies.strategy import strategy_detail
from atlas.views.strategies.writing import propose_writing
from tests.support.memories import attempt
from tests.support.model_answers import STRATEGY

LESSON = STRATEGY | {
    "title": "Do not cancel before the cabin is known",
    "suggestion": "Do not cancel at once. Look the cabin up first.",
}
KNOWN = {"reusable": True, "reason": "It gives this advice already.", "known": "known 1"}


@pytest.fixture
def opened(tmp_path):
    return lambda *answers: atlas.open_memory(tmp_path, embedder=HashEmbedder(), llm=ScriptedLLM(answers))


def failed(description="cancel a flight"):
    return attempt(description, success=False)


def test_a_failure_becomes_a_warning_with_its_prompt(opened):
    with opened(LESSON) as memory:
        failure = failed()
        warning = memory.strategies.write(failure)
        assert is_warning(warning)
        assert warning.sources == (failure.id,)
        assert warning.metadata["prompt"] == WARNING_PROMPT.version
        assert memory.strategies.abstractor.llm.systems[0].startswith(WARNING_PROMPT.text)
        assert memory.strategies.ids({"meta.warning": True}) == [warning.id]


def test_what_is_not_known_to_have_failed_or_succeeded_teaches_nothing(opened):
    with opened() as memory:
        assert memory.strategies.write(attempt("cancel a flight", success=None)) is None


def test_storing_a_failure_asks_no_model(opened):
    with opened() as memory:
        assert "strategies" not in memory.store(failed())


def test_without_a_model_failures_teach_nothing(opened):
    with opened() as memory:
        memory.experience.store(failed())
        bank = memory.strategies.with_abstractor(TemplateStrategyAbstractor())
        assert bank.write(failed()) is None
        assert unwritten_attempts(bank, memory.experience) == []
        assert len(unwritten_attempts(memory.strategies, memory.experience)) == 1


def test_warnings_are_planned_beside_strategies(opened):
    with opened(STRATEGY, LESSON) as memory:
        memory.experience.store_many([attempt("cancel a flight"), failed("cancel a flight, again")])
        proposal = propose_writing(memory, by_model=True)
        assert [row.what for row in proposal.rows] == ["new", "new warning"]
        assert proposal.view.headline == "2 attempts would become 2 strategies."
        proposal.apply(memory)
        assert sorted(map(is_warning, memory.strategies.get_many(memory.strategies.ids()))) == [False, True]


def test_a_proposal_says_why_the_model_did_not_merge_two_strategies(opened):
    alike = STRATEGY | {"suggestion": "Read the fare rules first."}
    with opened(STRATEGY, alike, {"same": False, "reason": "One is about fares."}) as memory:
        memory.strategies.write(attempt("cancel a flight"))
        memory.experience.store(attempt("cancel a flight, again"))
        proposal = propose_writing(memory, by_model=True)
        assert proposal.plan.unmerged == (
            "'Cancel a reservation' and 'Cancel a reservation' were not merged: One is about fares.",
        )
        assert proposal.view.notes[-1] == (
            "Not merged with another one for an alike situation: 1 strategy. The reasons are shown below."
        )
        proposal.apply(memory)
        [kept] = memory.strategies.ids({"meta.kept_apart_because": "One is about fares."})
        facts = {fact.name: fact.value for fact in strategy_detail(memory, kept).background}
        assert "One is about fares." in facts.values()


def test_the_model_sees_what_the_memory_has_of_the_same_kind(opened):
    with opened(STRATEGY, LESSON, KNOWN) as memory:
        llm = memory.strategies.abstractor.llm
        strategy, warning = memory.strategies.write(attempt("cancel a flight")), memory.strategies.write(failed())
        assert "by id" not in llm.prompts[0] + llm.prompts[1]
        again = failed("cancel a flight once more")
        assert memory.strategies.write(again).id == warning.id
        assert warning.title in llm.prompts[2]
        assert f"suggestion: {warning.suggestion}" in llm.prompts[2]  # whether it is known depends on the advice
        assert strategy.title not in llm.prompts[2]
        assert memory.strategies.get(warning.id).sources == (*warning.sources, again.id)
        assert memory.strategies.count() == 2


def test_what_the_memory_has_gets_the_attempt_as_a_source_in_a_plan_too(opened):
    with opened(STRATEGY, KNOWN, {"reusable": False, "reason": "It was luck.", "known": ""}) as memory:
        stored = memory.strategies.write(attempt("cancel a flight"))
        plan = memory.strategies.plan_write([attempt("cancel a flight twice"), attempt("cancel a hotel")])
        assert (plan.added, plan.n_nothing, plan.problems) == ((), 1, ())
        assert [(strategy.id, len(strategy.sources)) for strategy in plan.joined] == [(stored.id, 2)]


def test_an_id_that_was_not_shown_is_refused(opened):
    wrong = KNOWN | {"known": "known 2"}
    with opened(STRATEGY, wrong, wrong) as memory:
        memory.strategies.write(attempt("cancel a flight"))
        with pytest.raises(LLMReplyInvalid, match=r"'known 2' is not one of \['', 'known 1'\]"):
            memory.strategies.write(attempt("cancel a flight twice"))
