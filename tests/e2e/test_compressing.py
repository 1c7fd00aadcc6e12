"""A person compresses a store's programs, adds what was found, sees it among the concepts, and undoes it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser.page import settle, shoot, tall
from tests.support.browser.server import Serve
from tests.support.programs import dozen
from tests.support.stores import make_store, opened_store

N_PLANTED = 3
PATIENCE_MILLISECONDS = 180_000
"""How long compressing may take on a busy machine; on a quiet one it takes some seconds."""


@pytest.fixture
def store(tmp_path) -> Path:
    """Twelve programs that share three functions."""
    make_store(tmp_path, dozen())
    return tmp_path


def names(store: Path) -> list[str]:
    with opened_store(store) as memory:
        return [memory.concepts.titles([found])[found] for found in memory.concepts.ids()]


def test_compress_preview_add_and_take_back(page: Page, serve: Serve, store: Path):
    address = serve(store)
    page.goto(f"{address}/curate?curate_queue=compress")
    expect(page.get_by_text("12 Python programs in 12 successful attempts in scope")).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Compress", exact=True).last.click()
    expect(page.get_by_text("You can leave this page.")).to_be_visible()
    page.get_by_role("link", name="History").click()
    page.get_by_role("link", name="Curate").click()
    expect(page.get_by_role("heading", name="Curate")).to_be_visible()
    settle(page)
    page.get_by_text("Find shared functions", exact=True).first.click()
    add = page.get_by_role("button", name=f"Add {N_PLANTED} concepts")
    expect(add).to_be_visible(timeout=PATIENCE_MILLISECONDS)
    expect(
        page.get_by_text("12 programs rewritten. Tests run the new code in 12 of them, and 12 of those did the same")
    ).to_be_visible()
    expect(page.get_by_text("Found by Stitch")).to_be_visible()
    with tall(page, 1800):
        shoot(page, "compressed-light")
    assert names(store) == []
    settle(page)
    add.click()
    expect(page.get_by_text(re.compile(rf"Added {N_PLANTED} concepts found in \d+ programs"))).to_be_visible()
    assert len(names(store)) == N_PLANTED
    page.get_by_role("link", name="Concepts").click()
    expect(page.get_by_text(re.compile(rf"^{N_PLANTED} concepts · none was used yet"))).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("There are no concepts yet.")).to_be_visible()
    assert names(store) == []
