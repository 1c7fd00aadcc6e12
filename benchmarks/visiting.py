"""What a visit of each page costs in a real browser: time until it is drawn, one interaction, heap, bytes sent."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measuring import Figure
from benchmarks.memories import remembered

REPOSITORY = Path(__file__).resolve().parents[1]
GIVE_UP_SECONDS = 600
N_VISITS = 3
"""Warm visits, of which the fastest counts: what else runs on the machine only ever adds."""

FLAGS = ["--no-sandbox", "--no-first-run", "--disable-background-networking", "--enable-unsafe-swiftshader"]
IDLE = """() => document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning'
    && document.querySelector('h1') && !document.querySelector('[data-testid=stSkeleton]')"""
RUNS = "() => document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'running'"


@dataclass
class Visit:
    """What one visit cost."""

    seconds: float
    heap_megabytes: float
    sent_megabytes: float


@dataclass
class Interaction:
    """Something that a person does on a page."""

    what: str
    do: Callable[[Any], None]


@dataclass
class _Sent:
    n_bytes: int = 0

    def take(self, payload: str | bytes) -> None:
        self.n_bytes += len(payload)


def _sort_otherwise(page: Any) -> None:
    page.get_by_role("combobox", name="Sort").click()
    page.get_by_role("option", name="Oldest first").click()


INTERACTIONS: dict[str, Interaction] = {
    "": Interaction("narrow the scope", lambda page: page.get_by_role("button", name="failed").first.click()),
    "experiences": Interaction("sort otherwise", _sort_otherwise),
    "map": Interaction("colour by outcome", lambda page: page.get_by_role("radio", name="Outcome").click()),
    "history": Interaction("show the trash", lambda page: page.get_by_role("radio", name="Trash").click()),
}


SIZES = tuple(int(n) for n in os.environ.get("ATLAS_BENCHMARK_SIZES", "300,10000,100000").split(","))
"""ATLAS_BENCHMARK_SIZES: numbers of experiences, with commas."""


def figures() -> Iterator[Figure]:
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("visiting needs Chromium; install it: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for n in SIZES:
            with tempfile.TemporaryDirectory() as scratch:
                remembered(Path(scratch), n)
                with _served(Path(scratch)) as address:
                    yield from _pages(browser, address, n)


def _pages(browser: Any, address: str, n: int) -> Iterator[Figure]:
    for name in ("", "experiences", "map", "curate", "history"):
        title, url = name or "overview", f"{address}/{name}"
        first, _ = _visit(browser, url)
        visits = [_visit(browser, url, INTERACTIONS.get(name)) for _ in range(N_VISITS)]
        warm = min((visit for visit, _ in visits), key=lambda visit: visit.seconds)
        yield _figure(f"{title} at {n:,}: first visit of the server", first.seconds, "s", "")
        yield _figure(f"{title} at {n:,}: drawn, warm", warm.seconds, "s", "< 1 s")
        yield _figure(f"{title} at {n:,}: sent to the browser", warm.sent_megabytes, "MB", "")
        yield _figure(f"{title} at {n:,}: heap in the browser", warm.heap_megabytes, "MB", "")
        if name in INTERACTIONS:
            took = min(seconds for _, seconds in visits)
            yield _figure(f"{title} at {n:,}: {INTERACTIONS[name].what}", took, "s", "< 1 s")


def _figure(what: str, ours: float, unit: str, aim: str) -> Figure:
    return Figure(what=what, ours=ours, baseline=None, unit=unit, aim=aim)


def _visit(browser: Any, url: str, interaction: Interaction | None = None) -> tuple[Visit, float]:
    """One visit in a fresh tab, and the seconds of the interaction in it."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(GIVE_UP_SECONDS * 1000)
    page, sent = context.new_page(), _Sent()
    page.on("websocket", lambda socket: socket.on("framereceived", sent.take))
    start = time.perf_counter()
    page.goto(url)
    page.wait_for_function(IDLE)
    seconds = time.perf_counter() - start
    heap = page.evaluate("() => performance.memory.usedJSHeapSize") / 2**20
    visit = Visit(seconds, heap, sent.n_bytes / 2**20)
    took = _timed(page, interaction) if interaction else 0.0
    context.close()
    return visit, took


def _timed(page: Any, interaction: Interaction) -> float:
    start = time.perf_counter()
    interaction.do(page)
    page.wait_for_timeout(50)  # the browser tells the server, which then runs the page
    page.wait_for_function(IDLE)
    return time.perf_counter() - start


@contextmanager
def _served(store: Path) -> Iterator[str]:
    """A dashboard on a store; its address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = int(listener.getsockname()[1])
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    surroundings = {**os.environ, "ATLAS_STORE": str(store)}
    process = subprocess.Popen(command, cwd=REPOSITORY, env=surroundings, stdout=subprocess.DEVNULL)
    try:
        _wait_until_healthy(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(GIVE_UP_SECONDS)


def _wait_until_healthy(port: int) -> None:
    deadline = time.monotonic() + GIVE_UP_SECONDS
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5):
                return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.1)
    raise SystemExit("the dashboard does not answer")
