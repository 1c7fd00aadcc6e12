"""The real dashboard in a real browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from atlas.embedding.sentence_transformers import SentenceTransformerEmbedder
from tests.support.browser.page import REST
from tests.support.browser.server import ELSEWHERE, GIVE_UP_SECONDS, Serve, dashboard
from tests.support.stores import MODEL

expect.set_options(timeout=GIVE_UP_SECONDS * 1000)

QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1",
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
def new_page(browser: Browser) -> Iterator[Callable[[], Page]]:
    """Opens the empty tab of a person of their own; anything that a page's own scripts fail at fails the test."""
    contexts: list[BrowserContext] = []
    failures: list[str] = []

    def opened() -> Page:
        context = browser.new_context(
            viewport={"width": 1440, "height": 900}, color_scheme="light", reduced_motion="reduce"
        )
        contexts.append(context)
        context.set_default_timeout(GIVE_UP_SECONDS * 1000)
        context.add_init_script(REST)
        page = context.new_page()
        page.on("pageerror", lambda error: failures.append(str(error)))
        return page

    yield opened
    for context in contexts:
        context.close()
    assert failures == []


@pytest.fixture
def page(new_page: Callable[[], Page]) -> Page:
    """An empty tab."""
    return new_page()


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
