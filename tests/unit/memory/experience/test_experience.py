"""What an experience memory does, over a real store, the reference in memory and a user's own fake."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from atlas.core.errors import InvalidInput, NotFound
from atlas.core.types import Outcome, Step, Task, Trajectory
from atlas.memory.experience.extraction import ContextExperienceExtractor
from atlas.memory.experience.memory import ChromaExperienceMemory
from atlas.protocols.memory import ExperienceMemory
from atlas.testing import HashEmbedder, MemoryVectorStore
from tests.support.memories import NOW, attempt, memory_over, task

TASKS = ["cancel a flight", "cancel a hotel", "book a flight", "write a poem about rain", "sort a list of numbers"]


def fill(memory):
    return [memory.store(attempt(description, success=i % 2 == 0)) for i, description in enumerate(TASKS)]


def descriptions(experiences):
    return [experience.task.description for experience in experiences]


def test_it_is_what_the_specification_asks_for(memory):
    assert isinstance(memory, ExperienceMemory)
    assert memory.collection_name == "atlas_experiences"


def test_what_was_stored_comes_back_whole(memory):
    trajectory = replace(
        attempt("cancel a flight", solution="cancel(7)", feedback="polite", source="tau"),
        steps=(Step("think", "act", "see", {"n": 1}), Step()),
        outcome=Outcome(False, 0.25, "no refund", {"tests": [1, None]}),
    )
    experience = memory.get(memory.store(trajectory))
    assert experience.task == trajectory.task
    assert experience.outcome == trajectory.outcome
    assert experience.steps == trajectory.steps
    assert experience.created_at == NOW
    assert experience.solution_output == "cancel(7)"
    assert experience.feedback == "polite"
    assert experience.metadata == {"source": "tau"}
    assert experience.trajectory_id == trajectory.id
    assert experience.agent_id == "agent"
    assert experience.embedding_text == "cancel a flight"
    assert experience.trajectory_summary == "2 steps, failed: polite"
    assert (experience.task_input, experience.success, experience.timestamp) == ("cancel a flight", False, NOW)


def test_an_attempt_without_a_time_is_of_the_time_it_was_stored(memory):
    experience = memory.get(memory.store(replace(attempt("x"), timestamp=None)))
    assert experience.created_at == NOW


def test_ids_are_fresh_and_the_same_attempt_may_be_stored_twice(memory):
    first, second = memory.store(attempt("x")), memory.store(attempt("x"))
    assert first != second
    assert len(first) == 32
    assert len(memory) == 2


def test_an_unknown_id_gives_nothing(memory):
    fill(memory)
    assert memory.get("unknown") is None


def test_the_most_similar_come_first(memory):
    fill(memory)
    found = memory.search(task("please cancel a flight"), k=3)
    assert descriptions(found)[0] == "cancel a flight"
    assert set(descriptions(found)) == set(TASKS[:3])


def test_search_gives_four_unless_told_otherwise(memory):
    fill(memory)
    assert len(memory.search(task("cancel a flight"))) == 4


@pytest.mark.parametrize(("k", "expected"), [(0, 0), (1, 1), (5, 5), (1_000, 5)])
def test_search_gives_k_or_all_there_are(memory, k, expected):
    fill(memory)
    assert len(memory.search(task("cancel a flight"), k=k)) == expected
    assert len(memory.search_hits("cancel a flight", k)) == expected


@pytest.mark.parametrize("k", [0, -1])
def test_a_list_of_less_than_one_is_empty_and_retrieving_less_than_one_is_refused(memory, k):
    ids = fill(memory)
    assert memory.search(task("x"), k=k) == memory.search_hits("x", k) == memory.search_words("x", k) == []
    assert memory.similar(ids[0], k) == []
    for ask in (memory.retrieve, memory.retrieve_words):
        with pytest.raises(InvalidInput, match=f"expected 1 or more for k, got {k}"):
            ask("x", k)


def test_an_empty_memory_finds_nothing(memory):
    assert memory.search(task("anything")) == []
    assert memory.search_hits("anything") == []
    assert len(memory) == 0
    assert memory.prune({"max_age_days": 1}) == 0
    assert memory.refine([]) == []


@pytest.mark.parametrize("query", ["", "  \n"])
def test_an_empty_query_finds_nothing(memory, query):
    fill(memory)
    assert memory.search(task(query)) == []
    assert memory.search_hits(query) == []


def test_similar_experiences_leave_out_the_one_asked_about(memory):
    ids = fill(memory)
    hits = memory.similar(ids[0], 2)
    assert descriptions(hit.item for hit in hits) == ["cancel a hotel", "book a flight"] or descriptions(
        hit.item for hit in hits
    ) == ["book a flight", "cancel a hotel"]
    assert ids[0] not in [hit.item.id for hit in memory.similar(ids[0], 100)]
    assert len(memory.similar(ids[0], 100)) == 4
    assert memory.similar(ids[0], 0) == []
    with pytest.raises(NotFound, match="there is no experience 'unknown'"):
        memory.similar("unknown")


def test_similar_experiences_pass_a_filter_and_reach_a_relevance(memory):
    ids = fill(memory)
    hits = memory.similar(ids[0], 10)
    third = hits[2].item
    assert [hit.item.id for hit in memory.similar(ids[0], 1, where={"trajectory_id": third.trajectory_id})] == [
        third.id
    ]
    least = hits[1].relevance
    near = [hit.item.id for hit in hits if hit.relevance >= least]
    assert [hit.item.id for hit in memory.similar(ids[0], 10, threshold=least)] == near != []
    with pytest.raises(InvalidInput, match="threshold"):
        memory.similar(ids[0], threshold=2.0)
    with pytest.raises(InvalidInput, match="did you mean 'outcome'"):
        memory.similar(ids[0], where={"outcom": "failed"})


def test_many_are_stored_in_order_and_progress_is_told(memory):
    told = []
    ids = memory.store_many([attempt(f"task {i}") for i in range(600)], lambda done, total: told.append((done, total)))
    assert told == [(256, 600), (512, 600), (600, 600)]
    assert len(set(ids)) == len(memory) == 600
    assert memory.get(ids[300]).task.description == "task 300"


def test_a_stream_of_unknown_length_is_stored_too(memory):
    told = []
    memory.store_many((attempt(f"task {i}") for i in range(3)), lambda done, total: told.append((done, total)))
    assert told == [(3, 0)]
    assert memory.store_many([]) == []


def test_the_same_text_in_one_batch_is_embedded_once(memory):
    memory.store_many([attempt("same"), attempt("same"), attempt("other"), attempt("same")])
    assert memory.embedder.texts == ["same", "other"]


def test_deleted_experiences_are_gone(memory):
    ids = fill(memory)
    assert memory.delete([ids[0], "unknown", ids[0]]) == 1
    assert memory.get(ids[0]) is None
    assert len(memory) == 4
    assert "cancel a flight" not in descriptions(memory.search(task("cancel a flight"), k=9))
    assert memory.delete([]) == 0


def test_an_edited_experience_is_what_was_asked_for(memory):
    ids = fill(memory)
    edited = memory.edit(ids[1], outcome=Outcome(True), feedback="fine after all", metadata={"by": "hand"})
    assert edited == memory.get(ids[1])
    assert edited.success is True
    assert edited.trajectory_summary == "1 step, succeeded: fine after all"
    assert edited.metadata == {"by": "hand"}
    assert len(memory) == 5


def test_an_edit_embeds_anew_only_what_changes_the_text(memory):
    ids = fill(memory)
    memory.embedder.texts.clear()
    memory.edit(ids[0], feedback="other feedback")
    assert [text for text in memory.embedder.texts if text != "cancel a flight"] == []
    memory.edit(ids[0], task=task("paint a house"))
    assert memory.embedder.texts[-1] == "paint a house"
    assert memory.search(task("paint a house"), k=1)[0].id == ids[0]
    assert memory.search(task("cancel a flight"), k=1)[0].id != ids[0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": "x"}, "id cannot be edited; editable fields: task, outcome"),
        ({"created_at": NOW, "embedding_text": ""}, "created_at, embedding_text cannot be edited"),
        ({"outcome": True}, "expected Outcome for outcome, got True"),
        ({"task": "a text"}, "expected Task for task, got 'a text'"),
        ({"feedback": None}, "expected str for feedback, got None"),
        ({"steps": ["go"]}, "expected a list of Step for steps"),
        ({"metadata": None}, "expected Mapping for metadata, got None"),
        ({"task": Task("t", "", "  ")}, "has no description"),
        ({"feedback": "\ud800"}, "lone surrogate"),
        ({"metadata": {"x": float("nan")}}, "is nan"),
        ({"outcome": Outcome(True, 7)}, "expected a number from 0 to 1 for outcome.partial_score"),
    ],
)
def test_an_impossible_edit_is_refused_and_changes_nothing(memory, changes, message):
    ids = fill(memory)
    before = memory.get(ids[0])
    with pytest.raises(InvalidInput, match=message):
        memory.edit(ids[0], **changes)
    assert memory.get(ids[0]) == before


def test_editing_what_is_not_there_is_not_found(memory):
    with pytest.raises(NotFound, match="there is no experience 'unknown'"):
        memory.edit("unknown", feedback="x")


@pytest.mark.parametrize(
    ("trajectory", "message"),
    [
        (attempt(""), "has no description, so no search could find it"),
        (attempt("\ud800"), "lone surrogate"),
        (attempt("a\x00b"), "NUL"),
        (attempt("x", number=float("inf")), "is inf, which JSON cannot represent"),
        (attempt("x", thing=object()), "is of type object"),
        (replace(attempt("x"), timestamp=datetime(2026, 1, 1)), "has no time zone"),
        (replace(attempt("x"), outcome=Outcome(True, 1.5)), "expected a number from 0 to 1"),
    ],
)
def test_an_attempt_that_cannot_be_kept_is_refused_with_its_whole_batch(memory, trajectory, message):
    with pytest.raises(InvalidInput, match=message):
        memory.store_many([attempt("good"), trajectory])
    assert len(memory) == 0


def test_the_extractor_decides_what_is_embedded(tmp_path):
    class LastAction:
        def extract(self, trajectory: Trajectory) -> str:
            return trajectory.steps[-1].action

    with memory_over("memory", tmp_path, extractor=LastAction()) as memory:
        memory.store(attempt("something"))
    assert memory.embedder.texts == ["act"]
    with memory_over("memory", tmp_path, extractor=ContextExperienceExtractor()) as memory:
        memory.store(replace(attempt("something"), task=Task("t", "travel", "cancel", {"tier": "gold"})))
    assert memory.embedder.texts == ["cancel\ntravel\ntier: gold"]


def test_an_embedder_may_treat_queries_apart():
    class Asymmetric(HashEmbedder):
        def encode_query(self, text):
            return self.encode(f"query: {text}")

    memory = ChromaExperienceMemory(Asymmetric(), MemoryVectorStore())
    memory.store(attempt("x"))
    memory.search(task("y"))
    assert memory.embedder.texts == ["x", "query: y"]
