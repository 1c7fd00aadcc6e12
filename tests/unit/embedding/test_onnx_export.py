"""A model that is exported gives the vectors of sentence-transformers, and an export is made once and whole."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from atlas.core.errors import EmbeddingUnavailable
from atlas.embedding import onnx_cache
from atlas.embedding.onnx_cache import OnnxCache
from atlas.embedding.onnx_encoder import GRAPH, METADATA
from atlas.embedding.sentence_transformers import SentenceTransformerEmbedder
from tests.support.repository import REPOSITORY

WORDS = """[PAD] [UNK] [CLS] [SEP] [MASK] a b c d the cat sat on mat query : ##s ##x bridge river""".split()  # noqa: SIM905  (a list of it would be longer)
TEXTS = ["", "the cat sat on the mat", "river bridge " * 40, "cats", "a b c d " * 3, "漢字 unknown"]
WINDOW = 24


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    """A model of its own: two small layers, the vector of its first piece, and a prompt for questions."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules
    from transformers import BertConfig, BertModel, BertTokenizerFast

    path = tmp_path_factory.mktemp("tiny")
    (path / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    )
    torch.manual_seed(0)
    BertModel(config).eval().save_pretrained(path / "bert")
    BertTokenizerFast(str(path / "vocab.txt")).save_pretrained(path / "bert")
    transformer = modules.Transformer(str(path / "bert"), max_seq_length=WINDOW)
    model = SentenceTransformer(
        modules=[transformer, modules.Pooling(16, pooling_mode="cls")], prompts={"query": "query : "}, device="cpu"
    )
    model.save(str(path / "model"))
    return path / "model"


PREPARE = """
import sys
from pathlib import Path
from atlas.embedding.sentence_transformers import SentenceTransformerEmbedder

