"""The first answer after a start: at once by words where the model is not ready yet, and in full as soon as it is."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from filelock import FileLock
from playwright.sync_api import Page, expect

import atlas
from atlas.core.settings import user_cache
from atlas.embedding.choice import model_files
from atlas.embedding.onnx_cache import OnnxCache
from atlas.embedding.sentence_transformers import SentenceTransformerEmbedder
from tests.support.browser.page import settle, shoot
from tests.support.browser.server import dashboard
from tests.support.records import attempts
from tests.support.stores import MODEL

TASK = "mend the web report of a customer"


@pytest.fixture
def store(tmp_path: Path, encoder: SentenceTransformerEmbedder) -> Path:
    """Experiences and an entry, embedded by a model that this machine has exported."""
    with atlas.open_memory(tmp_path / "store", embedder=encoder, settings=atlas.Settings()) as memory:
        memory.experience.store_many(attempts(12))
        memory.journal.add("reflection", "The web report breaks at midnight", generation=3)
    return tmp_path / "store"


def test_words_answer_until_the_model_is_ready_and_then_the_whole_answer_comes(page: Page, store: Path, tmp_path: Path):
    files = model_files(MODEL)
    assert files is not None
    cache = OnnxCache(tmp_path / "cache")
    key = cache.key(files)
    exported = OnnxCache(user_cache()).find(key)
    assert exported is not None
    made = cache.path / "encoders" / key
    made.parent.mkdir(parents=True)
    with dashboard(store, ATLAS_CACHE=str(cache.path)) as address:
        with FileLock(made.with_suffix(".lock")):  # as a process does that exports the model just now
            page.goto(f"{address}/ask?ask_text={TASK.replace(' ', '+')}")
            expect(page.get_by_text("these are the memories that share words with the task")).to_be_visible()
            expect(page.get_by_text("Now: waiting for another process, which exports the model.")).to_be_visible()
            expect(page.locator(".atlas-hit").first).to_contain_text("web report")
            expect(page.get_by_text("What an agent is told")).to_have_count(0)
            settle(page)
            shoot(page, "ask-by-words", themes=True)
            shutil.copytree(exported, made)
        expect(page.get_by_text("What an agent is told")).to_be_visible()
        expect(page.get_by_text(re.compile(r"memories in [\d,]+ of 2,000 tokens"))).to_be_visible()
        expect(page.get_by_text("these are the memories that share words with the task")).to_have_count(0)
