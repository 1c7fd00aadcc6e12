"""A cross-encoder as the reranker of searches, by its name or the directory of its files."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

import atlas
from atlas import EmbeddingUnavailable, Settings
from atlas.embedding.cross_encoder import CrossEncoderReranker
from atlas.testing import HashEmbedder
from tests.support.records import attempt

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "dog", "ran", "house", "bird", "sang"]


def cross_encoder(path: Path, n_labels: int = 1) -> Path:
    """Write a small cross-encoder with random weights."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    path.mkdir()
    (path / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
        num_labels=n_labels,
    )
    torch.manual_seed(0)
    model = BertForSequenceClassification(config).eval()
    torch.nn.init.normal_(model.classifier.weight, std=2.0)
    model.save_pretrained(path)
    BertTokenizerFast(str(path / "vocab.txt")).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return cross_encoder(tmp_path_factory.mktemp("reranker") / "model")


def test_it_scores_each_document_by_itself_between_0_and_1(model):
    reranker = CrossEncoderReranker(str(model))
    documents = ["the cat sat", "the dog ran", "the bird sang"]
    scores = asyncio.run(reranker.rerank("cat", documents))
    assert all(0 < score < 1 for score in scores)
    assert len({round(score, 8) for score in scores}) == 3
    alone = [asyncio.run(reranker.rerank("cat", [one]))[0] for one in documents]
    assert list(scores) == pytest.approx(alone, abs=1e-5)
    assert list(asyncio.run(reranker.rerank("cat", []))) == []


def test_the_setting_puts_it_into_searches_of_experiences(model, tmp_path):
    settings = Settings(reranker=str(model))
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(), settings=settings) as memory:
        memory.experience.store_many([attempt("the cat sat"), attempt("the cat ran")])
        found = memory.experience.retrieve("the cat", 2)
        assert found.problems == ()
        assert all(hit.signals["reranker"] > 0 for hit in found.hits)
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as memory:
        assert all("reranker" not in hit.signals for hit in memory.experience.retrieve("the cat", 2).hits)


def test_one_that_is_not_here_costs_no_answer_and_says_how_it_is_fetched(tmp_path):
    settings = Settings(reranker="nobody/has-this-one")
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(), settings=settings) as memory:
        memory.experience.store(attempt("the cat sat"))
        found = memory.experience.retrieve("the cat", 2)
        assert len(found.hits) == 1
        [problem] = found.problems
        assert re.search(r"cannot be loaded from this machine .*download it with: atlas init", problem, re.DOTALL)


def test_to_prepare_it_tries_to_fetch_it_and_says_so(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    told: list[str] = []
    with pytest.raises(EmbeddingUnavailable, match="cannot be loaded"):
        CrossEncoderReranker("nobody/has-this-one").prepare(told.append)
    assert told == ["fetching the reranker nobody/has-this-one"]


def test_one_that_is_here_is_prepared_without_a_word(model):
    told: list[str] = []
    CrossEncoderReranker(str(model)).prepare(told.append)
    assert told == []


def test_a_model_of_several_scores_is_refused(tmp_path):
    reranker = CrossEncoderReranker(str(cross_encoder(tmp_path / "model", n_labels=3)))
    with pytest.raises(EmbeddingUnavailable, match=r"should return one score, but .* returns 3"):
        asyncio.run(reranker.rerank("cat", ["the cat"]))


def test_nothing_of_it_is_imported_before_it_is_asked():
    program = (
        "import sys, atlas.memory.open; sys.exit('torch' in sys.modules or 'sentence_transformers' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
