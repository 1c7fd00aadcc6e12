"""What the specifications let people plug in: memories with the methods of a protocol."""

from __future__ import annotations

import asyncio
import threading

import pytest

from atlas.core.errors import InvalidInput, NotFound
from atlas.core.hits import UNKNOWN_RELEVANCE
from atlas.core.settings import RankingWeights
from atlas.core.types import Strategy, Task
from atlas.memory.base.ranking import explain
from atlas.memory.experience.memory import ChromaExperienceMemory
from atlas.memory.open import open_memory
from atlas.memory.system import MemorySystemImpl
from atlas.protocols.memory import ConceptLibrary, ExperienceMemory, StrategyBank
from atlas.testing import FixedClock, HashEmbedder, MemoryVectorStore
from tests.support.contract.plain import (
    CODE,
    PLAIN,
    REFUND,
    PlainConcepts,
    PlainExperience,
    PlainStrategies,
    attempt,
    awaited,
    concept,
    failing,
    with_coroutines,
)
from tests.support.memories import naming

EMPTY = {"experience": (), "concepts": (), "strategies": (), "journal": ()}


@pytest.fixture(params=["sync", "async"])
def parts(request):
    return [(cls if request.param == "sync" else with_coroutines(cls))() for cls in PLAIN]


@pytest.fixture
def system(parts):
    return MemorySystemImpl(*parts)


def test_plain_memories_satisfy_the_protocols(parts):
    for part, protocol in zip(parts, (ExperienceMemory, ConceptLibrary, StrategyBank), strict=True):
        assert isinstance(part, protocol)


def test_a_success_is_stored_in_plain_memories_and_found_again(system, parts):
    experience, concepts, strategies = parts
    [concept_id] = concepts.held = {"c": concept(id="c")}
    assert system.store(attempt()) == {"experience": experience.held[0].id, "strategies": next(iter(strategies.held))}
    result = system.query_sync(Task("t", "airline", REFUND), 3)
    assert result.errors == {}
    assert result.ids == EMPTY | {
        "experience": (experience.held[0].id,),
        "concepts": (concept_id,),
        "strategies": tuple(strategies.held),
    }
    assert experience.asked == [Task("t", "airline", REFUND)], "it is asked with the whole task"


@pytest.mark.parametrize("success", [False, None])
def test_a_plain_bank_is_not_asked_to_abstract_what_did_not_succeed(system, parts, success):
    assert set(system.store(attempt(success=success))) == {"experience"}
    assert parts[2].held == {}


def test_they_are_awaited_on_the_callers_own_loop(parts):
    loops = []

    class Bank(PlainStrategies):
        async def read(self, task, k=5):
            loops.append(asyncio.get_running_loop())
            return []

    async def ask():
        await MemorySystemImpl(strategies=Bank()).query(Task("t", "", REFUND))
        return asyncio.get_running_loop()

    assert [asyncio.run(ask())] == loops


def test_sync_ones_are_asked_at_once_and_block_no_loop():
    barrier = threading.Barrier(3, timeout=60)  # would break if they were asked one after another

    def meeting(cls, name):
        return type("Meeting", (cls,), {name: lambda self, asked, k: [barrier.wait()][:0]})()

    system = MemorySystemImpl(*map(meeting, PLAIN, ("search", "search", "read")))
    assert asyncio.run(system.query(Task("t", "", REFUND))).errors == {}


def test_a_callable_that_gives_a_coroutine_is_awaited_too():
    bank = PlainStrategies()
    bank.read = lambda task, k: awaited(lambda: [Strategy(situation="s", suggestion="d", id="x")])()
    assert MemorySystemImpl(strategies=bank).query_sync(Task("t", "", REFUND)).ids["strategies"] == ("x",)


def test_each_that_fails_costs_its_own_part_of_an_answer():
    broken = failing(PlainExperience, "search")
    bank = PlainStrategies()
    system = MemorySystemImpl(broken, failing(PlainConcepts, "search"), bank)
    system.store(attempt())
    result = system.query_sync(Task("t", "", REFUND))
    assert result.errors == dict.fromkeys(("experience", "concepts"), "OSError: the disk is gone")
    assert result.ids["strategies"] == tuple(bank.held)


def test_each_that_fails_costs_its_own_part_of_storing():
    system = MemorySystemImpl(failing(PlainExperience, "store"), None, PlainStrategies())
    stored = system.store(attempt())
    assert set(stored) == {"strategies", "errors"}
    assert stored["errors"] == {"experience": "OSError: the disk is gone"}
    system = MemorySystemImpl(PlainExperience(), None, failing(PlainStrategies, "write"))
    stored = system.store(attempt())
    assert set(stored) == {"experience", "errors"}
    assert stored["errors"] == {"strategies": "OSError: the disk is gone"}


