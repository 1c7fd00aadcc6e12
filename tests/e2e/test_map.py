"""The map in a real browser: what a person draws around, looks at, searches and filters."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import atlas
from atlas.jobs.live_map import MAX_SYNCHRONOUS
from tests.support.browser.map import draw, look, open_map, ready
from tests.support.browser.page import choose, settle, shoot, show_theme
from tests.support.browser.server import Serve
from tests.support.hostile import HOSTILE, MARKER
from tests.support.records import START, attempt
from tests.support.repository import REPOSITORY
from tests.support.stores import make_store

N_LARGE = MAX_SYNCHRONOUS + 200
"""Experiences whose map is made beside the page."""

PATIENCE_MILLISECONDS = 240_000
"""How long making that map may take on a busy machine."""

TOPICS = {
    "button css layout page react component hover menu form style": 0.9,
    "query join index table database migration transaction row schema postgres": 0.7,
    "bash script pipe grep cron process permission file systemd log": 0.8,
    "grid colour rotate mirror cell pattern symmetry tile flood shape": 0.2,
    "reservation cancel certificate passenger refund airline baggage upgrade booking seat": 0.6,
}

WRITER = """
import sys, atlas
from atlas.testing import HashEmbedder
from tests.support.records import attempt
with atlas.open_memory(sys.argv[1], embedder=HashEmbedder(384, "all-MiniLM-L6-v2")) as memory:
    memory.experience.store(attempt("Grep the bash log of the cron process for a pipe"))
"""


def topics(n: int) -> Iterator[atlas.Trajectory]:
    """Attempts of five kinds over two months; of one kind most failed."""
    chance = random.Random(7)
    for number in range(n):
        words, rate = chance.choice(list(TOPICS.items()))
        said = chance.sample(words.split(), 6)
        yield attempt(
            f"{' '.join(said).capitalize()}, case {number}",
            task_id=f"task-{number}",
            success=chance.random() < rate if chance.random() < 0.95 else None,
            source=chance.choice(["north", "south"]),
            agent=chance.choice(["smith", "jones"]),
            at=START + timedelta(hours=chance.random() * 24 * 60),
        )


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Three hundred experiences of five kinds."""
    store = tmp_path_factory.mktemp("workshop")
    make_store(store, topics(300))
    return store


@pytest.fixture
def workshop(made: Path, serve: Serve) -> str:
    """A dashboard on those."""
    return serve(made)


def test_what_is_drawn_around_is_selected_and_no_more_than_is_shown(page: Page, workshop):
    open_map(page, workshop)
    page.get_by_role("button", name="Select with a lasso").click()
    corners = [(120, 100), (380, 90), (420, 300), (250, 420), (110, 330)]
    inside = page.evaluate(
        """(corners) => {
            const path = new Path2D('M' + corners.map((corner) => corner.join(' ')).join('L') + 'Z')
            const pencil = document.createElement('canvas').getContext('2d')
            return [...Array(atlasMap.look().n).keys()].filter((i) => pencil.isPointInPath(path, ...atlasMap.where(i)))
        }""",
        corners,
    )
    draw(page, corners)
    expect(page.get_by_text(re.compile(r"^[\d,]+ selected$"))).to_be_visible()
    assert 10 < len(inside) < 290
    assert look(page)["nChosen"] == len(inside)
    expect(page.get_by_text(f"{len(inside)} selected from lasso on the map")).to_be_visible()
    select_nothing(page)

    page.get_by_role("button", name="Select a box").click()
    left = draw_box(page, (20, 50), (300, 470))
    assert chosen(page) == len(left) > 0
    page.keyboard.down("Shift")
    right = draw_box(page, (300, 50), (540, 470))
    page.keyboard.up("Shift")
    assert chosen(page) == len(left | right) > len(left)
    page.keyboard.down("Alt")
    taken = draw_box(page, (20, 50), (300, 470))
    page.keyboard.up("Alt")
    assert chosen(page) == len((left | right) - taken) < len(left | right)
    select_nothing(page)

    until = page.get_by_label("Until which day")
    last = until.get_attribute("max") or ""
    until.fill("20")
    assert look(page)["days"] == [0, 20]
    draw(page, [(14, 44), (stage_width(page) - 4, int(look(page)["height"]) - 4)])
    assert 50 < chosen(page) < 150
    select_nothing(page)
    until.fill(last)

    choose(page, page.get_by_role("combobox", name="Colour by"), "Outcome")
    chip = page.locator(".legend button").filter(has_text="failed")
    expect(chip).to_be_visible()
    n_failed = int(chip.locator(".n").inner_text())
    chip.click()
    draw(page, [(14, 44), (stage_width(page) - 4, int(look(page)["height"]) - 4)])
    assert 150 < chosen(page) <= 300 - n_failed
    assert chip.get_attribute("aria-pressed") == "false"


