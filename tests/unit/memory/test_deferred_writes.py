"""Storing waits for a language model for a limited time, and the rest is written in the background."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import pytest

import atlas
from atlas.llm.prompts.attempt_summary import ATTEMPT_SUMMARY
from atlas.memory.experience.model_extraction import LLMSummarizingExtractor
from atlas.testing import HashEmbedder, ScriptedLLM
from tests.support.memories import attempt
from tests.support.model_answers import STRATEGY

SUMMARY = {
    "task": "A journey refused by the airline",
    "key_steps": ["It was looked up, then cancelled"],
    "outcome": "It was cancelled.",
}
LATE_TEXT = "\n".join([SUMMARY["task"], *SUMMARY["key_steps"], SUMMARY["outcome"]])


class HangingLLM(ScriptedLLM):
    """A scripted model whose server hangs until it is let go on."""

    def __init__(self, answers) -> None:
        super().__init__(answers)
        self.goes_on = threading.Event()
        self.n_asked = 0

    async def complete(self, *args, **options):
        self.n_asked += 1
        while not self.goes_on.is_set():
            await asyncio.sleep(0.01)
        return await super().complete(*args, **options)


@pytest.fixture
def opened(tmp_path):
    def opening(llm, **options):
        settings = replace(atlas.Settings(), llm_store_seconds=0.2)
        return atlas.open_memory(tmp_path, embedder=HashEmbedder(), llm=llm, settings=settings, **options)

    return opening


def test_a_strategy_that_storing_had_no_time_for_is_written_in_the_background(opened):
    llm = HangingLLM([STRATEGY])
    with opened(llm) as memory:
        stored = memory.store(attempt("cancel a flight"))
        assert stored["experience"]
        assert "strategies" not in {*stored} - {"errors"}
        assert "the time limit of 0.2 seconds for the language model was reached" in stored["errors"]["strategies"]
        assert "written in the background" in stored["errors"]["strategies"]
        llm.goes_on.set()
        memory._write_queue.wait(60)
        assert [strategy.title for strategy in memory.strategies.get_many(memory.strategies.ids())] == [
            "Cancel a reservation"
        ]


def test_a_hanging_model_is_asked_once_for_all_parts_of_storing(opened):
    llm = HangingLLM([SUMMARY])
    with opened(llm, extractor=LLMSummarizingExtractor(llm)) as memory:
        stored = memory.store(attempt("cancel a flight"))
        assert memory.experience.get(stored["experience"]).embedding_text == "cancel a flight"
        assert "it is found by its task" in stored["errors"]["experience"]
        assert llm.n_asked <= 2  # by storing, and by the background
        memory._write_queue.drop()
        llm.goes_on.set()
        memory._write_queue.wait(60)


def test_a_summary_that_came_late_is_found_by_search(opened):
    llm = HangingLLM([SUMMARY, STRATEGY, SUMMARY])
    extractor = LLMSummarizingExtractor(llm)
    with opened(llm, extractor=extractor) as memory:
        stored = memory.store(attempt("cancel M05KNL"))
        found = memory.experience.search_hits("journey refused by the airline", 1)
        assert [hit.item.embedding_text for hit in found] != [LATE_TEXT]
        before = memory.experience.get(stored["experience"])
        llm.goes_on.set()
        memory._write_queue.wait(60)
        [hit] = memory.experience.search_hits("journey refused by the airline", 1)
        assert hit.item.embedding_text == LATE_TEXT
        assert hit.item.metadata["summarised_by"] == f"scripted, {ATTEMPT_SUMMARY.version}"
        assert len(memory.experience.store_many([attempt("cancel M05KNL")], skip_known=True)) == 0
        assert memory.history(1)[0].kind == "store"
        memory.undo(memory.history(1)[0].id)
        assert memory.experience.get(before.id) is None


def test_a_summary_that_fails_again_changes_nothing(opened, caplog):
    llm = HangingLLM([atlas.LLMUnavailable("no key"), STRATEGY])
    with opened(llm, extractor=LLMSummarizingExtractor(llm)) as memory:
        stored = memory.store(attempt("cancel a flight", success=None))
        revision = memory.revision()
        llm.goes_on.set()
        memory._write_queue.wait(60)
        assert memory.revision() == revision
        assert memory.experience.get(stored["experience"]).embedding_text == "cancel a flight"
    assert "embedded without a summary: no key" in caplog.text


def test_a_strategy_that_cannot_be_written_later_either_is_reported(opened, caplog):
    llm = HangingLLM([atlas.LLMUnavailable("no key")])
    with opened(llm) as memory:
        memory.store(attempt("cancel a flight"))
        llm.goes_on.set()
        memory._write_queue.wait(60)
        assert not memory.strategies.ids()
    assert "a strategy was not written in the background: no key" in caplog.text


def test_a_model_that_is_gone_is_asked_once_for_all_attempts_of_a_plan(opened):
    llm = ScriptedLLM([atlas.LLMUnavailable("the server is down")])
    with opened(llm) as memory:
        plan = memory.strategies.plan_write([attempt(f"cancel flight {n}") for n in range(11)])
    assert len(plan.problems) == 11
    assert all("the server is down" in problem for problem in plan.problems)
    assert len(llm.prompts) == 1
