"""The map as the page: nothing resizes it, names stand off the points, and a domain that is clicked is gone to."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser.map import draw, look, open_map
from tests.support.browser.page import THEMES, choose, settle, shoot, show_theme
from tests.support.browser.server import Serve
from tests.support.records import START, kinds
from tests.support.stores import make_store

RESTED = "() => !atlasMap.look().isMoving"
PLACES = "() => [...Array(atlasMap.look().n).keys()].map((i) => atlasMap.where(i))"


RED_PIXELS = """([left, top, right, bottom]) => {
    const stage = document.querySelector('[data-testid=stMain]').querySelector('.st-key-map_stage')
    const roots = [...stage.querySelectorAll('*')].flatMap((each) => each.shadowRoot ?? [])
    const canvas = roots.map((root) => root.querySelector('canvas.overlay')).find(Boolean)
    const ratio = canvas.width / canvas.clientWidth
    const box = [left, top, right - left, bottom - top].map((side) => Math.round(side * ratio))
    const { data } = canvas.getContext('2d').getImageData(...box)
    let n = 0
    for (let at = 0; at < data.length; at += 4) n += data[at + 3] > 200 && data[at] - data[at + 2] > 60 ? 1 : 0
    return n
}"""
"""How many pixels of a box of the stage are red."""

OUTLINED = """() => {
    const stage = document.querySelector('[data-testid=stMain]').querySelector('.st-key-map_stage')
    const roots = [...stage.querySelectorAll('*')].flatMap((each) => each.shadowRoot ?? [])
    const canvas = roots.map((root) => root.querySelector('canvas.overlay')).find(Boolean)
    const ratio = canvas.width / canvas.clientWidth, pen = canvas.getContext('2d')
    const places = [...Array(atlasMap.look().n).keys()].map((i) => atlasMap.where(i))
    const leftmost = (turn) => places.reduce((best, place) => (place[0] * turn < best[0] * turn ? place : best))
    return [1, -1].map((turn) => {
        const [x, y] = leftmost(turn)
        const row = [...Array(16).keys()].map((step) => (x - turn * (9 + step)) * ratio)
        return row.some((at) => pen.getImageData(Math.round(at), Math.round(y * ratio), 1, 1).data[3] > 20)
    })
}"""
"""Whether a line is drawn beyond the leftmost and the rightmost point."""

BRIGHTNESS = """() => {
    const stage = document.querySelector('.st-key-map_stage')
    const roots = [...stage.querySelectorAll('*')].flatMap((each) => each.shadowRoot ?? [])
    const swatches = roots.flatMap((root) => [...root.querySelectorAll('.legend .swatch')])
    const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    return swatches.map((swatch) => {
        const [red, green, blue] = getComputedStyle(swatch).color.match(/[0-9.]+/g).map((part) => linear(part / 255))
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue
    })
}"""
"""The luminance of each colour in the legend, in [0, 1]."""


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Ninety experiences of three kinds, all of one day."""
    store = tmp_path_factory.mktemp("page")
    make_store(store, (replace(each, timestamp=START) for each in kinds(90)))
    return store


@pytest.fixture
def map_page(page: Page, made: Path, serve: Serve) -> Page:
    """The map of those."""
    open_map(page, serve(made))
    return page


def panel_name(page: Page) -> str:
    """Name of the domain that is shown beside the map."""
    return page.locator(".st-key-map_domain_name").inner_text().strip()


def test_a_selection_is_told_apart_from_the_rest_and_leaves_the_canvas_as_it_is(map_page: Page):
    canvas = map_page.locator(".stage .overlay")
    before, view, places = canvas.bounding_box(), look(map_page)["view"], map_page.evaluate(PLACES)
    map_page.get_by_role("button", name="Select a box").click()
    draw(map_page, [(20, 60), (500, 560)])
    expect(map_page.get_by_text("selected from box on the map")).to_be_visible()
    settle(map_page)
    assert canvas.bounding_box() == before
    assert look(map_page)["view"] == view
    assert map_page.evaluate(PLACES) == places
    tray = map_page.locator(".st-key-tray").bounding_box()
    assert before["y"] < tray["y"]
    assert tray["y"] + tray["height"] < before["y"] + before["height"], "the tray lies over the map"
    shoot(map_page, "map-page-selected", themes=True)
    expect(map_page.get_by_text("What is different about this selection")).to_be_visible()
    map_page.get_by_role("button", name="Pin", exact=True).click()
    expect(map_page.get_by_role("button", name="Undo")).to_be_visible()
    settle(map_page)
    assert canvas.bounding_box() == before, "the bar of what was done lies over the map"
    map_page.get_by_role("button", name="Undo").click()


