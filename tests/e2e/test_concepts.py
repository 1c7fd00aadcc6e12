"""The library in a real browser: a concept is opened, edited and taken back; two are merged and parted again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser.axe import found_in
from tests.support.browser.page import settle, shoot
from tests.support.browser.server import Serve
from tests.support.browser.tables import click_row, tick_row
from tests.support.records import concept
from tests.support.stores import make_library, opened_store

N_CONCEPTS = 30
TURN = "def turn(grid):\n    return [list(row) for row in zip(*grid[::-1])]\n"
COLOURFUL = """import re

# A comment.
@staticmethod
class HttpError(Exception):
    codes = {"a": 500, b"c": True, f"HTTP {429}": None}

    def is_transient(self, code: int) -> bool:
        return code >= 500 or bool(re.match(r"\\d+", str(code)))
"""
TWICE = "def turn_twice(grid):\n    return turn(turn(grid))\n"


@pytest.fixture
def store(tmp_path) -> Path:
    """A library in which one concept calls another."""
    turn = concept(
        name="turn", code=TURN, description="Turn a grid.", examples=(("turn([[1, 2], [3, 4]])", "[[3, 1], [4, 2]]"),)
    )
    twice = concept(name="turn_twice", code=TWICE, description="Turn a grid half around.")
    make_library(tmp_path / "store", *(concept(number) for number in range(N_CONCEPTS - 2)), turn, twice)
    return tmp_path / "store"


def contents(store: Path) -> dict[str, str]:
    """The descriptions of a store's concepts, by id."""
    with opened_store(store) as memory:
        return {one.id: one.description for one in memory.concepts.get_many(memory.concepts.ids())}


def test_code_has_enough_contrast_in_each_theme(page: Page, serve: Serve, tmp_path):
    make_library(tmp_path / "store", concept(name="HttpError", code=COLOURFUL, description="An error."))
    page.goto(f"{serve(tmp_path / 'store')}/concepts")
    click_row(page, "HttpError")
    expect(page.locator("code .token.number").first).to_be_visible()
    settle(page)
    assert [line for line in found_in(page) if "token" in line] == []


def test_beside_an_opened_concept_the_scale_of_the_rates_stands_above_their_bars(page: Page, serve: Serve, store: Path):
    with opened_store(store) as memory:
        twice = memory.concepts.ids()[-1]
        memory.concepts.record_use(twice, True, task_id="task-1")
    page.goto(f"{serve(store)}/concepts?id={twice}")
    scale, bar = page.locator(".records .head .scale"), page.locator(".records .row[data-id] .bar").first
    expect(scale).to_be_visible()
    expect(bar).to_be_visible()
    settle(page)
    above, below = scale.bounding_box(), bar.bounding_box()
    assert above is not None
    assert below is not None
    assert (above["x"], above["width"]) == pytest.approx((below["x"], below["width"]), abs=2)


def test_a_concept_is_opened_edited_and_taken_back(page: Page, serve: Serve, store: Path):
    before = contents(store)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    address = serve(store)
    page.goto(f"{address}/concepts")
    expect(page.get_by_text(re.compile(f"^{N_CONCEPTS} concepts"))).to_be_visible()
    shoot(page, "concepts", themes=True)
    click_row(page, "turn_twice")
    expect(page.get_by_role("tab", name="Uses")).to_be_visible()
    page.get_by_role("tab", name="Uses").click()
    expect(page.get_by_test_id("stGraphVizChart").locator("svg")).to_contain_text("turn_twice")
    click_row(page, "it calls", table=1)
    expect(page.get_by_test_id("stText").get_by_text("Turn a grid.", exact=True)).to_be_visible()
    settle(page)
    page.get_by_role("tab", name="Tests").click()
    expect(page.get_by_role("img").and_(page.locator("[src^='data:image/svg']")).first).to_be_visible()
    shoot(page, "concept", themes=True)
    page.get_by_role("tab", name="Edit").click()
    page.get_by_role("textbox", name="What it does").fill("Turn a grid to the right.")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved the concept")).to_be_visible()
    assert "Turn a grid to the right." in contents(store).values()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone: saved the concept")).to_be_visible()
    assert contents(store) == before
    assert [url for url in asked if not url.startswith((address, "data:", "blob:", "ws:"))] == []


def test_two_are_merged_as_previewed_and_parted_again(page: Page, serve: Serve, store: Path):
    before = contents(store)
    page.goto(f"{serve(store)}/concepts")
    tick_row(page, "turn_twice")
    expect(page.get_by_text("1 selected from rows on Concepts")).to_be_visible()
    tick_row(page, "Turn a grid.")
    expect(page.get_by_text("2 selected from rows on Concepts")).to_be_visible()
    page.get_by_role("button", name="Merge …").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text(f"2 concepts would become 1: 1 of {N_CONCEPTS} would be deleted (3%).")).to_be_visible()
    shoot(page, "concepts-merge")
    dialog.get_by_role("button", name="Merge 2 concepts into 1").click()
    expect(page.get_by_text("Merged 2 concepts into 1")).to_be_visible()
    assert len(contents(store)) == N_CONCEPTS - 1
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone: merged 2 concepts into 1")).to_be_visible()
    assert contents(store) == before
