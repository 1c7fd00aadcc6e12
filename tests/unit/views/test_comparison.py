"""Two rankings of one query: what they share is done once."""

from __future__ import annotations

import pytest

import atlas
from atlas.core.settings import RankingWeights
from atlas.memory.experience.memory import ChromaExperienceMemory
from atlas.testing import FixedClock, HashEmbedder, MemoryVectorStore, ScriptedReranker
from atlas.views.ask.comparison import compare
from tests.support.records import attempt

TEXTS = ("boil an egg", "boil an egg in a pan", "file the tax return")


class CountingEmbedder(HashEmbedder):
    """Counts the questions that it embeds."""

    n_queries = 0

    def encode_query(self, text):
        self.n_queries += 1
        return self.encode(text)


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=CountingEmbedder()) as opened:
        opened.experience.store_many([attempt(text) for text in TEXTS])
        yield opened


def test_a_query_is_embedded_once_and_the_store_measured_once_for_both_sides(memory):
    found = compare(memory, "boil an egg", RankingWeights(), RankingWeights(words=0.0))
    assert [hit.rank for hit in found.left.hits] == [1, 2]
    assert memory.experience.embedder.n_queries == 1
    calibration = memory.experience._retriever._calibration
    assert calibration._latest_measurement is not None
    assert memory.experience.ranked_with(RankingWeights())._retriever._calibration is calibration


def test_other_weights_keep_the_clock_and_the_reranker():
    clock, reranker = FixedClock(), ScriptedReranker(dict.fromkeys(TEXTS, 0.0))
    memory = ChromaExperienceMemory(HashEmbedder(), MemoryVectorStore(), clock=clock, reranker=reranker)
    weighted = memory.ranked_with(RankingWeights(words=0.0))
    assert (weighted._retriever.clock, weighted._retriever.reranker) == (clock, reranker)
    assert weighted.weights == RankingWeights(words=0.0)
    assert memory.weights == RankingWeights()
    assert memory.ranked_with(RankingWeights(), reranked=False)._retriever.reranker is None
