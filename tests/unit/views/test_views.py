"""What the views make of a memory."""

from __future__ import annotations

import pytest

import atlas
from atlas.testing import HashEmbedder
from atlas.views.experience import experience_detail
from atlas.views.experiences import MEANING, WORDS, Query, known_sources, listing, n_pages, similar_rows
from atlas.views.overview import NOT_SAID, overview
from tests.ui.stores import attempt, attempts


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(), settings=atlas.Settings(actor="ann")) as memory:
        yield memory


def test_the_overview_counts_groups_by_outcome_and_names_those_without(memory):
    memory.experience.store_many([*attempts(6), attempt(domain="web", success=True)])
    view = overview(memory)
    assert (view.rate.n_succeeded, view.rate.n_failed, view.rate.n_unknown) == (3, 2, 2)
    assert [(group.name, group.n) for group in view.sources.shown] == [("north", 3), ("south", 3), (NOT_SAID, 1)]
    assert (view.domains.shown[0].name, view.domains.shown[0].n) == ("web", 3)
    assert [(row.what, row.counts, row.actor) for row in view.operations] == [("store", "7 added", "ann")]


def test_the_overview_shows_the_largest_groups_and_counts_the_rest(memory):
    memory.experience.store_many([attempt(f"task {n}", domain=f"domain {n}") for n in range(60)])
    groups = overview(memory).domains
    assert (len(groups.shown), groups.n_more) == (50, 10)


def test_an_undone_operation_says_so(memory):
    memory.experience.store(attempt())
    memory.undo(memory.history()[0].id)
    assert [(row.what, row.state) for row in overview(memory).operations] == [("undo", ""), ("store", "undone")]


def test_an_empty_memory_has_one_empty_page(memory):
    assert n_pages(memory, Query()) == 1
    assert listing(memory, Query()).rows == ()
    assert listing(memory, Query()).caption == "0 experiences"


def test_the_last_page_holds_what_is_left(memory):
    memory.experience.store_many(attempts(51))
    assert n_pages(memory, Query()) == 3
    assert [row.task.split(":")[0] for row in listing(memory, Query(), page=3).rows] == ["Task 0"]


def test_an_outcome_nobody_knows_is_left_out_of_the_rate(memory):
    memory.experience.store_many(attempts(6))
    assert listing(memory, Query(outcomes=("unknown",))).caption == "2 of 6 experiences"


def test_a_search_by_meaning_says_what_was_added_to_the_similarity(memory):
    memory.experience.store_many([attempt("boil an egg"), attempt("boil an egg", success=False, agent="b")])
    found = listing(memory, Query(text="boil an egg", by=MEANING))
    assert found.caption == "The 2 nearest in meaning among 2 experiences, best first"
    assert [row.sign for row in found.rows] == ["✓", "✗"]
    assert [round(row.similarity or 0, 3) for row in found.rows] == [1.0, 1.0]
    assert "+0.05 success" in found.rows[0].bonuses
    assert "success" not in found.rows[1].bonuses


def test_looking_counts_as_no_retrieval(memory):
    experience_id = memory.experience.store(attempt("boil an egg"))
    listing(memory, Query(text="boil an egg"))
    memory.close()
    assert memory.experience.usage([experience_id])[experience_id].n_retrieved == 0


def test_a_search_stays_within_the_filters(memory):
    memory.experience.store_many([attempt("boil an egg", source="a"), attempt("boil an egg", source="b")])
    for by in (MEANING, WORDS):
        found = listing(memory, Query(text="egg", by=by, sources=("b",)))
        assert [row.source for row in found.rows] == ["b"]


def test_sources_of_any_kind_can_be_filtered_by(memory):
    memory.experience.store_many([attempt("one", source=3), attempt("two", source="three")])
    assert {*known_sources(memory)} == {3, "three"}
    assert [row.task for row in listing(memory, Query(sources=(3,))).rows] == ["one"]


def test_similar_experiences_leave_out_the_one_itself(memory):
    first, second = memory.experience.store_many([attempt("boil an egg"), attempt("boil two eggs")])
    assert [row.id for row in similar_rows(memory, first)] == [second]


def test_a_detail_says_an_error_once(memory):
    experience_id = memory.experience.store(attempt(success=False, error="it broke"))
    detail = experience_detail(memory, experience_id)
    assert detail is not None
    assert [(part.name, part.text.whole) for part in detail.results][1:] == [("Feedback", "it broke")]


def test_there_is_no_detail_of_what_is_not_there(memory):
    assert experience_detail(memory, "nothing") is None


def test_steps_are_numbered_through_the_pages(memory):
    steps = tuple(atlas.Step(action=f"act {n}") for n in range(1, 46))
    detail = experience_detail(memory, memory.experience.store(attempt(steps=steps)))
    assert detail is not None
    assert detail.n_step_pages == 3
    assert [step.number for step in detail.steps_on(3)] == [41, 42, 43, 44, 45]
