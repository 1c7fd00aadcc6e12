"""The first answer after a start: at once by words where the model is not ready yet, and in full as soon as it is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock
from playwright.sync_api import Page, expect

from atlas.embedding import onnx_cache
from atlas.embedding.onnx_cache import OnnxCache
from tests.support.browser.page import settle, shoot
from tests.support.browser.server import dashboard
from tests.support.model_directories import copy_bundled_export, model_directory
from tests.support.repository import REPOSITORY

MODEL = "BAAI/bge-small-en-v1.5"
"""A model whose dimension is known, so that a store opens before it is loaded."""

FILL = """
import sys
import atlas
from tests.support.records import attempts

with atlas.open_memory(sys.argv[1], settings=atlas.Settings(embedding_model=sys.argv[2])) as memory:
    memory.experience.store_many(attempts(12))
    memory.journal.add("reflection", "The web report breaks at midnight", generation=3)
"""

TASK = "mend the web report of a customer"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Files of a model whose graph does not come with ATLAS, as the model hub's client keeps them."""
    kept = tmp_path / "hub" / f"models--{MODEL.replace('/', '--')}"
    (kept / "refs").mkdir(parents=True)
    (kept / "refs" / "main").write_text("0", encoding="ascii")
    return model_directory(kept / "snapshots" / "0")


@pytest.fixture
def exported(tmp_path: Path, files: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache directory in which the model is exported."""
    monkeypatch.setattr(onnx_cache, "_run_exporter", copy_bundled_export)
    OnnxCache(tmp_path / "exported").load(MODEL, files, 1, lambda step: None)
    return tmp_path / "exported"


@pytest.fixture
def store(tmp_path: Path, exported: Path) -> Path:
    """Experiences and an entry, embedded by that model."""
    environment = os.environ | {"HF_HUB_CACHE": str(tmp_path / "hub"), "ATLAS_CACHE": str(exported)}
    command = [sys.executable, "-c", FILL, str(tmp_path / "store"), MODEL]
    subprocess.run(command, cwd=REPOSITORY, env=environment, check=True)
    return tmp_path / "store"


def test_words_answer_until_the_model_is_ready_and_then_the_whole_answer_comes(
    page: Page, store: Path, files: Path, exported: Path, tmp_path: Path
):
    cache = OnnxCache(tmp_path / "cache")
    key = cache.key(files)
    ready = OnnxCache(exported).find(key)
    assert ready is not None
    made = cache.path / "encoders" / key
    made.parent.mkdir(parents=True)
    with dashboard(store, ATLAS_CACHE=str(cache.path), HF_HUB_CACHE=str(tmp_path / "hub")) as address:
        with FileLock(made.with_suffix(".lock")):  # as a process does that exports the model just now
            page.goto(f"{address}/ask?ask_text={TASK.replace(' ', '+')}")
            expect(page.get_by_text("these are the memories that share words with the task")).to_be_visible()
            expect(page.get_by_text("Now: waiting for another process that exports the model.")).to_be_visible()
            expect(page.locator(".atlas-hit").first).to_contain_text("web report")
            expect(page.get_by_text("What an agent is told")).to_have_count(0)
            settle(page)
            shoot(page, "ask-by-words", themes=True)
            shutil.copytree(ready, made)
        expect(page.get_by_text("What an agent is told")).to_be_visible()
        expect(page.get_by_text(re.compile(r"memories in [\d,]+ of 2,000 tokens"))).to_be_visible()
        expect(page.get_by_text("these are the memories that share words with the task")).to_have_count(0)
