"""Choices that follow each other faster than the page answers are all kept, in the boxes and in the address."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

import atlas
from tests.support.browser.latency import Connection, late
from tests.support.browser.page import settle
from tests.support.browser.server import Serve
from tests.support.browser.tables import click_row, rows
from tests.support.records import attempt

DELAYS_SECONDS = (0.0, 0.15, 0.3, 0.6)
"""How much later than sent the browser receives what the dashboard sends."""

GAPS_MILLISECONDS = tuple(range(0, 300, 15))
"""Twenty waits between two choices."""

SEARCH = "scope_text=trim+overgrown+hedge"


Connect = Callable[[Path], tuple[str, Connection]]


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice in a box of a page."""

    role: str
    name: str
    """Label of the control."""

    address: str = ""
    """What the address names then: `history_tab=Trash`. Empty for a box that it does not name."""

    option: str = ""
    """The option that is chosen, for a control with a list of them."""

    @property
    def replaces(self) -> str:
        """The parameter whose earlier value it replaces, if it does."""
        return "" if self.role == "button" else self.address.partition("=")[0]


FAILED = Choice("button", "failed", "scope_outcomes=failed")

PAGES: dict[str, tuple[Choice, Choice]] = {
    "map": (FAILED, Choice("combobox", "Colour by", "", "Outcome")),
    "experiences": (FAILED, Choice("button", "unknown", "scope_outcomes=unknown")),
    "concepts": (
        Choice("combobox", "Sort", "concepts_order=Name, A to Z", "Name, A to Z"),
        Choice("combobox", "Sort", "concepts_order=Most used first", "Most used first"),
    ),
    "strategies": (
        Choice("combobox", "Show", "strategies_state=Read by agents", "Read by agents"),
        Choice("combobox", "Sort", "strategies_order=Newest first", "Newest first"),
    ),
    "journal": (
        Choice("radio", "Conversations", "journal_tab=Conversations"),
        Choice("radio", "Links and archiving", "journal_tab=Links and archiving"),
    ),
    "ask?ask_text=a+report+is+late": (
        Choice("switch", "Presentation", "ask_present=true"),
        Choice("switch", "Show all 4", "ask_all_left_experience=true"),
    ),
    "evaluation": (FAILED, Choice("radio", "Compare profiles", "evaluation_tab=Compare profiles")),
    "curate?curate_queue=never": (FAILED, Choice("radio", "Find shared functions", "curate_queue=compress")),
    "history": (FAILED, Choice("radio", "Trash", "history_tab=Trash")),
    "settings": (
        Choice("radio", "Models", "settings_tab=Models"),
        Choice("radio", "Ready-made functions", "settings_tab=Ready-made functions"),
    ),
}
"""Two choices on each page with boxes, by the page's address."""

SAME_LIST = ("concepts", "strategies", "journal")
"""Pages whose list and panel are those of Experiences."""

EVERY_CONTROL = ("experiences", "strategies", "ask")
"""Pages in the quick test: two buttons, two lists, and two switches. The slow test visits all."""


@pytest.fixture(scope="module")
def garden(tmp_path_factory, encoder) -> Path:
    """One task that was tried three times, and others."""
    store = tmp_path_factory.mktemp("garden")
    hedges = [attempt("Trim the overgrown hedges", task_id="hedge", solution="shears()", agent=str(n)) for n in "abc"]
    others = [attempt(text, task_id=text) for text in ("Water the tomatoes in the greenhouse", "File the tax return")]
    with atlas.open_memory(store, embedder=encoder) as memory:
        memory.experience.store_many([*hedges, *others])
    return store


@pytest.fixture
def connect(serve: Serve) -> Iterator[Connect]:
    """Serves a store by way of a late connection."""
    with ExitStack() as stack:
        yield lambda store: stack.enter_context(late(serve(store)))