def test_one_that_fails_to_count_a_use_costs_its_own_part(parts):
    experience, concepts, _ = parts
    system = MemorySystemImpl(experience, concepts, failing(PlainStrategies, "update_stats"))
    concepts.held["c"] = concept(id="c")
    system.store(attempt())
    used = {"concepts": ["c"], "strategies": list(system.query_sync(attempt().task).ids["strategies"])}
    stored = system.store(attempt(success=False, used=used))
    assert stored["used"] == {"concepts": ["c"]}
    assert stored["errors"] == {"strategies": "OSError: the disk is gone"}
    assert len(experience.held) == 2


def test_what_is_no_answer_costs_its_own_part():
    concepts, bank = PlainConcepts(), PlainStrategies()
    concepts.search = lambda query, k: None
    bank.read = lambda task, k: [{"id": "s"}]
    errors = MemorySystemImpl(None, concepts, bank).query_sync(Task("t", "", REFUND)).errors
    assert "expected a list of CodeConcept from PlainConcepts.search(), got None" in errors["concepts"]
    assert "expected a list of Strategy from PlainStrategies.read(), got [{'id': 's'}]" in errors["strategies"]
    bank.write = lambda trajectory: "an id"
    assert "expected a Strategy or None" in MemorySystemImpl(None, None, bank).store(attempt())["errors"]["strategies"]


@pytest.mark.parametrize(
    ("given", "is_sync"),
    [
        *((SystemExit(2), is_sync) for is_sync in (True, False)),
        *((asyncio.CancelledError(), is_sync) for is_sync in (True, False)),
        *((StopIteration(), is_sync) for is_sync in (True, False)),
        (KeyboardInterrupt(), False),  # a sync one, in the main thread, cannot be told from the key
    ],
)
def test_one_that_raises_what_would_stop_the_program_or_the_loop_costs_its_own_part_too(given, is_sync):
    def end(*_):
        raise given

    async def end_later(*_):
        raise given

    class Ending(PlainStrategies):
        read = update_stats = end if is_sync else end_later

    experience = PlainExperience()
    system = MemorySystemImpl(experience, None, Ending())
    strategy_id = system.store(attempt())["strategies"]
    result = system.query_sync(Task("t", "", REFUND))
    assert (set(result.errors), len(result.experiences)) == ({"strategies"}, 1)
    stored = system.store(attempt(used={"strategies": [strategy_id]}))
    assert set(stored) == {"experience", "strategies", "errors"}
    assert set(stored["errors"]) == {"strategies"}


def test_whoever_stops_waiting_for_one_is_obeyed():
    async def ask():
        asked = asyncio.Event()

        class Waiting(PlainStrategies):
            async def read(self, task, k=5):
                asked.set()
                await asyncio.Event().wait()

        asking = asyncio.create_task(MemorySystemImpl(strategies=Waiting()).query(Task("t", "", REFUND)))
        async with asyncio.timeout(60):
            await asked.wait()
            asking.cancel()
            await asking

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(ask())


def test_more_than_was_asked_for_is_cut_and_none_is_not_asked_for():
    experience = PlainExperience()
    experience.search = lambda task, k: [experience.asked.append(task), *experience.held][1:]
    system = MemorySystemImpl(experience)
    for n in range(3):
        system.store(attempt(f"{REFUND} {n}"))
    assert len(system.query_sync(Task("t", "", REFUND), 2).experiences) == 2
    assert system.query_sync(Task("t", "", REFUND), 0).experiences == []
    assert len(experience.asked) == 1


def test_uses_are_counted_where_there_is_a_method_for_it(system, parts):
    _, concepts, strategies = parts
    concepts.held["c"] = concept(id="c")
    strategy_id = system.store(attempt())["strategies"]
    ids = system.query_sync(attempt().task).ids
    stored = system.store(attempt(success=False, used={name: list(ids[name]) for name in ("concepts", "strategies")}))
    assert stored["used"] == {"concepts": ["c"], "strategies": [strategy_id]}
    assert "errors" not in stored, "an experience memory has no method for it, which is no error"
    assert (concepts.outcomes, strategies.outcomes) == ([("c", False)], [(strategy_id, False)])


def test_an_attempt_may_name_what_it_used_as_a_context_block_shows_it(system, parts):
    strategy_id = system.store(attempt())["strategies"]
    block = system.build_context(attempt().task)
    assert f"[strategy {strategy_id[:8]}]" in block.text
    stored = system.store(attempt(success=False, used={"strategy": [strategy_id[:8]]}))
    assert stored["used"] == {"strategies": [strategy_id]}


def test_a_use_of_what_is_not_there_is_told(system):
    stored = system.store(attempt(used={"strategies": ["nobody"]}))
    assert "used" not in stored
    assert "'nobody'" in stored["errors"]["strategies"]


def test_their_hits_have_no_signals_and_say_so(system):
    system.store(attempt(success=False))
    [hit] = system.query_sync(Task("t", "", REFUND)).experience_hits
    assert (hit.similarity, hit.meaning, hit.words, hit.relevance) == (0.0, 0.0, 0.0, UNKNOWN_RELEVANCE)
    assert (dict(hit.signals), hit.rank_value, dict(hit.outcomes)) == ({}, 0.0, {"failed": 1})
    assert explain(hit) == "The memory that found it does not explain its ranking."


