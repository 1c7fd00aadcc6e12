"""What a writer under review adds is found by that writer alone until it is accepted. Nothing of others changes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

import atlas
from atlas.core.errors import NotAllowed, UndoRefused
from atlas.core.operations import Marks
from atlas.infra.actor import Actor, Role, acting
from atlas.testing import HashEmbedder
from tests.support.records import attempt

CRAWLER = Actor("crawler", Role.WRITER, is_reviewed=True)
WRITER = Actor("writer", Role.WRITER)
CURATOR = Actor("curator", Role.CURATOR)

QUESTION = "Sort a list of numbers"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[atlas.MemorySystem]:
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as opened:
        yield opened


def found(memory: atlas.MemorySystem, actor: Actor | None) -> list[str]:
    """The attempts that searches give somebody, by meaning and by words."""
    if actor is not None:
        with acting(actor):
            return found(memory, None)
    by_meaning = {hit.item.id for hit in memory.experience.retrieve(QUESTION, 9, threshold=0.0).hits}
    assert by_meaning == {one.id for one in memory.experience.search_words(QUESTION, 9)}
    return sorted(by_meaning)


def store(memory: atlas.MemorySystem, actor: Actor, **given: object) -> str:
    with acting(actor):
        stored: str = memory.store(attempt(QUESTION, **given))["experience"]  # type: ignore[arg-type]
        return stored


def released(memory: atlas.MemorySystem, *ids: str) -> str:
    """Accept records as a curator does; the operation."""
    with acting(CURATOR):
        assert memory.experience.release(ids) == len(ids)
    return memory.history(1)[0].id


def test_it_is_found_by_its_writer_alone_until_a_curator_accepts_it(memory):
    known = store(memory, WRITER)
    waiting = store(memory, CRAWLER)
    assert found(memory, CRAWLER) == sorted([known, waiting])
    for other in (WRITER, CURATOR, None):
        assert found(memory, other) == [known]
    accepted = released(memory, waiting)
    assert found(memory, WRITER) == sorted([known, waiting])
    assert (memory.operation(accepted).kind, memory.operation(accepted).actor) == ("accept", "curator")
    with acting(CURATOR):
        assert memory.experience.release([waiting]) == 0
        memory.undo(accepted)
    assert found(memory, WRITER) == [known]
    assert found(memory, CRAWLER) == sorted([known, waiting])


def test_many_that_wait_leave_room_for_what_does_not(memory):
    known = store(memory, WRITER)
    with acting(CRAWLER):
        memory.experience.store_many([attempt(QUESTION, task_id=str(number)) for number in range(300)])
    assert found(memory, WRITER) == [known]


def test_a_note_that_waits_is_in_no_context_of_others(memory):
    with acting(CRAWLER):
        waiting = memory.journal.add("observation", "The parser fails on empty input", generation=0)
        assert [entry.id for entry in memory.journal.recent()] == [waiting]
    assert memory.journal.recent() == []
    assert memory.journal.context_for_task("mend the parser") == []


@pytest.mark.parametrize("order", list(itertools.permutations(["accept", "undo store", "redo store", "undo accept"])))
def test_uses_count_while_the_attempt_is_stored_and_accepted(memory, order):
    """Steps that the history refuses at that point change nothing."""
    strategy = memory.strategies.add(atlas.Strategy(situation="Sorting numbers", suggestion="Use sorted"))
    waiting = store(memory, CRAWLER, used={"strategies": [strategy]})
    stored = memory.history(1)[0].id
    assert memory.strategies.usage([strategy])[strategy].n_uses == 0
    is_accepted, is_stored, accepted, taken_back = False, True, "", ""
    for step in order:
        try:
            if step == "accept":
                accepted = released(memory, waiting)
                is_accepted = True
            elif step == "undo store":
                taken_back = memory.undo(stored).id
                is_stored = False
            elif step == "redo store" and taken_back:
                memory.undo(taken_back)
                is_stored = True
            elif step == "undo accept" and accepted:
                memory.undo(accepted)
                is_accepted = False
        except (UndoRefused, atlas.NotFound):
            pass
        counts = is_accepted and is_stored
        assert memory.strategies.usage([strategy])[strategy].n_uses == counts, step
        assert len(memory.strategies.collection.uses([strategy])[strategy]) == counts, step


def test_a_writer_under_review_changes_nothing_of_others(memory):
    known = store(memory, WRITER)
    strategy = memory.strategies.add(atlas.Strategy(situation="Sorting numbers", suggestion="Use sorted"))
    revision = memory.revision()
    with acting(CRAWLER):
        for change in (
            lambda: memory.experience.edit(known, feedback="mine"),
            lambda: memory.experience.change_marks([known], pinned=True),
            lambda: memory.experience.mark({known: Marks(note="mine")}),
            lambda: memory.experience.delete([known]),
            lambda: memory.experience.release([known]),
            lambda: memory.strategies.record_use(strategy, True),
            lambda: memory.undo(memory.history(1)[0].id),
        ):
            with pytest.raises(NotAllowed):
                change()
    assert memory.revision() == revision


def test_a_writer_under_review_decides_nothing_for_everybody(memory):
    known = store(memory, WRITER)
    memory.journal.add("observation", "ok", generation=0)
    [refused] = memory.journal.rejected().latest
    reflection = memory.journal.add("reflection", "Sorting first makes the search fast", generation=0)
    promotion = memory.plan_promotion(reflection)
    before, revision = memory.journal.gates(), memory.revision()
    with acting(CRAWLER):
        for change in (
            lambda: memory.judge(QUESTION, known, True),
            lambda: memory.journal.switch_gate("noise", False),
            lambda: memory.journal.register_type("decision", 0.5),
            lambda: memory.journal.accept(refused.id),
            lambda: memory.apply_promotion(promotion),
        ):
            with pytest.raises(NotAllowed):
                change()
    assert (memory.journal.gates(), memory.revision()) == (before, revision)
    assert memory.judgements() == []


def test_a_writer_under_review_promotes_its_own_which_waits(memory):
    with acting(CRAWLER):
        reflection = memory.journal.add("reflection", "Sorting first makes the search fast", generation=0)
        memory.apply_promotion(memory.plan_promotion(reflection))
    [strategy] = memory.strategies.ids()
    assert memory.strategies.marks([strategy])[strategy].held_for == "crawler"


def test_a_writer_under_review_changes_its_own_until_that_is_accepted(memory):
    waiting = store(memory, CRAWLER)
    with acting(CRAWLER):
        memory.experience.edit(waiting, feedback="it helps to sort first")
        memory.experience.mark({waiting: Marks(note="mine")})
        memory.experience.change_marks([waiting], add_tags=["mine"])
    assert memory.experience.marks([waiting])[waiting] == Marks(note="mine", tags=("mine",), held_for="crawler")
    assert found(memory, WRITER) == []
    released(memory, waiting)
    with acting(CRAWLER):
        for change in (
            lambda: memory.experience.edit(waiting, feedback="another"),
            lambda: memory.undo(memory.history(9)[-1].id),
        ):
            with pytest.raises((NotAllowed, UndoRefused)):
                change()


def test_a_writer_under_review_takes_back_what_waits(memory):
    store(memory, CRAWLER)
    with acting(CRAWLER):
        memory.undo(memory.history(1)[0].id)
        assert found(memory, CRAWLER) == []
        memory.undo(memory.history(1)[0].id)
    assert len(found(memory, CRAWLER)) == 1
    assert found(memory, WRITER) == []


def test_what_waits_takes_nobodys_place(memory):
    """Another's attempt that says the same is stored, and found."""
    with acting(CRAWLER):
        [waiting] = memory.experience.store_many([attempt(QUESTION)], skip_known=True)
        assert memory.experience.store_many([attempt(QUESTION)], skip_known=True) == []
    with acting(WRITER):
        [known] = memory.experience.store_many([attempt(QUESTION)], skip_known=True)
    assert known != waiting
    assert found(memory, WRITER) == [known]


def test_an_export_says_what_waits(memory, tmp_path):
    waiting = store(memory, CRAWLER)
    exported = memory.experience.export([waiting])
    with atlas.open_memory(tmp_path / "other", embedder=HashEmbedder()) as other:
        other.experience.restore_many(exported)
        assert found(other, None) == []
        assert found(other, CRAWLER) == [waiting]


def test_merging_what_waits_into_what_does_not_leaves_that_found(memory):
    known, waiting = store(memory, WRITER), store(memory, CRAWLER)
    with acting(CURATOR):
        kept = memory.experience.merge([known, waiting])
    assert found(memory, WRITER) == [kept.id]
