"""While another process writes: the page tells of it, and nothing that a person is doing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser.page import settle, wait_for_looks
from tests.support.browser.server import Serve
from tests.support.browser.tables import click_row, expect_row, rows, tick_row
from tests.support.browser.writer import Writer, writing
from tests.support.records import attempts
from tests.support.stores import make_store


@pytest.fixture
def store(tmp_path) -> tuple[Path, list[str]]:
    """Sixty experiences, and their ids."""
    return tmp_path, make_store(tmp_path, attempts(60))


@pytest.fixture
def writer(store) -> Iterator[Writer]:
    """Another process that has that store open."""
    with writing(store[0]) as writer:
        yield writer


def test_what_another_process_does_is_told(page: Page, serve: Serve, store, writer):
    path, ids = store
    page.goto(f"{serve(path)}/experiences")
    expect(page.get_by_text("60 experiences ·")).to_be_visible()
    settle(page)
    for n_new in (1, 2, 3):
        writer.write("add", str(n_new))
        expect(page.get_by_text(f"{n_new} new")).to_be_visible()
    writer.write("delete", ids[0])
    writer.write("edit", ids[1])
    expect(page.get_by_text("3 new · 1 changed · 1 deleted")).to_be_visible()
    expect(page.get_by_text("60 experiences ·")).to_be_visible()
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.get_by_text("62 experiences ·")).to_be_visible()
    expect(page.get_by_text("3 new")).not_to_be_attached()


def test_nothing_that_a_person_is_doing_is_lost(page: Page, serve: Serve, store, writer):
    path, ids = store
    page.goto(f"{serve(path)}/experiences")
    tick_row(page, "Task 57:")
    tick_row(page, "Task 55:")
    expect(page.get_by_text("2 selected")).to_be_visible()
    click_row(page, "Task 59:")
    expect(page.get_by_text("Step 1", exact=True)).to_be_visible()
    page.get_by_role("tab", name="Edit").click()
    box = page.get_by_role("textbox", name="Feedback")
    box.fill("half a sen")
    settle(page)
    scrolled = scroll(page, 300)
    writer.write("edit", ids[59])
    writer.write("add", "one")
    expect(page.get_by_text("1 new · 1 changed")).to_be_attached()
    wait_for_looks(page, 2)
    assert scroll(page) == scrolled
    expect(box).to_be_focused()
    box.press_sequentially("tence")
    expect(box).to_have_value("half a sentence")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.get_by_text("61 experiences ·")).to_be_visible()
    expect(box).to_have_value("half a sentence")
    expect(page.get_by_text("This experience was changed elsewhere since you opened it")).to_be_visible()
    expect(page.get_by_text("2 selected")).to_be_visible()
    page.get_by_role("button", name="Overwrite with mine").click()
    expect(page.get_by_text("Saved the experience")).to_be_visible()
    expect(page.get_by_role("textbox", name="Feedback")).to_have_value("half a sentence")


def test_a_choice_from_an_open_list_is_taken_though_another_process_writes(page: Page, serve: Serve, store, writer):
    path, _ = store
    page.goto(f"{serve(path)}/experiences")
    page.get_by_role("button", name="More").click()
    settle(page)
    page.get_by_role("combobox", name="Source").click()
    option = page.get_by_role("option", name="north")
    expect(option).to_be_visible()
    settle(page)
    aimed_at = option.bounding_box()
    writer.write("add", "one")
    expect(page.get_by_text("1 new")).to_be_attached()
    settle(page)
    assert option.bounding_box() == aimed_at
    option.click()
    for _ in range(2):
        expect(page.get_by_text("30 of 61 experiences in scope")).to_be_visible()
        expect(page.locator("[data-tag]")).to_have_text(["north"])
        expect(page.get_by_text("30 of 61 experiences ·")).to_be_visible()
        page.reload()
        page.get_by_role("button", name="More").click()


def test_two_deletes_in_a_row_never_touch_a_row_that_was_not_chosen(page: Page, serve: Serve, store):
    path, _ = store
    page.goto(f"{serve(path)}/experiences")
    for name, left in (("Task 58:", 59), ("Task 56:", 58)):
        click_row(page, name)
        expect(page.get_by_test_id("stMain").get_by_test_id("stText").filter(has_text=name)).to_be_visible()
        page.locator(".st-key-experience_remove button").click()
        page.get_by_test_id("stPopoverBody").get_by_role("button", name="Delete").click()
        expect(page.get_by_text(f"{left} experiences ·")).to_be_visible()
        settle(page)
    expect(page.get_by_text("Deleted 1 experience")).to_be_visible()
    expect_row(page, "Task 59:")
    shown = " ".join(rows(page).all_text_contents())
    present = [number for number in range(60, 50, -1) if f"Task {number}:" in shown]
    assert present == [59, 57, 55, 54, 53, 52, 51]
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("59 experiences ·")).to_be_visible()


def test_rows_stay_selected_over_the_pages_of_the_list(page: Page, serve: Serve, store):
    path, _ = store
    page.goto(f"{serve(path)}/experiences")
    tick_row(page, "Task 58:")
    expect(page.get_by_text("1 selected")).to_be_visible()
    page.get_by_role("button", name="Page 2").click()
    tick_row(page, "Task 30:")
    expect(page.get_by_text("2 selected")).to_be_visible()
    page.get_by_role("button", name="Page 1").click()
    tick_row(page, "Task 58:")  # it is ticked already, so this takes the tick away
    expect(page.get_by_text("1 selected")).to_be_visible()
    page.get_by_test_id("stBottom").get_by_role("button", name="Clear").click()
    expect(page.get_by_text("1 selected")).not_to_be_attached()
    tick_row(page, "Task 57:")
    expect(page.get_by_text("1 selected")).to_be_visible()


def scroll(page: Page, by: int = 0) -> float:
    """Scroll the page; how far it is scrolled."""
    page.get_by_test_id("stMain").evaluate(f"main => main.scrollBy(0, {by})")
    return float(page.get_by_test_id("stMain").evaluate("main => main.scrollTop"))
