"""Tables in a real browser: texts are cut by their columns, and figures that are compared stand side by side."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.browser.page import settle, shoot
from tests.support.browser.server import Serve
from tests.support.browser.tables import click_row, rows
from tests.support.records import attempt, attempts
from tests.support.stores import copied, make_store

LONG = (
    "Say: “I need the reservation ID to proceed”, then call `get_reservation_details(reservation_id)`. " * 6,
    "WWW MMM @@@ %%% — THE QUARTERLY SUMMARY OF ALL WAREHOUSES, IN CAPITALS. " * 6,
    "https://example.com/a/very/long/address/without/any/blank/" * 8,
    "航空会社の予約を変更してください。お客様の名前と便名を確認します。" * 8,
    "Перенесите бронирование на другой рейс и сообщите об этом клиенту. " * 6,  # noqa: RUF001
    "illicit till lilt fill jilt ill it is, i.e. little tiles (fifty-fifty); " * 8,
    "Find the number of numbers with an odd value.",
)


@pytest.fixture
def long_texts(tmp_path: Path, serve: Serve) -> str:
    """A dashboard on experiences whose texts are far longer than a cell."""
    make_store(tmp_path / "long", [attempt(text, task_id=f"{number}") for number, text in enumerate(LONG)])
    return serve(tmp_path / "long")


def test_a_text_is_cut_after_its_second_line_and_whole_on_hover(page: Page, long_texts: str):
    page.goto(f"{long_texts}/experiences")
    title = rows(page).get_by_role("button", name="WWW MMM")
    expect(title).to_be_visible()
    settle(page)
    shoot(page, "long-cells")
    heights = [round(box["height"]) for box in map(Locator.bounding_box, rows(page).all()) if box]
    assert len(heights) == len(LONG)
    assert {*heights} == {40}  # of short texts and of long ones
    expect(title).to_have_text(LONG[1].split(". ")[0])
    expect(rows(page).filter(has_text="illicit").locator(".rest")).to_have_text(re.compile(r"^illicit till.*\w…$"))
    title.hover()
    cell = rows(page).filter(has_text="WWW MMM").locator(".main")
    expect(cell).to_have_attribute("title", re.compile(f"^{re.escape(LONG[1].strip()[:100])}"))


def test_a_list_is_sorted_by_its_headings_and_opened_and_selected_by_keys(page: Page, tmp_path: Path, serve: Serve):
    make_store(tmp_path / "letters", [attempt(f"Write the letter {letter}", task_id=letter) for letter in "bca"])
    page.goto(f"{serve(tmp_path / 'letters')}/experiences")
    page.get_by_role("button", name="Task", exact=True).click()
    expect(rows(page).first).to_contain_text("Write the letter a")
    expect(page).to_have_url(re.compile("experiences_order=Task"))
    settle(page)
    rows(page).first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press(" ")
    expect(page.locator(".st-key-tray")).to_contain_text("1 selected")
    settle(page)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Close", exact=True)).to_be_visible()
    expect(page.get_by_test_id("stText").get_by_text("Write the letter b")).to_be_visible()
    expect(rows(page).nth(1)).to_be_focused()


def test_tasks_with_and_without_memory_fit_the_page_side_by_side(
    page: Page, sample_data: Path, tmp_path: Path, serve: Serve
):
    page.goto(serve(copied(sample_data, tmp_path)))
    page.get_by_text("The 18 tasks, with and without memory").click()
    table = page.get_by_test_id("stExpander").filter(has_text="The 18 tasks").get_by_role("grid")
    expect(table.get_by_role("columnheader", name="Without")).to_be_visible()
    settle(page)
    shoot(page, "effect", themes=True)
    widths = table.evaluate("(grid) => [grid.scrollWidth, grid.clientWidth]")
    assert widths[0] <= widths[1]


def test_attempts_at_one_task_are_one_row_that_opens_to_all_of_them(page: Page, tmp_path: Path, serve: Serve):
    make_store(
        tmp_path / "kitchen",
        [attempt("Boil an egg", success, task_id="egg", agent=str(n)) for n, success in enumerate((False, True, True))]
        + [attempt("Heat the milk", task_id="milk")],
    )
    page.goto(f"{serve(tmp_path / 'kitchen')}/experiences")
    expect(page.get_by_text("2 tasks, a row each · 4 attempts")).to_be_visible()
    expect(rows(page)).to_have_count(2)
    several = re.compile("^(✓ succeeded|✗ failed)after [✓✗] [✓✗]$")
    expect(rows(page).filter(has_text="Boil an egg").locator(".outcomes")).to_have_text(several)
    expect(rows(page).filter(has_text="Heat the milk").locator(".outcomes")).to_have_text("✓ succeeded")
    settle(page)
    shoot(page, "task-rows", themes=True)
    expect(page.get_by_role("button", name="Select all")).to_have_count(0)
    page.get_by_role("checkbox", name="Select Heat the milk").check()
    page.get_by_role("button", name="Select all 4 attempts").click()
    expect(page.get_by_role("checkbox", name="Select Boil an egg")).to_be_checked()
    click_row(page, "Boil an egg")
    for sign in ("✗", "✓"):
        expect(page.get_by_role("button", name=re.compile(rf"{sign} \d+ \w+ 2026")).first).to_be_visible()
    page.get_by_role("button", name="More").click()
    page.get_by_text("One row per task").click()
    page.keyboard.press("Escape")
    expect(rows(page)).to_have_count(4)


def test_an_opened_row_stays_in_view_and_keys_lead_on_but_not_while_typing(page: Page, tmp_path: Path, serve: Serve):
    ids = make_store(tmp_path / "many", attempts(60))
    page.goto(f"{serve(tmp_path / 'many')}/experiences?id={ids[12]}")
    walk, opened = page.locator(".st-key-opened_walk"), page.locator(".records .row.open")
    expect(walk).to_contain_text("48 of 60")
    expect(opened).to_contain_text("Task 12:")
    settle(page)
    expect(opened).to_be_in_viewport(ratio=1)
    shoot(page, "opened-row", themes=True)
    for key, place in (("j", 49), ("j", 50), ("j", 51), ("k", 50)):
        page.keyboard.press(key)
        expect(walk).to_contain_text(f"{place} of 60")
        settle(page)
        expect(opened).to_be_in_viewport(ratio=1)
    search = page.get_by_role("searchbox").or_(page.get_by_placeholder("What was the task?"))
    before = walk.inner_text()
    search.first.fill("")
    search.first.press_sequentially("jk")
    settle(page)
    expect(search.first).to_have_value("jk")
    assert walk.inner_text() == before or "Not in this list" in walk.inner_text()


def test_a_window_shows_seventeen_attempts_at_once(page: Page, tmp_path: Path, serve: Serve):
    texts = ["Find out why the import of the supplier's feed stops after nine thousand rows and resume it", "Short"]
    make_store(
        tmp_path / "rows",
        [attempt(f"{text} {n}", success, task_id=f"{n}", agent=f"{n}{success}") for n in range(20)
         for text, success in zip(texts[n % 2 :][:1] * 2, (True, False), strict=True)],
    )  # fmt: skip
    page.goto(f"{serve(tmp_path / 'rows')}/experiences")
    expect(rows(page)).to_have_count(20)
    expect(rows(page).first.get_by_label("after failed")).to_have_text("after ✗")
    settle(page)
    shoot(page, "row-heights", themes=True)
    expect(rows(page).nth(16)).to_be_in_viewport(ratio=1)
    for row in rows(page).all():
        history, around = row.locator(".history").bounding_box(), row.bounding_box()
        assert history is not None
        assert around is not None
        assert history["y"] + history["height"] <= around["y"] + around["height"], "it is not cut"
