"""While another process writes: the page tells of it, and nothing that a person is doing is lost."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import REPOSITORY, Serve, settle
from tests.e2e.tables import click_row, expect_row, rows, tick_row
from tests.ui.stores import attempts, make_store

WRITER = """
import sys, atlas
from atlas.testing import HashEmbedder
from tests.ui.stores import DIMENSION, MODEL, attempt
embedder = HashEmbedder(DIMENSION, MODEL)
with atlas.open_memory(sys.argv[1], embedder=embedder, settings=atlas.Settings()) as memory:
    print("ready", flush=True)
    for line in sys.stdin:
        name, *words = line.split()
        if name == "add":
            memory.experience.store_many([attempt(f"Written elsewhere {word}") for word in words])
        elif name == "delete":
            memory.experience.delete(words)
        else:
            memory.experience.edit(words[0], feedback="said elsewhere")
        print("done", flush=True)
"""


class Writer:
    """Another process that has the store open."""

    def __init__(self, store: Path) -> None:
        command = [sys.executable, "-c", WRITER, str(store)]
        self._process = subprocess.Popen(
            command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._answer("ready")

    def write(self, *words: str) -> None:
        """Let it do something."""
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join(words) + "\n")
        self._answer("done")

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()

    def _answer(self, expected: str) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline().strip() == expected


@pytest.fixture
def store(tmp_path) -> tuple[Path, list[str]]:
    """Sixty experiences, and their ids."""
    return tmp_path, make_store(tmp_path, attempts(60))


@pytest.fixture
def writer(store):
    other = Writer(store[0])
    yield other
    other.close()


def test_what_another_process_does_is_told(page: Page, serve: Serve, store, writer):
    path, ids = store
    page.goto(f"{serve(path)}/experiences")
    expect(page.get_by_text("60 experiences ·")).to_be_visible()
    settle(page)
    for n_new in (1, 2, 3):
        writer.write("add", str(n_new))
        expect(page.get_by_text(f"{n_new} new")).to_be_visible()
    writer.write("delete", ids[0])
    writer.write("edit", ids[1])
    expect(page.get_by_text("3 new · 1 changed · 1 removed")).to_be_visible()
    expect(page.get_by_text("60 experiences ·")).to_be_visible()
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.get_by_text("62 experiences ·")).to_be_visible()
    expect(page.get_by_text("3 new")).not_to_be_attached()


def test_nothing_that_a_person_is_doing_is_lost(page: Page, serve: Serve, store, writer):
    path, ids = store
    page.goto(f"{serve(path)}/experiences")
    tick_row(page, "Task 57:")
    tick_row(page, "Task 55:")
    expect(page.get_by_text("2 selected")).to_be_visible()
    click_row(page, "Task 59:")
    expect(page.get_by_text("Step 1 of 5")).to_be_visible()
    page.get_by_role("tab", name="Edit").click()
    box = page.get_by_role("textbox", name="Feedback")
    box.fill("half a sen")
    scrolled = scroll(page, 300)
    writer.write("edit", ids[59])
    writer.write("add", "one")
    expect(page.get_by_text("1 new · 1 changed")).to_be_attached()
    page.wait_for_timeout(2500)
    assert scroll(page) == scrolled
    expect(box).to_be_focused()
    box.press_sequentially("tence")
    expect(box).to_have_value("half a sentence")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.get_by_text("61 experiences ·")).to_be_visible()
    expect(box).to_have_value("half a sentence")
    expect(page.get_by_text("This experience was changed elsewhere since you opened it")).to_be_visible()
    expect(page.get_by_text("2 selected")).to_be_visible()
    page.get_by_role("button", name="Save mine over it").click()
    expect(page.get_by_text("Saved the experience")).to_be_visible()
    expect(page.get_by_role("textbox", name="Feedback")).to_have_value("half a sentence")


def test_a_choice_from_an_open_list_is_taken_though_another_process_writes(page: Page, serve: Serve, store, writer):
    path, _ = store
    page.goto(f"{serve(path)}/experiences")
    page.get_by_text("More filters").click()
    settle(page)
    page.get_by_test_id("stSidebarContent").evaluate("sidebar => sidebar.scrollTo(0, sidebar.scrollHeight)")
    settle(page)
    page.get_by_role("combobox", name="Source").click()
    option = page.get_by_role("option", name="north")
    expect(option).to_be_visible()
    settle(page)
    aimed_at = option.bounding_box()
    writer.write("add", "one")
    expect(page.get_by_text("1 new")).to_be_attached()
    settle(page)
    assert option.bounding_box() == aimed_at
    option.click()
    for _ in range(2):
        expect(page.get_by_text("30 of 61 experiences in scope")).to_be_visible()
        expect(page.get_by_test_id("stSidebar").locator("[data-tag]")).to_have_text(["north"])
        expect(page.get_by_text("30 of 61 experiences ·")).to_be_visible()
        page.reload()


def test_two_deletes_in_a_row_never_touch_a_row_that_was_not_chosen(page: Page, serve: Serve, store):
    path, _ = store
    page.goto(f"{serve(path)}/experiences")
    for name, left in (("Task 58:", 59), ("Task 56:", 58)):
        click_row(page, name)
        expect(page.get_by_test_id("stMain").get_by_test_id("stText").filter(has_text=name)).to_be_visible()
        page.get_by_role("button", name="Delete").click()
        expect(page.get_by_text(f"{left} experiences ·")).to_be_visible()
        settle(page)
    expect(page.get_by_text("Deleted 1 experience")).to_be_visible()
    expect_row(page, "Task 59:")
    shown = " ".join(rows(page).all_text_contents())
    present = [number for number in range(60, 50, -1) if f"Task {number}:" in shown]
    assert present == [59, 57, 55, 54, 53, 52, 51]
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("59 experiences ·")).to_be_visible()


def test_rows_stay_selected_over_the_pages_of_the_list(page: Page, serve: Serve, store):
    path, _ = store
    page.goto(f"{serve(path)}/experiences")
    tick_row(page, "Task 58:")
    expect(page.get_by_text("1 selected")).to_be_visible()
    page.get_by_role("button", name="Page 2").click()
    tick_row(page, "Task 30:")
    expect(page.get_by_text("2 selected")).to_be_visible()
    page.get_by_role("button", name="Page 1").click()
    tick_row(page, "Task 58:")  # it is ticked already, so this takes the tick away
    expect(page.get_by_text("1 selected")).to_be_visible()
    page.get_by_test_id("stBottom").get_by_role("button", name="Clear").click()
    expect(page.get_by_text("1 selected")).not_to_be_attached()
    tick_row(page, "Task 57:")
    expect(page.get_by_text("1 selected")).to_be_visible()


def test_the_scope_survives_other_pages_the_way_back_and_a_reload(page: Page, serve: Serve, store):
    path, _ = store
    page.goto(f"{serve(path)}/experiences?scope_outcomes=failed&scope_domains=1")
    said = page.get_by_test_id("stSidebar").get_by_text("in scope")
    expect(said).to_be_visible()
    words = said.text_content()
    for name in ("History", "Overview", "Experiences"):
        page.get_by_role("link", name=name).click()
        expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
        settle(page)
        expect(said).to_have_text(str(words))
        expect(page).to_have_url(re.compile("scope_outcomes=failed"))
        expect(page).to_have_url(re.compile("scope_domains=1"))
    page.reload()
    expect(said).to_have_text(str(words))
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(page.get_by_test_id("stSidebar").get_by_text("60 experiences", exact=True)).to_be_visible()
    expect(page).not_to_have_url(re.compile("scope_"))
    page.go_back()
    page.go_back()


def scroll(page: Page, by: int = 0) -> float:
    """Scroll the page; how far it is scrolled."""
    page.get_by_test_id("stMain").evaluate(f"main => main.scrollBy(0, {by})")
    return float(page.get_by_test_id("stMain").evaluate("main => main.scrollTop"))
