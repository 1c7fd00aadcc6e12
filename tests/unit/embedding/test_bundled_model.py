"""The bundled model runs from files that come with ATLAS, and those are what its weights give."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import atlas
from atlas.core.errors import EmbeddingUnavailable
from atlas.embedding import choice
from atlas.embedding.chunking import encode_texts
from atlas.embedding.foreign_queries import load_calibration_queries
from atlas.embedding.late_interaction import Projection, fit_projection
from atlas.embedding.minilm import bundled
from atlas.embedding.minilm.bundled import (
    DIRECTORY,
    PROJECTION,
    TENSORS,
    bundled_encoder,
    bundled_files,
    bundled_projection,
)
from atlas.embedding.minilm.queries import LANGUAGES, QUERIES, checksum, precomputed_queries, read_checksum
from atlas.embedding.minilm.sample import precomputed_sample
from atlas.embedding.onnx_cache import OnnxCache
from atlas.embedding.onnx_encoder import GRAPH, METADATA, OnnxEncoder
from atlas.embedding.sentence_transformers import BUNDLED, SentenceTransformerEmbedder
from atlas.importers.sample import load_sample
from atlas.testing import HashEmbedder
from tests.support.repository import REPOSITORY
from tests.support.sample_vectors import FreshEmbedder

TEXTS = ["a flight was cancelled", "rotate the grid by a quarter " * 80, "", "Überraschend schöne Grüße", "天地玄黃"]

WITHOUT = """
import sys
from pathlib import Path

BLOCKED = {"torch", "transformers", "sentence_transformers", "onnx", "scipy", "safetensors"}

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"{name} is blocked")

sys.meta_path.insert(0, Blocked())
import atlas
from atlas import Outcome, Step, Task, Trajectory

with atlas.open_memory(sys.argv[1], settings=atlas.Settings(embedding_model="all-MiniLM-L6-v2")) as memory:
    task = Task("t", "", "a customer wants to cancel a flight and get the money back")
    memory.store(Trajectory(task, (Step("look the booking up", "find(1)", "found"),), Outcome(True)))
    [hit] = memory.experience.retrieve("give back what a passenger paid for the plane").hits
    print(hit.signals["meaning"] > 0, memory.experience.embedder.engine)
