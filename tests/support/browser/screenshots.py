"""The pictures of README and docs, all of one store in a real browser: `make screenshots`. One moves.

The store is the sample data after a week in which people and agents worked with it, so that History has something to
show.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

import atlas
from tests.support.browser.chromium import FLAGS, find_chromium
from tests.support.browser.curation import record_curation
from tests.support.browser.life import live
from tests.support.browser.page import REST, settle
from tests.support.browser.recording import POINTER
from tests.support.browser.server import dashboard
from tests.support.repository import REPOSITORY
from tests.support.stores import MODEL

PICTURES = REPOSITORY / "docs" / "pictures"
QUESTION = "ask?ask_text=The supplier's feed has far fewer rows than yesterday: import it or hold it back?"

PAGES = {
    "map": "map",
    "experiences": "experiences",
    "concepts": "concepts",
    "strategies": "strategies",
    "journal": "journal",
    "ask": QUESTION,
    "evaluation": "evaluation",
    "curate": "curate",
    "history": "history",
    "settings": "settings",
    "overview": "",
}
"""The address of each page, by the name of its picture. Overview lists domains once the map has been made."""

TASK, STRATEGY = {"task_id": "partner-token-check"}, {"title": "Hold back an input that has shrunk"}
"""What the pictures of an opened experience and strategy show: the second attempt at a task, and a strategy."""

IN_DARK = ("map",)
"""Pages that are shown in the dark theme as well."""

SIZE: ViewportSize = {"width": 1440, "height": 900}
OPENED_SIZE: ViewportSize = {"width": 1440, "height": 1150}
RECORDED_SIZE: ViewportSize = {"width": 1200, "height": 780}
PATIENCE = 300_000
"""Milliseconds that a page may take to come to rest, and to measure what it shows."""


def main() -> None:
    """Take all pictures."""
    chromium = find_chromium()
    if chromium is None:
        sys.exit("expected Chromium on this machine; install it: apt-get install chromium-headless-shell")
    PICTURES.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=PATIENCE)
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        store = Path(directory) / "sample"
        live(store)
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        installed = (
            f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # commands are shown by their names
        )
        # a store in the home directory is named without the rest of its path
        home = {"PATH": installed, "HOME": directory, "ATLAS_ACTOR": "Kjell"}
        with dashboard(store, **home) as address:
            take_all(browser, address)
            take_opened(browser, address, store)
            record(browser, address, store)
        browser.close()


def take_all(browser: Browser, address: str) -> None:
    """Take the picture of every page."""
    for theme in ("light", "dark"):
        page = _tab(browser, theme)
        for name, path in PAGES.items():
            if theme == "light":
                _take(page, f"{address}/{path}", name)
            elif name in IN_DARK:
                _take(page, f"{address}/{path}", f"{name}-dark")
        page.context.close()


def take_opened(browser: Browser, address: str, store: Path) -> None:
    """Take the pictures of one experience with its steps, and of one strategy with its uses."""
    with atlas.open_memory(store, settings=atlas.Settings(embedding_model=MODEL), read_only=True) as memory:
        experience_id, strategy_id = memory.experience.ids(TASK)[1], memory.strategies.ids(STRATEGY)[0]
    page = _tab(browser, "light", OPENED_SIZE)
    _take(page, f"{address}/experiences?id={experience_id}", "experience-opened")
    page.goto(f"{address}/strategies?id={strategy_id}")
    page.get_by_role("tab", name="Uses").click()
    settle(page)
    page.screenshot(path=PICTURES / "strategy-opened.png")
    page.context.close()


def record(browser: Browser, address: str, store: Path) -> None:
    """Take the moving picture of a curation, and that of its preview."""
    page = _tab(browser, "light", RECORDED_SIZE)
    page.add_init_script(POINTER)
    record_curation(page, address, store, PICTURES / "prune.png").save(PICTURES / "curation.gif")
    page.context.close()


def _tab(browser: Browser, theme: str, size: ViewportSize = SIZE) -> Page:
    context = browser.new_context(viewport=size, color_scheme="dark" if theme == "dark" else "light")
    context.set_default_timeout(PATIENCE)
    context.add_init_script(REST)
    return context.new_page()


def _take(page: Page, address: str, name: str) -> None:
    page.goto(address)
    page.get_by_role("heading").first.wait_for()
    settle(page)
    if name.startswith("map"):  # it is laid out in a process of its own
        page.wait_for_function("() => globalThis.atlasMap?.look().view.scale > 0")
        settle(page)
    expect(page.get_by_text("You can leave this page.")).to_have_count(0)  # its figures are measured
    page.screenshot(path=PICTURES / f"{name}.png")


if __name__ == "__main__":
    main()