def test_names_stand_nearest_to_their_own_areas_and_apart_and_the_legend_lists_them_once_it_is_opened(
    map_page: Page,
):
    found = look(map_page)
    boxes = [label["box"] for label in found["labels"]]
    assert len(boxes) > 1
    for label in found["labels"]:
        own, others = (math.inf if gap is None else gap for gap in label["gaps"].values())  # None is infinite
        assert own < others, label["name"]
        assert own <= 12 or label["leader"], "a name that is far from its area has a line"
    for left, top, right, _ in boxes:
        assert left >= found["insets"]["left"]
        assert top > map_page.locator(".tools").bounding_box()["height"]
        assert right <= found["width"] - found["insets"]["right"]
    assert not [
        pair
        for pair in combinations(boxes, 2)
        if pair[0][0] < pair[1][2] and pair[0][2] > pair[1][0] and pair[0][1] < pair[1][3] and pair[0][3] > pair[1][1]
    ]
    choose(map_page, map_page.get_by_role("combobox", name="Colour by"), "Domain")
    worst = map_page.locator(".legend .name").first.inner_text()
    assert worst in {label["name"] for label in found["labels"]}

    legend = map_page.locator(".legend")
    canvas = map_page.locator(".stage .overlay").bounding_box()
    assert legend.bounding_box()["height"] < 40
    expect(legend.locator(".chip").first).to_be_hidden()
    map_page.get_by_role("button", name="Show all of the legend").click()
    for chip in legend.locator(".chip").all():
        expect(chip).to_be_in_viewport(ratio=1)
    assert map_page.locator(".stage .overlay").bounding_box() == canvas


def open_legend(page: Page) -> None:
    """Colour by domain, and open the list of the colours."""
    choose(page, page.get_by_role("combobox", name="Colour by"), "Domain")
    page.get_by_role("button", name="Show all of the legend").click()


def test_the_first_look_shows_which_domain_is_weak_and_what_the_marks_mean(map_page: Page):
    expect(map_page.get_by_text("1 of 3 domains is clearly below the average of 67%.")).to_be_in_viewport()
    expect(map_page.get_by_text("0 of 90 in no domain")).to_be_in_viewport()
    expect(map_page.get_by_text("Similar tasks lie near each other.")).to_be_in_viewport()
    assert map_page.locator(".legend .shapes > span").all_inner_texts() == [
        "●succeeded",
        "✕failed",
        "domain",
        "clearly below average",
    ]
    for theme in THEMES:
        show_theme(map_page, theme)
        worst, *others = look(map_page)["labels"]
        assert worst["note"] == "0% succeeded"
        assert map_page.evaluate(RED_PIXELS, worst["box"]) > 100
        assert [(label["note"], map_page.evaluate(RED_PIXELS, label["box"])) for label in others] == [("100%", 0)] * 2
        assert map_page.evaluate(OUTLINED) == [True, True]
    choose(map_page, map_page.get_by_role("combobox", name="Colour by"), "Outcome")
    map_page.wait_for_function(f"() => !({OUTLINED})().includes(true)")
    expect(map_page.locator(".legend .area")).to_have_count(0)
    choose(map_page, map_page.get_by_role("combobox", name="Colour by"), "Weak domains")
    shoot(map_page, "map-page", themes=True)
    map_page.get_by_role("button", name="See its failures").click()
    expect(map_page.get_by_role("heading", name="Experiences")).to_be_visible()
    # the sidebar of the map, which also shows this, stays until the new page is drawn
    expect(map_page.get_by_test_id("stMain").get_by_text("30 of 90 experiences in scope")).to_be_visible()


