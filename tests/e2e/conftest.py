"""The real dashboard in a real browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from atlas.embedding.sentence_transformers import SentenceTransformerEmbedder
from tests.support.browser.page import REST
from tests.support.browser.server import GIVE_UP_SECONDS, Serve, dashboard
from tests.support.stores import MODEL

expect.set_options(timeout=GIVE_UP_SECONDS * 1000)

QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium; without it these tests are skipped, but not in CI."""
    chromium = shutil.which("chromium")
    if chromium is None:
        message = "the browser tests need Chromium; install it: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """An empty tab; anything that the page's own scripts fail at fails the test."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light")
    context.set_default_timeout(GIVE_UP_SECONDS * 1000)
    context.add_init_script(REST)
    failures: list[str] = []
    page = context.new_page()
    page.on("pageerror", lambda error: failures.append(str(error)))
    yield page
    context.close()
    assert failures == []


@pytest.fixture(scope="session")
def serve(tmp_path_factory) -> Iterator[Serve]:
    """One dashboard for all tests, on the store that each points it to: it looks up the store whenever it draws."""
    pointer = tmp_path_factory.mktemp("dashboard") / "store"

    def point(store: Path) -> str:
        turned = pointer.with_name("turned")
        turned.symlink_to(store, target_is_directory=True)
        turned.replace(pointer)
        return address

    with dashboard(pointer) as address:
        yield point


@pytest.fixture(scope="session")
def encoder() -> SentenceTransformerEmbedder:
    """The real embedding model, loaded once."""
    return SentenceTransformerEmbedder(MODEL)
