"""Questions that do not depend on each other: a few at once, answers in order, and none after a model is gone."""

from __future__ import annotations

import asyncio

import pytest

import atlas
from atlas.core.errors import Cancelled, InvalidInput, LLMUnavailable
from atlas.core.settings import Settings
from atlas.infra.bridge import run
from atlas.learning.search.engines import Corpus
from atlas.learning.search.limits import Limits
from atlas.learning.search.model_engine import ModelEngine
from atlas.llm.client import ModelClient
from atlas.llm.concurrency import call_concurrently, concurrency_of
from atlas.memory.experience.refinement.llm import LLMRefineStrategy
from atlas.testing import HashEmbedder, ScriptedLLM
from tests.support.learning.patterns import term_of
from tests.support.memories import attempt
from tests.support.model_answers import STRATEGY


class BusyLLM:
    """A model that answers by a function, and keeps how many questions were under way at once."""

    model_name, concurrency = "busy", 3

    def __init__(self, answer) -> None:
        self._answer = answer
        self.n_asked = self.n_open = self.most_open = 0

    async def complete(self, system, prompt, *, schema=None, max_tokens=1024):
        self.n_asked += 1
        self.n_open += 1
        self.most_open = max(self.most_open, self.n_open)
        await asyncio.sleep(0.01)
        self.n_open -= 1
        answer = self._answer(prompt)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.mark.parametrize("at_once", [1, 2, 5, 50])
def test_results_come_in_order_with_errors_in_their_places(at_once):
    async def inverse(number):
        await asyncio.sleep(0.001 * (6 - number))
        if number == 3:
            raise InvalidInput("not three")
        return -number

    results = list(call_concurrently(inverse, range(6), at_once))
    assert [str(result) for result in results] == ["0", "-1", "-2", "not three", "-4", "-5"]


def test_whoever_stops_reading_begins_no_others():
    begun = []

    async def begin(number):
        begun.append(number)

    next(call_concurrently(begin, range(9), 2))
    assert begun == [0, 1]


def test_arguments_are_read_only_as_their_calls_begin():
    read = []

    async def ask(number):
        return number

    results = call_concurrently(ask, (read.append(number) or number for number in range(9)), 2)
    next(results)
    assert read == [0, 1]


def test_an_error_of_another_kind_is_raised():
    async def fail(number):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(call_concurrently(fail, range(3), 2))


def test_a_model_is_asked_one_question_at_a_time_unless_it_takes_more():
    assert concurrency_of(ScriptedLLM([])) == 1
    settings = Settings.from_environment({"ATLAS_LLM_CONCURRENCY": "7", "ATLAS_LLM_BASE_URL": "http://127.0.0.1:9"})
    assert concurrency_of(ModelClient(settings)) == 7


def test_strategies_are_planned_a_few_at_once(tmp_path):
    llm = BusyLLM(lambda prompt: STRATEGY | {"situation": f"Cancel {prompt.partition('flight ')[2][0]}"})
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(), llm=llm) as memory:
        counts = []
        attempts = [attempt(f"cancel flight {number}") for number in range(7)]
        plan = memory.strategies.plan_write(attempts, lambda done, total: counts.append((done, total)))
    assert llm.most_open == 3
    assert counts == [(number, 7) for number in range(1, 8)]
    assert [strategy.sources for strategy in plan.added] == [(made.id,) for made in attempts]


def test_a_model_that_is_gone_ends_every_kind_of_plan(tmp_path):
    llm = BusyLLM(lambda prompt: LLMUnavailable("the server is down"))
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(), llm=llm) as memory:
        plan = memory.strategies.plan_write([attempt(f"cancel flight {number}") for number in range(20)])
        assert (llm.n_asked, len(plan.problems)) == (3, 20)

        llm.n_asked = 0
        ids = [memory.experience.store(attempt(f"cancel flight {number}")) for number in range(60)]
        refined = memory.experience.plan_refine(ids, LLMRefineStrategy(llm))
        assert (llm.n_asked, len(refined.failures)) == (3, 5)

    llm.n_asked = 0
    programs = [f"def a(x):\n    return x + {'long ' * 1_000 + str(number)!r}" for number in range(40)]
    corpus = Corpus(terms=tuple(map(term_of, programs)), tasks=("",) * 40)
    with pytest.raises(LLMUnavailable, match="the server is down"):
        ModelEngine(llm).abstractions(corpus, Limits())
    assert llm.n_asked == 3


def test_sums_of_a_journal_are_written_a_few_at_once():
    from atlas.memory.journal.summaries import Summariser, SummaryDraft
    from tests.support.records import entry

    llm = BusyLLM(lambda prompt: {"points": [{"text": "The parser broke.", "entries": ["1"]}]})
    sources = [entry(n, entry_type="reflection", content="The parser broke on tabs.", generation=n) for n in range(4)]
    draft = SummaryDraft(
        entry_type="reflection", first_generation=0, last_generation=3, content="Picked", source_ids=("a",)
    )
    written = run(Summariser(llm).write_all_with_model([draft] * 9, [sources] * 9, None))
    assert [one.written_by for one in written] == ["busy"] * 9
    assert llm.most_open == 3


@pytest.mark.parametrize("at_once", [1, 3])
def test_a_wait_that_is_cancelled_begins_no_other_question(at_once):
    begun = []

    async def cancelled(number: int) -> int:
        begun.append(number)
        raise Cancelled("the job was cancelled")

    with pytest.raises(Cancelled):
        list(call_concurrently(cancelled, range(9), at_once))
    assert len(begun) == at_once
