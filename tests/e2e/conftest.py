"""The real dashboard in a real browser."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from atlas.embedding.sentence_transformers import SentenceTransformerEmbedder
from tests.support.browser.chromium import FLAGS, find_chromium
from tests.support.browser.server import ELSEWHERE, Serve, dashboard, run_atlas
from tests.support.browser.tabs import WINDOW, no_failures, people
from tests.support.repository import REPOSITORY
from tests.support.sample import make_sample
from tests.support.stores import MODEL
from tests.support.waiting import GIVE_UP_SECONDS

expect.set_options(timeout=GIVE_UP_SECONDS * 1000)

QUIET = [
    *FLAGS,
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium; without it these tests are skipped, but not in CI."""
    chromium = find_chromium()
    if chromium is None:
        message = "the browser tests need Chromium; install it: apt-get install chromium-headless-shell"
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
    with ExitStack() as watched, people(browser) as opened:
        yield lambda: watched.enter_context(no_failures(opened()))


@pytest.fixture(scope="session")
def tab(browser: Browser) -> Iterator[Page]:
    """A tab for all tests: a browser compiles the scripts of Streamlit once in a tab."""
    with people(browser) as opened:
        yield opened()


@pytest.fixture
def page(tab: Page) -> Iterator[Page]:
    """An empty tab. A test that adds scripts to it takes `new_page` instead, because they cannot be removed."""
    with no_failures(tab):
        yield tab
    for other in tab.context.pages:
        if other is not tab:
            other.close()
    tab.unroute_all()
    tab.evaluate("() => { localStorage.clear(); sessionStorage.clear() }")
    tab.context.clear_cookies()
    tab.goto("about:blank")
    tab.set_viewport_size(WINDOW)
    tab.emulate_media(color_scheme="light", reduced_motion="reduce")


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
def sample_data(tmp_path_factory) -> Path:
    """A store of the sample data, filled as `make run` does it, which tests begin with a copy of."""
    store: Path = tmp_path_factory.mktemp("sample-data") / "store"
    run_atlas(store, "init", "--sample", str(REPOSITORY / "sample_data"))
    return store


@pytest.fixture(scope="session")
def sample(tmp_path_factory) -> Path:
    """The sample data with a few records of the other kinds, for tests that write nothing."""
    store: Path = tmp_path_factory.mktemp("sample") / "store"
    make_sample(store)
    return store


@pytest.fixture(scope="session")
def encoder() -> SentenceTransformerEmbedder:
    """The real embedding model, loaded once."""
    return SentenceTransformerEmbedder(MODEL)
