"""Nothing is asked of any other host than the dashboard itself."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Serve, settle
from tests.ui.stores import attempts, make_store

PAGES = {"": "Overview", "map": "Map", "experiences": "Experiences", "curate": "Curate", "history": "History"}


@pytest.fixture(scope="module")
def address(tmp_path_factory, serve: Serve) -> str:
    """A dashboard on forty experiences."""
    store = tmp_path_factory.mktemp("offline")
    make_store(store, attempts(40))
    return serve(store)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_works_with_the_network_cut(page: Page, address: str, name):
    asked: list[str] = []
    page.route(lambda url: not url.startswith(address), lambda route: route.abort())
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address}/{name}")
    expect(page.get_by_role("heading", name=PAGES[name], exact=True)).to_be_visible()
    settle(page)
    page.wait_for_timeout(1_000)  # what is fetched late, such as fonts and icons
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
