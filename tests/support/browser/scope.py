"""What the page and its address say of the scope."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, expect

from tests.support.browser.page import settle


def expect_narrowed(page: Page, sentence: str, address: str) -> None:
    """Wait until the scope and its part of the address read so: `scope_outcomes=failed+unknown`.

    The sentence on the scope is hidden above a list that no filter narrows.
    """
    boxes = ".st-key-scope_narrow p, .st-key-scope_search p, .st-key-scope_whole p"
    scope = page.locator(boxes).get_by_text(sentence, exact=True)
    expect(scope).to_be_attached()
    page.wait_for_url(lambda url: said(url) == address)
    settle(page)
    expect(scope).to_be_attached()
    assert said(page.url) == address


def said(url: str) -> str:
    """Return what an address says of the scope."""
    asked = parse_qs(urlsplit(url).query)
    return "&".join(f"{key}={'+'.join(asked[key])}" for key in sorted(asked) if key.startswith("scope_"))
