"""`atlas serve` without keys: what its person sees with the printed address, without it, and after a restart."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser.axe import found_now
from tests.support.browser.page import SHOTS, THEMES, settle
from tests.support.browser.server import atlas_serve, run_atlas


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store"
    run_atlas(path, "init")
    return path


def test_the_printed_address_opens_the_dashboard_and_after_a_restart_a_tab_asks_for_the_new_token(page: Page, store):
    with atlas_serve(store, ATLAS_ACTOR="root") as first:
        page.goto(first.printed_address)
        expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        assert page.url.rstrip("/") == first.address
        assert first.token not in page.evaluate("document.referrer + performance.getEntries().map(e => e.name).join()")
        expect(page.get_by_text("root, admin")).to_be_visible()
        settle(page)
        page.goto(f"{first.address}/settings?settings_tab=Export+and+backup")
        expect(page.get_by_label("Directory").first).to_be_visible()
        page.get_by_role("radio", name="Links").click()
        expect(page.get_by_role("button", name="Make a link")).to_be_visible()
    with atlas_serve(store, port=first.port, ATLAS_ACTOR="root") as second:
        expect(page.get_by_text("This request needs the token that `atlas serve` printed")).to_be_visible()
        page.reload()
        expect(page.get_by_text("Open the address that atlas serve printed in its terminal")).to_be_visible()
        expect(page.get_by_text(f"token-{second.port}")).to_be_visible()
        expect(page.get_by_label("Token or key")).to_be_focused()
        SHOTS.mkdir(exist_ok=True)
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            assert found_now(page, theme) == []
            page.screenshot(path=SHOTS / f"token-asked-{theme}.png")
        page.get_by_label("Token or key").fill("0" * 64)
        page.get_by_role("button", name="Enter").click()
        expect(page.get_by_role("alert")).to_contain_text("each start makes a new token")
        page.get_by_label("Token or key").fill(second.token)
        page.get_by_role("button", name="Enter").click()
        expect(page.get_by_text("root, admin")).to_be_visible()
