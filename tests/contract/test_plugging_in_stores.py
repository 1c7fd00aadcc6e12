"""What the specifications let people plug in: vector stores with four methods, and what a memory keeps in them."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest

from atlas.core.errors import InvalidInput, NotFound, StoreError
from atlas.core.types import Strategy
from atlas.memory.base.success_rates import BayesianUpdater, EMASuccessUpdater, SimpleAverageUpdater
from atlas.memory.concepts.memory import ChromaConceptLibrary
from atlas.memory.experience.memory import ChromaExperienceMemory
from atlas.memory.experience.refinement.heuristic import HeuristicRefineStrategy
from atlas.memory.strategies.memory import ChromaStrategyBank
from atlas.memory.system import MemorySystemImpl
from atlas.storage.plain.scoped_store import FIRST_REQUESTED
from atlas.testing import HashEmbedder
from tests.support.contract.plain import REFUND, FiveMethods, FourMethods, PlainExperience, SixMethods, attempt, concept
from tests.support.memories import naming


class ByDescription:
    async def abstract(self, trajectory):
        described = trajectory.task.description
        return Strategy(situation=described, suggestion="look it up", sources=(trajectory.id,))


def bank_over(store, updater=EMASuccessUpdater(alpha=0.5)):
    return ChromaStrategyBank(HashEmbedder(), store, ByDescription(), updater)


@pytest.fixture(params=[FourMethods, FiveMethods, SixMethods])
def plain(request):
    return request.param()


def test_the_updater_keeps_a_strategys_rate_in_a_plain_stores_metadata(plain):
    bank = bank_over(plain)
    written = bank.write(attempt())
    assert (written.usage_count, written.success_rate) == (0, 0.5)
    for success in (True, True, False):
        bank.update_stats(written.id, success)
    said = plain.metadata(written.id)
    assert (said["usage_count"], said["n_succeeded"], said["success_rate"]) == (3, 2, 0.4375)
    got = bank.get(written.id)
    assert (got.usage_count, got.n_succeeded, got.success_rate) == (3, 2, 0.4375)
    assert bank.read(attempt().task) == [got]
    rate = bank.rate(written.id)
    assert (rate.rate, rate.n, rate.n_succeeded) == (0.4375, 3, 2)
    assert bank_over(plain).get(written.id) == got, "another bank over the store reads the same"


def test_any_updater_is_asked_with_what_the_store_holds(plain):
    asked = []

    class Spy(BayesianUpdater):
        def update(self, current_rate, current_count, success):
            asked.append((current_rate, current_count, success))
            return super().update(current_rate, current_count, success)

    bank = bank_over(plain, Spy())
    strategy_id = bank.add(Strategy(situation=REFUND, suggestion="look it up"))
    bank.update_stats(strategy_id, True)
    bank.update_stats(strategy_id, False)
    assert asked == [(0.5, 0, True), (2 / 3, 1, False)]


def test_uses_of_a_concept_are_kept_in_a_plain_stores_metadata(plain):
    library = ChromaConceptLibrary(HashEmbedder(), plain)
    concept_id = library.add(concept(usage_count=1, success_rate=1.0))
    assert library.get(concept_id).usage_count == 1
    library.update_stats(concept_id, True)
    library.update_stats(concept_id, False)
    said = plain.metadata(concept_id)
    assert (said["usage_count"], said["success_rate"]) == (3, pytest.approx(2 / 3))
    [found] = library.search(REFUND)
    assert found == library.get(concept_id)
    assert (found.usage_count, found.success_rate) == (3, pytest.approx(2 / 3))
    assert library.uses(concept_id).n_successes == 2


def test_what_is_not_there_is_said_and_nothing_is_written(plain):
    with pytest.raises(NotFound, match="'nobody'"):
        bank_over(plain).update_stats("nobody", True)
    with pytest.raises(NotFound, match="'nobody'"):
        ChromaConceptLibrary(HashEmbedder(), plain).update_stats("nobody", True)
    assert plain.rows == {}


def test_editing_and_one_more_source_leave_the_uses_as_they_are(plain):
    bank, library = bank_over(plain), ChromaConceptLibrary(HashEmbedder(), FiveMethods())
    strategy_id = bank.write(attempt()).id
    bank.update_stats(strategy_id, True)
    assert len(bank.write(attempt()).sources) == 2
    bank.edit(strategy_id, suggestion="ask first")
    assert (bank.get(strategy_id).usage_count, bank.get(strategy_id).success_rate) == (1, 0.75)
    concept_id = library.add(concept())
    library.update_stats(concept_id, True)
    assert library.edit(concept_id, description="pay back").usage_count == 1
    assert library.get(concept_id).usage_count == 1


def test_outcomes_retire_and_order_strategies_of_a_plain_store_too(plain):
    bank = bank_over(plain)
    fails, works = (bank.add(Strategy(situation=REFUND, suggestion=said)) for said in ("guess", "look it up"))
    for _ in range(3):
        bank.update_stats(works, True)
        bank.update_stats(fails, False)
    assert [one.id for one in bank.read(attempt().task)] == [works, fails]
    for _ in range(12):
        bank.update_stats(fails, False)
    assert [one.id for one in bank.read(attempt().task)] == [works]


def test_a_system_counts_what_an_attempt_used_over_plain_stores(plain):
    bank, library = bank_over(plain), ChromaConceptLibrary(HashEmbedder(), FiveMethods())
    concept_id, strategy_id = library.add(concept()), bank.write(attempt()).id
    system = MemorySystemImpl(None, library, bank)
    retry = attempt(success=False)
    system.query_sync(retry.task)
    assert system.store(naming(retry, concept_id, strategy_id)) == {
        "used": {"concepts": [concept_id], "strategies": [strategy_id]}
    }
    assert (library.get(concept_id).usage_count, bank.get(strategy_id).success_rate) == (1, 0.25)


def test_experiences_whose_metadata_is_the_users_own_keep_it_and_are_not_counted(plain):
    memory = ChromaExperienceMemory(HashEmbedder(), plain)
    experience_id = memory.store(attempt(usage_count=7, success_rate=0.1))
    with pytest.raises(InvalidInput, match="keeps no usage"):
        memory.record_use(experience_id, True)
    assert memory.usage([experience_id])[experience_id].n_uses == 0
    system = MemorySystemImpl(memory)
    retry = attempt(success=False)
    assert system.query_sync(retry.task).ids["experience"] == (experience_id,)
    assert set(system.store(retry)) == {"experience"}, "that nothing can be counted is no error"
    assert plain.metadata(experience_id)["usage_count"] == 7


class FailingAdds(FiveMethods):
    """A store that takes so many records in all, and then fails so often before it takes others."""

    def __init__(self, n_taken, n_failing):
        super().__init__()
        self.left, self.failing = n_taken, n_failing

    async def add(self, ids, embeddings, metadatas, documents):
        if self.left == 0 and self.failing:
            self.failing -= 1
            raise OSError("quota exceeded")
        self.left -= 1 if self.left else 0
        await super().add(ids, embeddings, metadatas, documents)


def test_a_record_whose_second_add_fails_is_put_back_as_it_was():
    store = FailingAdds(n_taken=1, n_failing=1)
    bank = bank_over(store)
    written = bank.write(attempt())
    rows = dict(store.rows)
    with pytest.raises(OSError, match="quota exceeded"):
        bank.update_stats(written.id, True)
    assert store.rows == rows
    assert bank.get(written.id) == written
    bank.update_stats(written.id, True)
    assert bank.get(written.id).usage_count == 1


def test_an_edit_whose_add_fails_leaves_the_record_as_it_was():
    store = FailingAdds(n_taken=1, n_failing=1)
    library = ChromaConceptLibrary(HashEmbedder(), store)
    concept_id = library.add(concept())
    with pytest.raises(OSError, match="quota exceeded"):
        library.edit(concept_id, description="pay back")
    assert library.get(concept_id).description == REFUND


def test_a_record_that_cannot_be_put_back_either_stands_in_the_message():
    store = FailingAdds(n_taken=1, n_failing=2)
    bank = bank_over(store)
    written = bank.write(attempt())
    kept = {"id": written.id, "document": written.situation, "metadata": store.metadata(written.id)}
    with pytest.raises(StoreError, match=r"failed to add the new ones \(OSError\('quota exceeded'\)\)") as raised:
        bank.update_stats(written.id, True)
    said = str(raised.value)
    assert json.loads(said[said.index("[{") :]) == [kept]
    assert isinstance(raised.value.__cause__, OSError)
    assert store.rows == {}


def test_a_system_tells_of_a_record_that_is_lost():
    store = FailingAdds(n_taken=1, n_failing=2)
    bank = bank_over(store)
    strategy_id = bank.write(attempt()).id
    experience = PlainExperience()
    stored = MemorySystemImpl(experience, None, bank).store(attempt(success=False, used={"strategies": [strategy_id]}))
    assert "StoreError: the vector store deleted records" in stored["errors"]["strategies"]
    assert strategy_id in stored["errors"]["strategies"]
    assert len(experience.held) == 1


def test_a_delete_that_fails_after_it_deleted_is_put_right_too():
    class Deleting(FiveMethods):
        async def delete(self, ids):
            await super().delete(ids)
            raise TimeoutError("no reply")

    store = Deleting()
    bank = bank_over(store)
    written = bank.write(attempt())
    with pytest.raises(TimeoutError, match="no reply"):
        bank.update_stats(written.id, True)
    assert bank.get(written.id) == written


def test_what_was_begun_for_one_who_stops_waiting_is_ended_before_others_have_their_turn():
    class Slow(FiveMethods):
        is_slow = False

        async def add(self, ids, embeddings, metadatas, documents):
            if self.is_slow:
                self.reached.set()
                await self.may_go_on.wait()
            await super().add(ids, embeddings, metadatas, documents)

    async def use():
        store = Slow()
        bank = bank_over(store)
        written = await bank.awrite(attempt())
        store.is_slow, store.reached, store.may_go_on = True, asyncio.Event(), asyncio.Event()
        counting = asyncio.create_task(bank.aupdate_stats(written.id, True))
        waiting = asyncio.create_task(bank.aupdate_stats(written.id, True))
        async with asyncio.timeout(60):
            await store.reached.wait()
        counting.cancel()
        store.may_go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await counting
        await waiting
        return await bank.aget(written.id)

    assert asyncio.run(use()).usage_count == 2


def test_a_store_whose_get_gives_no_embeddings_is_told_before_anything_is_deleted():
    class Blind(FiveMethods):
        async def get(self, ids):
            return [row | {"embedding": None} for row in await super().get(ids)]

    store = Blind()
    bank = bank_over(store)
    strategy_id = bank.write(attempt()).id
    with pytest.raises(
        InvalidInput, match=r"'Blind' returns no embedding of record .* its `get` should return dicts of `id`"
    ):
        bank.update_stats(strategy_id, True)
    assert list(store.rows) == [strategy_id]


def test_uses_that_are_counted_at_once_are_all_counted(plain):
    banks = [bank_over(plain, SimpleAverageUpdater()) for _ in range(4)]
    strategy_id = banks[0].write(attempt()).id

    async def use(bank):
        await asyncio.gather(*(bank.aupdate_stats(strategy_id, n % 2 == 0) for n in range(10)))

    def in_a_loop_of_its_own(bank):
        asyncio.run(use(bank))

    threads = [threading.Thread(target=in_a_loop_of_its_own, args=(bank,)) for bank in banks[1:]]
    for thread in threads:
        thread.start()
    for n in range(10):
        banks[0].update_stats(strategy_id, n % 2 == 0)
    for thread in threads:
        thread.join()
    found = banks[0].get(strategy_id)
    assert (found.usage_count, found.n_succeeded, found.success_rate) == (40, 20, pytest.approx(0.5))


def test_a_store_that_cannot_count_does_everything_else_and_says_what_len_needs():
    store = FourMethods()
    bank, library = bank_over(store), ChromaConceptLibrary(HashEmbedder(), FourMethods())
    assert bank.read(attempt().task) == []
    strategy_id, concept_id = bank.write(attempt()).id, library.add(concept())
    assert [one.id for one in bank.read(attempt().task)] == [strategy_id]
    assert [one.id for one in library.search(REFUND)] == [concept_id]
    assert (bank.count({"title": REFUND}), bank.count(), library.count()) == (1, 1, 1)
    for memory in (bank, library, ChromaExperienceMemory(HashEmbedder(), FourMethods())):
        with pytest.raises(
            InvalidInput, match=r"'FourMethods' has no `count`, which len\(\) needs; give it a coroutine"
        ):
            len(memory)


def test_a_store_that_cannot_count_is_listed_to_prune_and_merge_its_records():
    memory = ChromaExperienceMemory(HashEmbedder(), FourMethods())
    ids = [memory.store(attempt(f"{REFUND} {n}")) for n in range(3)]
    assert memory.plan_merge([ids]).n_removed == 2
    assert memory.plan_refine(ids, HeuristicRefineStrategy(HashEmbedder())).n_total == 3
    assert memory.prune({"max_count": 1}) == 2
    assert memory.count() == 1
    bank = bank_over(FourMethods())
    written = [bank.add(Strategy(situation=f"{REFUND} {n}", suggestion="look it up")) for n in range(2)]
    assert len(bank.plan_merge([written]).groups) == 1


def test_a_store_that_cannot_count_lists_more_than_it_is_first_asked_for():
    library = ChromaConceptLibrary(HashEmbedder(), FourMethods())
    added = library.add_many(
        [concept(name=f"f{n}", code=f"def f{n}():\n    return {n}\n") for n in range(FIRST_REQUESTED + 1)]
    )
    assert (len(added), set(library.ids())) == (FIRST_REQUESTED + 1, set(added))
