"""Operations of the history in sentences."""

from __future__ import annotations

from dataclasses import replace

import pytest

import atlas
from atlas.testing import HashEmbedder
from atlas.views.history.operations import operation_page
from atlas.views.history.sentences import undo_label
from tests.support.records import attempt


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(), settings=atlas.Settings()) as opened:
        yield opened


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("The bank was slow.", "The bank was slow. Ask it for the keys.", "feedback: added “Ask it for the keys.”"),
        ("Use cat", "Use category here", "feedback: Use [cat → category here]"),
    ],
)
def test_an_edit_names_whole_words_that_it_added(memory, before, after, change):
    (one,) = memory.experience.store_many([attempt(feedback=before)])
    memory.experience.edit(one, feedback=after)
    assert operation_page(memory).rows[0].change == change


def test_an_undone_merge_names_all_records_that_are_apart_again(memory):
    ids = memory.experience.store_many([attempt("Sort a list"), attempt("Sort a list"), attempt("Sort a list")])
    memory.experience.apply_merge(memory.experience.plan_merge([ids]))
    memory.undo(memory.history(1)[0].id)
    assert operation_page(memory).rows[0].sentence == "Undid the merge of 3 experiences"


def test_a_button_names_what_becomes_of_records_and_not_their_marks_as_well(memory):
    memory.experience.store_many([attempt("Sort a list")])
    done = memory.history(1)[0]
    assert undo_label(replace(done, counts={"added": 448, "marked": 9}), None) == "Undo: delete 448"
    assert undo_label(replace(done, counts={"marked": 9}), None) == "Undo: put back 9"