"""


@pytest.fixture
def elsewhere(tmp_path, monkeypatch) -> Path:
    """A folder that stands for `minilm`, without the weights."""
    copy: Path = shutil.copytree(DIRECTORY, tmp_path / "minilm", ignore=shutil.ignore_patterns(TENSORS))
    monkeypatch.setattr(choice, "_BUNDLED_FILES", copy)
    return copy


def test_a_fresh_process_stores_and_searches_without_torch_and_without_a_cache(tmp_path):
    environment = os.environ | {"ATLAS_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-c", WITHOUT, str(tmp_path / "store")]
    run = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, "True onnxruntime\n"), run.stderr
    assert not (tmp_path / "cache").exists()


def test_missing_weights_are_reported_with_what_to_do(elsewhere):
    with pytest.raises(
        EmbeddingUnavailable, match=f"expected the weights of {BUNDLED} .* install ATLAS again: pip install"
    ):
        SentenceTransformerEmbedder(BUNDLED).encode("text")


def test_other_weights_are_refused(elsewhere):
    (elsewhere / TENSORS).write_bytes(b"\x02\x00\x00\x00\x00\x00\x00\x00{}")
    with pytest.raises(
        EmbeddingUnavailable, match=r"expected the weights .* in .*model\.safetensors, got {'bytes': 10, "
    ):
        SentenceTransformerEmbedder(BUNDLED).encode("text")


def test_a_damaged_graph_is_reported_and_not_worked_around(monkeypatch, tmp_path):
    shutil.copytree(DIRECTORY, tmp_path / "minilm")
    (tmp_path / "minilm" / GRAPH).write_bytes(b"no graph")
    monkeypatch.setattr(bundled, "DIRECTORY", tmp_path / "minilm")
    with pytest.raises(EmbeddingUnavailable, match=f"{BUNDLED} cannot be loaded .*install ATLAS and onnxruntime again"):
        SentenceTransformerEmbedder(BUNDLED).encode("text")


def test_the_projection_is_what_the_model_measures():
    measured, shipped = (
        fit_projection(SentenceTransformerEmbedder(BUNDLED).encode_with_tokens),
        bundled_projection(),
    )
    assert measured is not None
    turned = np.sign((measured.directions * shipped.directions).sum(axis=0))  # which way a direction points is chance
    assert np.abs(measured.directions * turned - shipped.directions).max() < 2e-3
    for level in ("unrelated", "growth", "same", "cosine"):
        assert getattr(measured, level) == pytest.approx(getattr(shipped, level), abs=1e-3)
    assert shipped.as_text() + "\n" == (DIRECTORY / PROJECTION).read_text(encoding="ascii")


def test_the_calibration_queries_are_kept_as_the_model_gives_them():
    assert read_checksum() == checksum(), "the queries changed: python -m atlas.embedding.minilm.make"
    projection, encoder = bundled_projection(), bundled_encoder(32)
    queries = [text for texts in load_calibration_queries(LANGUAGES).values() for text in texts]
    assert list(precomputed_queries(queries)) == queries
    texts = queries[::20]
    known = precomputed_queries(texts)
    for text, vector, tokens in zip(texts, *encoder.encode_with_tokens(texts), strict=True):
        kept_vector, kept_tokens = known[text]
        assert kept_vector @ vector > 0.9999
        assert kept_tokens.ids.tolist() == tokens.ids.tolist()
        assert (projection.project(kept_tokens) * projection.project(tokens)).sum(axis=1).min() > 0.999


def test_a_store_is_calibrated_with_the_queries_that_are_kept_and_embeds_its_own_together(monkeypatch):
    embedded = []
    encode = OnnxEncoder.encode_with_tokens

    def recorded(encoder, texts):
        embedded.append(list(texts))
        return encode(encoder, texts)

    monkeypatch.setattr(OnnxEncoder, "encode_with_tokens", recorded)
    embedder = SentenceTransformerEmbedder(BUNDLED)
    foreign = list(load_calibration_queries(["de"])["de"])
    embedder.remember_queries([*foreign, "cancel a flight", "rotate a grid"])
    assert embedded == [["cancel a flight", "rotate a grid"]]
    for text in (foreign[0], "cancel a flight"):
        vector, tokens = embedder.encode_query(text), embedder.query_tokens(text)
        [expected], [expected_tokens] = encode(bundled_encoder(32), [text])
        assert vector @ expected > 0.9999
        assert tokens.ids.tolist() == expected_tokens.ids.tolist()
    assert len(embedded) == 1


def test_the_sample_data_is_stored_with_the_vectors_that_are_kept_and_those_are_what_the_model_gives(
    monkeypatch, tmp_path
):
    embedded = []
    encode = OnnxEncoder.encode_with_tokens
    monkeypatch.setattr(OnnxEncoder, "encode_with_tokens", lambda encoder, texts: embedded.extend(texts))
    settings = atlas.Settings(embedding_model=BUNDLED)
    with atlas.open_memory(tmp_path, settings=settings) as memory:
        load_sample(memory, REPOSITORY / "sample_data", settings)
        documents = sorted(memory.storage.ledger.vectors.texts(), key=len)
    assert embedded == [], "texts of the sample data changed: python -m tests.support.sample_vectors"

    monkeypatch.setattr(OnnxEncoder, "encode_with_tokens", encode)
    texts, projection = [documents[0], *documents[-2:]], bundled_projection()  # the last ones have several windows
    known = precomputed_sample([*texts, "another text"], projection)
    assert known.keys() == {*texts}
    for text, fresh in zip(texts, encode_texts(FreshEmbedder(), texts, projection), strict=True):
        assert np.abs(known[text].vectors - fresh.vectors).max() < 1e-3
        assert alike_bits(known[text].tokens, fresh.tokens) > 0.99


def alike_bits(packed: bytes, other: bytes) -> float:
    bits, other_bits = (np.unpackbits(np.frombuffer(content, np.uint8)) for content in (packed, other))
    return float((bits == other_bits).mean())


def test_a_store_with_a_projection_of_its_own_gets_no_vectors_of_the_sample_data_that_are_kept(tmp_path):
    with atlas.open_memory(tmp_path, embedder=HashEmbedder()) as memory:
        load_sample(memory, REPOSITORY / "sample_data", atlas.Settings())
        texts = memory.storage.ledger.vectors.texts()
    bundled = bundled_projection()
    other = replace(bundled, directions=bundled.directions[:, ::-1])
    assert precomputed_sample(texts, other) == {}
    assert {encoded.tokens for encoded in precomputed_sample(texts, None).values()} == {None}


@pytest.mark.parametrize("projection", [bundled_projection(), None], ids=["useful", "useless"])
def test_the_projection_of_another_model_is_measured_once_for_each_of_its_prompts(tmp_path, projection):
    measured = []

    def of(prompts: str) -> Projection | None:
        def measure() -> Projection | None:
            measured.append(prompts)
            return projection

        return OnnxCache(tmp_path).projection("key", prompts, 384, measure)

    found = [of(prompts) for prompts in ("", "", "query: ", "")]
    assert [one and one.as_text() for one in found] == [projection and projection.as_text()] * 4
    assert measured == ["", "query: "]
    for file in (tmp_path / "projections").iterdir():
        file.write_text("{}", encoding="ascii")
    of("")
    assert measured == ["", "query: ", ""]


def test_a_cache_that_cannot_be_written_only_makes_it_slower(tmp_path):
    (tmp_path / "file").touch()
    projection = OnnxCache(tmp_path / "file").projection("key", "", 384, bundled_projection)
    assert projection is bundled_projection()


@pytest.mark.slow
def test_making_the_files_again_gives_the_same_model(tmp_path):
    from atlas.embedding.minilm.make import make  # only here: it takes seconds

    make(tmp_path)
    weights = bundled_files()
    again, shipped = OnnxEncoder(tmp_path, weights=weights), OnnxEncoder(DIRECTORY, weights=weights)
    assert np.abs(again.encode(TEXTS) - shipped.encode(TEXTS)).max() < 1e-6
    assert (tmp_path / QUERIES).stat().st_size == (DIRECTORY / QUERIES).stat().st_size
    facts = [json.loads((folder / METADATA).read_text(encoding="utf-8")) for folder in (tmp_path, DIRECTORY)]
    assert facts[0] == facts[1]
