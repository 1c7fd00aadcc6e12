"""Embedders that have `encode` and little else, wherever a memory takes one."""

from __future__ import annotations

import copy
import re

import numpy as np
import pytest

import atlas
from atlas.core.errors import EmbeddingModelMismatch, InvalidInput
from atlas.core.settings import Settings
from atlas.embedding.cached import CachedEmbedder
from atlas.embedding.plain import EmbedderAdapter, whole_embedder
from atlas.evaluation.ablation import ablate
from atlas.memory.context.block import make_counter
from atlas.memory.experience.refinement.heuristic import HeuristicRefineStrategy
from atlas.protea import MemoryStore
from atlas.testing import HashEmbedder
from tests.support.memories import attempt, task


class Counting:
    """Counts words in so many buckets: plain numbers, of no particular length."""

    def __init__(self, n_buckets: int = 16) -> None:
        self.n_buckets = n_buckets

    def encode(self, text: str) -> list[float]:
        counts = [0.0] * self.n_buckets
        for word in re.findall(r"\w+", text.lower()):
            counts[sum(word.encode()) % self.n_buckets] += 1.0
        return counts


class Cutting(Counting):
    """Offers what it may, and asks to be told what is a question."""

    model_name, dimension = "counting", 16

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def encode_query(self, text: str) -> list[float]:
        self.asked.append(text)
        return self.encode(text)

    def windows(self, text: str) -> list[tuple[int, int]]:
        return [(0, len(text) // 2), (len(text) // 2, len(text))]


def test_what_is_missing_is_made_up_for_and_vectors_are_of_unit_length():
    made = whole_embedder(Counting())
    assert (made.dimension, made.model_name) == (16, f"{__name__}.Counting")
    vectors = made.encode_batch(["one two", "three"])
    assert (vectors.shape, vectors.dtype) == ((2, 16), np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1])
    assert np.array_equal(vectors[0], made.encode("one two"))
    assert made.encode_batch([]).shape == (0, 16)


def test_what_it_has_is_used():
    given = Cutting()
    made = whole_embedder(given)
    assert isinstance(made, EmbedderAdapter)
    assert (made.model_name, made.windows("ab")) == ("counting", [(0, 1), (1, 2)])
    made.encode_query("why")
    assert given.asked == ["why"]
    assert not hasattr(made, "count_tokens")
    assert copy.deepcopy(made).encode("a") == pytest.approx(made.encode("a"))


def test_a_whole_one_stays_itself_and_is_not_asked_how_long_its_vectors_are():
    class Loading(HashEmbedder):
        dimension = property(lambda self: pytest.fail("its weights would be loaded"), lambda self, value: None)

    given = Loading()
    assert whole_embedder(given) is given


class Waiting:
    async def encode(self, text): ...


@pytest.mark.parametrize("given", [object(), "all-MiniLM-L6-v2", Waiting()])
def test_what_cannot_embed_is_refused_when_a_memory_is_made(given, tmp_path):
    said = f"a sync method encode\\(text\\) that returns a vector, got '{type(given).__name__}'"
    with pytest.raises(InvalidInput, match=said):
        HeuristicRefineStrategy(given)
    with pytest.raises(InvalidInput, match=said):
        atlas.open_memory(tmp_path / "store", embedder=given, settings=Settings())


def test_a_store_is_bound_to_the_class_and_the_dimension(tmp_path):
    for _ in range(2):
        with atlas.open_memory(tmp_path / "store", embedder=Counting(), settings=Settings()) as memory:
            memory.store(attempt("cancel a flight"))
            memory.journal.add("reflection", "Flights are cancelled by their number, not by their date", generation=1)
            assert memory.experience.search(task("cancel a flight"))[0].task.description == "cancel a flight"
            assert memory.build_context(task("cancel a flight")).text
            assert memory.query_sync(task("cancel a flight")).errors == {}
    with pytest.raises(EmbeddingModelMismatch, match="Counting"):
        atlas.open_memory(tmp_path / "store", embedder=Counting(8), settings=Settings())


def test_it_serves_refining_remembering_ablating_and_protea_as_well(tmp_path):
    attempts = [attempt("cancel a flight", age_days=2), attempt("cancel a flight", age_days=1)]
    replayed = ablate(attempts, Counting(), configurations=["full"], settings=Settings())
    assert (replayed.n_attempts, replayed.model) == (2, f"{__name__}.Counting")
    remembering = CachedEmbedder(Counting())
    assert remembering.encode_query("a b") == pytest.approx(remembering.encode("a b"))
    assert make_counter(Counting()).name.startswith("an estimate")
    with MemoryStore(tmp_path / "memory", embedder=Counting(), settings=Settings()) as opened:
        assert opened.add(1, "task", "User asked: sort a list") == 1
