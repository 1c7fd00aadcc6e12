"""What a newcomer finds on an empty store: sample data or an import in one click, and then whether memory helps."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import atlas
from tests.support.browser.page import settle, shoot
from tests.support.browser.server import Serve, run_atlas
from tests.support.repository import REPOSITORY

STORY = REPOSITORY / "sample_data" / "story"


@pytest.fixture
def store(tmp_path) -> Path:
    """A store with nothing in it."""
    run_atlas(tmp_path, "init")
    return tmp_path


def test_the_sample_data_show_whether_memory_helps_and_lead_to_the_attempts(page: Page, serve: Serve, store):
    page.goto(serve(store))
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.get_by_role("button", name="Load the sample data").click()
    expect(page.get_by_text("records of sample data")).to_be_visible()
    expect(page.get_by_text("Tasks probably went better with memory.")).to_be_visible()
    expect(page.get_by_text("better at 11 (likely 7–15)")).to_be_visible()
    expect(page.get_by_role("heading", name="What is the agent bad at?")).to_be_visible()
    expect(page.get_by_role("link", name=re.compile(r"^All \d+ domains$"))).to_be_visible()
    settle(page)
    shoot(page, "newcomer-overview", themes=True)
    page.get_by_text("The 18 tasks, with and without memory").click()
    click_task(page, "The city's feed answers with 12 stations tonight.")
    expect(page.get_by_role("heading", name="Experiences")).to_be_visible()
    expect(page.get_by_text("12 of 129 cannot be right.")).to_be_visible()
    for attempt in ("✗ 5 Oct 2026", "✓ 22 Oct 2026", "✓ 11 Nov 2026"):
        expect(page.get_by_role("button", name=attempt)).to_be_visible()


def click_task(page: Page, text: str) -> None:
    """Click a row of the tasks with and without memory."""
    settle(page)
    tasks = page.get_by_test_id("stExpander").filter(has_text="The 18 tasks").get_by_role("grid")
    tasks.get_by_role("row").filter(has_text=text).first.click()


def test_the_same_row_of_the_overview_opens_its_task_once_more_after_coming_back(page: Page, serve: Serve, store):
    run_atlas(store, "import", str(STORY))
    page.goto(serve(store))
    for _ in range(2):
        page.get_by_text("The 18 tasks, with and without memory").click()
        click_task(page, "The city's feed answers with 12 stations tonight.")
        expect(page.get_by_text("12 of 129 cannot be right.")).to_be_visible()
        page.go_back()
        expect(page.get_by_text("better at 11")).to_be_visible()


def test_files_of_ones_own_are_imported_and_undone_without_a_terminal(page: Page, serve: Serve, store, tmp_path):
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes((STORY / "attempts.jsonl").read_bytes() + b"no JSON\n")
    page.goto(serve(store))
    page.locator("input[type=file]").set_input_files(broken)
    page.get_by_role("button", name="Preview", exact=True).click()
    expect(page.get_by_text("67 records of 1 file would be added.")).to_be_visible()
    page.get_by_text("Refused (1)").click()
    expect(page.get_by_text("broken.jsonl, row 68")).to_be_visible()
    page.get_by_role("button", name="Import 67 records").click()
    expect(page.get_by_text("Imported 67 records from 1 file")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Nothing is remembered yet.")).to_be_visible()
    with atlas.open_memory(store, read_only=True, settings=atlas.Settings()) as memory:
        assert memory.experience.count() == 0
