"""The map as a stage: it fills the window, is asked, replays how the memory grew, and is walked by keyboard."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from itertools import combinations
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser.map import look, open_map, ready
from tests.support.browser.page import THEMES, choose, settle, shoot, show_theme
from tests.support.browser.server import Serve
from tests.support.records import KINDS, START, kinds
from tests.support.stores import make_store

CROWDED = """() => {
    const { n, width, height } = atlasMap.look()
    const places = [...Array(n).keys()].map((i) => atlasMap.where(i))
    const within = places.filter(([x, y]) => x > 80 && y > 80 && x < width - 80 && y < height - 80)
    const crowd = ([x, y]) => places.filter(([ox, oy]) => Math.hypot(ox - x, oy - y) < 60).length
    return within.sort((one, other) => crowd(other) - crowd(one))[0]
}"""
"""The place on the stage, away from its edges, with the most points around it."""


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Ninety experiences of three kinds."""
    store = tmp_path_factory.mktemp("stage")
    make_store(store, (replace(one, timestamp=START + timedelta(days=day)) for day, one in enumerate(kinds(90))))
    return store


@pytest.fixture
def stage(page: Page, made: Path, serve: Serve) -> Page:
    """The map of those."""
    open_map(page, serve(made))
    return page


def test_the_map_takes_the_window_and_its_legend_lists_every_domain_worst_first(stage: Page):
    map_ = stage.locator(".atlas-map").bounding_box()
    assert map_["y"] + map_["height"] <= 900
    assert map_["y"] + map_["height"] > 860
    stage.locator(".stage").press("f")
    expect(stage.get_by_test_id("stSidebar")).not_to_be_visible()
    stage.wait_for_function("(width) => atlasMap.look().width > width", arg=map_["width"] + 100)
    stage.locator(".stage").press("f")
    expect(stage.get_by_test_id("stSidebar")).to_be_visible()
    settle(stage)

    choose(stage, stage.get_by_role("combobox", name="Colour by"), "Domain")
    stage.get_by_role("button", name="Show all of the legend").click()
    entries = stage.locator(".legend button")
    rates = [int(text.rstrip("%")) for text in stage.locator(".legend .rate").all_inner_texts()]
    assert rates == sorted(rates)
    assert entries.count() >= len(rates) > 1
    entries.last.scroll_into_view_if_needed()
    expect(entries.last).to_be_in_viewport()


def test_a_question_flies_in_and_its_hits_light_up_beside_their_list(stage: Page):
    before = look(stage)["view"]
    stage.get_by_role("button", name="More").click()
    stage.get_by_text("Words", exact=True).click()
    stage.keyboard.press("Escape")
    settle(stage)
    stage.get_by_role("searchbox", name="Search the map").fill("cron")
    stage.get_by_role("searchbox", name="Search the map").press("Enter")
    expect(stage.get_by_text("Found, best first")).to_be_visible()
    stage.wait_for_function("() => atlasMap.look().lit > 5 && !atlasMap.look().isFlying && !atlasMap.look().isMoving")
    assert look(stage)["view"]["scale"] > before["scale"]
    shoot(stage, "map-asked", themes=True)


def test_points_are_reached_by_keyboard(stage: Page):
    stage.locator(".stage").press("Enter")
    first = look(stage)["hovered"]
    assert first is not None
    stage.locator(".stage").press("ArrowLeft")
    assert look(stage)["hovered"] != first
    expect(stage.locator(".tooltip .line").first).to_be_visible()
    stage.locator(".stage").press(" ")
    expect(stage.get_by_text("1 selected from keyboard on the map")).to_be_visible()
    stage.locator(".stage").press("Enter")
    expect(stage.get_by_role("button", name="Close", exact=True)).to_be_visible()


def test_titles_appear_as_one_zooms_and_cover_no_other_text(stage: Page):
    assert look(stage)["titles"] == []
    overlay = stage.locator(".stage .overlay").bounding_box()
    x, y = stage.evaluate(CROWDED)
    stage.mouse.move(overlay["x"] + x, overlay["y"] + y)
    for _ in range(6):
        stage.mouse.wheel(0, -150)
    stage.wait_for_function("() => atlasMap.look().titles.length > 1")
    shown = look(stage)
    for title in shown["titles"]:
        assert any(title["text"].startswith(task[:20]) for task in KINDS)
        left, top, right, bottom = title["box"]
        assert left >= 0 <= top
        assert right <= shown["width"]
        assert bottom <= shown["height"]
    boxes = [title["box"] for title in shown["titles"]]
    assert [pair for pair in combinations(boxes, 2) if is_overlapping(*pair)] == []
    shoot(stage, "map-titles", themes=True)
    stage.locator(".stage").press("0")
    stage.wait_for_function("() => atlasMap.look().titles.length === 0")


def test_replay_lets_the_memory_grow_and_leaving_it_leaves_nothing_behind(stage: Page):
    for theme in THEMES:
        show_theme(stage, theme)
        stage.locator(".stage").press("Enter")
        stage.get_by_role("button", name="Play how the memory grew").click()
        stage.wait_for_function("() => atlasMap.look().isPlaying && atlasMap.look().days[1] > 0")
        stage.get_by_role("link", name="Experiences").click()
        expect(stage.get_by_role("heading", name="Experiences")).to_be_visible()
        stage.wait_for_function("() => atlasMap === undefined && atlasMapDesk.take === undefined")
        stage.set_viewport_size({"width": 1200, "height": 700})
        settle(stage)
        stage.get_by_role("link", name="Map").click()
        ready(stage)
        assert not look(stage)["isPlaying"]
    stage.get_by_role("button", name="Play how the memory grew").click()
    stage.wait_for_function("() => atlasMap.look().isPlaying && atlasMap.look().days[1] > 0")
    stage.get_by_role("button", name="Pause").click()
    assert not look(stage)["isPlaying"]
    expect(stage.locator(".brush .rate")).to_have_text(re.compile(r"^\d+% of \d+ succeeded$"))
    shoot(stage, "map-replay")


def is_overlapping(one: list[float], other: list[float]) -> bool:
    return one[0] < other[2] and one[2] > other[0] and one[1] < other[3] and one[3] > other[1]
