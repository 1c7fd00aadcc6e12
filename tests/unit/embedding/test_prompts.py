"""Prompts of models: read from their files, known by family, set by the user, and put before every text."""

from __future__ import annotations

import json

import numpy as np
import pytest

from atlas.embedding.prompts import NO_PROMPTS, Prompts, model_prompts, override_prompts, read_prompts
from atlas.embedding.sentence_transformers import SentenceTransformerEmbedder
from tests.support.model_directories import embedder_by_torch, model_directory

BGE = "Represent this sentence for searching relevant passages: "
E5 = Prompts(query="query: ", document="passage: ")
NOMIC = Prompts(query="search_query: ", document="search_document: ")
GEMMA = Prompts(query="task: search result | query: ", document="title: none | text: ")


@pytest.mark.parametrize(
    ("model", "prompts"),
    [
        ("all-MiniLM-L6-v2", NO_PROMPTS),
        ("BAAI/bge-base-en-v1.5", Prompts(query=BGE)),
        ("/models/bge-small-en", Prompts(query=BGE)),
        ("BAAI/bge-m3", NO_PROMPTS),
        ("BAAI/bge-small-zh-v1.5", Prompts(query="为这个句子生成表示以用于检索相关文章：")),  # noqa: RUF001
        ("intfloat/multilingual-e5-small", E5),
        ("/srv/models/e5_base_v2/", E5),
        ("thenlper/gte-base", NO_PROMPTS),
        ("nomic-ai/nomic-embed-text-v1.5", NOMIC),
        ("google/embeddinggemma-300m", GEMMA),
        ("mixedbread-ai/mxbai-embed-large-v1", Prompts(query=BGE)),
        ("somebody/else", NO_PROMPTS),
        ("/models/e5-base/finished", NO_PROMPTS),
    ],
)
def test_a_family_is_known_by_the_last_part_of_a_name(model, prompts):
    assert model_prompts(model, None) == prompts


def test_an_instruct_model_of_e5_has_a_prompt_for_questions_only():
    prompts = model_prompts("intfloat/multilingual-e5-large-instruct", None)
    assert prompts.query.startswith("Instruct: ")
    assert prompts.query.endswith("\nQuery: ")
    assert prompts.document == ""


@pytest.mark.parametrize(
    ("files", "prompts"),
    [
        ({"config.json": {"_name_or_path": "/root/.cache/torch/sentence_transformers/BAAI_bge-base-en/"}}, BGE),
        ({"config.json": {"model_type": "nomic_bert"}}, NOMIC.query),
        ({"config.json": {"model_type": "gemma3_text"}}, GEMMA.query),
        ({"README.md": "---\nmodel-index:\n- name: e5-large-v2\n  results: []\n---\n"}, E5.query),
        ({"config_sentence_transformers.json": {"prompts": {"query": "ask: ", "document": ""}}}, "ask: "),
        ({"config_sentence_transformers.json": {"prompts": {"search_query": "ask: "}}}, "ask: "),
        ({"config_sentence_transformers.json": {"prompts": {"x": "go: "}, "default_prompt_name": "x"}}, "go: "),
        (
            {
                "config_sentence_transformers.json": {"prompts": {"query": "own: "}},
                "config.json": {"_name_or_path": "BAAI/bge-base-en"},
            },
            "own: ",
        ),
        (
            {
                "config_sentence_transformers.json": {"prompts": {"query": "", "document": ""}},
                "config.json": {"_name_or_path": "BAAI/bge-base-en"},
            },
            BGE,
        ),
        ({"config.json": "[1, 2", "config_sentence_transformers.json": "{", "README.md": "\0"}, ""),
        ({"config.json": [], "config_sentence_transformers.json": {"prompts": ["query: "]}}, ""),
        ({"config_sentence_transformers.json": {"prompts": {"query": 7}}}, ""),
        ({}, ""),
    ],
)
def test_the_files_of_a_directory_tell_its_prompts_before_its_family_does(tmp_path, files, prompts):
    for name, content in files.items():
        (tmp_path / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    assert model_prompts(str(tmp_path), tmp_path).query == prompts


def test_a_setting_changes_one_prompt_or_takes_it_away():
    assert override_prompts(E5, "", "") == E5
    assert override_prompts(E5, "ask: ", "none") == Prompts(query="ask: ", document="")


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"query": "a"}'])
def test_damaged_prompts_of_a_store_count_as_none(text):
    assert read_prompts(text) is None
    assert read_prompts(GEMMA.as_text()) == GEMMA


class Recording:
    """An encoder that remembers the texts that reach the tokenizer."""

    returns_tokens = False
    tokenizer = window = None
    dimension = 4

    def __init__(self):
        self.texts: list[str] = []

    def encode(self, texts):
        self.texts += texts
        return np.eye(4, dtype=np.float32)[[0] * len(texts)]


@pytest.mark.parametrize(
    ("name", "prompts"),
    [("bge-base-en-v1.5", Prompts(query=BGE)), ("e5-small", E5), ("nomic-embed-text-v1", NOMIC), ("mine", NO_PROMPTS)],
)
def test_exactly_these_texts_reach_the_tokenizer(tmp_path, name, prompts):
    (tmp_path / name).mkdir()
    embedder = SentenceTransformerEmbedder(str(tmp_path / name))
    embedder._encoder = encoder = Recording()
    embedder.encode_query("which cats?")
    embedder.encode("cats sat")
    embedder.encode_batch(["on", "the mat"])
    embedder.encode_queries(["where?"])
    assert encoder.texts == [
        f"{prompts.query}which cats?",
        *(f"{prompts.document}{text}" for text in ("cats sat", "on", "the mat")),
        f"{prompts.query}where?",
    ]


def test_a_directory_embeds_as_sentence_transformers_does_with_its_prompts(tmp_path):
    from sentence_transformers import SentenceTransformer  # only here: it takes seconds

    prompts = {"query": "search_query: ", "document": "search_document: "}
    path = model_directory(tmp_path / "model", prompts=prompts, pooling="cls")
    embedder, model = embedder_by_torch(path), SentenceTransformer(str(path), device="cpu")
    text = "Reset the password of an account"
    assert np.abs(embedder.encode(text) - model.encode_document(text, normalize_embeddings=True)).max() < 1e-5
    assert np.abs(embedder.encode_query(text) - model.encode_query(text, normalize_embeddings=True)).max() < 1e-5
    assert np.abs(embedder.encode(text) - model.encode(text, normalize_embeddings=True)).max() > 1e-3


def test_a_default_prompt_of_the_files_is_put_before_a_text_once(tmp_path):
    from sentence_transformers import SentenceTransformer  # only here: it takes seconds

    path = model_directory(tmp_path / "model", prompts={"both": "sum up: "})
    embedder = embedder_by_torch(path, prompts=Prompts(query="sum up: "))
    model = SentenceTransformer(str(path), device="cpu", prompts={"both": "sum up: "}, default_prompt_name="both")
    embedder.prepare()
    embedder._encoder.model.default_prompt_name = "both"
    wanted = model.encode("a cake", normalize_embeddings=True)
    assert np.abs(embedder.encode_query("a cake") - wanted).max() < 1e-5


def test_windows_leave_room_for_the_prompt_of_documents(tmp_path):
    path = model_directory(tmp_path / "e5-small")
    embedder = embedder_by_torch(path)
    text = "The quick brown fox jumps over the lazy dog. " * 60
    longest = max(embedder.count_tokens("passage: " + text[start:end]) for start, end in embedder.windows(text))
    assert longest + 2 <= 256