def test_every_tool_says_what_it_does(map_page: Page):
    tools = map_page.locator(".tools button:visible")
    assert [tool.get_attribute("title") for tool in tools.all()] == [
        "Move (M)",
        "Select a box (B)",
        "Select with a lasso (L)",
        "Zoom in (+)",
        "Zoom out (−)",
        "Show all (0)",
        "Full screen (F)",
    ]
    assert tools.all_inner_texts() == ["Move", "Box", "Lasso", "", "", "Show all", "Full screen"]


def test_names_go_along_with_the_map_and_find_their_places_once_it_rests(map_page: Page):
    map_page.wait_for_function(RESTED)
    before = look(map_page)
    stage = map_page.locator(".stage .overlay").bounding_box()
    x, y = stage["x"] + 300, stage["y"] + 300
    map_page.mouse.move(x, y)
    map_page.mouse.down()
    for step in range(20):
        map_page.mouse.move(x + 2 * step, y + step)
    moved = look(map_page)
    map_page.mouse.up()
    assert moved["isMoving"]
    # The frame in which they came to rest may follow the first look.
    assert moved["nPlacements"] - before["nPlacements"] <= 1
    assert {label["name"] for label in moved["labels"]} <= {label["name"] for label in before["labels"]}
    map_page.wait_for_function(RESTED)
    rested = look(map_page)
    assert rested["nPlacements"] > before["nPlacements"]
    assert [label["name"] for label in rested["labels"]] == [label["name"] for label in before["labels"]]


def test_on_dark_all_domains_are_equally_bright(map_page: Page):
    show_theme(map_page, "dark")
    open_legend(map_page)
    bright = map_page.evaluate(BRIGHTNESS)
    assert len(bright) == 3
    assert max(bright) - min(bright) < 0.02
    assert min(bright) > 0.3
    shoot(map_page, "map-page-dark-domains")


def test_a_legend_entry_flies_to_its_domain_and_a_name_on_the_map_opens_its_panel(map_page: Page):
    before = look(map_page)["view"]
    label = look(map_page)["labels"][-1]
    stage = map_page.locator(".stage .overlay").bounding_box()
    left, top, right, bottom = label["box"]
    map_page.mouse.click(stage["x"] + (left + right) / 2, stage["y"] + (top + bottom) / 2)
    expect(map_page.get_by_role("button", name="Select all ")).to_be_in_viewport()
    assert panel_name(map_page) == label["name"]

    map_page.wait_for_function(RESTED)
    map_page.locator(".stage").press("0")
    open_legend(map_page)
    entry = map_page.locator(".legend .name").first
    name = entry.inner_text()
    assert name != label["name"]
    entry.click()
    expect(map_page.locator(".st-key-map_domain_name")).to_contain_text(name)
    expect(map_page.get_by_role("button", name="Select all ")).to_be_in_viewport()
    map_page.wait_for_function(RESTED)
    assert panel_name(map_page) == name
    assert look(map_page)["view"]["scale"] > before["scale"]
    shoot(map_page, "map-page-domain", themes=True)


def test_where_all_came_on_one_day_time_runs_by_rank(map_page: Page):
    expect(map_page.locator(".track .caption")).to_have_text("success rate so far")
    until = map_page.get_by_label("Until which day")
    assert until.get_attribute("max") == "89"
    until.fill("29")
    map_page.get_by_role("button", name="Select a box").click()
    stage = map_page.locator(".stage .overlay").bounding_box()
    draw(map_page, [(14, 46), (int(stage["width"]) - 4, int(stage["height"]) - 4)])
    expect(map_page.get_by_text("30 selected from box on the map")).to_be_visible()


@pytest.mark.parametrize("size", [{"width": 1024, "height": 768}, {"width": 390, "height": 844}])
def test_a_narrow_window_has_the_map_and_the_panel_of_what_is_opened(map_page: Page, size):
    map_page.set_viewport_size(size)
    settle(map_page)
    assert map_page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    open_legend(map_page)
    map_page.locator(".legend .name").first.click()
    expect(map_page.get_by_role("button", name="Select all ")).to_be_in_viewport()
    shoot(map_page, f"map-page-{size['width']}")
    map_page.locator(".stage").press("Enter")
    map_page.locator(".stage").press("Enter")
    expect(map_page.get_by_role("button", name="Close", exact=True)).to_be_in_viewport()
    assert map_page.evaluate("document.documentElement.scrollWidth <= innerWidth")
