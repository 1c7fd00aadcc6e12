"""An embedder that embeds each text once."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from atlas.embedding.cached import CachedEmbedder
from atlas.testing import HashEmbedder


class AskingEmbedder(HashEmbedder):
    """Embeds a question otherwise than a document, as some models do."""

    checksum = "abc"

    def encode_query(self, text):
        return self.encode(f"query: {text}")


def test_each_text_is_embedded_once():
    embedder = HashEmbedder()
    remembering = CachedEmbedder(embedder)
    remembering.encode_batch(["a b", "c", "a b"])
    remembering.encode_batch(["c", "d"])
    remembering.encode("d")
    assert embedder.texts == ["a b", "c", "d"]


def test_where_questions_are_embedded_as_documents_are_one_that_is_a_document_is_not_embedded_again():
    embedder = HashEmbedder()
    plain = SimpleNamespace(
        model_name="plain", dimension=64, encode=embedder.encode, encode_batch=embedder.encode_batch
    )
    remembering = CachedEmbedder(plain)
    np.testing.assert_array_equal(remembering.encode("d"), remembering.encode_query("d"))
    assert embedder.texts == ["d"]


def test_vectors_are_the_embedders_in_the_order_asked():
    remembering, embedder = CachedEmbedder(HashEmbedder()), HashEmbedder()
    remembering.encode("c")
    np.testing.assert_array_equal(
        remembering.encode_batch(["a b", "c", "a b"]), embedder.encode_batch(["a b", "c", "a b"])
    )
    assert remembering.encode_batch([]).shape == (0, 64)


def test_questions_and_documents_are_told_apart():
    embedder = AskingEmbedder()
    remembering = CachedEmbedder(embedder)
    assert not np.array_equal(remembering.encode("a"), remembering.encode_query("a"))
    remembering.encode_query("a")
    assert embedder.texts == ["a", "query: a"]


def test_it_stands_for_its_embedder():
    remembering = CachedEmbedder(AskingEmbedder(8, "asking"))
    assert (remembering.model_name, remembering.dimension, remembering.checksum) == ("asking", 8, "abc")