@pytest.mark.parametrize("name", EVERY_CONTROL)
def test_two_choices_at_once_are_both_kept(page: Page, connect: Connect, sample: Path, name: str):
    address, connection = connect(sample)
    gap = GAPS_MILLISECONDS[len(name) % len(GAPS_MILLISECONDS)]  # another one on most pages
    make_two_choices(page, address, connection, name, (gap,))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name.partition("?")[0] for name in PAGES])
def test_two_choices_at_once_are_both_kept_twenty_times(page: Page, connect: Connect, sample: Path, name: str):
    address, connection = connect(sample)
    make_two_choices(page, address, connection, name, GAPS_MILLISECONDS)


def test_a_record_that_is_closed_stays_closed_and_the_choices_after_it_are_kept(
    page: Page, connect: Connect, garden: Path
):
    address, connection = connect(garden)
    close_and_choose(page, address, connection, GAPS_MILLISECONDS[::10])


@pytest.mark.slow
def test_a_record_that_is_closed_stays_closed_and_the_choices_after_it_are_kept_twenty_times(
    page: Page, connect: Connect, garden: Path
):
    address, connection = connect(garden)
    close_and_choose(page, address, connection, GAPS_MILLISECONDS)


def test_a_choice_that_is_taken_back_at_once_is_not_in_the_address(page: Page, connect: Connect, sample: Path):
    address, connection = connect(sample)
    choose_and_take_back(page, address, connection, GAPS_MILLISECONDS[::10])


@pytest.mark.parametrize(
    "name",
    ["experiences", "curate?curate_queue=never", *(pytest.param(name, marks=pytest.mark.slow) for name in SAME_LIST)],
)
def test_no_box_is_drawn_again_when_a_record_opens_beside_it(page: Page, serve: Serve, sample: Path, name: str):
    page.goto(f"{serve(sample)}/{name}")
    expect(rows(page).first).to_be_attached()
    settle(page)
    before = {key for key, _ in boxes(page)}
    click_row(page, "", table=int(name.startswith("curate")))  # the first table there lists the cases
    expect(page.get_by_role("button", name="Close", exact=True)).to_be_visible()
    settle(page)
    opened = {key: is_same for key, is_same in boxes(page) if key in before}
    page.get_by_role("button", name="Close", exact=True).click()
    expect(page.get_by_role("button", name="Close", exact=True)).to_have_count(0)
    settle(page)
    closed = {key: is_same for key, is_same in boxes(page) if key in opened}
    assert opened
    assert opened == closed == dict.fromkeys(opened, True)


def boxes(page: Page) -> list[tuple[str, bool]]:
    """Return the keys of the page's boxes, and whether each was there when this was called before."""
    return page.evaluate(
        """() => [...document.querySelectorAll('[data-testid=stMain] [class*=st-key-]')]
            .filter((place) => /^st(Selectbox|MultiSelect|ButtonGroup|TextInput|Checkbox)$/
                .test(place.firstElementChild?.dataset.testid))
            .map((place) => {
                const [box, wasThere] = [place.firstElementChild, !!place.firstElementChild.atlasMark]
                box.atlasMark = true
                return [place.className.match(/st-key-(\\S+)/)[1], wasThere]
            })"""
    )


def make_two_choices(page: Page, address: str, connection: Connection, name: str, gaps: tuple[int, ...]) -> None:
    """Open a page again and again, and make its two choices with each of the gaps between them."""
    place = next(place for place in PAGES if place.partition("?")[0] == name)
    first, second = PAGES[place]
    for number, gap in enumerate(gaps):
        connection.delay_seconds = 0
        page.goto("about:blank")
        page.goto(f"{address}/{place}")
        page.get_by_test_id("stMain").get_by_role("heading", level=1).wait_for()
        settle(page)
        connection.delay_seconds = DELAYS_SECONDS[number % len(DELAYS_SECONDS)]
        choose(page, first)
        page.wait_for_timeout(gap)
        choose(page, second)
        expect_choices(
            page, connection, [second] if first.replaces and first.replaces == second.replaces else [first, second]
        )


