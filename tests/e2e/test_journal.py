"""The journal in a real browser: brushed, opened, linked and unlinked; compacted as previewed and taken back."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser.page import settle, shoot
from tests.support.browser.server import Serve
from tests.support.browser.tables import click_row
from tests.support.records import entry
from tests.support.stores import make_journal, opened_store

N_ENTRIES = 60
LONG_AGO = datetime.now(UTC) - timedelta(days=300)

WHOLE = re.compile(f"^{N_ENTRIES} entries · ")


@pytest.fixture
def store(tmp_path) -> Path:
    """A journal of long ago, too thin for summaries, which need the model; a crash is linked to what fixed it."""
    entries = [entry(n, generation=20 * n, created_at=LONG_AGO + timedelta(hours=n)) for n in range(1, N_ENTRIES - 1)]
    crash = entry(N_ENTRIES - 1, entry_type="crash_log", content="Died of an empty list <img src=x onerror=alert(1)>")
    fix = entry(N_ENTRIES, entry_type="reflection", content="Empty lists should be looked at first")
    make_journal(tmp_path / "store", *entries, crash, fix)
    with opened_store(tmp_path / "store") as memory:
        memory.journal.link(crash.id, fix.id, "fixed_by")
    return tmp_path / "store"


def tiers(store: Path) -> dict[str, int]:
    """How many entries each tier of a store's journal has."""
    with opened_store(store) as memory:
        return memory.journal.values("tier")


def brush(page: Page, start: float, end: float) -> None:
    """Draw across the timeline, between two shares of its width."""
    box = page.locator(".js-plotly-plot .nsewdrag").bounding_box()
    assert box is not None
    height = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + start * box["width"], height)
    page.mouse.down()
    page.mouse.move(box["x"] + (start + end) / 2 * box["width"], height, steps=5)
    page.mouse.move(box["x"] + end * box["width"], height, steps=5)
    page.mouse.up()


def test_the_journal_is_brushed_opened_compacted_and_taken_back(page: Page, serve: Serve, store: Path):
    before = tiers(store)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    address = serve(store)
    page.goto(f"{address}/journal")
    expect(page.get_by_text(WHOLE, exact=True)).to_be_visible()
    shoot(page, "journal")
    brush(page, 0.01, 0.3)
    expect(page.get_by_text(re.compile(rf"^\d+ of {N_ENTRIES} entries"))).to_be_visible()
    expect(page).to_have_url(re.compile("journal_first_day=.*journal_last_day="))
    page.get_by_role("button", name="All times").click()
    expect(page.get_by_text(WHOLE, exact=True)).to_be_visible()
    settle(page)
    click_row(page, "Died of an empty list")
    expect(page.get_by_text(re.compile(rf"fixed it · .* · round {N_ENTRIES}"))).to_be_in_viewport()
    shoot(page, "journal-entry")
    page.get_by_role("radio", name="Links and archiving").click()
    page.get_by_text("Archiving", exact=True).click()
    page.get_by_role("spinbutton", name="Keep the latest entries").fill("20")
    page.keyboard.press("Enter")
    settle(page)
    page.get_by_role("button", name="Plan", exact=True).click()
    expect(
        page.get_by_text("You can leave this page.").or_(page.get_by_role("button", name="Preview …")).first
    ).to_be_visible()
    page.goto(f"{address}/experiences")
    page.goto(f"{address}/journal?journal_tab=Archiving")
    page.get_by_role("button", name="Preview …").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("Nothing is deleted.")).to_be_visible()
    shoot(page, "journal-compact")
    count = dialog.get_by_role("textbox")
    count.fill(re.findall(r"Type ([\d,]+)", str(count.get_attribute("aria-label")))[0])
    dialog.get_by_role("button", name=re.compile(r"Move \d+ entries")).click()
    expect(page.get_by_text("Moved", exact=False).first).to_be_visible()
    assert tiers(store) != before
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone: moved")).to_be_visible()
    assert tiers(store) == before
    assert [url for url in asked if not url.startswith((address, "data:", "blob:", "ws:"))] == []
