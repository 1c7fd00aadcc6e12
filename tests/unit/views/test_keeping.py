"""Taking records out of a plan that was previewed, and the figure of what is left of it."""

from __future__ import annotations

import pytest

import atlas
from atlas.core.errors import InvalidInput, PlanOutdated
from atlas.memory.experience.refinement.heuristic import HeuristicRefineStrategy
from atlas.testing import HashEmbedder
from atlas.views.experience.proposals import MergeRequest, PruneRequest, RefineRequest
from atlas.views.journal.kind import ENTRIES
from atlas.views.journal.proposals import CompactRequest
from atlas.views.kinds.concept import CONCEPT
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.strategy import STRATEGY
from atlas.views.shared.plans import SparingRequest, offer
from atlas.views.shared.retirement import RetireRequest
from atlas.views.strategies.kind import STRATEGIES
from tests.support.memories import attempt
from tests.support.records import concept, entry


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as memory:
        yield memory


@pytest.fixture
def ids(memory):
    tasks = ["repair the pump", "paint the fence", "bake some bread"]
    return memory.experience.store_many([attempt(task, solution=task[::-1]) for task in tasks])


def test_a_record_to_keep_leaves_the_pruning(memory, ids):
    request = PruneRequest(among=tuple(ids))
    assert request.propose(memory).view.loss.ids_to_keep == tuple(sorted(ids))
    kept = request.keep_records(ids[:1]).keep_records(ids[1:2]).propose(memory)
    assert kept.removed_ids == (ids[2],)
    assert kept.view.loss.sentence == "1 of 1 task loses its best record"
    operation = kept.apply(memory)
    assert memory.storage.operation(operation).reason == "1 of 1 task loses its best record"


def test_an_offer_unticks_what_tasks_need_and_follows_the_ticks(memory):
    tasks = ["repair the pump", "repair the pump", "repair the pump now", "bake some bread"]
    ids = memory.experience.store_many([attempt(task, solution=f"turn bolt {n}") for n, task in enumerate(tasks)])
    advised = offer(memory, PruneRequest(among=tuple(ids[:3])))
    needed = frozenset(advised.whole.view.loss.ids_to_keep)
    assert needed < {*ids[:3]}
    assert (advised.kept, {*advised.plan.removed_ids}) == (needed, {*ids[:3]} - needed)
    assert advised.plan.view.loss.n_losing == 0
    assert (advised.plan.view.heading, *advised.reasons) == (
        "Delete 1 successful experience", "2 of the 3 you chose stay: they are the best records of 2 tasks.",
    )  # fmt: skip
    ticked = advised.keeping(memory, ())
    assert ticked.plan is advised.whole
    assert (ticked.plan.view.heading, ticked.reasons) == ("Delete 3 successful experiences", ())
    assert offer(memory, ticked.request, ids[1:3]).plan.removed_ids == (ids[0],)
    assert offer(memory, ticked.request, ticked.kept).plan.view.heading == ticked.plan.view.heading


def test_an_offer_unticks_nothing_if_nothing_would_be_left(memory, ids):
    assert not offer(memory, PruneRequest(among=tuple(ids))).kept
    first, second = (
        memory.strategies.add(atlas.Strategy(title=title, situation="repair the pump", suggestion=f"turn the {title}"))
        for title in ("bolt", "nut")
    )
    everything = offer(memory, STRATEGIES.act("merge").request((first, second)))
    assert (everything.kept, everything.can_untick) == (frozenset(), True)
    with pytest.raises(InvalidInput, match="at least two records"):
        everything.keeping(memory, everything.plan.removed_ids)


def test_an_unticked_record_that_was_deleted_since_is_not_counted_as_kept(memory, ids):
    request = PruneRequest(among=tuple(ids))
    unticked = offer(memory, request).keeping(memory, ids[:2])
    memory.experience.delete(ids[:1])
    again = offer(memory, request, unticked.kept)
    assert again.kept == {ids[1]}
    assert again.reasons == ("1 of the 2 you chose stays: it is the best record of 1 task.",)


def test_a_record_to_keep_leaves_its_group(memory, ids):
    request = MergeRequest(groups=(tuple(ids),)).keep_records(ids[:1])
    assert request.groups == (tuple(ids[1:]),)
    assert len(request.propose(memory).removed_ids) == 1
    assert request.keep_records(ids[1:2]).groups == ()


