"""Tabs of the browser, each of a person of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, BrowserContext, Error, Page

from tests.support.browser.page import REST
from tests.support.waiting import GIVE_UP_SECONDS

WINDOW = {"width": 1440, "height": 900}


@contextmanager
def people(browser: Browser) -> Iterator[Callable[[], Page]]:
    """Yield what opens the empty tab of a person of their own, all of which are closed at the end.

    Less motion is asked for, because drawing it takes most of the time until a page comes to rest.
    """
    contexts: list[BrowserContext] = []

    def opened() -> Page:
        context = browser.new_context(viewport=WINDOW, color_scheme="light", reduced_motion="reduce")
        contexts.append(context)
        context.set_default_timeout(GIVE_UP_SECONDS * 1000)
        context.add_init_script(REST)
        return context.new_page()

    yield opened
    for context in contexts:
        context.close()


@contextmanager
def no_failures(page: Page) -> Iterator[Page]:
    """Fail at the end if one of a page's own scripts failed."""
    failures: list[str] = []

    def record(error: Error) -> None:
        failures.append(str(error))

    page.on("pageerror", record)
    yield page
    page.remove_listener("pageerror", record)
    assert failures == []
