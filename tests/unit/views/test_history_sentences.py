"""Operations of the history in sentences."""

from __future__ import annotations

import pytest

import atlas
from atlas.testing import HashEmbedder
from atlas.views.history.operations import operation_page
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
