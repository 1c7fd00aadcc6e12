"""A page in the browser: waiting until it has come to rest, and pictures of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Locator, Page

from tests.support.repository import REPOSITORY

SHOTS = REPOSITORY / "tests" / "e2e" / "shots"
REST_MILLISECONDS = 50
"""How often `settle` looks; as often as the page is drawn would keep a whole processor busy with drawing it."""

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
            const lasts = (one) => one.playState === 'running' && one.timeline === document.timeline // not of scrolling
                && one.effect?.getTiming().iterations !== Infinity
            return atlasRest.began > atlasRest.asked && now - atlasRest.since >= 200
                && document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning'
                && !document.querySelector('[data-testid=stSkeleton]') && !document.getAnimations().some(lasts)
        }""",
        polling=REST_MILLISECONDS,
    )


def show_theme(page: Page, theme: str) -> None:
    """Show the page in `light` or `dark`, and wait until it has come to rest there: its parts follow one by one."""
    page.emulate_media(color_scheme=theme)
    page.wait_for_function(
        """(isDark) => {
            const colour = getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor
            const [red, green, blue] = colour.match(/[0-9.]+/g).map(Number)
            if ((red + green + blue < 384) !== isDark) return false
            atlasRest.since = performance.now() // it rests a while after this
            return true
        }""",
        arg=theme == "dark",
    )
    settle(page)


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
    """Wait until the page has come to rest, and keep a picture of it if `ATLAS_SHOTS` is set: people look at those.

    Args:
        themes: Whether in the other theme too, dark or light; the page then stays in that one.
    """
    settle(page)
    if not os.environ.get("ATLAS_SHOTS"):
        return
    SHOTS.mkdir(exist_ok=True)
    if not themes:
        page.screenshot(path=SHOTS / f"{name}.png")
        return
    is_dark = page.evaluate("() => matchMedia('(prefers-color-scheme: dark)').matches")
    before, after = THEMES[::-1] if is_dark else THEMES
    page.screenshot(path=SHOTS / f"{name}-{before}.png")
    show_theme(page, after)
    page.screenshot(path=SHOTS / f"{name}-{after}.png")
