"""What a person does with the dashboard, on small stores."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import atlas
from app import SECTIONS
from atlas.protocols.infra import Embedder
from tests.support.browser.page import choose, settle, shoot, tall
from tests.support.browser.scope import expect_narrowed, said
from tests.support.browser.server import Serve, dashboard
from tests.support.browser.tables import click_row, expect_row, rows
from tests.support.hostile import HOSTILE, MARKER, everywhere
from tests.support.records import attempt, attempts
from tests.support.repository import REPOSITORY
from tests.support.stores import make_store

WRITER = """
import sys, atlas
from tests.support.records import attempt
with atlas.open_memory(sys.argv[1]) as memory:
    memory.experience.store(attempt("Water the garden at night"))
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory, encoder) -> Path:
    """A small store with the real embedding model."""
    return fill(tmp_path_factory.mktemp("kitchen"), encoder)


@pytest.fixture
def kitchen(made: Path, serve: Serve) -> str:
    """A dashboard on that store."""
    return serve(made)


def fill(store: Path, encoder: Embedder) -> Path:
    """Return a store, in which four attempts are now."""
    steps = [atlas.Step(thought=f"Think {n}", action=f"stir({n})", observation=f"Stirred {n}") for n in range(1, 31)]
    soup = attempt("Cook a soup of potatoes and leek", steps=tuple(steps), source="kitchen", solution="def cook(): ...")
    stew = attempt("Prepare a stew of carrots", source="kitchen", success=False)
    gearbox = attempt("Repair the gearbox of a tractor", source="barn")
    tax = attempt("File the tax return", source="office", success=None)
    with atlas.open_memory(store, embedder=encoder) as memory:
        memory.experience.store_many([soup, stew, gearbox, tax])
    return store


def test_search_open_read_reload_close(page: Page, kitchen):
    page.goto(kitchen)
    page.get_by_role("link", name="Experiences").click()
    expect(page.get_by_role("heading", name="Experiences", exact=True)).to_be_visible()  # Overview has a search too
    page.get_by_role("searchbox").fill("vegetable broth")
    page.get_by_role("searchbox").press("Enter")
    expect(page.get_by_text(" relevant, best first")).to_be_visible()
    click_row(page, "Cook a soup")
    expect(page.get_by_text("Cook a soup of potatoes and leek").last).to_be_visible()
    expect(page).to_have_url(re.compile("scope_text=vegetable.broth.*id=|id=.*scope_text=vegetable.broth"))
    expect(page.get_by_text("Step 30", exact=True)).to_be_attached()
    expect(page.get_by_test_id("stTabs").get_by_text("Stirred 30", exact=True)).to_be_attached()
    with tall(page, 1800):
        shoot(page, "experiences-opened")
    page.reload()
    expect(page.get_by_text("Step 1", exact=True)).to_be_attached()
    expect(page.get_by_role("searchbox", name="Search", exact=True)).to_have_value("vegetable broth")
    page.get_by_role("button", name="Close", exact=True).click()
    expect(page.get_by_text("Step 1", exact=True)).not_to_be_attached()
    expect(page).not_to_have_url(re.compile("id="))


def test_a_similar_experience_opens_on_a_click(page: Page, kitchen):
    page.goto(f"{kitchen}/experiences?scope_by=Words&scope_text=tractor")
    click_row(page, "Repair the gearbox")
    page.get_by_role("tab", name="Similar").click()
    click_row(page, "Prepare a stew", table=1)
    expect(page.get_by_test_id("stText").get_by_text("Prepare a stew of carrots")).to_be_visible()
    expect(page.get_by_test_id("stText").get_by_text("Repair the gearbox")).not_to_be_attached()


def test_the_same_experience_opens_again_after_it_was_closed_and_filters_are_in_the_address(page: Page, kitchen):
    page.goto(f"{kitchen}/experiences")
    for _ in range(2):
        click_row(page, "Repair the gearbox")
        expect(page.get_by_test_id("stText").get_by_text("Repair the gearbox").first).to_be_visible()
        settle(page)
        page.get_by_role("button", name="Close", exact=True).click()
        expect(page.get_by_role("button", name="Close", exact=True)).not_to_be_attached()
    settle(page)
    page.get_by_role("button", name="failed", exact=True).click()
    expect(page.get_by_text("1 of 4 experiences in scope")).to_be_visible()
    expect(page).to_have_url(re.compile("scope_outcomes=failed"))
    page.reload()
    expect(rows(page)).to_have_count(1)


def test_a_source_that_is_chosen_while_the_page_is_drawn_is_taken(page: Page, kitchen):
    page.goto(f"{kitchen}/experiences")
    page.get_by_role("button", name="More").click()
    choose(page, page.get_by_role("combobox", name="Source"), "kitchen")
    expect(page.get_by_text("2 of 4 experiences in scope")).to_be_visible()
    expect(page.locator("[data-tag]")).to_have_text(["kitchen"])
    expect(rows(page)).to_have_count(2)
    expect(page).to_have_url(re.compile("scope_sources=kitchen"))
    page.reload()
    expect(page.get_by_text("2 of 4 experiences in scope")).to_be_visible()
    page.get_by_role("button", name="More").click()
    expect(page.locator("[data-tag]")).to_have_text(["kitchen"])
    expect(rows(page)).to_have_count(2)


