"""All memories behind one object: asking them at once, storing, and counting what was used."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from atlas.core.errors import InvalidInput, LLMUnavailable, NotFound
from atlas.core.hits import MemoryQueryResult, Retrieval
from atlas.core.settings import RankingWeights
from atlas.core.types import CodeConcept, Step, Strategy
from atlas.infra.bridge import run
from atlas.memory.experience.memory import ChromaExperienceMemory
from atlas.memory.open import open_memory
from atlas.memory.strategies.memory import ChromaStrategyBank
from atlas.memory.system import MemorySystemImpl
from atlas.testing import FixedClock, HashEmbedder, MemoryVectorStore, ScriptedLLM
from tests.support.memories import attempt, naming, task

REFUND = "refund the cancelled flight of a customer"
MEMORIES = ("experience", "concepts", "strategies", "journal")
CODE = "def refund(flight):\n    return flight\n"


class Whatever:
    """Abstracts every attempt to its task's description."""

    async def abstract(self, trajectory):
        return Strategy(situation=trajectory.task.description, suggestion="look it up", sources=(trajectory.id,))


@pytest.fixture
def memory(tmp_path):
    with open_memory(tmp_path / "store", embedder=HashEmbedder(), clock=FixedClock()) as made:
        made.strategies.abstractor = Whatever()
        yield made


class Meeting:
    """A memory of any kind that answers once all others were asked too."""

    def __init__(self, barrier):
        self._barrier = barrier

    async def search(self, asked, k=4):
        await self._barrier.wait()
        return []

    read = search

    def store(self, trajectory): ...
    def write(self, trajectory): ...

    embedder = HashEmbedder()

    def _prepare(self, search):
        """As a journal is asked."""
        return search

    def _search(self, search, *, count_retrieval):
        return Retrieval(hits=run(self.search(search.query)), n_hidden=3, threshold=0.0)


class Broken:
    """A journal, or a strategy bank, that no model serves."""

    embedder = HashEmbedder()

    def _prepare(self, search):
        raise LLMUnavailable("no model")

    def read(self, task, k=5):
        raise LLMUnavailable("no model")

    def write(self, trajectory):
        raise LLMUnavailable("no model")


def test_the_memories_are_asked_at_once():
    async def ask():
        barrier = asyncio.Barrier(4)  # would wait for ever if they were asked one after another
        system = MemorySystemImpl(*(Meeting(barrier) for _ in range(4)))
        async with asyncio.timeout(30):
            return await system.query(task(REFUND))

    result = asyncio.run(ask())
    assert (result.errors, result.n_hidden) == ({}, dict.fromkeys(MEMORIES, 0) | {"journal": 3})


def test_a_memory_that_fails_costs_its_own_part_and_is_reported():
    experience = ChromaExperienceMemory(HashEmbedder(), MemoryVectorStore())
    experience.store(attempt(REFUND))
    result = MemorySystemImpl(experience, None, Broken()).query_sync(task(REFUND))
    assert [found.task.description for found in result.experiences] == [REFUND]
    assert result.strategies == []
    assert result.errors == {"strategies": "LLMUnavailable: no model"}


def test_a_mistake_of_the_asker_is_an_error_and_no_part(memory):
    with pytest.raises(InvalidInput, match="expected 1 or more for k, got 0"):
        memory.build_context(task(REFUND), k=0)
    with pytest.raises(InvalidInput, match="expected 1 or more for k, got -1"):
        memory.build_context(task(REFUND), k=-1, by_words=True)
    with pytest.raises(InvalidInput, match="threshold"):
        memory.query_sync(task(REFUND), threshold=2.0)


@pytest.mark.parametrize("k", [0, -1])
def test_the_specified_query_for_no_results_finds_none(memory, k):
    assert memory.query_sync(task(REFUND), k) == MemoryQueryResult()
    assert asyncio.run(memory.query(task(REFUND), k)) == MemoryQueryResult()


def test_a_system_of_one_memory_or_none_answers():
    bank = ChromaStrategyBank(HashEmbedder(), MemoryVectorStore(), Whatever())
    system = MemorySystemImpl(strategies=bank)
    assert set(system.store(attempt(REFUND))) == {"strategies"}
    assert [found.situation for found in system.query_sync(task(REFUND)).strategies] == [REFUND]
    assert MemorySystemImpl().query_sync(task(REFUND)).ids == dict.fromkeys(MEMORIES, ())
    assert MemorySystemImpl().store(attempt(REFUND)) == {}
    assert MemorySystemImpl().build_context(task(REFUND)).text == ""
    with pytest.raises(NotFound, match="no strategy bank"):
        _ = MemorySystemImpl().strategies


