"""What the page and its address say of the scope."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, expect

from tests.support.browser.page import settle


def expect_narrowed(page: Page, sentence: str, address: str) -> None:
    """Wait until the scope bar says this of itself, and the address says the scope: `scope_outcomes=failed+unknown`."""
    beside = page.get_by_test_id("stSidebar").get_by_text(sentence, exact=True)
    expect(beside).to_be_visible()
    page.wait_for_url(lambda url: said(url) == address)
    settle(page)
    expect(beside).to_be_visible()
    assert said(page.url) == address


def said(url: str) -> str:
    """Return what an address says of the scope."""
    asked = parse_qs(urlsplit(url).query)
    return "&".join(f"{key}={'+'.join(asked[key])}" for key in sorted(asked) if key.startswith("scope_"))
