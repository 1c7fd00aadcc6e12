"""What an experience memory does beyond the specification's five methods, over a real store."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from atlas.core.errors import InvalidInput, NotFound
from atlas.core.operations import Marks, Usage
from atlas.core.types import Outcome
from atlas.testing import HashEmbedder
from tests.support.memories import NOW, attempt, memory_over, task


def test_the_same_text_is_embedded_once_in_a_stores_life(stored):
    stored.store(attempt("same"))
    stored.store_many([attempt("same"), attempt("new"), attempt("new")])
    edited = stored.store(attempt("third"))
    stored.edit(edited, task=task("same"))
    assert stored.embedder.texts == ["same", "new", "third"]
    assert sum(hit.similarity > 0.99 for hit in stored.search_hits("same", 9)) == 3


def test_an_edit_of_anything_but_the_text_embeds_nothing(stored):
    experience_id = stored.store(attempt("one"))
    stored.edit(experience_id, outcome=Outcome(False), feedback="f", solution_output="s", agent_id="a")
    assert stored.embedder.texts == ["one"]


def test_filters_narrow_a_search(stored):
    stored.store_many([attempt(f"cancel flight {i}", success=i % 3 == 0, source=f"s{i % 2}") for i in range(12)])
    hits = stored.search_hits("cancel flight", 20, where={"outcome": "succeeded", "source": "s0"})
    assert sorted(hit.item.task.description for hit in hits) == ["cancel flight 0", "cancel flight 6"]
    assert stored.count({"success": False}) == 8
    assert stored.values("source") == {"s0": 6, "s1": 6}


def test_words_are_found_in_task_solution_and_feedback(stored):
    stored.store(attempt("book a flight", solution="reserve(umbrella)"))
    stored.store(attempt("weather", feedback="take an umbrella"))
    stored.store(attempt("nothing of the kind"))
    assert {e.task.description for e in stored.search_words("umbrella")} == {"book a flight", "weather"}
    assert stored.search_words("umbrella", 0) == []


def test_rows_can_be_browsed_newest_first(stored):
    stored.store_many([attempt(f"task {i}", age_days=i % 3, n=i) for i in range(6)])
    rows = stored.browse(limit=4)
    assert [row["metadata"]["n"] for row in rows] == [0, 3, 1, 4]
    assert "content" not in rows[0]["metadata"]
    assert [row["metadata"]["n"] for row in stored.browse({"n": {"$gt": 3}}, order_by="n", descending=False)] == [4, 5]


def test_a_recorded_use_changes_the_success_rate_that_prune_asks_for(stored):
    good = stored.store(attempt("good"))
    stored.record_use(good, False, task_id="t1")
    stored.record_use(good, False, task_id="t2")
    assert stored.usage([good])[good] == Usage(n_uses=2, n_successes=0, last_used_at=NOW)
    (removal,) = stored.plan_prune({"min_success_rate": 0.5}).removals
    assert removal.reasons == ("33% of 3 succeeded, under 50%",)
    stored.record_use(good, True)
    assert stored.plan_prune({"min_success_rate": 0.5}).removals == ()
    with pytest.raises(NotFound, match=r"there is no record 'unknown'"):
        stored.record_use("unknown", True)


def test_what_searches_return_counts_as_retrieved_but_a_persons_browsing_does_not(stored, clock):
    found, browsed = stored.store(attempt("cancel a flight")), stored.store(attempt("write a poem"))
    clock.advance(timedelta(days=10))
    stored.search(task("cancel a flight"), k=1)
    stored.search_hits("write a poem", 1, count_retrieval=False)
    assert [d.id for d in stored.plan_prune({"never_retrieved_days": 5}).removals] == [browsed]
    assert stored.usage([found])[found].n_retrieved == 1


def test_marks_can_be_set_and_filtered_by(stored):
    first, second = stored.store(attempt("one")), stored.store(attempt("two"))
    stored.mark({first: Marks(tags=("check",), note="why?")})
    assert stored.marks([first, second]) == {first: Marks(tags=("check",), note="why?"), second: Marks()}
    assert [hit.item.id for hit in stored.search_hits("two", 5, where={"marks.tags": "check"})] == [first]


def test_one_operation_can_hold_many_writes(stored):
    scoped = stored.as_operation("import", "from a file")
    scoped.store_many([attempt(f"task {i}") for i in range(300)])
    scoped.store(attempt("one more"))
    assert scoped.operation_id
    assert stored.operation_id is None
    assert len(stored) == 301


def test_exported_experiences_come_back_with_all_that_was_known_of_them(stored, tmp_path):
    ids = stored.store_many([attempt("one", source="s"), attempt("two", success=None)])
    stored.mark({ids[0]: Marks(tags=("a",), pinned=True)})
    stored.record_use(ids[1], True)
    exported = stored.export(ids, with_vectors=True)
    with memory_over("ledger", tmp_path / "other") as other:
        other.restore_many(exported)
        assert other.embedder.texts == []
        again = other.export(ids, with_vectors=True)
        assert [e.experience for e in again] == [e.experience for e in exported]
        assert [(e.marks, e.usage) for e in again] == [(e.marks, e.usage) for e in exported]
        assert [e.vectors.tobytes() for e in again] == [e.vectors.tobytes() for e in exported]
        assert len(other.store_many([attempt("one", source="s"), attempt("three")], skip_known=True)) == 1


def test_what_was_exported_after_an_edit_still_counts_as_what_was_imported(stored, clock, tmp_path):
    experience_id = stored.store(attempt("one"))
    stored.edit(experience_id, feedback="added by hand")
    exported = stored.export([experience_id])
    clock.advance(timedelta(days=9))
    with memory_over("ledger", tmp_path / "other", clock=clock) as other:
        assert other.restore_many(exported) == [experience_id]
        assert other.export([experience_id]) == exported
        assert exported[0].stored_at == NOW
        assert other.store_many([attempt("one")], skip_known=True) == []
        assert other.restore_many(exported) == []
    with memory_over("ledger", tmp_path / "third") as third:
        third.store(attempt("one"))
        assert third.restore_many(exported) == []
        assert third.store_many([attempt("two"), attempt("two")], skip_known=True) == [third.browse()[-1]["id"]]


def test_experiences_that_say_the_same_are_all_put_back(stored, tmp_path):
    ids = [stored.store(attempt("one")), stored.store(attempt("one"))]
    with memory_over("ledger", tmp_path / "other") as other:
        restoring = other.as_operation("import")
        restored = [restoring.restore_many(stored.export([experience_id])) for experience_id in ids]
        assert restored == [[ids[0]], [ids[1]]]


def test_a_restore_that_fails_leaves_nothing_so_that_it_can_be_done_again(stored, tmp_path):
    experience_id = stored.store(attempt("one"))
    stored.mark({experience_id: Marks(pinned=True, note="keep")})
    (exported,) = stored.export([experience_id])
    with memory_over("ledger", tmp_path / "other") as other:
        with pytest.raises(OverflowError):
            other.restore_many([replace(exported, usage=Usage(n_uses=2**70))])
        assert len(other) == 0
        assert other.restore_many([exported]) == [experience_id]
        assert other.marks([experience_id]) == {experience_id: Marks(pinned=True, note="keep")}


class InterruptedEmbedder(HashEmbedder):
    """Somebody else does something while it embeds for the first time."""

    def __init__(self, meanwhile):
        super().__init__()
        self.meanwhile = meanwhile

    def encode_batch(self, texts):
        meanwhile, self.meanwhile = self.meanwhile, lambda: None
        meanwhile()
        return super().encode_batch(texts)


def test_an_edit_keeps_what_somebody_else_has_edited_meanwhile(stored, tmp_path):
    experience_id = stored.store(attempt("one"))
    embedder = InterruptedEmbedder(lambda: stored.edit(experience_id, agent_id="another", feedback="theirs"))
    with memory_over("ledger", tmp_path, embedder=embedder) as mine:
        mine.edit(experience_id, task=task("two"))
    edited = stored.get(experience_id)
    assert (edited.task.description, edited.agent_id, edited.feedback) == ("two", "another", "theirs")


def test_an_edit_of_what_somebody_else_has_deleted_meanwhile_is_refused(stored, tmp_path):
    experience_id = stored.store(attempt("one"))
    embedder = InterruptedEmbedder(lambda: stored.delete([experience_id]))
    with memory_over("ledger", tmp_path, embedder=embedder) as mine, pytest.raises(NotFound):
        mine.edit(experience_id, task=task("two"))
    assert len(stored) == 0


def test_what_two_import_at_once_is_stored_once(stored, tmp_path):
    attempts = [attempt("one"), attempt("two")]
    theirs = []
    embedder = InterruptedEmbedder(lambda: theirs.extend(stored.store_many(attempts[1:], skip_known=True)))
    with memory_over("ledger", tmp_path, embedder=embedder) as mine:
        assert len(mine.store_many(attempts, skip_known=True)) == 1
    assert len(theirs) == 1
    assert len(stored) == 2


@pytest.mark.parametrize("kind", ["memory", "dict"])
def test_a_plain_store_says_that_it_keeps_no_marks_and_usage(kind, tmp_path):
    with memory_over(kind, tmp_path) as memory:
        experience_id = memory.store(attempt("x"))
        assert memory.marks([experience_id]) == {experience_id: Marks()}
        assert memory.usage([experience_id]) == {experience_id: Usage()}
        with pytest.raises(InvalidInput, match=r"keeps no marks; use a memory from atlas\.open_memory"):
            memory.mark({experience_id: Marks(pinned=True)})
        with pytest.raises(InvalidInput, match="keeps no usage"):
            memory.record_use(experience_id, True)