embedder = SentenceTransformerEmbedder(sys.argv[1], cache=Path(sys.argv[2]))
embedder.prepare(lambda step: print(step, flush=True))
print(embedder.engine, "torch" in sys.modules)
"""
"""A program that exports a model into a cache directory, if it has to."""


@pytest.fixture(scope="module")
def outputs(tiny, tmp_path_factory) -> tuple[Path, list[list[str]]]:
    """A cache directory into which two processes exported the model at once, and the lines that each printed.

    Both work in a directory with a module of the name of one that an export imports.
    """
    cache = tmp_path_factory.mktemp("cache")
    place = tmp_path_factory.mktemp("place")
    (place / "torch.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    script = tmp_path_factory.mktemp("elsewhere") / "agent.py"
    script.write_text(PREPARE, encoding="utf-8")
    command = [sys.executable, str(script), str(tiny), str(cache)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    running = [
        subprocess.Popen(command, cwd=place, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    return cache, [process.communicate()[0].splitlines() for process in running]


@pytest.fixture(scope="module")
def exported(outputs) -> Path:
    """A cache directory in which the model is exported."""
    return outputs[0]


@pytest.fixture
def cache(exported, tmp_path) -> Path:
    """A copy of that directory."""
    subprocess.run(["cp", "-a", str(exported), str(tmp_path / "cache")], check=True)
    return tmp_path / "cache"


def embedder_of(model: Path, cache: Path, device: str = "cpu") -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder(str(model), device, cache=cache)


def by_torch(model: Path) -> SentenceTransformerEmbedder:
    """An embedder that has nowhere to export to."""
    return embedder_of(model, Path(__file__))


def graph_in(cache: Path) -> Path:
    (graph,) = cache.glob(f"encoders/*/{GRAPH}")
    return graph


def test_it_gives_the_vectors_of_sentence_transformers(tiny, exported):
    ours, theirs = embedder_of(tiny, exported), by_torch(tiny)
    assert np.abs(ours.encode_batch(TEXTS) - theirs.encode_batch(TEXTS)).max() < 1e-5
    for text in TEXTS:
        assert np.abs(ours.encode_query(text) - theirs.encode_query(text)).max() < 1e-5
    assert (ours.engine, ours.dimension, theirs.dimension) == ("onnxruntime", 16, 16)
    assert ours.windows(TEXTS[2]) == theirs.windows(TEXTS[2])
    assert len(ours.windows(TEXTS[2])) > 3


def test_the_models_own_prompt_stands_before_a_question(tiny, exported):
    embedder = embedder_of(tiny, exported)
    assert np.abs(embedder.encode_query("the cat") - embedder.encode("query : the cat")).max() < 1e-6
    assert np.abs(embedder.encode_query("the cat") - embedder.encode("the cat")).max() > 1e-4


def test_each_word_piece_has_a_vector(tiny, exported):
    from sentence_transformers import SentenceTransformer

    encoder = embedder_of(tiny, exported)._load_once()
    wanted = SentenceTransformer(str(tiny), device="cpu").encode(TEXTS[1], output_value="token_embeddings")
    assert np.abs(encoder.token_vectors(TEXTS[1]) - np.asarray(wanted)).max() < 1e-5


def test_texts_of_any_length_keep_their_order(tiny, exported):
    embedder = embedder_of(tiny, exported)
    texts = [" ".join(["river"] * (number * 7 % 30)) + f" {WORDS[5 + number % 15]}" for number in range(700)]
    done: list[tuple[int, int]] = []
    together = embedder.encode_batch(texts, on_progress=lambda n, total: done.append((n, total)))
    alone = np.stack([embedder.encode(text) for text in texts])
    assert np.abs(together - alone).max() < 1e-5
    assert done[-1] == (700, 700)
    assert embedder.encode_batch([]).shape == (0, 16)


def test_the_last_questions_are_remembered(tiny, exported):
    embedder = embedder_of(tiny, exported)
    first = embedder.encode_query("the cat")
    assert embedder.encode_query("the cat") is first
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1.0


@pytest.mark.parametrize(
    "damage", [lambda data: data[: len(data) // 2], lambda data: data[:-1] + b"?"], ids=["truncated", "one byte"]
)
def test_a_damaged_graph_is_not_used(tiny, cache, damage):
    graph = graph_in(cache)
    graph.write_bytes(damage(graph.read_bytes()))
    assert embedder_of(tiny, cache).engine.startswith("onnxruntime, once")


def test_an_export_with_another_file_spoilt_that_can_be_read_is_made_again(tiny, cache, exported, monkeypatch):
    def copy_export(model: str, directory: Path, announce: Callable[[str], None]) -> None:
        shutil.copytree(graph_in(exported).parent, directory, dirs_exist_ok=True)

    monkeypatch.setattr(onnx_cache, "_run_exporter", copy_export)  # the real one takes ten seconds
    facts = graph_in(cache).parent / METADATA
    facts.write_text(facts.read_text(encoding="utf-8").replace("24", "12"), encoding="utf-8")
    embedder = embedder_of(tiny, cache)
    assert embedder._load_once().window == WINDOW
    assert embedder.engine == "onnxruntime"


def test_a_graph_that_was_only_copied_is_taken_as_it_is(tiny, cache):
    graph = graph_in(cache)
    os.utime(graph, (1, 1))
    steps: list[str] = []
    embedder_of(tiny, cache).prepare(steps.append)
    assert steps == []


def test_another_model_in_the_same_place_is_exported_by_itself(tiny, cache, tmp_path):
    subprocess.run(["cp", "-a", str(tiny), str(tmp_path / "model")], check=True)
    config = tmp_path / "model" / "1_Pooling" / "config.json"
    before = OnnxCache(cache).key(tmp_path / "model")
    config.write_text(config.read_text(encoding="utf-8").replace('"cls"', '"mean"'), encoding="utf-8")
    assert OnnxCache(cache).key(tmp_path / "model") != before


def test_two_processes_at_once_make_one_export_and_import_nothing_from_where_they_work(outputs):
    cache, lines = outputs
    assert [printed[-1:] for printed in lines] == [["onnxruntime False"]] * 2
    exporting = [printed for printed in lines if any("optimising" in step for step in printed)]
    assert len(exporting) == 1
    assert len(list(cache.glob("encoders/*/"))) == 1


def test_a_killed_export_leaves_nothing_that_is_taken_for_one(tiny, tmp_path):
    command = [sys.executable, "-c", PREPARE, str(tiny), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        assert any("loading" in line for line in process.stdout)
        os.killpg(process.pid, signal.SIGKILL)
    (left,) = tmp_path.glob("encoders/.*.*")
    (left / GRAPH).write_bytes(b"half a graph")  # as if it had come further, which takes ten seconds
    long_ago = time.time() - 7_200
    os.utime(left, (long_ago, long_ago))
    assert embedder_of(tiny, tmp_path).engine.startswith("onnxruntime, once")
    assert not left.exists()


def test_on_another_device_sentence_transformers_serves(tiny, cache):
    embedder = embedder_of(tiny, cache, "meta")
    assert embedder.engine == "sentence-transformers, because the device is set to meta"


def test_without_a_place_for_exports_sentence_transformers_serves(tiny):
    embedder = by_torch(tiny)
    assert f"the cache directory {Path(__file__)} cannot be written" in embedder.engine
    assert embedder.encode("the cat").shape == (16,)
    assert embedder.engine.startswith("sentence-transformers, because")


def test_so_it_does_where_the_cache_is_there_but_cannot_be_locked(tiny, tmp_path):
    (tmp_path / "encoders" / f"{OnnxCache(tmp_path).key(tiny)}.lock").mkdir(parents=True)
    embedder = embedder_of(tiny, tmp_path)
    assert embedder.encode("the cat").shape == (16,)
    assert f"the cache directory {tmp_path} cannot be written" in embedder.engine


def test_what_cannot_be_exported_is_run_as_it_is_and_not_tried_again(tmp_path):
    model = static_model(tmp_path)
    embedder = embedder_of(model, tmp_path / "cache")
    assert embedder.encode("the cat").shape == (8,)
    assert embedder.engine.startswith("sentence-transformers, because ")
    steps: list[str] = []
    again = embedder_of(model, tmp_path / "cache")
    again.prepare(steps.append)
    assert (again.engine, steps) == (embedder.engine, ["loading the model with sentence-transformers"])
    (noted,) = (tmp_path / "cache").glob("encoders/*.problem")
    held = json.loads(noted.read_text(encoding="utf-8"))
    noted.write_text(json.dumps({**held, "versions": {**held["versions"], "torch": "another"}}), encoding="utf-8")
    assert embedder_of(model, tmp_path / "cache").engine.startswith("onnxruntime, once")


def test_a_model_that_is_nowhere_says_so(tmp_path):
    with pytest.raises(EmbeddingUnavailable, match="cannot be loaded"):
        embedder_of(Path("no/such-model"), tmp_path).encode("the cat")


def static_model(path: Path) -> Path:
    """A model without attention, which takes other inputs than the exporter gives."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    embedding = modules.StaticEmbedding(tokenizer, embedding_dim=8)
    SentenceTransformer(modules=[embedding], device="cpu").save(str(path / "static"))
    return path / "static"
