"""The budget of a language model: whatever one call of a memory asks, it asks as one operation."""

from __future__ import annotations

from datetime import timedelta

import pytest

import atlas
from atlas.jobs.compression import compress_now
from atlas.llm.budget import Account, operation
from atlas.memory.experience.model_extraction import LLMSummarizingExtractor
from atlas.testing import FixedClock, HashEmbedder, ScriptedLLM
from tests.support.memories import attempt
from tests.support.model_answers import STRATEGY

SUMMARY = {"task": "Cancel a flight", "key_steps": ["looked it up"], "outcome": "It was cancelled."}
POINTS = {"points": [{"text": "Every parser survived.", "entries": ["1"]}]}


class BilledLLM(ScriptedLLM):
    """A scripted model that keeps the account which each question went to."""

    def __init__(self, answers) -> None:
        super().__init__(answers)
        self.accounts: list[Account] = []

    async def complete(self, *args, **options):
        with operation() as account:
            self.accounts.append(account)
        return await super().complete(*args, **options)

    @property
    def n_accounts(self) -> int:
        return len({id(one) for one in self.accounts})


@pytest.fixture
def opened(tmp_path):
    def opening(llm, clock):
        extractor = LLMSummarizingExtractor(llm)
        return atlas.open_memory(tmp_path, embedder=HashEmbedder(), llm=llm, extractor=extractor, clock=clock)

    return opening


def test_attempts_that_are_stored_together_are_one_operation(opened):
    llm = BilledLLM([SUMMARY, SUMMARY])
    with opened(llm, FixedClock()) as memory:
        memory.experience.store_many([attempt("cancel a flight"), attempt("cancel another")])
    assert (len(llm.accounts), llm.n_accounts) == (2, 1)


def test_an_attempt_and_its_strategy_are_one_operation(opened):
    llm = BilledLLM([SUMMARY, STRATEGY])
    with opened(llm, FixedClock()) as memory:
        assert "strategies" in memory.store(attempt("cancel a flight", True))
    assert (len(llm.accounts), llm.n_accounts) == (2, 1)


def test_the_summaries_of_one_plan_to_forget_are_one_operation(opened):
    llm, clock = BilledLLM([POINTS, POINTS]), FixedClock()
    with opened(llm, clock) as memory:
        for number in range(8):
            for kind in ("observation", "crash_log"):
                content = f"The {kind} of parser {number * 37} survived the basket {number * 91}"
                assert memory.journal.add(kind, content, generation=number)
                clock.advance(timedelta(minutes=1))
        clock.advance(timedelta(days=400))
        plan = memory.journal.plan_compact(keep_recent=0)
    assert len(plan.summaries) == 2
    assert (len(llm.accounts), llm.n_accounts) == (2, 1)


def test_the_questions_of_one_compression_are_one_operation(opened):
    class Asking:
        async def propose(self, *args, **options):
            for _ in range(2):
                await llm.complete("", "")
            raise LookupError("asked enough")

    llm = BilledLLM([{}, {}])
    with opened(llm, FixedClock()) as memory, pytest.raises(LookupError):
        compress_now(memory, strategy=Asking())
    assert (len(llm.accounts), llm.n_accounts) == (2, 1)
