"""Costs of each page in a real browser: time until it is drawn, one interaction, heap, bytes sent.

Beside them stands a page of one line, served by Streamlit alone: the cost of any page before it shows anything.
"""

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

import atlas
from benchmarks.measuring import Figure
from benchmarks.memories import open_made, remembered

REPOSITORY = Path(__file__).resolve().parents[2]
GIVE_UP_SECONDS = 600
N_VISITS = 3
"""Warm visits, of which the fastest counts: what else runs on the machine only ever adds."""

FLAGS = ["--no-sandbox", "--no-first-run", "--disable-background-networking", "--enable-unsafe-swiftshader"]
IDLE = """() => document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning'
    && document.querySelector('h1') && !document.querySelector('[data-testid=stSkeleton]')"""
WATCH = """() => {
    const app = document.querySelector('[data-testid=stApp]');
    window.pageHasRun = false;
    new MutationObserver((_, watch) => {
        if (app.dataset.testScriptState === 'running') { window.pageHasRun = true; watch.disconnect(); }
    }).observe(app, {attributes: true, attributeFilter: ['data-test-script-state']});
}"""
"""Notes when the server begins to draw: until then the page is at rest as well."""


@dataclass
class Visit:
    """Costs of one visit."""

    seconds: float
    heap_megabytes: float
    sent_megabytes: float


@dataclass
class Interaction:
    """Something that a person does on a page, and takes back."""

    what: str
    do: Callable[[Any], None]
    undo: Callable[[Any], None]


@dataclass
class _ByteCounter:
    n_bytes: int = 0

    def take(self, payload: str | bytes) -> None:
        self.n_bytes += len(payload)


def _sort(order: str) -> Callable[[Any], None]:
    def choose(page: Any) -> None:
        if not page.get_by_role("combobox", name="Sort").is_visible():  # it is under "More"
            page.get_by_role("button", name="More").click()
        page.get_by_role("combobox", name="Sort").click()
        page.get_by_role("option", name=order).click()

    return choose


def _choose(label: str) -> Callable[[Any], None]:
    return lambda page: page.get_by_role("radio", name=label).click()


def _press(label: str) -> Callable[[Any], None]:
    return lambda page: page.get_by_role("button", name=label).first.click()