def choose(page: Page, choice: Choice) -> None:
    box = control(page, choice)
    if choice.role == "switch":  # the input is hidden, its label is not
        page.get_by_text(choice.name, exact=True).click()
    else:
        box.click()
    if choice.option:
        page.get_by_role("option", name=choice.option, exact=True).click()


def expect_choices(page: Page, connection: Connection, choices: Sequence[Choice]) -> None:
    """Wait until the boxes and the address show the choices, and that they still do when the page is at rest."""
    page.wait_for_url(lambda url: all(names(url, choice.address) for choice in choices))
    connection.delay_seconds = 0
    for choice in choices:
        box = control(page, choice)
        if choice.option:
            expect(box).to_have_value(choice.option)
        elif choice.role == "button":
            expect(box).to_have_attribute("aria-pressed", "true")
        else:
            expect(box).to_be_checked()
    settle(page)
    assert all(names(page.url, choice.address) for choice in choices), page.url


def control(page: Page, choice: Choice) -> Locator:
    return page.get_by_role(choice.role, name=choice.name, exact=True)


def choose_and_take_back(page: Page, address: str, connection: Connection, gaps: tuple[int, ...]) -> None:
    """Narrow the scope and take it back, with each of the gaps between."""
    for number, gap in enumerate(gaps):
        connection.delay_seconds = 0
        page.goto("about:blank")
        page.goto(f"{address}/experiences")
        expect(rows(page).first).to_be_attached()
        settle(page)
        connection.delay_seconds = DELAYS_SECONDS[number % len(DELAYS_SECONDS)]
        choose(page, FAILED)
        page.wait_for_timeout(gap)
        choose(page, FAILED)
        expect(page.get_by_text(re.compile("^[0-9,]+ tasks, a row each · "))).to_be_visible()
        expect(control(page, FAILED)).to_have_attribute("aria-pressed", "false")
        page.wait_for_url(lambda url: not urlsplit(url).query)
        page.wait_for_timeout(2 * 1000 * max(DELAYS_SECONDS))  # whatever is under way still has come by then
        assert urlsplit(page.url).query == ""


def close_and_choose(page: Page, address: str, connection: Connection, gaps: tuple[int, ...]) -> None:
    """Close a record and make two choices, with each of the gaps between."""
    for number, gap in enumerate(gaps):
        connection.delay_seconds = 0
        page.goto("about:blank")
        page.goto(f"{address}/experiences?{SEARCH}")
        click_row(page, "Trim the overgrown")
        expect(page.get_by_role("paragraph").filter(has_text="Why it is here")).to_be_visible()
        settle(page)
        connection.delay_seconds = DELAYS_SECONDS[number % len(DELAYS_SECONDS)]
        page.get_by_role("button", name="Close", exact=True).click()
        page.wait_for_timeout(gap)
        page.get_by_role("button", name="More").click()
        page.get_by_text("One row per task").click()
        page.keyboard.press("Escape")
        page.wait_for_timeout(gap)
        page.get_by_role("radio", name="Cards").click()
        page.wait_for_url(
            lambda url: (
                names(url, "experiences_form=Cards") and names(url, "experiences_distinct=false") and "id=" not in url
            )
        )
        expect(page.locator(".atlas-hit")).to_have_count(3)
        expect(page.get_by_role("button", name="Close", exact=True)).to_have_count(0)
        connection.delay_seconds = 0
        settle(page)
        assert parse_qs(urlsplit(page.url).query) == {
            "experiences_distinct": ["false"],
            "experiences_form": ["Cards"],
            "scope_text": ["trim overgrown hedge"],
        }


def names(url: str, choice: str) -> bool:
    """Return whether an address names a choice: `history_tab=Trash`. Every address names the empty one."""
    key, _, value = choice.partition("=")
    return not choice or value in parse_qs(urlsplit(url).query).get(key, [])
