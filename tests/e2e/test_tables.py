"""Tables in a real browser: no line of text is cut through, and figures that are compared stand side by side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser.page import settle, shoot
from tests.support.browser.server import Serve, run_atlas
from tests.support.browser.tables import HEADER_PIXELS, ROW_PIXELS, click_row, rows
from tests.support.records import attempt
from tests.support.repository import REPOSITORY
from tests.support.stores import make_store

LINE_PIXELS, BORDER_PIXELS = 14, 3
"""Height of the letters of a line."""

DRAWN = """
globalThis.drawnTexts = []
const fillText = CanvasRenderingContext2D.prototype.fillText
CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
    drawnTexts.push([text, y])
    return fillText.call(this, text, x, y, ...rest)
}
"""
"""Records every text that a page draws on a canvas, with the height of its middle."""

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


def test_no_line_of_a_cell_is_cut_through_the_middle(new_page: Callable[[], Page], long_texts: str):
    page = new_page()
    page.add_init_script(DRAWN)
    page.goto(f"{long_texts}/experiences")
    expect(page.get_by_test_id("stDataFrame").first).to_be_visible()
    settle(page)
    shoot(page, "long-cells")
    lines = {(text, y - HEADER_PIXELS) for text, y in page.evaluate("drawnTexts") if y > HEADER_PIXELS}
    assert sum(text.endswith("…") for text, _ in lines) >= len(LONG) - 1
    cut = {text for text, y in lines if not LINE_PIXELS / 2 <= y % ROW_PIXELS <= ROW_PIXELS - LINE_PIXELS / 2}
    assert not cut


def test_tasks_with_and_without_memory_fit_the_page_side_by_side(page: Page, tmp_path: Path, serve: Serve):
    store = tmp_path / "sample"
    run_atlas(store, "init", "--sample", str(REPOSITORY / "sample_data"))
    page.goto(serve(store))
    page.get_by_text("The 18 tasks, with and without memory").click()
    table = page.get_by_test_id("stExpander").get_by_test_id("stDataFrame")
    expect(table.locator("th").filter(has_text="Without")).to_be_attached()
    settle(page)
    shoot(page, "effect", themes=True)
    assert (table.bounding_box()["height"] - HEADER_PIXELS) % ROW_PIXELS <= BORDER_PIXELS
    widths = table.locator(".dvn-scroller").evaluate("(one) => [one.scrollWidth, one.clientWidth]")
    assert widths[0] <= widths[1]


def test_attempts_at_one_task_are_one_row_that_opens_to_all_of_them(page: Page, tmp_path: Path, serve: Serve):
    make_store(
        tmp_path / "kitchen",
        [attempt("Boil an egg", success, task_id="egg", agent=str(n)) for n, success in enumerate((False, True, True))]
        + [attempt("Heat the milk", task_id="milk")],
    )
    page.goto(f"{serve(tmp_path / 'kitchen')}/experiences")
    expect(page.get_by_text("4 experiences at 2 tasks")).to_be_visible()
    expect(rows(page)).to_have_count(2)
    expect(rows(page).filter(has_text="Boil an egg")).to_contain_text("✗")
    settle(page)
    shoot(page, "task-rows", themes=True)
    click_row(page, "Boil an egg")
    for sign in ("✗", "✓"):
        expect(page.get_by_role("button", name=f"{sign} 2026-").first).to_be_visible()
    page.get_by_text("One per task").click()
    expect(rows(page)).to_have_count(4)
