"""All that somebody did since a time is undone as one act, previewed first. What others changed since stays."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import atlas
from atlas.core.errors import InvalidInput, NotAllowed, PlanOutdated
from atlas.core.operations import ANY_OPERATION, Operations
from atlas.infra.actor import Actor, Role, acting
from atlas.testing import FixedClock, HashEmbedder
from atlas.views.history.undoing import UndoManyRequest
from tests.support.records import attempt

CRAWLER = Actor("crawler", Role.WRITER)
CURATOR = Actor("curator", Role.CURATOR)
CRAWLED = Operations(actor="crawler")


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def memory(tmp_path: Path, clock: FixedClock) -> Iterator[atlas.MemorySystem]:
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(), clock=clock) as opened:
        yield opened


def store(memory: atlas.MemorySystem, actor: Actor, text: str, **given: object) -> str:
    with acting(actor):
        stored: str = memory.store(attempt(text, **given))["experience"]  # type: ignore[arg-type]
        return stored


def there(memory: atlas.MemorySystem) -> list[str]:
    return sorted(one.task.description for one in memory.experience.get_many(memory.experience.ids()))


def test_all_of_somebody_since_a_time_is_undone_as_one_and_done_again(memory, clock):
    strategy = memory.strategies.add(atlas.Strategy(situation="Sorting", suggestion="Use sorted"))
    store(memory, CRAWLER, "before")
    clock.advance(timedelta(hours=1))
    since = clock.now()
    store(memory, CRAWLER, "after", used={"strategies": [strategy]})
    store(memory, CURATOR, "another's")
    with acting(CRAWLER):
        memory.journal.add("observation", "the disk is full", generation=0)
        memory.experience.change_marks(memory.experience.ids()[:1], add_tags=["mine"])
    wanted = Operations(actor="crawler", since=since)
    with acting(CURATOR):
        plan = memory.plan_undo(wanted)
        assert ([one.kind for one in plan.undone], plan.refused) == (["mark", "store", "store"], ())
        assert there(memory) == ["after", "another's", "before"]
        done = memory.apply_undo(wanted, plan)
    assert there(memory) == ["another's", "before"]
    assert len(memory.journal) == 0
    assert memory.strategies.usage([strategy])[strategy].n_uses == 0
    assert memory.experience.column("marks.tags") == {}
    [operation] = memory.history(1)
    assert (operation.id, operation.actor) == (done.id, "curator")
    assert operation.reason.startswith("took back all that crawler did since")
    assert memory.plan_undo(wanted).undone == ()
    again = memory.undo(done.id)
    assert there(memory) == ["after", "another's", "before"]
    assert memory.strategies.usage([strategy])[strategy].n_uses == 1
    assert len(memory.plan_undo(wanted).undone) == 3
    memory.undo(again.id)
    assert there(memory) == ["another's", "before"]
    assert memory.strategies.usage([strategy])[strategy].n_uses == 0
    assert memory.plan_undo(wanted).undone == ()


def test_what_others_changed_since_is_listed_with_the_reason_and_stays(memory):
    kept = store(memory, CRAWLER, "changed by a person")
    store(memory, CRAWLER, "untouched")
    memory.experience.edit(kept, feedback="mine")
    plan = memory.plan_undo(CRAWLED)
    assert len(plan.undone) == 1
    [(refused, why)] = plan.refused
    assert refused.actor == "crawler"
    assert "was changed later, by edit" in why
    memory.apply_undo(CRAWLED, plan)
    assert there(memory) == ["changed by a person"]


def test_changes_of_one_record_by_the_same_are_undone_in_their_order(memory):
    one = store(memory, CRAWLER, "edited twice")
    with acting(CRAWLER):
        memory.experience.edit(one, feedback="first")
        memory.experience.edit(one, feedback="second")
        memory.undo(memory.history(1)[0].id)
        memory.experience.edit(one, feedback="third")
    plan = memory.plan_undo(CRAWLED)
    assert plan.refused == ()
    assert [operation.kind for operation in plan.undone] == ["edit", "edit", "store"]
    memory.apply_undo(CRAWLED, plan)
    assert there(memory) == []


def test_what_somebody_undid_of_others_is_done_again(memory):
    one = memory.experience.store(attempt("mine"))
    stored = memory.history(1)[0].id
    with acting(CURATOR):
        memory.undo(stored)
    assert there(memory) == []
    wanted = Operations(actor="curator")
    memory.apply_undo(wanted, memory.plan_undo(wanted))
    assert memory.experience.get(one) is not None
    assert memory.operation(stored).undone_by is None


def test_exactly_what_was_previewed_is_undone_while_its_author_goes_on_writing(memory):
    kept = store(memory, CRAWLER, "changed by a person")
    memory.experience.edit(kept, feedback="mine")
    store(memory, CRAWLER, "one")
    store(memory, CRAWLER, "two")
    plan = memory.plan_undo(CRAWLED)
    for text in ("three", "four", "five"):
        store(memory, CRAWLER, text)
    done = memory.apply_undo(CRAWLED, plan)
    assert there(memory) == ["changed by a person", "five", "four", "three"]
    assert (done.outcome, done.n_later) == (plan.outcome, 3)
    memory.undo(done.id)
    assert there(memory) == ["changed by a person", "five", "four", "one", "three", "two"]


def test_whoever_undoes_everybodys_leaves_what_came_since_and_its_own_undo_is_not_counted(memory, clock):
    wanted = Operations(since=clock.now())
    store(memory, CRAWLER, "one")
    plan = memory.plan_undo(wanted)
    store(memory, CURATOR, "two")
    assert memory.apply_undo(wanted, plan).n_later == 1
    assert there(memory) == ["two"]


def test_a_page_tells_how_many_operations_came_since(memory):
    store(memory, CRAWLER, "one")
    proposal = UndoManyRequest(wanted=CRAWLED).propose(memory)
    store(memory, CRAWLER, "two")
    assert proposal.apply(memory) is not None
    assert proposal.done_sentence == "Undid 1 operation. 1 more came since: preview again"


def test_where_what_would_be_undone_was_changed_since_nothing_is_undone_and_the_reason_is_told(memory):
    one = store(memory, CRAWLER, "one")
    store(memory, CRAWLER, "two")
    plan = memory.plan_undo(CRAWLED)
    memory.experience.edit(one, feedback="mine")
    with pytest.raises(PlanOutdated, match=f"{one} was changed later, by edit .*Nothing was done; reload"):
        memory.apply_undo(CRAWLED, plan)
    assert there(memory) == ["one", "two"]


def test_where_some_of_it_was_undone_since_nothing_is_undone(memory):
    store(memory, CRAWLER, "one")
    store(memory, CRAWLER, "two")
    plan = memory.plan_undo(CRAWLED)
    memory.undo(plan.undone[1].id)
    with pytest.raises(
        PlanOutdated, match="1 of these operations has been undone since the plan was made; nothing was done"
    ):
        memory.apply_undo(CRAWLED, plan)
    assert there(memory) == ["two"]


def test_a_plan_of_others_operations_undoes_none_of_them_for_a_writer(memory):
    store(memory, CURATOR, "another's")
    plan = memory.plan_undo(Operations(actor="curator"))
    with acting(CRAWLER), pytest.raises(PlanOutdated):
        memory.apply_undo(CRAWLED, plan)
    assert there(memory) == ["another's"]


def test_only_a_curator_undoes_what_others_did(memory):
    store(memory, CURATOR, "another's")
    store(memory, CRAWLER, "mine")
    with acting(CRAWLER):
        for wanted in (Operations(actor="curator"), Operations(kind="store")):
            with pytest.raises(NotAllowed):
                memory.plan_undo(wanted)
        memory.apply_undo(CRAWLED, memory.plan_undo(CRAWLED))
    assert there(memory) == ["another's"]


def test_everything_at_once_is_refused(memory):
    with pytest.raises(InvalidInput, match="expected an actor, time, kind or record of the operations to undo"):
        memory.plan_undo(ANY_OPERATION)