def test_a_context_is_built_of_them(system, parts):
    parts[1].held["c"] = concept(id="c")
    stored = system.store(attempt())
    block = system.build_context(attempt().task)
    assert block.shown == {
        "experience": (stored["experience"],),
        "concepts": ("c",),
        "strategies": (stored["strategies"],),
        "journal": (),
    }
    assert CODE.splitlines()[0] in block.text
    assert block.counted_with == "an estimate of 3 characters a token"
    assert 0 < block.n_tokens <= block.budget_tokens


@pytest.mark.parametrize(
    ("known", "record"),
    [
        ({"usage_count": 10, "success_rate": 0.9}, "succeeded in 9 of 10 uses"),
        ({"usage_count": 10, "success_rate": 0.0}, "succeeded in 0 of 10 uses"),
        ({"usage_count": 10, "success_rate": 0.4, "n_succeeded": 5}, "succeeded in 5 of 10 uses"),
        ({}, "not used yet"),
    ],
)
def test_a_record_is_told_from_the_rate_where_nobody_counted_successes(parts, known, record):
    _, _, bank = parts
    bank.held["s"] = Strategy(id="s", situation=REFUND, suggestion="look it up", **known)
    text = MemorySystemImpl(None, None, bank).build_context(attempt().task).text
    assert f"  Record: {record}" in text


@pytest.mark.parametrize("rate", [None, "9 of 10", float("nan"), 90])
def test_a_rate_that_is_none_costs_its_own_record_at_most(parts, rate):
    _, _, bank = parts
    bank.held["s"] = Strategy(id="s", situation=REFUND, suggestion="look it up", usage_count=10, success_rate=rate)
    result = MemorySystemImpl(None, None, bank).query_sync(attempt().task)
    assert ([one.id for one in result.strategies], result.errors) == (["s"], {})


def test_they_are_given_back_as_they_are_and_have_nothing_that_only_ours_offer(system, parts):
    assert [system.experience_memory, system.concept_library, system.strategy_bank] == parts
    with pytest.raises(NotFound, match=r"memory system is of the type \w+, not ATLAS's own"):
        _ = system.experience
    with pytest.raises(NotFound, match="the concept library of this memory system is"):
        _ = system.concepts
    with pytest.raises(NotFound, match=r"the strategy bank .* use `strategy_bank`"):
        _ = system.strategies
    with pytest.raises(NotFound, match="no store"):
        system.revision()
    with system:
        pass


def test_other_weights_and_a_choice_of_them_leave_them_as_they_are(system, parts):
    stored = system.store(attempt())
    alone = system.ranked_with(RankingWeights(success=0.5), ["strategies"])
    assert alone.strategy_bank is parts[2]
    ids = alone.query_sync(attempt().task, threshold=0.9, count_retrieval=False).ids
    assert ids == EMPTY | {"strategies": (stored["strategies"],)}


def test_ours_and_others_work_side_by_side(tmp_path):
    bank = PlainStrategies()
    with open_memory(tmp_path / "store", embedder=HashEmbedder(), clock=FixedClock()) as ours:
        system = MemorySystemImpl(ours.experience, ours.concepts, bank, ours.journal, storage=ours.storage)
        concept_id = system.concepts.add(concept())
        first = system.store(attempt())
        assert first["strategies"] in bank.held
        retry = attempt(success=False)
        result = system.query_sync(retry.task)
        assert result.experience_hits[0].signals
        assert not result.strategy_hits[0].signals
        stored = system.store(naming(retry, concept_id, *first.values()))
        assert stored["used"] == {
            "experience": [first["experience"]],
            "concepts": [concept_id],
            "strategies": [first["strategies"]],
        }
        assert system.undo(system.history(1)[0].id).kind == "undo"
        assert ours.concepts.get(concept_id).usage_count == 0, "one operation holds all of ours"
        assert system.revision() == ours.revision()


def test_what_ours_refuses_is_stored_nowhere():
    bank = PlainStrategies()
    system = MemorySystemImpl(ChromaExperienceMemory(HashEmbedder(), MemoryVectorStore()), None, bank)
    with pytest.raises(InvalidInput, match="has no description"):
        system.store(attempt(" "))
    assert bank.held == {}


def test_a_memory_without_what_a_system_calls_is_refused_when_it_is_given():
    with pytest.raises(
        InvalidInput,
        match=r"expected the methods read and write, .* strategy bank, got .PlainConcepts. without read and write",
    ):
        MemorySystemImpl(strategies=PlainConcepts())
    with pytest.raises(
        InvalidInput, match=r"expected the methods search and store, .* experience memory, got .str. without"
    ):
        MemorySystemImpl(experience="memory")


def test_an_empty_plain_memory_is_a_memory():
    experience = PlainExperience()
    assert len(experience) == 0
    assert set(MemorySystemImpl(experience).store(attempt())) == {"experience"}