def test_a_success_is_an_experience_and_a_strategy_in_one_operation(memory):
    ids = memory.store(attempt(REFUND))
    assert set(ids) == {"experience", "strategies"}
    memory.undo(memory.history()[0].id)
    assert (len(memory.experience), len(memory.strategies)) == (0, 0)


@pytest.mark.parametrize("success", [False, None])
def test_what_did_not_succeed_is_an_experience_alone(memory, success):
    assert set(memory.store(attempt(REFUND, success))) == {"experience"}
    assert len(memory.strategies) == 0


def test_many_attempts_stored_at_once_write_no_strategies(memory):
    memory.experience.store_many([attempt(f"{REFUND} {n}") for n in range(3)])
    assert (len(memory.experience), len(memory.strategies)) == (3, 0)


def test_a_model_that_fails_loses_no_experience(tmp_path):
    llm = ScriptedLLM([LLMUnavailable("set ANTHROPIC_API_KEY")])
    with open_memory(tmp_path / "store", embedder=HashEmbedder(), llm=llm) as memory:
        stored = memory.store(attempt(REFUND))
        assert memory.experience.get(stored["experience"]) is not None
        assert stored["errors"] == {"strategies": "LLMUnavailable: set ANTHROPIC_API_KEY"}


def test_an_outcome_counts_for_what_was_retrieved_for_its_task_and_named(memory):
    first = memory.store(attempt(REFUND))
    concept_id = memory.concepts.add(CodeConcept(name="refund", description=REFUND, code=CODE))
    retry = attempt(REFUND, False)
    memory.query_sync(retry.task)
    stored = memory.store(naming(retry, concept_id, *first.values()))
    assert stored["used"] == {
        "experience": [first["experience"]],
        "concepts": [concept_id],
        "strategies": [first["strategies"]],
    }
    [recorded] = memory.strategies.attempts(first["strategies"])
    assert (recorded.success, recorded.task_id, recorded.trajectory_id) == (False, retry.task.id, retry.id)
    assert memory.concepts.usage([concept_id])[concept_id].n_uses == 1
    assert "used" not in memory.store(attempt(REFUND, False)), "it was retrieved for one attempt"


def test_the_journal_answers_too_and_its_entries_count_as_used(memory):
    entry_id = memory.journal.add("reflection", f"to {REFUND}, look at the fare first", generation=3)
    retry = attempt(REFUND, True)
    block = memory.build_context(retry.task)
    assert block.shown["journal"] == (entry_id,)
    assert f"[entry {entry_id[:8]}] reflection, generation 3" in block.text
    assert memory.store(naming(retry, entry_id))["used"] == {"journal": [entry_id]}
    assert memory.journal.usage([entry_id])[entry_id].n_successes == 1


def test_a_journal_that_fails_costs_its_own_part(memory):
    memory.store(attempt(REFUND))
    system = MemorySystemImpl(memory.experience, None, memory.strategies, Broken())
    result = system.query_sync(task(REFUND))
    assert (len(result.experiences), len(result.strategies), result.journal_entries) == (1, 1, [])
    assert result.errors == {"journal": "LLMUnavailable: no model"}


def test_looking_counts_neither_as_retrieved_nor_as_used(memory):
    first = memory.store(attempt(REFUND))
    retry = attempt(REFUND, False)
    assert memory.query_sync(retry.task, count_retrieval=False).ids["strategies"] == (first["strategies"],)
    assert memory.experience.usage([first["experience"]])[first["experience"]].n_retrieved == 0
    assert "used" not in memory.store(retry)


def test_memories_can_be_left_out_and_ranked_otherwise(memory):
    first = memory.store(attempt(REFUND))
    alone = memory.ranked_with(RankingWeights(success=0.5, strictness=0.0), ["strategies"])
    result = alone.query_sync(task("cancel a flight"), count_retrieval=False)
    assert result.ids == dict.fromkeys(MEMORIES, ()) | {"strategies": (first["strategies"],)}
    never_tried = 0.025  # the bank's prior: the lower bound of its success rate
    assert result.strategy_hits[0].signals["success"] == pytest.approx(0.5 * never_tried)
    assert memory.strategies.weights == RankingWeights()


def test_an_attempt_may_say_what_it_used_and_is_told_what_nobody_knows(memory):
    first = memory.store(attempt(REFUND))
    retry = attempt(REFUND, True)
    memory.query_sync(retry.task)
    stored = memory.store(replace(retry, metadata={"used": [first["strategies"][:8], "nonsense"]}))
    assert stored["used"] == {"strategies": [first["strategies"]]}
    assert "'nonsense'" in stored["errors"]["used"]
    assert memory.strategies.rate(first["strategies"]).n_succeeded == 1


