"""A person compresses programs of the sample store, adds what was found, sees it among the concepts, and undoes it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import REPOSITORY, Serve, settle, shoot, tall
from tests.ui.library import opened_library
from tests.ui.stores import MODEL

PATIENCE_MILLISECONDS = 600_000
"""How long compressing may take on a busy machine; on a quiet one it takes less than a minute."""


@pytest.fixture
def store(tmp_path) -> Path:
    """A new store, filled as `make run` does it."""
    command = [sys.executable, "-m", "atlas", "--store", str(tmp_path), "init", "--sample", "sample_data"]
    subprocess.run(command, cwd=REPOSITORY, check=True, env={**os.environ, "ATLAS_EMBEDDING_MODEL": MODEL})
    return tmp_path


def names(store: Path) -> list[str]:
    with opened_library(store) as memory:
        return [memory.concepts.titles([found])[found] for found in memory.concepts.ids()]


@pytest.mark.parametrize("theme", ["light", "dark"], indirect=True)
def test_compress_preview_add_and_take_back(page: Page, serve: Serve, store: Path, theme: str):
    address = serve(store)
    page.goto(f"{address}/curate?curate_queue=compress")
    expect(page.get_by_text(re.compile(r"\d+ Python programs in \d+ successful attempts in scope"))).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Compress", exact=True).last.click()
    expect(page.get_by_text("This page can be left.")).to_be_visible()
    shoot(page, f"compressing-{theme}")
    page.get_by_role("link", name="History").click()
    page.get_by_role("link", name="Curate").click()
    page.get_by_text("Compress", exact=True).first.click()
    add = page.get_by_role("button", name=re.compile(r"Add \d+ concept"))
    expect(add).to_be_visible(timeout=PATIENCE_MILLISECONDS)
    expect(page.get_by_text("that could be run did the same")).to_be_visible()
    with tall(page, 1800):
        shoot(page, f"compressed-{theme}")
    assert names(store) == []
    settle(page)
    add.click()
    expect(page.get_by_text(re.compile(r"Added \d+ concepts? found in programs"))).to_be_visible()
    added = names(store)
    assert added
    page.get_by_role("link", name="Concepts").click()
    expect(page.get_by_text(re.compile(rf"^{len(added)} concepts?\."))).to_be_visible()
    shoot(page, f"concepts-found-{theme}")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("There is no concept yet.")).to_be_visible()
    assert names(store) == []
    shoot(page, f"concepts-empty-{theme}")
