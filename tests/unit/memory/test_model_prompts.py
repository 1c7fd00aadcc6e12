"""A store and the prompts of its model: remembered, kept to, and never mixed with others."""

from __future__ import annotations

import pytest

import atlas
from atlas.core.errors import EmbeddingModelMismatch
from atlas.embedding import onnx_cache
from atlas.embedding.prompts import NO_PROMPTS, Prompts
from atlas.embedding.scale import measure_scale
from atlas.embedding.sentence_transformers import BUNDLED, SentenceTransformerEmbedder
from atlas.memory.base.calibration.scale import MODEL_SCALES, model_scale
from atlas.memory.open import reembed_store
from atlas.storage.store import EmbeddingModel, Store
from atlas.testing import HashEmbedder
from tests.support.model_directories import change_json, copy_bundled_export, embedder_by_torch, model_directory
from tests.support.records import attempt

E5 = Prompts(query="query: ", document="passage: ")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


def settings(tmp_path, model="", **given):
    """Options for a store in a directory, whose models are exported beside it."""
    return atlas.Settings(store=tmp_path / "store", embedding_model=str(model), cache=tmp_path / "cache", **given)


def opened(options, announced=None):
    said = [] if announced is None else announced
    return atlas.open_memory(settings=options, announce=said.append)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A directory for a store and its model, which is exported in a moment."""
    monkeypatch.setattr(onnx_cache, "_run_exporter", copy_bundled_export)
    return tmp_path


def test_a_store_of_a_directory_remembers_its_prompts_and_keeps_them_when_the_files_change(place):
    path = model_directory(place / "model", prompts={"query": "ask: ", "document": ""})
    with opened(settings(place, path)) as memory:
        memory.experience.store(attempt("bake a cake"))
        assert memory.storage.prompts == Prompts(query="ask: ")
    change_json(path / "config_sentence_transformers.json", prompts={"query": "now: ", "document": "text: "})
    said: list[str] = []
    with opened(settings(place), said) as memory:
        assert memory.experience.embedder.prompts == Prompts(query="ask: ")
        assert memory.experience.retrieve("bake a cake").hits
    assert said == [
        "This store was embedded with the prompts 'ask: ' for questions and '' for documents, which stay in use. "
        f"Its model {path} now declares 'now: ' for questions and 'text: ' for documents. "
        "To use the new prompts, run: atlas reembed"
    ]
    reembed_store(settings(place))
    said.clear()
    with opened(settings(place), said) as memory:
        assert memory.storage.prompts == Prompts(query="now: ", document="text: ")
        assert memory.experience.retrieve("bake a cake").hits[0].similarity < 1
    assert said == []


def test_a_directory_that_had_no_prompts_and_gains_one_is_noticed(place):
    path = model_directory(place / "model")
    opened(settings(place, path)).close()
    change_json(path / "config_sentence_transformers.json", prompts={"query": "ask: "})
    said: list[str] = []
    with opened(settings(place), said) as memory:
        assert memory.experience.embedder.prompts == NO_PROMPTS
    assert "now declares 'ask: ' for questions" in said[0]


def test_another_prompt_for_documents_is_refused_where_somebody_asks_for_it(place):
    path = model_directory(place / "model")
    opened(settings(place, path)).close()
    with pytest.raises(EmbeddingModelMismatch, match=r"embedded with the prompt '', but .* puts 'text: ' before them"):
        opened(settings(place, document_prompt="text: "))
    with pytest.raises(EmbeddingModelMismatch, match="ATLAS_DOCUMENT_PROMPT='none'"):
        atlas.open_memory(settings=settings(place), embedder=SentenceTransformerEmbedder(str(path), prompts=E5))
    with opened(settings(place, query_prompt="ask: ")) as memory:
        assert memory.experience.embedder.prompts == Prompts(query="ask: ")


def test_the_settings_give_a_model_its_prompts(place):
    path = model_directory(place / "e5-small")
    with opened(settings(place, path, query_prompt="ask: ", document_prompt="none")) as memory:
        assert memory.storage.prompts == Prompts(query="ask: ")


def test_settings_of_the_environment_keep_the_blank_at_the_end():
    given = atlas.Settings.from_environment({"ATLAS_QUERY_PROMPT": "query: ", "ATLAS_DOCUMENT_PROMPT": "none"})
    assert (given.query_prompt, given.document_prompt) == ("query: ", "none")


@pytest.mark.parametrize("model", [BUNDLED, "BAAI/bge-base-en-v1.5", "BAAI/bge-small-en-v1.5"])
def test_a_store_of_before_prompts_were_kept_opens_without_a_word(tmp_path, model):
    dimension = 768 if "base" in model else 384
    with Store.open(tmp_path / "store") as store:
        store.bind(EmbeddingModel(model, dimension))
        assert store.prompts is None
    said: list[str] = []
    with opened(settings(tmp_path), said) as memory:
        embedder = memory.experience.embedder
        assert embedder.prompts.query == (
            "" if model == BUNDLED else "Represent this sentence for searching relevant " + "passages: "
        )
        assert memory.storage.prompts is None
    assert said == []


def test_a_store_of_before_prompts_were_kept_never_mixes_documents_with_and_without_one(place):
    path = model_directory(place / "e5-small")
    with Store.open(place / "store") as store:
        store.bind(EmbeddingModel(str(path), 384))
    said: list[str] = []
    with opened(settings(place), said) as memory:
        assert memory.experience.embedder.prompts == NO_PROMPTS
    assert "now declares 'query: ' for questions and 'passage: ' for documents" in said[0]


def test_a_new_store_of_the_bundled_model_writes_no_prompts(tmp_path):
    with opened(settings(tmp_path, BUNDLED)) as memory:
        assert memory.storage.prompts is None


def test_an_unknown_model_is_measured_on_its_own_foreign_pairs(models):
    mean = model_scale(embedder_by_torch(model_directory(models / "mean")))
    cls = model_scale(embedder_by_torch(model_directory(models / "cls", pooling="cls")))
    known = MODEL_SCALES[BUNDLED]
    assert mean.near == pytest.approx(known.near, abs=0.03)
    assert mean.unrelated == pytest.approx(known.unrelated, abs=0.06)
    assert abs(cls.unrelated - mean.unrelated) > 0.02
    assert model_scale(SentenceTransformerEmbedder(BUNDLED)) == known
    assert model_scale(HashEmbedder()).near == 0.7


def test_the_level_of_a_store_follows_the_scale_of_its_model(place):
    """A model whose vectors all point one way puts unrelated texts near each other: they are still unrelated."""
    embedder = embedder_by_torch(model_directory(place / "model", pooling="cls"))
    encode = embedder._encode

    def tilted(texts, on_progress=None):
        vectors = encode(texts) + 2.0 * encode(["one direction"])
        return vectors / ((vectors**2).sum(axis=1, keepdims=True) ** 0.5)

    assert measure_scale(tilted).unrelated > measure_scale(encode).unrelated + 0.3
    embedder._encode = tilted
    with atlas.open_memory(place / "store", embedder=embedder, settings=atlas.Settings()) as memory:
        memory.experience.store(attempt("bake a cake with quinces"))
        [hit] = memory.experience.retrieve("the witness withdrew her statement", threshold=0.0).hits
        assert hit.similarity > 0.7
        assert hit.meaning < 0.35
