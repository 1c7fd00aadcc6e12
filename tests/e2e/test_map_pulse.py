"""The map while an agent works: what it retrieves and stores pulses, and a line says what."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.support.browser.map import look, open_map
from tests.support.browser.page import shoot
from tests.support.browser.server import Serve
from tests.support.records import kinds
from tests.support.repository import REPOSITORY
from tests.support.stores import make_store

AGENT = """
import sys, atlas
from atlas.testing import HashEmbedder
from tests.support.records import attempt
settings = atlas.Settings(actor="crawler <b>7</b>")
with atlas.open_memory(sys.argv[1], embedder=HashEmbedder(384, "all-MiniLM-L6-v2"), settings=settings) as memory:
    if sys.argv[2] == "store":
        memory.experience.store(attempt("Grep the log of the cron process"))
    else:
        memory.experience.retrieve("database query with a join", 3)
"""


def test_what_an_agent_does_pulses_where_it_does_it(page: Page, serve: Serve, tmp_path: Path):
    make_store(tmp_path, kinds(60))
    open_map(page, serve(tmp_path))
    expect(page.locator(".ticker")).to_be_hidden()
    act(tmp_path, "retrieve")
    page.wait_for_function("() => atlasMap.look().nPulsing > 0")
    expect(page.locator(".ticker")).to_contain_text("Retrieved 3 experiences: database query")
    shoot(page, "map-pulse")
    page.wait_for_function("() => atlasMap.look().nPulsing === 0")
    act(tmp_path, "store")
    page.wait_for_function("() => atlasMap.look().n === 61")
    expect(page.locator(".ticker")).to_contain_text("crawler <b>7</b> stored 1 experience: Grep the log")
    assert page.locator(".ticker b").count() == 0
    assert look(page)["n"] == 61


def test_coming_back_to_the_map_pulses_nothing_again(page: Page, serve: Serve, tmp_path: Path):
    make_store(tmp_path, kinds(60))
    open_map(page, serve(tmp_path))
    act(tmp_path, "retrieve")
    expect(page.locator(".ticker")).to_be_visible()
    page.get_by_role("link", name="Experiences").click()
    expect(page.get_by_role("heading", name="Experiences")).to_be_visible()
    page.get_by_role("link", name="Map").click()
    page.wait_for_function("() => globalThis.atlasMap?.look().view.scale > 0")
    expect(page.locator(".stage")).to_be_visible()
    expect(page.locator(".ticker")).to_be_hidden()


def act(store: Path, what: str) -> None:
    """Let an agent in a process of its own store or retrieve."""
    subprocess.run([sys.executable, "-c", AGENT, str(store), what], cwd=REPOSITORY, check=True)
