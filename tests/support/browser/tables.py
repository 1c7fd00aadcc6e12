"""Tables in the browser. A table of memories is made of elements.

Another is drawn on a canvas: its text is in its accessible twin, and a click is a place on it.
"""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tests.support.browser.page import settle

HEADER_PIXELS, ROW_PIXELS = 35, 35
TICK_PIXELS = 16

TABLES, ROWS = "[data-testid=stDataFrame], .records", ":is(tbody tr, .row[data-id])"


def table_at(page: Page, number: int = 0) -> Locator:
    """Return a table of the page, the first being 0."""
    return page.locator(TABLES).nth(number)


def rows(page: Page, table: int = 0) -> Locator:
    """Return the rows of a table, without its header."""
    return table_at(page, table).locator(ROWS)


def expect_row(page: Page, text: str, table: int = 0) -> None:
    """Wait until a table shows a text."""
    expect(rows(page, table).filter(has_text=text).first).to_be_attached()


def click_row(page: Page, text: str, table: int = 0, row_pixels: int = ROW_PIXELS) -> None:
    """Click the first row that holds a text, in the middle of the table."""
    position, frame = row_of(page, text, table), table_at(page, table)
    if not _is_canvas(frame):
        rows(page, table).nth(position).click()
        return
    box = frame.bounding_box()
    assert box is not None
    frame.click(position={"x": box["width"] / 2, "y": HEADER_PIXELS + row_pixels * (position + 0.5)})


def tick_row(page: Page, text: str, table: int = 0) -> None:
    """Tick the box beside the first row that holds a text."""
    tick(page, row_of(page, text, table), table)


def tick(page: Page, position: int, table: int = 0) -> None:
    """Tick the box beside a row, the first being 0."""
    frame = table_at(page, table)
    if _is_canvas(frame):
        frame.click(position={"x": TICK_PIXELS, "y": HEADER_PIXELS + ROW_PIXELS * (position + 0.5)})
    else:
        rows(page, table).nth(position).get_by_role("checkbox").click()


def row_of(page: Page, text: str, table: int = 0) -> int:
    """Return which row of a table at rest is the first that holds a text."""
    expect_row(page, text, table)
    settle(page)
    return [text in row for row in rows(page, table).all_text_contents()].index(True)


def _is_canvas(frame: Locator) -> bool:
    return frame.get_attribute("data-testid") == "stDataFrame"
