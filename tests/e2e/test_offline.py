"""Nothing is asked of any other host than the dashboard itself."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.support.browser.page import settle
from tests.support.browser.server import Serve
from tests.support.records import attempts
from tests.support.stores import make_store

PAGES = {"": "ATLAS memory", "map": "Map", "experiences": "Experiences", "curate": "Curate", "history": "History"}


def test_pages_work_with_the_network_cut(page: Page, serve: Serve, tmp_path):
    make_store(tmp_path, attempts(40))
    address = serve(tmp_path)
    asked: list[str] = []
    page.route(lambda url: not url.startswith(address), lambda route: route.abort())
    page.on("request", lambda request: asked.append(request.url))
    for name, title in PAGES.items():
        page.goto(f"{address}/{name}")
        expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
        settle(page)
        page.evaluate("() => document.fonts.ready")  # fonts and icons are fetched late
        page.wait_for_load_state("networkidle")
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
