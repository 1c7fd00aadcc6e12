"""What a person sees of why a search found something."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import atlas
from tests.support.browser.page import settle, shoot
from tests.support.browser.server import Serve
from tests.support.browser.tables import click_row, rows
from tests.support.hostile import HOSTILE, MARKER, everywhere
from tests.support.records import attempt
from tests.support.stores import make_store


@pytest.fixture(scope="module")
def made(tmp_path_factory, encoder) -> Path:
    """A store with the real embedding model, in which one task was tried three times."""
    store = tmp_path_factory.mktemp("garden")
    given = {"task_id": "hedge", "solution": "shears.sharpen()"}
    hedges = [attempt("Trim the overgrown hedges", success=n > 0, agent=str(n), **given) for n in range(3)]
    others = ["Water the tomatoes in the greenhouse", "File the tax return", "Repair the gearbox of a tractor"]
    others += [f"Write a letter to {name}" for name in ("Ann", "Bo", "Cem", "Dee", "Eve", "Fay", "Gus", "Hal")]
    with atlas.open_memory(store, embedder=encoder) as memory:
        memory.experience.store_many([*hedges, *(attempt(text, task_id=text) for text in others)])
    return store


@pytest.fixture
def garden(made: Path, serve: Serve) -> str:
    """A dashboard on that store."""
    return serve(made)


def test_a_search_shows_why_each_hit_stands_where_it_does(page: Page, garden: str):
    page.goto(f"{garden}/experiences?scope_text=trim+overgrown+hedge&experiences_distinct=true")
    click_row(page, "Trim the overgrown")
    card = cards(page).first
    expect(card.locator("mark")).to_have_text(["Trim", "overgrown", "hedges"])
    expect(card.locator(".record")).to_have_text("3 attempts: 2 succeeded, 1 failed")
    expect(card.locator(".relevance")).to_have_text(re.compile(r"^\d\.\d\d relevance$"))
    expect(
        card.get_by_role("img", name=re.compile(r"Rank value \d\.\d+: meaning \d\.\d+, words \d\.\d+"))
    ).to_be_visible()
    expect(card.locator(".sentence")).to_contain_text(re.compile(r"^Relevance \d\.\d+: "))
    settle(page)
    assert_bar_adds_up(card)
    shoot(page, "experiences-why", themes=True)
    page.get_by_role("button", name="Close", exact=True).click()
    page.get_by_role("button", name="More").click()
    page.get_by_text("One row per task").click()
    page.keyboard.press("Escape")
    page.get_by_role("radio", name="Cards").click()
    expect(cards(page)).to_have_count(3)
    expect(page).to_have_url(re.compile("experiences_form=Cards"))
    shoot(page, "experiences-cards", themes=True)
    page.get_by_role("button", name="Open").nth(1).click()
    expect(page.get_by_text("Why it is here")).to_be_visible()
    expect(cards(page)).to_have_count(4)
    page.set_viewport_size({"width": 900, "height": 900})
    shoot(page, "experiences-cards-narrow", themes=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 900


def test_a_nonsense_question_is_told_so(page: Page, garden: str):
    page.goto(f"{garden}/experiences?scope_text=qqq+zzz+xyzzy&experiences_form=Cards&experiences_distinct=false")
    expect(page.get_by_text("Nothing relevant among 14 experiences, 14 not shown")).to_be_visible()
    expect(cards(page)).to_have_count(0)
    page.get_by_text("Include less relevant").click()
    expect(cards(page)).to_have_count(14)
    expect(cards(page).locator("mark")).to_have_count(0)


def test_what_is_ticked_on_a_card_is_ticked_in_the_table(page: Page, garden: str):
    page.goto(f"{garden}/experiences?scope_text=tomatoes&scope_by=Words&experiences_form=Cards")
    page.get_by_text("Select", exact=True).click()
    expect(page.get_by_text("1 selected")).to_be_visible()
    page.get_by_role("radio", name="Table").click()
    expect(rows(page)).to_have_count(1)
    expect(page.get_by_text("1 selected")).to_be_visible()


def test_hostile_content_does_nothing_on_a_card(page: Page, serve: Serve, tmp_path):
    make_store(tmp_path, [everywhere(f"{text} another") for text in HOSTILE[:-1]])
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{serve(tmp_path)}/experiences?scope_text=another+{MARKER}&scope_by=Words&experiences_form=Cards")
    expect(cards(page)).to_have_count(len(HOSTILE) - 1)
    expect(cards(page).filter(has_text=f"<script>window.{MARKER} = true</script><img src=x")).to_have_count(1)
    settle(page)
    assert page.evaluate(f"window.{MARKER}") is None
    assert [url for url in asked if "example.invalid" in url] == []
    assert cards(page).locator("script, img, a, .katex").count() == 0


def cards(page: Page) -> Locator:
    """The cards on the page, from the top."""
    return page.locator(".atlas-hit")


def assert_bar_adds_up(card: Locator) -> None:
    """That the values beside the bar are parts of the one at their end, and the bar's parts as long as they say."""
    *values, total = [float(text.replace("−", "-")) for text in card.locator(".legend b").all_text_contents()]
    assert sum(values) == pytest.approx(total, abs=0.003)
    boxes = [segment.bounding_box() for segment in card.locator(".segment").all()]
    assert len(boxes) == sum(value != 0 for value in values)
    meaning, words = (box["width"] for box in boxes[:2] if box)
    assert meaning / words == pytest.approx(values[0] / values[1], rel=0.05)
