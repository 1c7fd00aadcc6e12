"""Windows of the bundled model: it reads each of them whole, and together they are the text."""

from __future__ import annotations

import random
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from atlas.embedding.chunking import MAX_WINDOWS, best_passage, encode_documents
from atlas.embedding.prompts import family_prompts
from atlas.embedding.sentence_transformers import BUNDLED, SentenceTransformerEmbedder, bundled_weights

DRAW = random.Random(4)
SAMPLE = Path(__file__).resolve().parents[3] / "sample_data"
WINDOW = 256
"""Word pieces that MiniLM reads, with the two that it adds."""


def words(alphabet, n_words, longest):
    return " ".join("".join(DRAW.choices(alphabet, k=DRAW.randint(1, longest))) for _ in range(n_words))


TEXTS = {
    "prose": "The quick brown fox jumps over the lazy dog. " * 120,
    "code": "for row in rows:\n    total[row.name] += row.price * (1 - row.rebate)\n" * 60,
    "syllables": words("aeioubcdfg", 900, 9),
    "long words": words("0123456789abcdef", 40, 99),
    "Chinese without spaces": "".join(DRAW.choices("天地玄黃宇宙洪荒日月盈昃辰宿列張", k=1_500)),
    "Korean": words("한국어안녕하세요", 300, 8),
    "emoji": "😀 🎉 🚀 " * 300,
    "accents": words("áéíóúñçàè", 600, 12),
    "mixed": "".join(DRAW.choices(["naïve ", "漢字", "한국어 ", "🚀", "x" * 90, "\n\n", "foo_bar(1)"], k=500)),
}


@pytest.fixture(scope="module")
def embedder():
    return SentenceTransformerEmbedder(BUNDLED)


@pytest.fixture(scope="module")
def n_pieces(embedder):
    """How many word pieces the model makes of a text, were there no window."""
    return lambda text: embedder.count_tokens(text) + 2


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_model_reads_each_window_whole_and_all_of_the_text(embedder, n_pieces, text):
    spans = embedder.windows(text)
    assert n_pieces(text) > WINDOW
    assert max(n_pieces(text[start:end]) for start, end in spans) <= WINDOW
    assert (spans[0][0], spans[-1][1]) == (0, len(text))
    assert all(before[0] < after[0] < before[1] < after[1] for before, after in pairwise(spans))


def test_neighbours_share_about_a_quarter_and_the_last_is_as_long_as_the_others(embedder):
    spans = embedder.windows(TEXTS["prose"])
    lengths = [end - start for start, end in spans]
    shared = [before[1] - after[0] for before, after in pairwise(spans)]
    assert all(0.2 < share / np.mean(lengths) < 0.3 for share in shared)
    assert min(lengths) > 0.9 * max(lengths)


def test_words_stay_whole(embedder):
    text = TEXTS["prose"]
    cuts = {place for span in embedder.windows(text) for place in span} - {0, len(text)}
    assert all(not (text[place - 1].isalpha() and text[place].isalpha()) for place in cuts)


@pytest.mark.parametrize("text", ["", " ", "one line", "天地玄黃", "word " * 254, "x" * 5_000], ids=repr)
def test_a_text_that_the_model_reads_at_once_is_one_window(embedder, text):
    assert embedder.windows(text) == [(0, len(text))]


def test_one_piece_more_makes_two_windows(embedder):
    assert len(embedder.windows("word " * 255)) == 2


def test_a_huge_text_has_so_many_windows_and_no_more(embedder):
    text = "The quick brown fox jumps over the lazy dog. " * 22_300
    spans = embedder.windows(text)
    assert len(text) > 1_000_000
    assert len(spans) == MAX_WINDOWS
    assert (spans[0][0], spans[-1][1]) == (0, len(text))


def test_a_short_text_needs_no_model():
    assert SentenceTransformerEmbedder("no/such-model").windows("Cancel my flight, please.") == [(0, 25)]


def test_what_stands_at_the_end_of_a_long_text_is_found(embedder):
    filler = "The committee met again and agreed on the minutes of its last meeting. " * 60
    text = filler + "The database migration deadlocked on the orders table."
    (vectors,) = encode_documents(embedder, [text])
    query = embedder.encode_query("deadlock during a migration of the database")
    assert (vectors @ query).max() > embedder.encode(text) @ query + 0.2
    start, end = best_passage(embedder, text, vectors, query)
    assert "deadlocked" in text[start:end]


def test_a_question_with_an_instruction_still_fits(embedder, n_pieces, monkeypatch):
    asked = []
    monkeypatch.setattr(embedder, "_prompts", family_prompts(["bge-base-en"]))
    monkeypatch.setattr(embedder, "_encode", lambda texts: asked.extend(texts) or np.eye(len(texts), 384))
    embedder.encode_query(f"{TEXTS['prose']} once")
    assert 1 < len(asked) <= 8
    assert all(text.startswith("Represent this sentence") and n_pieces(text) <= WINDOW for text in asked)


def test_a_long_question_finds_the_document_that_it_is(embedder):
    (vectors,) = encode_documents(embedder, [TEXTS["code"]])
    assert (vectors @ embedder.encode_query(TEXTS["code"])).max() > 0.999


def test_windows_of_short_texts_import_no_torch():
    code = (
        "import sys; from atlas.embedding.sentence_transformers import SentenceTransformerEmbedder as E; "
        "E().windows('short'); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_vectors_stored_by_sentence_transformers_stay_those_of_the_model(embedder):
    from sentence_transformers import SentenceTransformer  # only here: it takes seconds

    lines = [line for file in sorted(SAMPLE.glob("*.jsonl")) for line in file.read_text(encoding="utf-8").splitlines()]
    texts = [text[start:end] for text in lines[::10] for start, end in embedder.windows(text)[:2]]
    stored = SentenceTransformer(str(bundled_weights()), device="cpu").encode(texts, normalize_embeddings=True)
    assert np.abs(embedder.encode_batch(texts) - stored).max() < 1e-5


def test_tokens_are_counted_beyond_the_window(embedder):
    assert embedder.count_tokens("one two " * WINDOW) == 2 * WINDOW
