"""Packing token vectors and comparing them: against the plain sums that the words of the module say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.embedding.foreign_queries import calibration_queries
from atlas.embedding.late_interaction import (
    BITS,
    MAX_PIECES,
    NO_TOKENS,
    Projection,
    TokenVectors,
    distinct_pieces,
    fit,
    join_pieces,
    match_scores,
    parse_projection,
)
from atlas.testing import HashTokenEmbedder


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def some(n: int, seed: int = 0, dimension: int = BITS) -> np.ndarray:
    return unit(np.random.default_rng(seed).standard_normal((n, dimension)))


def tokens(n: int, seed: int = 0) -> TokenVectors:
    return TokenVectors(np.arange(n), some(n, seed))


PLAIN = Projection(np.eye(BITS, dtype=np.float32), unrelated=0.1, growth=0.02, same=0.8, cosine=0.05)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=6), st.integers(1, 12), st.integers(0, 5))
def test_what_is_found_is_the_mean_of_each_pieces_nearest(lengths, n_asked, seed):
    query, texts = some(n_asked, seed), [tokens(n, seed + place + 1) for place, n in enumerate(lengths)]
    signs = [np.where(text.vectors > 0, 1, -1) / np.sqrt(BITS) for text in texts]
    wanted = [np.mean([max(piece @ other for other in text) for piece in query]) for text in signs]
    np.testing.assert_allclose(match_scores(query, [PLAIN.pack(text) for text in texts]), wanted, atol=1e-5)


def test_a_piece_that_is_said_several_times_has_its_mean_direction():
    vectors = np.array([[1, 0], [0, 1], [0, 5]], np.float32)
    made = distinct_pieces(np.array([7, 3, 7]), vectors)
    assert made.ids.tolist() == [3, 7]
    np.testing.assert_allclose(made.vectors, [[0, 1], [np.sqrt(0.5), np.sqrt(0.5)]], atol=1e-6)


def test_windows_of_a_text_are_joined():
    first, second = TokenVectors(np.array([1, 2]), some(2, 1)), TokenVectors(np.array([2, 3]), some(2, 2))
    assert join_pieces([first, NO_TOKENS, second]).ids.tolist() == [1, 2, 3]
    assert join_pieces([NO_TOKENS]) is NO_TOKENS
    assert join_pieces([first]) is first


@pytest.mark.parametrize(("n_pieces", "n_asked", "share"), [(20, 5, 0.525), (10, 10, 0.0), (3, 10, 0.0)])
def test_the_cosine_gives_way_as_far_as_the_text_says_more_than_the_query(n_pieces, n_asked, share):
    query, text = some(n_asked, 1), PLAIN.pack(tokens(n_pieces, 2))
    by_chance = 0.1 + 0.02 * np.log(n_pieces)
    late = 0.05 + (float(match_scores(query, [text])[0]) - by_chance) * 0.95 / (0.8 - by_chance)
    [similarity] = PLAIN.similarities(query, [text], [0.3])
    assert similarity == pytest.approx(0.3 + share * (late - 0.3), abs=1e-5)


def test_a_long_text_keeps_its_rarest_pieces():
    every = tokens(MAX_PIECES + 10)
    assert PLAIN.pack(every) == PLAIN.pack(TokenVectors(every.ids[10:], every.vectors[10:]))
    assert len(PLAIN.pack(every)) == MAX_PIECES * BITS // 8


def test_a_projection_reads_as_it_was_written():
    embedder = HashTokenEmbedder(dimension=32)
    vectors, texts = embedder.encode_with_tokens(list(calibration_queries()))
    made = fit(texts, vectors)
    read = parse_projection(made.as_text(), made.directions.shape[0])
    np.testing.assert_array_equal(read.directions, made.directions)
    assert (read.unrelated, read.growth, read.same, read.cosine) == (
        made.unrelated,
        made.growth,
        made.same,
        made.cosine,
    )
    assert read.unrelated < read.same


@pytest.mark.parametrize("text", ["{}", "", "[1]", '{"directions": "~", "levels": [0, 1, 0]}', "null"])
def test_what_is_no_projection_is_refused(text):
    with pytest.raises(ValueError, match=r"missing or damaged field|do not fit|Expecting value|base85"):
        parse_projection(text, 384)


def test_a_text_that_was_packed_otherwise_is_refused():
    with pytest.raises(ValueError, match="packed token vectors"):
        PLAIN.similarities(some(2), [b"123"], [0.5])


def test_a_text_is_the_same_as_itself_and_unrelated_to_others_on_the_scale_of_the_cosine():
    embedder = HashTokenEmbedder()
    vectors, texts = embedder.encode_with_tokens(list(calibration_queries()))
    made = fit(texts, vectors)
    asked, packed = [made.project(text) for text in texts[::5]], [made.pack(text) for text in texts[::5]]
    lengths = np.array([len(text.ids) for text in texts[::5]])
    late = np.stack([made.rescale(match_scores(query, packed), lengths) for query in asked])
    assert np.median(np.diag(late)) == pytest.approx(1, abs=0.05)
    assert np.median(late[~np.eye(len(late), dtype=bool)]) == pytest.approx(made.cosine, abs=0.05)


def test_a_long_text_is_no_nearer_to_what_it_has_nothing_to_do_with_than_a_short_one():
    embedder = HashTokenEmbedder()
    vectors, texts = embedder.encode_with_tokens(list(calibration_queries()))
    made = fit(texts, vectors)
    short, long = join_pieces(texts[1:3]), join_pieces(texts[10:50])
    assert len(long.ids) > 5 * len(short.ids)
    query = made.project(embedder.query_tokens("where does the volcano sleep in winter"))
    lengths = np.array([len(short.ids), len(long.ids)])
    nearer, farther = made.rescale(match_scores(query, [made.pack(short), made.pack(long)]), lengths)
    assert nearer == pytest.approx(farther, abs=0.1)
