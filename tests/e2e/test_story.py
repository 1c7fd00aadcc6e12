"""The story of the sample data, as a visitor follows it: a crash, its fix, what came of it, and what it is worth."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser.page import settle, shoot
from tests.support.browser.server import Serve, run_atlas
from tests.support.browser.tables import click_row
from tests.support.browser.tabs import WINDOW
from tests.support.repository import REPOSITORY
from tests.support.stores import opened_store


@pytest.fixture(scope="module")
def told(tmp_path_factory) -> Path:
    """A store of the story alone."""
    store = tmp_path_factory.mktemp("story")
    run_atlas(store, "init")
    run_atlas(store, "import", str(REPOSITORY / "sample_data" / "story"))
    return store


def test_a_crash_leads_to_its_fix_and_to_the_experience_that_came_of_it(page: Page, serve: Serve, told: Path):
    with opened_store(told) as memory:
        (crash,) = (
            one.id
            for one in memory.journal.get_many(memory.journal.ids())
            if "killed after 900 s at 63 %" in one.content
        )
    page.goto(f"{serve(told)}/journal?id={crash}")
    expect(page.get_by_role("link", name="Promoted to experience")).to_be_visible()
    line = page.locator("[class*=st-key-entry_line_]").filter(has_text="Fixed the index: segments of 5,000 parts").last
    expect(line).to_contain_text("fixed it")
    settle(page)
    shoot(page, "story-crash")
    line.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_text("Fixed the index: segments of 5,000 parts").first).to_be_visible()
    page.get_by_role("link", name="Promoted to experience").click()
    expect(page.get_by_role("heading", name="Experiences")).to_be_visible()
    expect(page.get_by_test_id("stText").get_by_text("Get the parts index rebuilt in its window").first).to_be_visible()


def test_a_strategy_says_how_often_it_worked_and_leads_to_the_attempts_behind_that(
    page: Page, serve: Serve, told: Path
):
    page.goto(f"{serve(told)}/strategies")
    row = page.get_by_role("row").filter(has_text="Run a failed job up to three times")
    expect(row).to_contain_text(re.compile(r"1 of 7 uses.*clearly worse.*likely 3–53%"))
    expect(page.get_by_role("row").filter(has_text="not used yet")).not_to_contain_text("%")
    shoot(page, "story-strategies", themes=True)
    page.set_viewport_size({"width": 1024, "height": 768})
    widths = page.get_by_role("grid", name="Strategies").evaluate("(one) => [one.scrollWidth, one.clientWidth]")
    assert widths[0] <= widths[1]
    page.set_viewport_size(WINDOW)
    page.get_by_role("button", name="Hold back an input that has shrunk").click()
    expect(page.get_by_text(re.compile("(better|worse) than similar tasks without it"))).to_be_visible()
    page.get_by_role("tab", name="Uses").click()
    expect(page.get_by_role("grid", name="Uses")).to_contain_text("Velotec")
    expect(page.get_by_text("Success rate after each use")).to_have_count(0)  # 8 uses make a chart
    settle(page)
    shoot(page, "story-strategy")
    page.get_by_role("tab", name="Reasons and sources").click()
    page.get_by_role("link", name="Open", exact=True).click()
    expect(page.get_by_role("heading", name="Experiences")).to_be_visible()
    expect(page.get_by_test_id("stText").get_by_text("Price sheet again").first).to_be_visible()


def test_a_strategy_that_hurts_is_retired_and_brought_back(page: Page, serve: Serve, told: Path):
    page.goto(f"{serve(told)}/strategies")
    page.get_by_role("button", name="Run a failed job up to three times").click()
    expect(page.get_by_text("Not clear yet whether it is worse than similar tasks without it.")).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Retire …", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Retire 1 strategy").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    expect(page.get_by_role("button", name="Bring back")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="Retire …", exact=True)).to_be_visible()
    expect(page.get_by_text("Undone:")).to_be_visible()


def test_the_examples_of_a_learned_concept_are_run_before_ones_eyes(page: Page, serve: Serve, told: Path):
    page.goto(f"{serve(told)}/concepts")
    click_row(page, "backoff_seconds")
    page.get_by_role("tab", name="Tests").click()
    expect(page.get_by_test_id("stTabs").get_by_text(">>> backoff_seconds(4)", exact=True)).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Run its examples").click()
    expect(page.get_by_text("3 of 3 examples gave what they should")).to_be_visible()
    shoot(page, "story-examples")
