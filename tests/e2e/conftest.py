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
from playwright.sync_api import Browser, Page, expect, sync_playwright

REPOSITORY = Path(__file__).resolve().parents[2]
SHOTS = Path(__file__).parent / "shots"
GIVE_UP_SECONDS = 60
"""How long anything may take before a test calls it broken; far above what it takes."""

expect.set_options(timeout=GIVE_UP_SECONDS * 1000)

QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

REST = """
globalThis.atlasRest = { asked: 0, began: -1, places: '', since: 0 }
const send = WebSocket.prototype.send
WebSocket.prototype.send = function (...said) { atlasRest.asked = performance.now(); return send.apply(this, said) }
new MutationObserver(() => {
    const app = document.querySelector('[data-testid=stApp]')
    if (app?.dataset.testScriptState === 'running') atlasRest.began = performance.now()
}).observe(document, { subtree: true, childList: true, attributeFilter: ['data-test-script-state'] })
"""
"""Notes in a page when its script was last asked to run, and when it last began to: `settle` looks at both."""

Serve = Callable[..., str]
"""Starts a dashboard on the store at a path; its address."""


@pytest.fixture(scope="module")
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


@pytest.fixture(params=["light"])
def theme(request) -> str:
    """The colours that the person's system asks for."""
    return str(request.param)


@pytest.fixture
def page(browser: Browser, theme: str) -> Iterator[Page]:
    """An empty tab; anything that the page's own scripts fail at fails the test."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme=theme)
    context.set_default_timeout(GIVE_UP_SECONDS * 1000)
    failures: list[str] = []
    context.add_init_script(REST)
    page = context.new_page()
    page.on("pageerror", lambda error: failures.append(str(error)))
    yield page
    context.close()
    assert failures == []


@pytest.fixture(scope="module")
def serve() -> Iterator[Serve]:
    """Dashboards, stopped when the module's tests are done."""
    running: list[subprocess.Popen[bytes]] = []

    def start(store: Path, **environment: str) -> str:
        port = free_port()
        running.append(launch(store, port, environment))
        wait_until_healthy(running[-1], port)
        return f"http://127.0.0.1:{port}"

    yield start
    for process in running:
        process.send_signal(signal.SIGTERM)
    for process in running:
        process.wait(GIVE_UP_SECONDS)


def launch(store: Path, port: int, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """A dashboard on a port."""
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
    """A port that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def tall(page: Page, height: int) -> Iterator[None]:
    """The tab in a height that shows more of the page at once, for a picture."""
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
            return atlasRest.began > atlasRest.asked && now - atlasRest.since > 200
                && document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning'
                && !document.querySelector('[data-testid=stSkeleton]') && !document.getAnimations().some(lasts)
        }"""
    )


def shoot(page: Page, name: str) -> None:
    """Keep a picture of the page, for people to look at."""
    settle(page)
    SHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SHOTS / f"{name}.png")