def test_what_another_process_adds_is_found_after_a_reload(page: Page, serve: Serve, encoder, tmp_path):
    page.goto(f"{serve(fill(tmp_path, encoder))}/experiences?scope_text=plants+need+rain")
    expect(page.get_by_text("Nothing relevant among 4 experiences")).to_be_visible()
    page.get_by_text("Include less relevant").click()
    expect(page.get_by_text("The 4 nearest among 4 experiences, relevant or not")).to_be_visible()
    subprocess.run([sys.executable, "-c", WRITER, str(tmp_path)], cwd=REPOSITORY, check=True)
    page.reload()
    expect(page.get_by_text("The 5 nearest among 5 experiences, relevant or not")).to_be_visible()
    expect(rows(page).first).to_contain_text("Water the garden at night")


def test_an_empty_store_says_what_to_do(page: Page, serve: Serve, tmp_path):
    make_store(tmp_path)
    page.goto(serve(tmp_path))
    for name in ("Overview", "Map", "Experiences", "Evaluation", "Curate"):
        page.get_by_test_id("stSidebarNav").get_by_role("link", name=name, exact=True).click()
        page.wait_for_url(f"**/{name.lower()}" if name != "Overview" else "**/")
        settle(page)
        expect(page.get_by_role("button", name="Load the sample data")).to_be_visible()
        page.get_by_text("Import large files from a terminal").click()
        expect(page.get_by_text(f"atlas --store {tmp_path} import PATH")).to_be_visible()
        shoot(page, f"{name.lower()}-empty")


def test_a_large_store_is_browsed_a_page_at_a_time(page: Page, serve: Serve, tmp_path):
    make_store(tmp_path, attempts(1_000))
    page.goto(serve(tmp_path))
    expect(page.get_by_text("1,000").locator("visible=true").first).to_be_visible()
    shoot(page, "overview-large", themes=True)
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Experiences").click()
    expect(page.get_by_text("1,000 experiences ·")).to_be_visible()
    expect_row(page, "Task 999:")
    page.get_by_test_id("stPagination").get_by_text("40", exact=True).click()
    expect_row(page, "Task 24:")
    shoot(page, "experiences-large", themes=True)
    click_row(page, "Task 24:")
    expect(page.get_by_text("Step 1", exact=True)).to_be_visible()
    shoot(page, "experiences-large-opened", themes=True)


def test_a_damaged_store_says_what_to_do(page: Page, serve: Serve, tmp_path):
    make_store(tmp_path, attempts(3))
    (tmp_path / "atlas.sqlite").write_bytes(b"garbage" * 10_000)
    page.goto(f"{serve(tmp_path)}/experiences")
    expect(page.get_by_text("This memory cannot be shown.")).to_be_visible()
    expect(page.get_by_text("atlas --store NEW restore FILE")).to_be_visible()
    shoot(page, "experiences-damaged", themes=True)


def test_an_address_opened_first_of_all_is_drawn_by_the_router_and_what_is_chosen_meanwhile_is_taken(
    page: Page, tmp_path
):
    make_store(tmp_path, attempts(60))
    with dashboard(tmp_path, ATLAS_READ_ONLY="1") as address:
        page.goto(f"{address}/experiences?scope_domains=1")  # the first page that this server draws
        for outcome in ("failed", "unknown"):
            pill = page.get_by_role("button", name=outcome, exact=True)
            pill.click()
            expect(pill).to_have_attribute("aria-pressed", "true")
        expect(page.get_by_role("heading", name="Experiences")).to_have_count(1)
        expect(page.get_by_test_id("stSidebarNavLink")).to_have_count(sum(map(len, SECTIONS.values())))
        expect(page.get_by_text("Read only")).to_be_visible()
        page.get_by_role("link", name="History", exact=True).click()
        expect(page.get_by_role("heading", name="History")).to_be_visible()
        expect_narrowed(page, "10 of 60 experiences in scope", "scope_domains=1&scope_outcomes=failed+unknown")
        page.get_by_role("button", name="Clear", exact=True).click()
        page.wait_for_url(lambda url: said(url) == "")
        expect(page.get_by_role("button", name="Clear", exact=True)).to_be_hidden()  # the page has no use for a scope


def test_hostile_content_does_nothing(page: Page, serve: Serve, tmp_path):
    *_, opened = make_store(tmp_path, [*map(everywhere, HOSTILE), everywhere("\n\n".join(HOSTILE[:-1]))])
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    address = serve(tmp_path)
    page.goto(address)
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    settle(page)
    shoot(page, "overview-hostile", themes=True)
    page.goto(f"{address}/experiences")
    expect_row(page, MARKER)
    page.goto(f"{address}/experiences?id={opened}")
    for tab in ("Result", "Similar", "Background", "Steps"):
        page.get_by_role("tab", name=tab).click()
        settle(page)
    expect(page.get_by_text(f"![{MARKER}](https://example.invalid/pixel.png)").first).to_be_attached()
    assert page.evaluate(f"window.{MARKER}") is None
    assert [url for url in asked if "example.invalid" in url] == []
    assert page.locator("main a, main img, main .katex").count() == 0
    with tall(page, 1800):
        shoot(page, "experiences-hostile", themes=True)
