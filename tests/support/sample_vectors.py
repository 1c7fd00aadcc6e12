"""Vectors of the sample data that come with ATLAS, made again: `python -m tests.support.sample_vectors`.

It is to be run after a text of the sample data has changed; a test says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import atlas
from atlas.embedding.chunking import EncodedText, encode_texts
from atlas.embedding.late_interaction import Projection
from atlas.embedding.minilm.bundled import DIRECTORY, bundled_projection
from atlas.embedding.minilm.sample import write_sample
from atlas.embedding.sentence_transformers import SentenceTransformerEmbedder
from atlas.importers.sample import load_sample
from tests.support.repository import REPOSITORY


class FreshEmbedder(SentenceTransformerEmbedder):
    """The bundled model, which embeds every text, and keeps the documents."""

    def __init__(self) -> None:
        super().__init__()
        self.documents: list[str] = []

    def known_texts(self, texts: Sequence[str], projection: Projection | None) -> dict[str, EncodedText]:
        self.documents += texts
        return {}


def make(directory: Path) -> None:
    """Write the vectors of all texts of the sample data into a directory."""
    embedder = FreshEmbedder()
    with (
        TemporaryDirectory() as scratch,
        atlas.open_memory(Path(scratch) / "store", embedder=embedder) as memory,
    ):
        load_sample(memory, REPOSITORY / "sample_data", atlas.Settings())
    texts = list(dict.fromkeys(embedder.documents))
    write_sample(directory, dict(zip(texts, encode_texts(embedder, texts, bundled_projection()), strict=True)))


if __name__ == "__main__":
    make(DIRECTORY)
