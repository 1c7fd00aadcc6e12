"""The map in the browser."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.support.browser.page import settle


def open_map(page: Page, address: str) -> None:
    """Go to the map and wait until it is drawn. It moves, unlike the other pages of the tests."""
    page.emulate_media(reduced_motion="no-preference")
    page.goto(f"{address}/map")
    ready(page)


def ready(page: Page) -> None:
    """Wait until the map is drawn."""
    page.wait_for_function("() => globalThis.atlasMap?.look().view.scale > 0 && document.querySelector('.stApp')")
    settle(page)


def look(page: Page) -> dict:
    """What the map shows."""
    found: dict = page.evaluate("() => atlasMap.look()")
    return found


def draw(page: Page, corners: list[tuple[int, int]]) -> None:
    """Press the mouse at the first corner and draw it over the others; places are those on the stage."""
    stage = page.locator(".stage .overlay").bounding_box()
    for step, (x, y) in enumerate(corners):
        page.mouse.move(stage["x"] + x, stage["y"] + y, steps=6)
        if not step:
            page.mouse.down()
    page.mouse.up()
