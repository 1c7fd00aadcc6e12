"""Windows of long texts, their vectors, and the passage that a query means."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.embedding.chunking import (
    MAX_WINDOWS,
    best_passage,
    encode_any_length,
    encode_documents,
    mean_direction,
    mean_directions,
    to_character_spans,
    window_spans,
)
from atlas.testing import HashEmbedder

LONG = "  alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu.\n"


def lengths(windows):
    return {end - start for start, end in windows}


@given(n_units=st.integers(0, 40_000), capacity=st.integers(4, 512), max_windows=st.integers(2, MAX_WINDOWS))
def test_windows_reach_from_the_beginning_to_the_end_and_none_is_too_long(n_units, capacity, max_windows):
    windows = window_spans(n_units, capacity, max_windows)
    assert (windows[0][0], windows[-1][1]) == (0, n_units)
    assert len(windows) <= max_windows
    assert len(lengths(windows)) == 1
    assert max(lengths(windows)) <= capacity
    assert all(before[0] < after[0] and before[1] < after[1] for before, after in pairwise(windows))


@given(n_units=st.integers(0, 10_000), capacity=st.integers(4, 512))
def test_neighbours_share_about_a_quarter_where_there_is_room_for_all(n_units, capacity):
    windows = window_spans(n_units, capacity, n_units + 2)
    for before, after in pairwise(windows):
        shared = before[1] - after[0]
        assert abs(shared - 0.25 * (before[1] - before[0])) <= 2


def test_a_text_that_fits_is_one_window():
    assert window_spans(0, 10) == [(0, 0)]
    assert window_spans(10, 10) == [(0, 10)]


def test_a_little_too_much_makes_two_halves_rather_than_a_window_and_a_crumb():
    assert window_spans(260, 254) == [(0, 149), (111, 260)]


def test_too_many_windows_are_spread_over_the_text():
    assert window_spans(1_000, 10, max_windows=3) == [(0, 10), (495, 505), (990, 1_000)]


def test_windows_in_characters_take_in_what_stands_before_the_first_and_after_the_last_word():
    offsets = [(2, 5), (6, 9), (10, 13)]
    assert to_character_spans([(0, 2), (1, 3)], offsets, 20) == [(0, 9), (6, 20)]
    assert to_character_spans([(0, 3)], offsets, 20) == [(0, 20)]
    assert to_character_spans([(0, 0)], [], 3) == [(0, 3)]


def test_several_windows_stand_for_the_direction_in_their_middle():
    windows = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [-1, 0, 0]], np.float32)
    middle = [0.5**0.5, 0.5**0.5, 0]
    assert np.allclose(mean_directions(windows, np.array([0, 2, 3])), [middle, [0, 0, 1], [1, 0, 0]])
    assert np.allclose(mean_direction(windows[:2]), middle)
    assert np.array_equal(mean_direction(windows[2:3]), windows[2])


def test_a_text_that_fits_has_the_one_vector_that_the_model_gives():
    embedder = HashEmbedder(window_words=4)
    (vectors,) = encode_documents(embedder, ["one two three four"])
    assert vectors.shape == (1, 64)
    assert np.array_equal(vectors[0], embedder.encode("one two three four"))


def test_a_long_text_has_a_vector_of_the_whole_and_one_of_each_window():
    embedder = HashEmbedder(window_words=4)
    (vectors,) = encode_documents(embedder, [LONG])
    passages = [LONG[start:end] for start, end in embedder.windows(LONG)]
    assert passages[0] == "  alpha beta gamma delta"
    assert passages[-1] == "iota kappa lambda mu.\n"
    assert np.array_equal(vectors[1:], np.stack([embedder.encode(passage) for passage in passages]))
    middle = vectors[1:].mean(axis=0)
    assert np.allclose(vectors[0], middle / np.linalg.norm(middle), atol=1e-6)


def test_no_word_of_a_long_text_is_lost():
    embedder = HashEmbedder(256, window_words=4)
    vectors = encode_documents(embedder, [LONG])[0]
    for word in LONG.split():
        assert (vectors @ embedder.encode(word.strip("."))).max() > 0.3
    assert embedder.encode(LONG) @ embedder.encode("mu") < 0.2


def test_windows_that_several_texts_share_are_embedded_once():
    embedder = HashEmbedder(window_words=4)
    encode_documents(embedder, ["one two three four", LONG, "one two three four", LONG])
    assert len(embedder.texts) == len(set(embedder.texts)) == 1 + len(embedder.windows(LONG))


def test_no_texts_have_no_vectors():
    embedder = HashEmbedder()
    assert encode_documents(embedder, []) == []
    assert encode_any_length(embedder, []).shape == (0, 64)


def test_an_embedder_without_windows_embeds_every_text_at_once():
    class Plain:
        dimension, model_name = 64, "plain"
        encode, encode_batch = HashEmbedder().encode, HashEmbedder().encode_batch

    assert [len(vectors) for vectors in encode_documents(Plain(), ["short", LONG * 20])] == [1, 1]


def test_one_vector_can_stand_for_each_text_however_long():
    embedder = HashEmbedder(window_words=4)
    whole = encode_any_length(embedder, ["short", LONG])
    assert np.allclose(whole, [embedder.encode("short"), encode_documents(embedder, [LONG])[0][0]])


def test_a_long_question_is_all_of_it():
    embedder = HashEmbedder(window_words=4)
    question = embedder.encode_query(LONG)
    assert np.allclose(question, encode_any_length(embedder, [LONG])[0], atol=1e-6)
    assert question @ embedder.encode("lambda mu") > 0.2
    assert np.allclose(embedder.encode_query("one two"), embedder.encode("one two"), atol=1e-6)


@pytest.mark.parametrize(("query", "passage"), [("gamma", "alpha beta gamma delta"), ("mu", "iota kappa lambda mu")])
def test_the_passage_that_a_query_means_is_told(query, passage):
    embedder = HashEmbedder(window_words=4)
    (vectors,) = encode_documents(embedder, [LONG])
    start, end = best_passage(embedder, LONG, vectors, embedder.encode_query(query))
    assert LONG[start:end].strip(" .\n") == passage


def test_no_passage_is_told_of_a_text_that_was_read_at_once_or_in_other_windows():
    embedder = HashEmbedder(window_words=4)
    query = embedder.encode_query("alpha")
    (vectors,) = encode_documents(embedder, [LONG])
    assert best_passage(embedder, "alpha", encode_documents(embedder, ["alpha"])[0], query) is None
    assert best_passage(embedder, LONG, embedder.encode_batch([LONG]), query) is None
    assert best_passage(embedder, LONG, vectors[1:], query) is None
    assert best_passage(HashEmbedder(), LONG, vectors, query) is None


def test_what_a_text_is_too_long_for_is_told(caplog):
    embedder = HashEmbedder(window_words=2)
    text = " ".join(f"w{number}" for number in range(1_000))
    vectors = encode_documents(embedder, [text, LONG])[0]
    assert len(vectors) == 65
    assert [record.getMessage() for record in caplog.records] == [
        "texts too long to embed completely: 1. Semantic search compares windows spread over them; of the longest "
        "text, with 4889 characters, 4203 characters are in no window. Full-text search covers whole texts."
    ]
    for word in ("w0", "w999"):
        assert (vectors @ embedder.encode(word)).max() > 0.5