def select_nothing(page: Page) -> None:
    page.locator(".stage").press("Escape")
    expect(page.get_by_text(re.compile(r"selected from \w+ on the map"))).not_to_be_attached()
    assert look(page)["nChosen"] == 0


def test_a_search_keeps_zoom_and_lasso(page: Page, workshop):
    open_map(page, workshop)
    stage = page.locator(".stage .overlay").bounding_box()
    page.mouse.move(stage["x"] + 250, stage["y"] + 250)
    page.mouse.wheel(0, -300)
    page.get_by_role("button", name="Select with a lasso").click()
    draw(page, [(100, 100), (400, 100), (400, 400), (100, 400)])
    expect(page.get_by_text("selected from lasso on the map")).to_be_visible()
    before = look(page)
    page.get_by_test_id("stSidebar").get_by_role("button", name="More").click()
    page.get_by_text("Words", exact=True).click()
    page.keyboard.press("Escape")
    page.get_by_role("searchbox", name="Search the map").fill("refund")
    page.get_by_role("searchbox", name="Search the map").press("Enter")
    expect(page.get_by_text("ranked by words")).to_be_visible()
    page.wait_for_function(
        "(scale) => atlasMap.look().view.scale !== scale", arg=before["view"]["scale"]
    )  # to the hits
    page.wait_for_function("() => !['isFlying', 'isMoving', 'isTelling'].some((state) => atlasMap.look()[state])")
    settle(page)
    after = look(page)
    assert (after["nChosen"], after["tool"]) == (before["nChosen"], "lasso")
    shoot(page, "map-search")
    page.get_by_role("link", name="Experiences").click()
    expect(page.get_by_role("heading", name="Experiences")).to_be_visible()
    page.get_by_role("link", name="Map").click()
    ready(page)
    page.wait_for_function("(view) => JSON.stringify(atlasMap.look().view) === view", arg=_json(page, after["view"]))
    page.wait_for_function("(n) => atlasMap.look().nChosen === n", arg=before["nChosen"])


