"""A first curation on the sample data: attempts that a scheduler repeated are lassoed, pruned and brought back."""

from __future__ import annotations

import math
from pathlib import Path

from playwright.sync_api import Page, expect

import atlas
from atlas.jobs.artefact import CACHE
from atlas.jobs.map import MapFile
from tests.support.browser.map import open_map, ready
from tests.support.browser.page import settle
from tests.support.browser.recording import Recording

REPEATED, N_ALIKE = {"task_id": "reindex-bike-catalogue"}, 10
"""Filter of the sample data that finds the repeated attempts, and their number."""

N_CORNERS = 20
MARGIN = 14
"""Pixels between the outermost of those attempts and the lasso."""


def record_curation(page: Page, address: str, store: Path, preview: Path) -> Recording:
    """Curate, and return the moving picture of it.

    Args:
        preview: File of a picture of the preview.
    """
    recording = Recording(page)
    open_map(page, address)
    recording.hold(1.2)
    recording.click(page.get_by_role("button", name="Select with a lasso"))
    _draw_lasso(recording, lasso_around(clump_places(page, store)))
    expect(page.get_by_text("selected from lasso on the map")).to_be_visible()
    settle(page)
    recording.hold(1.0)
    recording.click(page.get_by_role("button", name="Delete …"))
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("That is ")).to_be_visible()
    settle(page)
    page.screenshot(path=preview)
    recording.hold(2.0)
    recording.click(dialog.get_by_role("button", name="Delete"))
    expect(page.get_by_role("dialog")).to_have_count(0)
    ready(page)
    recording.hold(1.6)
    recording.click(page.get_by_role("button", name="Undo"))
    expect(page.get_by_text("Undone: deleted")).to_be_visible()
    ready(page)
    recording.hold(2.0)
    return recording


def clump_places(page: Page, store: Path) -> list[tuple[float, float]]:
    """Return where on the stage the repeated attempts are."""
    shown = MapFile(store / CACHE, "atlas_experiences").load()
    assert shown is not None
    with atlas.open_memory(store, read_only=True, settings=atlas.Settings()) as memory:
        repeated = set(memory.experience.ids(REPEATED))
    members = [row for row, record_id in enumerate(shown.ids) if record_id in repeated]
    return [tuple(page.evaluate("(i) => atlasMap.where(i)", row)) for row in members]


def lasso_around(places: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the corners of a circle around places."""
    x, y = (sum(place[axis] for place in places) / len(places) for axis in (0, 1))
    radius = max(math.dist((x, y), place) for place in places) + MARGIN
    angles = [2 * math.pi * corner / N_CORNERS for corner in range(N_CORNERS + 1)]
    return [(x + radius * math.cos(angle), y + radius * math.sin(angle)) for angle in angles]


def _draw_lasso(recording: Recording, corners: list[tuple[float, float]]) -> None:
    page = recording.page
    stage = page.locator(".stage .overlay").bounding_box()
    assert stage is not None
    first, *rest = [(stage["x"] + x, stage["y"] + y) for x, y in corners]
    recording.move(*first)
    page.mouse.down()
    for corner in rest:
        recording.move(*corner, steps=1)
    page.mouse.up()
