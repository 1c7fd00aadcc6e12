"""Words of a query that met other words of a text: only those that name something, where the model tells words."""

from __future__ import annotations

from zlib import crc32

import numpy as np
import pytest

import atlas
from atlas.core.settings import RankingWeights
from atlas.embedding.late_interaction import NO_WORDS, WordVectors
from atlas.embedding.met_words import MetWords, met_words
from atlas.embedding.sentence_transformers import BUNDLED, SentenceTransformerEmbedder
from atlas.testing import HashEmbedder
from atlas.views.ask.cards import hit_card_of
from atlas.views.lists.hits import met_sentence
from tests.support.records import attempt

ALIKE = {"refund": 0, "reimbursement": 0, "client": 1, "customer": 1, "seven": 2, "7": 2, "of": 3, "for": 3}


class AlikeEmbedder(HashEmbedder):
    """An embedder to which a few words mean the same."""

    def word_vectors(self, text: str) -> WordVectors:
        words = tuple(text.split())
        if not words:
            return NO_WORDS
        places = [ALIKE.get(word, 4 + crc32(word.encode()) % 2_000) for word in words]
        return WordVectors(words, np.eye(2_004, dtype=np.float32)[places])


def pairs(query: str, text: str) -> list[tuple[str, str]]:
    return [(met.query_word, met.text_word) for met in met_words(AlikeEmbedder(), query, text)]


def test_words_that_mean_the_same_met():
    assert pairs("refund the client", "a customer wants reimbursement") == [
        ("refund", "reimbursement"),
        ("client", "customer"),
    ]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("refund", "refund"),  # the same word, which the search by words tells of
        ("refund", "Refund of it"),
        ("one of", "two for"),  # words that name nothing
        ("seven", "7"),  # no letter
        ("", "refund"),
        ("refund", ""),
        ("house", "garden"),
    ],
)
def test_other_words_met_none(query, text):
    assert pairs(query, text) == []


def test_a_word_is_told_once_and_no_more_than_six():
    assert pairs("refund refund", "reimbursement") == [("refund", "reimbursement")]
    assert len(pairs("refund client", "reimbursement customer")) == 2


def test_a_model_that_tells_no_words_tells_none():
    assert met_words(HashEmbedder(), "refund", "reimbursement") == []


def test_the_bundled_model_knows_that_to_reimburse_is_to_refund():
    embedder = SentenceTransformerEmbedder(BUNDLED)
    met = met_words(embedder, "reimburse the client", "The customer wants her money back as a refund")
    assert {(one.query_word, one.text_word) for one in met} == {("reimburse", "refund"), ("client", "customer")}
    assert met_words(embedder, "reimburse the client", "A volcano erupted on the island last summer") == []


def test_the_card_of_a_hit_tells_them_as_text(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=AlikeEmbedder()) as memory:
        memory.experience.store(attempt("a customer wants reimbursement"))
        [hit] = memory.experience.search_hits("refund the client", 1, count_retrieval=False)
        card = hit_card_of(memory, "experience", hit, "refund the client", RankingWeights())
        assert card.sentence.endswith("Words that met: refund ↔ reimbursement, client ↔ customer.")
        with pytest.raises(atlas.NotFound):
            memory.experience.met_words("nowhere", "refund")


def test_a_word_of_any_length_and_content_is_shortened_and_stays_text():
    said = met_sentence([MetWords("<b>x</b>", "y" * 500, 0.9)])
    assert said.startswith("Words that met: <b>x</b> ↔ yyy")
    assert len(said) < 120
    assert met_sentence([]) == ""