PAGES = ("", "experiences", "map", "curate", "history")
OTHER_PAGE = "curate"
INTERACTIONS = {
    "": Interaction("narrow the scope", _press("failed"), _press("failed")),
    "experiences": Interaction("sort otherwise", _sort("Oldest first"), _sort("Newest first")),
    "map": Interaction("colour by outcome", _choose("Outcome"), _choose("Domain")),
    "history": Interaction("show the trash", _choose("Trash"), _choose("Operations")),
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
        yield from _plain(browser)
        for n in SIZES:
            with tempfile.TemporaryDirectory() as scratch:
                remembered(Path(scratch), n)
                with served(REPOSITORY / "app.py", Path(scratch)) as (address, _):
                    yield from _pages(browser, address, n)
                    seconds = _propagation_seconds(browser, address, Path(scratch))
                    yield _figure(f"at {n:,}: another process's write is told", seconds, "s", "< 2 s")


def _plain(browser: Any) -> Iterator[Figure]:
    """Yield the costs of Streamlit's own start in this browser."""
    with tempfile.TemporaryDirectory() as scratch:
        script = Path(scratch) / "plain.py"
        script.write_text("import streamlit as st\n\nst.title('Plain')\n", encoding="utf-8")
        with served(script, Path(scratch)) as (address, _):
            visit = fastest(browser, address)
    yield _figure("a page of one line: in a browser that never saw it", visit.seconds, "s", "")
    yield _figure("a page of one line: heap in the browser", visit.heap_megabytes, "MB", "")


def _pages(browser: Any, address: str, n: int) -> Iterator[Figure]:
    for name in PAGES:
        title, url = name or "overview", f"{address}/{name}"
        first, fresh = visit(browser, url), fastest(browser, url)
        yield _figure(f"{title} at {n:,}: first visit of the server", first.seconds, "s", "")
        yield _figure(f"{title} at {n:,}: in a browser that never saw it", fresh.seconds, "s", "")
        yield _figure(f"{title} at {n:,}: sent to the browser", fresh.sent_megabytes, "MB", "")
        yield _figure(f"{title} at {n:,}: heap in the browser", fresh.heap_megabytes, "MB", "")
    with _tab(browser) as tab:
        for name in PAGES:
            _open(tab, f"{address}/{name}")
        for name in PAGES:
            yield from _warm(tab, name, n)


def _warm(tab: Any, name: str, n: int) -> Iterator[Figure]:
    """Yield the costs of coming to a page from another one, and of doing something there."""
    title, opened, took = name or "overview", [], []
    for _ in range(N_VISITS):
        _follow(tab, OTHER_PAGE if name != OTHER_PAGE else "")
        opened.append(_follow(tab, name))
        if name in INTERACTIONS:
            took.append(_timed(tab, INTERACTIONS[name].do))
            _timed(tab, INTERACTIONS[name].undo)
    yield _figure(f"{title} at {n:,}: opened from the menu", min(opened), "s", "< 1 s")
    if took:
        yield _figure(f"{title} at {n:,}: {INTERACTIONS[name].what}", min(took), "s", "< 1 s")


def _follow(tab: Any, name: str) -> float:
    return _timed(tab, lambda tab: tab.locator(f"[data-testid=stSidebarNavLink][href$='/{name}']").click())


def _propagation_seconds(browser: Any, address: str, store: Path) -> float:
    """Return the seconds from the end of another process's write until the page shows it."""
    with _tab(browser) as tab, open_made(store) as memory:
        _open(tab, f"{address}/experiences")
        took = []
        for n_new in range(1, N_VISITS + 1):
            task = atlas.Task(id="elsewhere", domain="", description=f"Written elsewhere, {n_new}")
            memory.experience.store(atlas.Trajectory(task=task, steps=(), outcome=atlas.Outcome(success=None)))
            start = time.perf_counter()
            tab.get_by_text(f"{n_new} new").wait_for()
            took.append(time.perf_counter() - start)
        return max(took)


def _figure(what: str, ours: float, unit: str, aim: str) -> Figure:
    return Figure(what=what, ours=ours, baseline=None, unit=unit, aim=aim)


def fastest(browser: Any, url: str) -> Visit:
    return min((visit(browser, url) for _ in range(N_VISITS)), key=lambda visit: visit.seconds)


def visit(browser: Any, url: str) -> Visit:
    """Return one visit in a browser with an empty cache."""
    with _tab(browser) as tab:
        counter = _ByteCounter()
        tab.on("websocket", lambda socket: socket.on("framereceived", counter.take))
        seconds = _open(tab, url)
        heap = tab.evaluate("() => performance.memory.usedJSHeapSize") / 2**20
        return Visit(seconds, heap, counter.n_bytes / 2**20)


@contextmanager
def _tab(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(GIVE_UP_SECONDS * 1000)
    try:
        yield context.new_page()
    finally:
        context.close()


def _open(tab: Any, url: str) -> float:
    start = time.perf_counter()
    tab.goto(url)
    tab.wait_for_function(IDLE)
    return time.perf_counter() - start


def _timed(page: Any, do: Callable[[Any], None]) -> float:
    page.evaluate(WATCH)
    start = time.perf_counter()
    do(page)
    page.wait_for_function("() => window.pageHasRun")
    page.wait_for_function(IDLE)
    return time.perf_counter() - start


@contextmanager
def served(script: Path, store: Path | str) -> Iterator[tuple[str, int]]:
    """Serve a script on a store, and yield its address and its process."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = int(listener.getsockname()[1])
    command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.port", str(port)]
    surroundings = {**os.environ, "ATLAS_STORE": str(store)}
    process = subprocess.Popen(command, cwd=REPOSITORY, env=surroundings, stdout=subprocess.DEVNULL)
    try:
        _wait_until_healthy(port)
        yield f"http://127.0.0.1:{port}", process.pid
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