def test_keys_move_a_hover_tells_a_click_opens_and_the_points_are_sent_once(page: Page, workshop):
    received: list[int] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: received.append(len(frame))))
    open_map(page, workshop)
    key, sent = look(page)["key"], max(received)
    stage = page.locator(".stage")
    start = look(page)["view"]
    for pressed in ("+", "ArrowRight", "ArrowDown"):
        stage.press(pressed)
    moved = look(page)["view"]
    assert moved["scale"] > start["scale"]
    assert moved["x"] > start["x"]
    assert moved["y"] < start["y"]
    stage.press("0")
    assert look(page)["view"] == pytest.approx(start)
    assert "300 experiences" in (stage.get_attribute("aria-label") or "")

    received.clear()
    x, y = visible_point(page)
    page.mouse.move(x - 40, y - 40)
    page.mouse.move(x, y)
    expect(page.locator(".tooltip .line").first).to_contain_text("case")
    assert max(received) < 5_000, "a hover costs its text, not the map"
    page.mouse.click(x, y)
    expect(page.get_by_role("button", name="Close", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile("id="))
    page.get_by_role("button", name="Close", exact=True).click()
    expect(page.get_by_text("Domains, weakest first", exact=True)).to_be_visible()
    settle(page)

    received.clear()
    page.get_by_role("button", name="Select a box").click()
    draw(page, [(20, 50), (300, 470)])
    chosen(page)
    assert max(received) < sent / 3, "a selection costs a mask, not the map"
    assert look(page)["key"] == key


def test_the_map_is_opened_in_dark_and_follows_the_theme(page: Page, workshop):
    page.emulate_media(color_scheme="dark")
    open_map(page, workshop)
    for theme, ground in (("dark", "rgb(18, 23, 29)"), ("light", "rgb(255, 255, 255)")):
        show_theme(page, theme)
        expect(page.locator(".atlas-map")).to_have_css("background-color", ground)
        shoot(page, f"map-300-{theme}")
    page.set_viewport_size({"width": 1280, "height": 800})
    settle(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shoot(page, "map-300-small")


def test_what_another_process_adds_appears_where_it_belongs_and_nothing_moves(page: Page, serve: Serve, tmp_path):
    make_store(tmp_path, topics(300))
    open_map(page, serve(tmp_path))
    n = look(page)["n"]
    before = page.evaluate("(n) => [...Array(n).keys()].map((i) => atlasMap.where(i))", n)
    subprocess.run([sys.executable, "-c", WRITER, str(tmp_path)], cwd=REPOSITORY, check=True)
    page.wait_for_function("(n) => atlasMap.look().n === n + 1", arg=n)
    assert page.evaluate("(n) => [...Array(n).keys()].map((i) => atlasMap.where(i))", n) == before
    expect(page.get_by_text("placed since the map was made").first).to_be_visible()


def test_a_browser_without_webgl_can_lasso_too(new_page: Callable[[], Page], workshop):
    page = new_page()
    page.add_init_script(
        "const get = HTMLCanvasElement.prototype.getContext;"
        "HTMLCanvasElement.prototype.getContext = function (kind, ...rest)"
        " { return kind === 'webgl2' && this.classList.contains('points') ? null : get.call(this, kind, ...rest) }"
    )
    page.goto(f"{workshop}/map")
    expect(page.get_by_text("This browser offers no WebGL2")).to_be_visible()
    chart = page.locator(".js-plotly-plot .nsewdrag").first
    expect(chart).to_be_visible()
    box = chart.bounding_box()
    corners = [(60, 60), (400, 60), (400, 400), (60, 400), (60, 70)]
    page.mouse.move(box["x"] + 60, box["y"] + 60)
    page.mouse.down()
    for x, y in corners[1:]:
        page.mouse.move(box["x"] + x, box["y"] + y, steps=6)
    page.mouse.up()
    expect(page.get_by_text("selected from lasso on the map")).to_be_visible()
    shoot(page, "map-plotly")


def test_hostile_content_is_shown_as_text(page: Page, serve: Serve, tmp_path):
    make_store(tmp_path, [attempt(f"{text[:200]} number {i}", source=text[:100]) for i in range(8) for text in HOSTILE])
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    open_map(page, serve(tmp_path))
    choose(page, page.get_by_role("combobox", name="Colour by"), "Source")
    expect(page.locator(".legend .name").filter(has_text="<script>").first).to_be_attached()
    told = 0
    for i in range(0, 56, 7):
        x, y = page.evaluate("(i) => atlasMap.where(i)", i)
        stage = page.locator(".stage .overlay").bounding_box()
        page.mouse.move(stage["x"] + 300, stage["y"] + 450)
        page.mouse.move(stage["x"] + x, stage["y"] + y)
        expect(page.locator(".tooltip .line").first).to_be_visible()
        told += page.locator(".tooltip .line").filter(has_text=MARKER).count()
    assert told
    assert page.evaluate(f"window.{MARKER}") is None
    assert [url for url in asked if "example.invalid" in url] == []
    assert page.locator(".atlas-map a, .atlas-map img, .atlas-map script").count() == 0
    shoot(page, "map-hostile", themes=True)


def test_a_large_store_is_sketched_at_once_and_made_better_by_the_worker(page: Page, serve: Serve, tmp_path):
    make_store(tmp_path, topics(N_LARGE))
    open_map(page, serve(tmp_path))
    has_domains = page.get_by_text("Click one to see its tasks")
    expect(page.get_by_text(re.compile("Making the map")).or_(has_domains).first).to_be_visible()
    page.get_by_role("link", name="Experiences").click()
    expect(page.get_by_role("heading", name="Experiences")).to_be_visible()
    page.get_by_role("link", name="Map").click()
    expect(has_domains).to_be_visible(timeout=PATIENCE_MILLISECONDS)
    ready(page)
    shoot(page, "map-large", themes=True)


def draw_box(page: Page, first: tuple[int, int], last: tuple[int, int]) -> set[int]:
    """Draw a box, and return the points that lie in it."""
    inside = page.evaluate(
        """([left, top, right, bottom]) => [...Array(atlasMap.look().n).keys()].filter((i) => {
            const [x, y] = atlasMap.where(i)
            return left <= x && x <= right && top <= y && y <= bottom
        })""",
        [*first, *last],
    )
    draw(page, [first, last])
    return set(inside)


def chosen(page: Page) -> int:
    """Return how many points are chosen, once the page says so, too."""
    n = look(page)["nChosen"]
    expect(page.get_by_text(re.compile(rf"\b{n} selected from \w+ on the map"))).to_be_visible()
    return int(n)


def visible_point(page: Page) -> tuple[float, float]:
    """Where on the page a point lies that is well within the stage."""
    stage = page.locator(".stage .overlay").bounding_box()
    x, y = page.evaluate(
        """() => {
            const { n, width, height } = atlasMap.look()
            const places = [...Array(n).keys()].map((i) => atlasMap.where(i))
            return places.find(([x, y]) => x > 80 && y > 80 && x < width - 80 && y < height - 80)
        }"""
    )
    return stage["x"] + x, stage["y"] + y


def stage_width(page: Page) -> int:
    return int(page.locator(".stage .overlay").bounding_box()["width"])


def _json(page: Page, value: object) -> str:
    return str(page.evaluate("(value) => JSON.stringify(value)", value))
