"""What somebody does who has never seen the dashboard: on the sample data, with the network cut, while others write."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import atlas
from tests.support.browser.curation import N_ALIKE, REPEATED, clump_places
from tests.support.browser.map import draw, look, open_map, ready
from tests.support.browser.page import settle, shoot
from tests.support.browser.server import Serve
from tests.support.browser.writer import Writer, writing
from tests.support.stores import copied

N_NEEDED = 2
"""Number of repeated attempts that tasks need, which a preview leaves unticked."""

MARGIN = 4
"""Pixels around the clump at which the lasso is drawn."""


@pytest.fixture
def store(sample_data: Path, tmp_path: Path) -> Path:
    """A store that nobody opened since it was filled."""
    return copied(sample_data, tmp_path)


def test_a_clump_is_found_lassoed_deleted_as_previewed_and_brought_back(page: Page, serve: Serve, store):
    address = serve(store)
    page.route(lambda url: not url.startswith(address), lambda route: route.abort())
    page.goto(address)
    expect(page.get_by_text(re.compile(r"\d of \d+ domains are clearly below the average"))).to_be_visible()
    open_map(page, address)
    shoot(page, "first-visit-map", themes=True)
    with writing(store) as writer:
        added(page, writer, "early")
        page.get_by_role("button", name="Select with a lasso").click()
        draw(page, around_the_clump(page, store))
        expect(page.get_by_text(f"{N_ALIKE} selected from lasso on the map")).to_be_visible()
        assert look(page)["nChosen"] == N_ALIKE
        writer.write("add", "meanwhile")
        page.get_by_role("button", name="Delete …").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_text("That is ")).to_be_visible()
        effect = dialog.get_by_role("grid", name="What changes")
        expect(effect.get_by_role("row")).to_contain_text([re.compile("Domain"), re.compile(r"All\d+ → \d+")])
        expect(effect.get_by_text("unchanged")).to_be_visible()
        shoot(page, "first-visit-prune", themes=True)
        writer.write("add", "late")
        expect(dialog.get_by_text(f"{N_NEEDED} of the {N_ALIKE} you chose stay")).to_be_visible()
        dialog.get_by_role("button", name=f"Delete {N_ALIKE - N_NEEDED} experiences").click()
        expect(page.get_by_text(f"Deleted {N_ALIKE - N_NEEDED} experiences")).to_be_visible()
        ready(page)
        assert n_attempts(store) == N_NEEDED
        writer.write("add", "afterwards")
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text(f"Undone: deleted {N_ALIKE - N_NEEDED} experiences")).to_be_visible()
        assert n_attempts(store) == N_ALIKE
    shoot(page, "first-visit-undone", themes=True)


def added(page: Page, writer: Writer, word: str) -> None:
    """Let another process add an attempt, and wait until the map shows it."""
    n = look(page)["n"]
    writer.write("add", word)
    page.wait_for_function("(n) => atlasMap.look().n === n + 1", arg=n)
    settle(page)


def around_the_clump(page: Page, store: Path) -> list[tuple[int, int]]:
    """The corners of a box around the attempts that a scheduler repeated, as they are on the stage."""
    places = clump_places(page, store)
    left, right = min(x for x, _ in places) - MARGIN, max(x for x, _ in places) + MARGIN
    top, bottom = min(y for _, y in places) - MARGIN, max(y for _, y in places) + MARGIN
    return [(left, top), (right, top), (right, bottom), (left, bottom)]


def n_attempts(store: Path) -> int:
    """How many attempts of the clump's task the store holds."""
    with atlas.open_memory(store, read_only=True, settings=atlas.Settings()) as memory:
        return memory.experience.count(REPEATED)
