"""Two dashboards of two machines on one store in PostgreSQL: each shows what is done on the other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser.map import open_map
from tests.support.browser.page import choose, settle
from tests.support.browser.server import dashboard
from tests.support.browser.tables import click_row
from tests.support.records import KINDS, kinds
from tests.support.stores import make_store

DOMAIN_PIXELS = 66


@pytest.fixture
def addresses(postgres_address: str, tmp_path: Path):
    """Two servers, each with a directory of its own, of ninety experiences of three kinds."""
    make_store(postgres_address, kinds(90))
    with (
        dashboard(postgres_address, ATLAS_LOCAL=str(tmp_path / "first")) as first,
        dashboard(postgres_address, ATLAS_LOCAL=str(tmp_path / "second")) as second,
    ):
        yield first, second


def test_what_is_done_on_one_server_is_seen_on_another(new_page: Callable[[], Page], addresses, tmp_path):
    here, there = new_page(), new_page()
    there.goto(f"{addresses[1]}/experiences")
    expect(there.get_by_text("90 experiences ·")).to_be_visible()
    settle(there)
    here.goto(f"{addresses[0]}/experiences")
    click_row(here, next(iter(KINDS)))
    here.locator(".st-key-experience_remove button").click()
    here.get_by_test_id("stPopoverBody").get_by_role("button", name="Delete").click()
    expect(here.get_by_text("89 experiences ·")).to_be_visible()
    expect(there.get_by_text("1 deleted")).to_be_visible()
    expect(there.get_by_text("90 experiences ·")).to_be_visible()

    open_map(here, addresses[0])
    choose(here, here.get_by_role("combobox", name="Colour by"), "Domain")
    name = here.locator(".legend .name").first.inner_text()
    click_row(here, name, row_pixels=DOMAIN_PIXELS)
    here.get_by_text("Rename", exact=True).click()
    here.get_by_role("textbox", name="Name").fill("Trips of pilgrims")
    here.get_by_role("textbox", name="Name").press("Enter")
    named = here.locator(".legend .name").filter(has_text="Trips of pilgrims")
    here.get_by_role("button", name="Show all of the legend").click()
    expect(named).to_be_visible()
    open_map(there, addresses[1])
    choose(there, there.get_by_role("combobox", name="Colour by"), "Domain")
    there.get_by_role("button", name="Show all of the legend").click()
    expect(there.locator(".legend .name").filter(has_text="Trips of pilgrims")).to_be_visible()
    assert there.locator(".legend .name").all_inner_texts() == here.locator(".legend .name").all_inner_texts()
    assert not list(tmp_path.rglob("domain_names.json"))