def test_a_record_to_keep_leaves_the_refinement(memory):
    ids = memory.experience.store_many([attempt("repair the pump", solution=each) for each in ("this", "this", "that")])
    plan = memory.experience.plan_refine(ids, HeuristicRefineStrategy(memory.experience.embedder))
    going = RefineRequest(plan=plan).propose(memory).removed_ids
    assert going
    proposal = RefineRequest(plan=plan).keep_records(going[:1]).propose(memory)
    assert proposal.removed_ids == going[1:]


def test_an_entry_to_keep_leaves_the_compaction(memory):
    memory.journal.add_entries([entry(n) for n in range(12)])
    plan = memory.journal.plan_compact(2, max_entries=4)
    gone = [eviction.id for eviction in plan.evictions]
    proposal = CompactRequest(plan=plan).keep_records(gone[:1]).propose(memory)
    assert proposal.removed_ids == tuple(gone[1:])
    assert proposal.view.loss.n_removed == len(gone) - 1


def test_a_record_to_keep_is_not_deleted(memory):
    ids = memory.journal.add_entries([entry(n) for n in range(3)])
    request = ENTRIES.act("delete").request(tuple(ids[:2]))
    assert isinstance(request, SparingRequest)
    proposal = request.keep_records(ids[:1]).propose(memory)
    assert proposal.removed_ids == (ids[1],)
    proposal.apply(memory)
    assert set(memory.journal.ids()) == {ids[0], ids[2]}


def test_retiring_is_measured_before_and_tells_the_history_what_it_costs(memory):
    source = attempt("repair the pump")
    memory.experience.store(source)
    lesson = atlas.Strategy(title="pump", situation="repair the pump", suggestion="bolt first", sources=(source.id,))
    strategy_id = memory.strategies.add(lesson)
    request = RetireRequest(STRATEGY, (strategy_id,))
    proposal = request.propose(memory)
    assert [record.id for record in proposal.view.loss.lost] == [strategy_id]
    assert request.keep_records([strategy_id]).propose(memory).view.button == ""
    operation = proposal.apply(memory)
    assert memory.storage.operation(operation).reason == "1 of 1 task loses its best record"


@pytest.fixture
def with_concepts(memory):
    """Two concepts, each found in the only attempt at a task."""
    ids = memory.experience.store_many([attempt(task) for task in ("repair the pump", "paint the fence")])
    memory.concepts.add_many([concept(n, found_in=(record_id,)) for n, record_id in enumerate(ids)])
    return memory


def test_a_retirement_is_measured_before_it_changes_anything_and_keeps_what_is_named(with_concepts):
    memory, ids = with_concepts, tuple(with_concepts.concepts.ids())
    found = {i for i in ids if memory.curation_loss("concepts", {i: ""}).lost}
    request = RetireRequest(CONCEPT, (*ids, "gone"))
    proposal = request.propose(memory)
    assert proposal.view.loss == memory.curation_loss("concepts", dict.fromkeys(ids, ""))
    assert {*proposal.view.loss.ids_to_keep} == found
    assert (proposal.view.button, proposal.removed_ids) == ("Retire 2 concepts", ())
    assert memory.concepts.count({"marks.buried": True}) == 0
    kept = request.keep_records(ids[:1]).propose(memory)
    operation = kept.apply(memory)
    assert memory.concepts.ids({"marks.buried": True}) == [ids[1]]
    assert memory.storage.operation(operation).reason == kept.view.loss.sentence
    assert kept.done_sentence == f"Retired 1 concept; {kept.view.loss.sentence}"


def test_a_retirement_is_refused_once_a_record_of_it_was_retired(memory, ids):
    proposal = RetireRequest(EXPERIENCE, tuple(ids)).propose(memory)
    memory.experience.change_marks(ids[:1], buried=True)
    with pytest.raises(PlanOutdated, match="the experiences have changed since this was planned"):
        proposal.apply(memory)
    assert memory.experience.ids({"marks.buried": True}) == ids[:1]


def test_a_merge_of_strategies_is_measured(memory):
    ids = [
        memory.strategies.add(
            atlas.Strategy(title=title, situation="repair the pump", suggestion=f"turn the bolt of the {title}")
        )
        for title in ("pump", "pumps")
    ]
    view = STRATEGIES.act("merge").request(tuple(ids)).propose(memory).view
    assert (view.loss.n_removed, view.loss.sentence) == (1, "no task to replay")
