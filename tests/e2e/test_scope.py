"""What a person has narrowed the memory to stays narrowed: in the boxes, in what is shown, and in the address."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from atlas.jobs.live_map import MAX_SYNCHRONOUS
from atlas.views.shared.scope import AWAITED
from tests.support.browser.page import shoot
from tests.support.browser.scope import expect_narrowed, said
from tests.support.browser.server import Serve
from tests.support.browser.tables import rows
from tests.support.records import attempts
from tests.support.stores import make_store

NARROWED = "scope_outcomes=failed&scope_domains=1"


TITLES = {"History": "History", "Overview": "Overview", "Map": "Map", "Experiences": "Experiences"}
"""Pages by their names in the menu."""


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Sixty experiences of four domains."""
    store = tmp_path_factory.mktemp("sixty")
    make_store(store, attempts(60))
    return store


@pytest.fixture
def sixty(made: Path, serve: Serve) -> str:
    """A dashboard on those."""
    return serve(made)


def test_it_survives_other_pages_a_reload_and_being_sent_on(page: Page, sixty: str):
    page.goto(f"{sixty}/experiences?{NARROWED}")
    expect_narrowed(page, "5 of 60 experiences in scope", "scope_domains=1&scope_outcomes=failed")
    for name, title in TITLES.items():
        page.get_by_role("link", name=name, exact=True).click()
        expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
        expect_narrowed(page, "5 of 60 experiences in scope", "scope_domains=1&scope_outcomes=failed")
        expect(chips(page)).to_have_count(1)
        shoot(page, f"scope-{name.lower()}", themes=True)
    expect(rows(page)).to_have_count(5)
    page.reload()
    expect_narrowed(page, "5 of 60 experiences in scope", "scope_domains=1&scope_outcomes=failed")
    other = page.context.new_page()
    other.goto(page.url)
    expect_narrowed(other, "5 of 60 experiences in scope", "scope_domains=1&scope_outcomes=failed")
    expect(rows(other)).to_have_count(5)
    other.get_by_role("button", name="Clear", exact=True).click()
    expect_narrowed(other, "60 experiences", "")
    other.go_back()
    expect_narrowed(other, "5 of 60 experiences in scope", "scope_domains=1&scope_outcomes=failed")


def test_two_tabs_do_not_share_it(page: Page, sixty: str):
    page.goto(f"{sixty}/experiences?scope_outcomes=failed")
    expect_narrowed(page, "20 of 60 experiences in scope", "scope_outcomes=failed")
    other = page.context.new_page()
    other.goto(f"{sixty}/experiences")
    expect_narrowed(other, "60 experiences", "")
    other.get_by_role("button", name="unknown", exact=True).click()
    expect_narrowed(other, "20 of 60 experiences in scope", "scope_outcomes=unknown")
    page.get_by_role("link", name="History").click()
    expect_narrowed(page, "20 of 60 experiences in scope", "scope_outcomes=failed")


def test_back_and_forward_take_it_along(page: Page, sixty: str):
    page.goto(f"{sixty}/experiences")
    expect_narrowed(page, "60 experiences", "")
    page.get_by_role("button", name="failed", exact=True).click()
    expect_narrowed(page, "20 of 60 experiences in scope", "scope_outcomes=failed")
    page.get_by_role("link", name="History").click()
    expect(page.get_by_role("heading", name="History")).to_be_visible()
    page.get_by_role("button", name="unknown", exact=True).click()
    expect_narrowed(page, "40 of 60 experiences in scope", "scope_outcomes=failed+unknown")
    for heading, sentence, address in (
        ("History", "20 of 60 experiences in scope", "scope_outcomes=failed"),
        ("Experiences", "20 of 60 experiences in scope", "scope_outcomes=failed"),
        ("Experiences", "60 experiences", ""),
    ):
        page.go_back()
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
        expect_narrowed(page, sentence, address)
    page.go_forward()
    expect_narrowed(page, "20 of 60 experiences in scope", "scope_outcomes=failed")


@pytest.fixture
def unmapped(tmp_path, serve: Serve) -> str:
    """A dashboard on so many experiences that their map is made beside it, once somebody opens the map."""
    make_store(tmp_path, attempts(MAX_SYNCHRONOUS + 200))
    return serve(tmp_path)


def test_a_domain_is_awaited_until_the_map_is_made_and_then_told(page: Page, unmapped: str):
    page.goto(f"{unmapped}/experiences?scope_domains=1")
    for name in ("Experiences", "Curate"):
        page.get_by_role("link", name=name, exact=True).click()
        expect(page.get_by_text(AWAITED)).to_be_visible()
        expect_narrowed(
            page,
            "1,200 experiences; how many of them are in scope is known when the map is made",
            "scope_domains=1",
        )
        expect(
            page.get_by_test_id("stMain").get_by_role("button", name=re.compile("^(?!Clear).*all", re.I))
        ).to_have_count(0)
        shoot(page, f"scope-awaited-{name.lower()}", themes=True)

    page.get_by_role("link", name="Experiences", exact=True).click()
    expect(page.get_by_text(AWAITED)).to_be_visible()
    expect(chips(page)).to_have_text(["Domain 1, when the map is made"])
    page.get_by_role("link", name="Open the map").click()
    expect(page.get_by_text(re.compile("^[0-9]+ of 1,200 experiences in scope$"))).to_be_visible()
    expect(chips(page)).not_to_have_text(["Domain 1, when the map is made"])
    expect(chips(page)).to_have_count(1)
    page.get_by_role("link", name="Experiences", exact=True).click()
    expect(page.get_by_role("button", name="Download")).to_be_visible()
    page.wait_for_url(lambda url: said(url) == "scope_domains=1")


def chips(page: Page) -> Locator:
    """What is chosen in the box of domains."""
    return page.get_by_test_id("stMultiSelect").filter(has_text="Domain").locator("[data-tag]")
