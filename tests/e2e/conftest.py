"""The real dashboard in a real browser."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

import atlas.cli
from atlas.embedding.sentence_transformers import SentenceTransformerEmbedder
from tests.ui.stores import MODEL

REPOSITORY = Path(__file__).resolve().parents[2]
SHOTS = Path(__file__).parent / "shots"
GIVE_UP_SECONDS = 120
"""How long anything may take before a test calls it broken; far above what it takes on a busy machine."""

REST_MILLISECONDS = 50
"""How often `settle` looks; as often as the page is drawn would keep a whole processor busy with drawing it."""

expect.set_options(timeout=GIVE_UP_SECONDS * 1000)

QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

THEMES = ("light", "dark")

REST = """
globalThis.atlasRest = { asked: 0, began: -1, runs: 0, places: '', since: 0 }
const send = WebSocket.prototype.send
WebSocket.prototype.send = function (...said) { atlasRest.asked = performance.now(); return send.apply(this, said) }
new MutationObserver(() => {
    const app = document.querySelector('[data-testid=stApp]')
    if (app?.dataset.testScriptState !== 'running') return
    atlasRest.began = performance.now()
    atlasRest.runs += 1
}).observe(document, { subtree: true, attributeFilter: ['data-test-script-state'] })
"""
"""Notes in a page when its script was last asked to run, and when it last began to: `settle` looks at both."""

Serve = Callable[[Path], str]
"""Points the dashboard to a store; its address."""


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


@contextmanager
def dashboard(store: Path, **environment: str) -> Iterator[str]:
    """Serve a dashboard of its own on a store; its address."""
    port = free_port()
    process = launch(store, port, environment)
    wait_until_healthy(process, port)
    yield f"http://127.0.0.1:{port}"
    process.send_signal(signal.SIGTERM)
    process.wait(GIVE_UP_SECONDS)


def launch(store: Path, port: int, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a dashboard on a port."""
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    surroundings = {**os.environ, "ATLAS_STORE": str(store), **environment}
    return subprocess.Popen(command, cwd=REPOSITORY, env=surroundings)


def wait_until_healthy(process: subprocess.Popen[bytes], port: int) -> None:
    """Return as soon as a dashboard answers."""
    deadline = time.monotonic() + GIVE_UP_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, "the dashboard ended before it answered; its output says why"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5):
                return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.1)
    pytest.fail("the dashboard does not answer")


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def run_atlas(store: Path, *words: str) -> None:
    """Run a command as a person would on a store of the bundled embedding model."""
    with pytest.MonkeyPatch.context() as surroundings:
        surroundings.setenv("ATLAS_EMBEDDING_MODEL", MODEL)
        assert atlas.cli.main(["--store", str(store), *words]) == 0


@contextmanager
def tall(page: Page, height: int) -> Iterator[None]:
    """Show more of the page at once, for a picture."""
    page.set_viewport_size({"width": 1440, "height": height})
    yield
    page.set_viewport_size({"width": 1440, "height": 900})


def settle(page: Page) -> None:
    """Wait until the page has come to rest: its script has run since it was last asked to, and nothing on it moves."""
    page.wait_for_function(
        """() => {
            const places = [...document.querySelectorAll('[data-testid=stSidebarContent], [data-testid=stMain]')]
                .flatMap((one) => [one.scrollTop, one.scrollHeight, one.clientHeight]).join()
            const now = performance.now()
            if (places !== atlasRest.places) Object.assign(atlasRest, { places, since: now })
            const lasts = (one) => one.playState === 'running' && one.effect?.getTiming().iterations !== Infinity
            return atlasRest.began > atlasRest.asked && now - atlasRest.since >= 200
                && document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning'
                && !document.querySelector('[data-testid=stSkeleton]') && !document.getAnimations().some(lasts)
        }""",
        polling=REST_MILLISECONDS,
    )


def wait_for_looks(page: Page, n: int) -> None:
    """Wait until the page has looked so many times for what others did; it does each second."""
    before = page.evaluate("() => atlasRest.runs")
    page.wait_for_function("(runs) => atlasRest.runs >= runs", arg=before + n)
    settle(page)


def choose(page: Page, box: Locator, option: str) -> None:
    """Choose from a list, and close it; the box is brought into view first, as whatever scrolls closes an open list."""
    settle(page)
    box.scroll_into_view_if_needed()
    settle(page)
    box.click()
    page.get_by_role("option", name=option, exact=True).click()
    page.keyboard.press("Escape")


def shoot(page: Page, name: str, *, themes: bool = False) -> None:
    """Keep a picture of the page, for people to look at.

    Args:
        themes: Whether in the other theme too, dark or light; the page then stays in that one.
    """
    SHOTS.mkdir(exist_ok=True)
    settle(page)
    if not themes:
        page.screenshot(path=SHOTS / f"{name}.png")
        return
    is_dark = page.evaluate("() => matchMedia('(prefers-color-scheme: dark)').matches")
    before, after = THEMES[::-1] if is_dark else THEMES
    page.screenshot(path=SHOTS / f"{name}-{before}.png")
    page.emulate_media(color_scheme=after)
    settle(page)
    page.screenshot(path=SHOTS / f"{name}-{after}.png")
