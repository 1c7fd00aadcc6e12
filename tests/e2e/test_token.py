"""`atlas serve` without keys: what its person sees with the printed address, without it, and after a restart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser.axe import found_now
from tests.support.browser.page import SHOTS, THEMES, settle
from tests.support.browser.server import AtlasServer, atlas_serve, run_atlas


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("token") / "store"
    run_atlas(path, "init")
    return path


@pytest.fixture(scope="module")
def server(store) -> Iterator[AtlasServer]:
    with atlas_serve(store, ATLAS_ACTOR="root") as running:
        yield running


def test_the_printed_address_shows_the_dashboard_and_no_token_stays_in_the_address(page: Page, server, store):
    page.goto(server.printed_address)
    expect(page.get_by_role("heading", name="ATLAS memory")).to_be_visible()
    assert page.url.rstrip("/") == server.address
    assert server.token not in page.evaluate("document.referrer + performance.getEntries().map(e => e.name).join()")
    expect(page.get_by_text("root, admin")).to_be_visible()
    settle(page)
    page.goto(f"{server.address}/settings?settings_tab=Links")
    expect(page.get_by_role("button", name="Make a link")).to_be_visible()
    page.goto(f"{server.address}/settings?settings_tab=Export+and+backup")
    expect(page.get_by_label("Directory").first).to_be_visible()


def test_without_the_token_a_page_asks_for_it(page: Page, server):
    page.goto(f"{server.address}/experiences")
    expect(page.get_by_text("Open the address that atlas serve printed in its terminal")).to_be_visible()
    expect(page.get_by_text(f"token-{server.port}")).to_be_visible()
    expect(page.get_by_label("Token or key")).to_be_focused()
    SHOTS.mkdir(exist_ok=True)
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)
        assert found_now(page, theme) == []
        page.screenshot(path=SHOTS / f"token-asked-{theme}.png")
    page.get_by_label("Token or key").fill("0" * 64)
    page.get_by_role("button", name="Enter").click()
    expect(page.get_by_role("alert")).to_contain_text("each start makes a new token")
    page.get_by_label("Token or key").fill(server.token)
    page.get_by_role("button", name="Enter").click()
    expect(page.get_by_role("heading", name="ATLAS memory")).to_be_visible()


def test_a_tab_that_stays_open_over_a_restart_asks_again_once_it_is_loaded(page: Page, tmp_path):
    with atlas_serve(tmp_path / "store") as first:
        page.goto(first.printed_address)
        expect(page.get_by_role("heading", name="ATLAS memory")).to_be_visible()
    with atlas_serve(tmp_path / "store", port=first.port) as second:
        expect(page.get_by_text("This needs the token that `atlas serve` printed")).to_be_visible()
        page.reload()
        expect(page.get_by_label("Token or key")).to_be_visible()
        page.goto(second.printed_address)
        expect(page.get_by_role("heading", name="ATLAS memory")).to_be_visible()
