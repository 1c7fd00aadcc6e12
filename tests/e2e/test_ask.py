"""A person asks what an agent would be told for a task, why, and what another configuration would change."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import atlas
from atlas.core.types import Strategy
from tests.support.browser.page import SHOTS, choose, settle, shoot, tall
from tests.support.browser.server import Serve
from tests.support.browser.tables import click_row, expect_row, tick_row
from tests.support.records import attempt, attempts, concept
from tests.support.stores import copied

PATIENCE_MILLISECONDS = 300_000
"""How long the first search, which loads the embedding model, may take on a busy machine."""

TASK = "mend the web report of a customer"
NO_CLIPBOARD = "delete Navigator.prototype.clipboard"
"""What a browser does on plain http elsewhere than on the loopback."""

NOTHING = "Memory has nothing for this task, so an agent is told nothing."

HOSTILE = "<img src=x onerror='window.hostile = true'>"


@pytest.fixture(scope="module")
def made(tmp_path_factory, encoder) -> Path:
    """A store in which each memory holds something about reports."""
    path = tmp_path_factory.mktemp("reports")
    with atlas.open_memory(path, embedder=encoder, settings=atlas.Settings()) as memory:
        memory.experience.store_many(attempts(12))
        strategy = Strategy(
            title="Reports", situation="A report of a customer is broken", suggestion=f"Read it {HOSTILE}"
        )
        strategy_id = memory.strategies.add(strategy)
        memory.strategies.record_use(strategy_id, success=True)
        memory.concepts.add(concept(name="mend_report", description="Mend a report"))
        memory.journal.add("reflection", f"The web report breaks at midnight {HOSTILE}", generation=3)
    return path


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    """A copy of that store."""
    return copied(made, tmp_path)


def test_from_a_task_to_the_block_another_configuration_and_nonsense(page: Page, serve: Serve, store: Path):
    address = serve(store)
    page.goto(address)
    page.get_by_role("link", name="Ask", exact=True).click()
    box = page.get_by_role("searchbox", name="Task").or_(page.get_by_label("Task", exact=True))
    box.first.fill(TASK)
    box.first.press("Enter")
    cards = page.locator(".atlas-hit")
    strategy = cards.filter(has_text="succeeded in 1 of 1 use").first
    expect(strategy).to_be_visible(timeout=PATIENCE_MILLISECONDS)
    expect(strategy.locator(".track")).to_be_hidden()
    strategy.locator("summary").click()
    expect(strategy.locator(".track")).to_be_visible()
    expect(page.get_by_text(re.compile(r"memories in [\d,]+ of 2,000 tokens"))).to_be_visible()
    joined = page.get_by_role("region", name="What an agent is told")
    expect(joined).to_contain_text("## Strategies: what to do in which situation")
    expect(joined).to_contain_text("## Journal: what was noted on the way")
    with tall(page, 1500):
        shoot(page, "ask")

    page.get_by_text("Compare two settings").click()
    expect(page.get_by_text(re.compile("A and B are the same configuration"))).to_be_visible()
    choose(page, page.locator(".st-key-ask_off_right input"), "Strategies")
    expect(page.get_by_text(re.compile("A and B differ in: memories left out"))).to_be_visible()
    expect(page.get_by_text("Strategies. Left out here.", exact=True)).to_be_visible()
    expect(joined).to_have_count(2)
    expect(joined.filter(has_text="## Strategies: what to do in which situation")).to_have_count(1)
    difference = page.locator(".st-key-ask_block_difference")
    expect(difference.get_by_text("-## Strategies: what to do in which situation")).to_be_visible()
    with tall(page, 2000):
        shoot(page, "ask-two")
    expect(page).to_have_url(re.compile("ask_off_right=Strategies"))
    assert page.evaluate("window.hostile") is None
    link = page.url

    page.get_by_role("button", name="End the comparison").click()
    expect(page.get_by_text(re.compile("A and B differ in"))).not_to_be_attached()
    settle(page)
    box.first.fill("lamb tagine with apricots")
    box.first.press("Enter")
    expect(page.get_by_text(NOTHING)).to_be_visible()
    expect(page.get_by_text(re.compile(r"^0\.\d\d, needs 0\.13$"))).to_have_count(4)
    expect(cards).to_have_count(0)
    shoot(page, "ask-nonsense")

    page.goto(link)
    expect(page.get_by_text(re.compile("A and B differ in: memories left out"))).to_be_visible()
    settle(page)
    expect(page).to_have_url(link)
    from_menu(page, "Show on the map")
    expect(page.get_by_role("heading", name="Map", exact=True)).to_be_visible()
    expect(page.get_by_role("searchbox", name="Search the map")).to_have_value(TASK)
    expect(page.get_by_text("12 experiences, ranked by meaning and words")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/map\?scope_text=mend\+the\+web\+report\+of\+a\+customer$"))

    settle(page)
    page.go_back()
    expect(page.get_by_role("heading", name="Ask", exact=True)).to_be_visible()
    expect(box.first).to_have_value(TASK)
    expect(page.get_by_text(re.compile("A and B differ in: memories left out"))).to_be_visible()
    expect(strategy).to_be_visible()
    expect(page).to_have_url(re.compile("ask_text=mend"))
    expect(page).to_have_url(re.compile("ask_off_right=Strategies"))


def test_a_hit_leads_to_its_place_in_the_block_and_a_place_to_its_hit(page: Page, serve: Serve, store: Path):
    page.goto(f"{serve(store)}/ask?ask_text={TASK.replace(' ', '+')}")
    block = page.get_by_role("region", name="What an agent is told")
    expect(block).to_be_visible(timeout=PATIENCE_MILLISECONDS)
    settle(page)
    numbers = [int(text) for text in block.locator(".place").all_inner_texts()]
    assert numbers == [*range(1, len(numbers) + 1)]
    last = block.get_by_role("button", name=f"Show hit {numbers[-1]}")
    expect(last).not_to_be_in_viewport()
    page.get_by_role("button", name=f"Show place {numbers[-1]} in the block").click()
    expect(last).to_be_in_viewport()
    expect(block.locator(".piece.pointed .place")).to_have_text(f"{numbers[-1]}")
    first = page.get_by_role("button", name="Show place 1 in the block")
    expect(first).not_to_be_in_viewport()
    block.evaluate("(block) => block.scrollTo(0, 0)")
    block.get_by_role("button", name="Show hit 1", exact=True).click()
    expect(first).to_be_in_viewport()
    expect(page.locator(".atlas-hit.pointed .place")).to_have_text("1")
    shoot(page, "ask-joined", themes=True)


def test_a_visitor_clicks_a_task_of_the_store_sees_what_strictness_does_and_saves_a_report(
    page: Page, serve: Serve, store: Path, tmp_path: Path
):
    page.goto(f"{serve(store)}/ask")
    expect(page.get_by_text("Or click one of these. They are tasks that this memory knows.")).to_be_visible()
    settle(page)
    shoot(page, "ask-begin", themes=True)
    click_row(page, "Task ")
    expect(page.locator(".atlas-hit").first).to_be_visible(timeout=PATIENCE_MILLISECONDS)
    expect(
        page.get_by_role("searchbox", name="Task").or_(page.get_by_label("Task", exact=True)).first
    ).not_to_have_value("")
    page.get_by_text("Search settings").click()
    page.get_by_text("What is strictness?").click()
    expect(page.get_by_text("Hits per memory", exact=True)).to_be_visible()
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("status").filter(has_text="Link copied")).to_be_visible()
    assert pasted(page) == page.url
    with page.expect_download() as download:
        from_menu(page, "Save report")
    saved = tmp_path / "report.html"
    download.value.save_as(saved)
    page.goto(saved.as_uri())
    expect(page.get_by_role("heading", name="What the memory says of a task")).to_be_visible()
    expect(page.locator("pre").first).to_contain_text("## Experiences: what worked, what failed and why")
    expect(page.locator(".hit").first).to_be_visible()
    assert page.evaluate("window.hostile") is None
    page.screenshot(path=SHOTS / "ask-report.png")


@pytest.fixture
def tried_both_ways(store: Path, encoder) -> Path:
    """That store, in which two of its tasks were tried without memory, failed, and succeeded later with memory."""
    with atlas.open_memory(store, embedder=encoder, settings=atlas.Settings()) as memory:
        [strategy] = memory.strategies.ids()
        steps = tuple(atlas.Step(action=f"read file {number}", observation="nothing yet") for number in range(12))
        for task_id, text in (("parcel", "Print the parcel labels of a customer"), ("tyre", "Order new tyres in bulk")):
            lost = (*steps, atlas.Step(action="guess", observation="Error: no such label"))
            memory.store(attempt(text, success=False, task_id=task_id, steps=lost))
            solved = (*steps, atlas.Step(action=f"read the rules {HOSTILE}", observation="it is done"))
            used = {"strategies": [strategy]}
            memory.store(attempt(text, task_id=task_id, steps=solved, at=datetime.now(UTC), used=used))
    return store


def test_a_presenter_goes_from_example_to_example_by_key_and_sends_the_link(
    page: Page, new_page: Callable[[], Page], serve: Serve, tried_both_ways: Path
):
    page.goto(f"{serve(tried_both_ways)}/ask?ask_text=lamb+tagine")
    expect(page.get_by_text(NOTHING)).to_be_visible(timeout=PATIENCE_MILLISECONDS)
    settle(page)
    sidebar, proof = page.get_by_test_id("stSidebar"), page.locator(".st-key-ask_proof")
    expect(sidebar).to_be_visible()
    page.get_by_text("Presentation", exact=True).click()
    expect(sidebar).to_be_hidden()
    expect(page.locator(".st-key-ask_settings")).to_be_hidden()
    settle(page)
    assert right(page.locator(".st-key-ask_bar")) == pytest.approx(right(page.locator(".st-key-ask_text")), abs=1)
    task = page.locator(".st-key-ask_text input")
    seen = []
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft"):
        before = task.input_value()
        page.keyboard.press(key)
        expect(task).not_to_have_value(before)
        settle(page)
        seen.append(task.input_value())
        expect(proof).to_contain_text("Tried once without memory: failed. Tried once with memory: succeeded.")
    assert seen[0] == seen[2] != seen[1]
    for name, action in (("Without memory", "guess"), ("With memory", f"read the rules {HOSTILE}")):
        steps = proof.get_by_role("region", name=f"Steps: {name}")
        expect(steps.locator(".parting")).to_contain_text(action)
        steps.scroll_into_view_if_needed()
        expect(steps.locator(".parting")).to_be_in_viewport()
        expect(steps.get_by_text("Step 1", exact=True)).not_to_be_in_viewport()
    sides = proof.get_by_role("region", name=re.compile("Steps: "))
    assert top(sides.nth(0)) == pytest.approx(top(sides.nth(1)), abs=1), "both begin at one height"
    assert page.evaluate("window.hostile") is None
    shoot(page, "ask-presented", themes=True)
    expect(page).to_have_url(re.compile("ask_present=true"))
    other = new_page()
    other.goto(page.url)
    expect(other.locator(".st-key-ask_proof")).to_contain_text("Tried once without memory: failed.")
    expect(other.locator(".st-key-ask_text input")).to_have_value(seen[2])
    expect(other.get_by_test_id("stSidebar")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(sidebar).to_be_visible()
    expect(page.locator(".st-key-ask_settings")).to_be_visible()
    expect(page).not_to_have_url(re.compile("ask_present"))


def test_the_proof_and_the_reason_why_a_record_is_missing_are_a_click_away(
    page: Page, serve: Serve, tried_both_ways: Path
):
    page.goto(f"{serve(tried_both_ways)}/ask?ask_text=Print+the+parcel+labels+of+a+customer")
    line = page.locator(".st-key-ask_banner")
    expect(line).to_contain_text(
        re.compile("✗ failed without memory and ✓ succeeded with it"),
        timeout=PATIENCE_MILLISECONDS,
    )
    expect(line).to_contain_text("Print the parcel labels of a customer")
    page.set_viewport_size({"width": 1440, "height": 600})  # the page of so few hits is hardly longer than a window
    settle(page)
    for link, heading in (
        ("See both side by side", "The same task, with and without memory"),
        ("Something missing?", "Why was it not found?"),
    ):
        page.get_by_test_id("stMain").evaluate("(main) => main.scrollTo(0, 0)")
        title = page.get_by_role("heading", name=heading)
        expect(title).not_to_be_in_viewport()
        page.get_by_role("link", name=link).click()
        expect(title).to_be_in_viewport()
    box = page.locator(".st-key-ask_expected input")
    box.fill("tyres")
    box.press("Enter")
    missing = page.locator(".st-key-ask_missing")
    expect(missing).to_contain_text(re.compile(r"Its relevance of 0\.\d\d does not reach the level of 0\.\d\d"))
    expect(missing.locator(".atlas-hit .track")).to_be_visible()
    assert bottom(missing.get_by_role("link", name="Open")) < bottom(missing), "the link is on its card"
    expect(page).to_have_url(re.compile("ask_expected=tyres"))
    missing.scroll_into_view_if_needed()
    shoot(page, "ask-expected")


def test_a_hit_is_judged_and_the_judged_query_is_on_the_evaluation_page(page: Page, serve: Serve, store: Path):
    page.goto(f"{serve(store)}/ask?ask_text={TASK.replace(' ', '+')}")
    controls = page.locator("[class*='st-key-ask_judged_left_experience_']")
    right, wrong = (controls.nth(n).get_by_role("radio", name=name) for n, name in enumerate(("Right", "Wrong")))
    expect(right).to_be_visible(timeout=PATIENCE_MILLISECONDS)
    settle(page)
    right.click()
    expect(right).to_be_checked()
    settle(page)
    wrong.click()
    expect(wrong).to_be_checked()
    with tall(page, 1500):
        shoot(page, "ask-judged")
    wrong.click()
    expect(wrong).not_to_be_checked()
    settle(page)
    with atlas.open_memory(store, read_only=True, settings=atlas.Settings()) as memory:
        assert [(one.query, one.is_right) for one in memory.judgements()] == [(TASK, True)]

    page.get_by_role("link", name="Evaluation").click()
    expect(page.get_by_text("1 judged query with an experience that was judged right")).to_be_visible()
    page.get_by_text("Judged queries", exact=True).click()
    expect(page.get_by_role("button", name="Delete the chosen ones")).to_be_visible()
    expect_row(page, f"{TASK}1 experience")
    tick_row(page, TASK)
    expect(page.get_by_role("button", name="Delete 1 query")).to_be_enabled()
    shoot(page, "evaluation-judged")


def test_where_a_browser_has_no_clipboard_the_link_is_copied_or_shown_selected(
    new_page: Callable[[], Page], serve: Serve, store: Path
):
    page = new_page()
    page.add_init_script(NO_CLIPBOARD)
    page.goto(f"{serve(store)}/ask?ask_text=mend")
    page.get_by_role("button", name="Copy link").click(timeout=PATIENCE_MILLISECONDS)
    expect(page.get_by_role("status").filter(has_text="Link copied")).to_be_visible()
    assert pasted(page) == page.url
    settle(page)
    page.evaluate("() => { document.execCommand = () => false }")
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_text("The browser does not let a page copy. Copy this:")).to_be_visible()
    address = page.get_by_role("textbox", name="Address of this page")
    expect(address).to_have_value(page.url)
    assert address.evaluate("(box) => box.value.slice(box.selectionStart, box.selectionEnd)") == page.url
    shoot(page, "ask-link-refused", themes=True)


def top(element: Locator) -> float:
    """Return the upper edge of an element."""
    return float(element.evaluate("(element) => element.getBoundingClientRect().top"))


def bottom(element: Locator) -> float:
    """Return the lower edge of an element."""
    return float(element.evaluate("(element) => element.getBoundingClientRect().bottom"))


def right(element: Locator) -> float:
    """Return the right edge of an element."""
    return float(element.evaluate("(element) => element.getBoundingClientRect().right"))


def from_menu(page: Page, act: str) -> None:
    """Choose from the menu of the page."""
    page.locator(".st-key-ask_menu").get_by_role("button", name="More").click()
    page.locator(".st-key-ask_menu_acts").get_by_text(act).first.click()


def pasted(page: Page) -> str:
    """Return what is pasted into a box of another page of this browser."""
    other = page.context.new_page()
    other.set_content("<textarea></textarea>")
    other.locator("textarea").press("Control+v")
    text = other.locator("textarea").input_value()
    other.close()
    return text