def test_what_was_deleted_meanwhile_and_what_has_no_memory_is_told(memory):
    first = memory.store(attempt(REFUND))
    memory.strategies.delete([first["strategies"]])
    used = {"strategies": [first["strategies"]], "entry": ["j"], "diary": ["d"]}
    stored = memory.store(replace(attempt(REFUND, False), metadata={"used": used}))
    assert "used" not in stored
    assert f"{first['strategies']!r}, 'j'" in stored["errors"]["used"]
    assert "for a memory in `used`, got 'diary'" in stored["errors"]["used"]


def test_an_attempt_may_name_memories_and_ids_as_a_context_block_shows_them(memory):
    first = memory.store(attempt(REFUND))["strategies"]
    stored = memory.store(replace(attempt("another task", False), metadata={"used": {"strategy": [first[:8]]}}))
    assert stored["used"] == {"strategies": [first]}
    stored = memory.store(replace(attempt("a third task", False), metadata={"used": {"strategy": [first[:7]]}}))
    assert repr(first[:7]) in stored["errors"]["used"]
    assert memory.strategies.rate(first).n == 1


def test_an_unknown_outcome_counts_for_nothing(memory):
    first = memory.store(attempt(REFUND))
    retry = attempt(REFUND, None)
    memory.query_sync(retry.task)
    assert set(memory.store(retry)) == {"experience"}
    assert memory.strategies.attempts(first["strategies"]) == []


def test_undoing_a_store_takes_its_outcome_back_and_doing_it_again_counts_it(memory):
    strategy_id = memory.strategies.add(Strategy(situation=REFUND, suggestion="look it up"))
    retry = attempt(REFUND, False)
    memory.query_sync(retry.task)
    assert memory.store(naming(retry, strategy_id))["used"] == {"strategies": [strategy_id]}
    undone = memory.undo(memory.history(1)[0].id)
    assert (memory.strategies.rate(strategy_id).n, memory.strategies.attempts(strategy_id)) == (0, [])
    memory.undo(undone.id)
    assert [use.trajectory_id for use in memory.strategies.attempts(strategy_id)] == [retry.id]


def test_storing_an_attempt_again_counts_its_outcome_once(memory):
    strategy_id = memory.strategies.add(Strategy(situation=REFUND, suggestion="look it up"))
    retry = replace(attempt(REFUND, False), metadata={"used": {"strategies": [strategy_id]}})
    memory.store(retry)
    memory.store(retry)
    assert memory.strategies.rate(strategy_id).n == 1


def test_what_was_found_and_neither_named_nor_repeated_is_not_used_but_its_number_is_known(memory):
    memory.store(attempt(REFUND))
    retry = attempt(REFUND, False)
    n_found = sum(map(len, memory.query_sync(retry.task).ids.values()))
    stored = memory.store(retry)
    assert "used" not in stored
    assert memory.experience.get(stored["experience"]).metadata["shown_records"] == n_found == 2


def test_text_of_a_query_that_reappears_in_the_steps_is_used(memory):
    advice = (
        "read the fare rules, look up whether insurance was bought, and only then cancel and name the refund to them"
    )
    strategy_id = memory.strategies.add(Strategy(situation=REFUND, suggestion=advice))
    retry = replace(attempt(REFUND), steps=(Step(thought=f"I will {advice}"),))
    memory.query_sync(retry.task)
    assert memory.store(retry)["used"] == {"strategies": [strategy_id]}


def test_what_the_context_shows_counts_rather_than_all_that_was_found(memory):
    first = memory.store(attempt(REFUND))
    retry = attempt(REFUND, False)
    block = memory.build_context(retry.task)
    assert block.shown["strategies"] == (first["strategies"],)
    assert f"[strategy {first['strategies'][:8]}]" in block.text
    assert memory.build_context(retry.task, 0).text == ""
    assert "used" not in memory.store(naming(retry, *first.values()))


def test_a_strategy_that_the_context_warns_of_does_not_count_as_used(memory):
    failing = memory.strategies.add(Strategy(situation=REFUND, suggestion="look it up"))
    for place in range(4):
        memory.store(replace(attempt(f"another task {place}", False), metadata={"used": {"strategies": [failing]}}))
    retry = attempt(REFUND, False)
    block = memory.build_context(retry.task)
    assert (block.shown["strategies"], block.warnings["strategies"]) == ((failing,), (failing,))
    assert "strategies" not in memory.store(naming(retry, failing)).get("used", {})
    assert memory.strategies.rate(failing).n == 4


def test_stores_without_usage_keep_the_experience_and_that_is_no_error():
    system = MemorySystemImpl(ChromaExperienceMemory(HashEmbedder(), MemoryVectorStore()))
    system.store(attempt(REFUND))
    system.query_sync(attempt(REFUND).task)
    assert set(system.store(attempt(REFUND))) == {"experience"}
