"""What somebody does who has never seen the dashboard: on the sample data, with the network cut, while others write."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import atlas
from atlas.jobs.artefact import CACHE
from atlas.jobs.map import MapFile
from tests.e2e.conftest import REPOSITORY, Serve, settle, shoot
from tests.e2e.test_map import draw, look, open_map, ready
from tests.ui.stores import MODEL

WRITER = """
import sys, time, atlas
from atlas.testing import HashEmbedder
from tests.ui.stores import attempt
with atlas.open_memory(sys.argv[1], embedder=HashEmbedder(384, "all-MiniLM-L6-v2")) as memory:
    number = 0
    while True:
        memory.experience.store(attempt(f"Something else that an agent does meanwhile, {number}", task_id=str(number)))
        number += 1
        time.sleep(10)
"""
FAILING, N_ALIKE = "catalogue", 10
MARGIN = 9
"""Pixels around the clump at which the lasso is drawn."""


@pytest.fixture
def store(tmp_path) -> Path:
    """A new store, filled as `make run` does it."""
    command = [sys.executable, "-m", "atlas", "--store", str(tmp_path), "init", "--sample", "sample_data"]
    subprocess.run(command, cwd=REPOSITORY, check=True, env={**os.environ, "ATLAS_EMBEDDING_MODEL": MODEL})
    return tmp_path


@pytest.fixture
def writer(store: Path) -> Iterator[None]:
    """Another process that stores an attempt now and then."""
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(store)], cwd=REPOSITORY)
    yield
    process.kill()
    process.wait()


@pytest.mark.parametrize("theme", ["light", "dark"], indirect=True)
def test_a_clump_is_found_lassoed_pruned_as_previewed_and_brought_back(page: Page, serve: Serve, store, writer, theme):
    address = serve(store)
    page.route(lambda url: not url.startswith(address), lambda route: route.abort())
    page.goto(address)
    expect(page.get_by_text("2 domains clearly below")).to_be_visible()
    open_map(page, address)
    shoot(page, f"first-visit-map-{theme}")
    page.get_by_role("button", name="Select with a lasso").click()
    draw(page, around_the_clump(page, store))
    expect(page.get_by_text(f"{N_ALIKE} selected from lasso on the map")).to_be_visible()
    assert look(page)["nChosen"] == N_ALIKE
    page.get_by_role("button", name="Prune …").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("experiences would go")).to_be_visible()
    shoot(page, f"first-visit-prune-{theme}")
    dialog.get_by_role("button", name=f"Prune {N_ALIKE} experiences").click()
    expect(page.get_by_text(f"Pruned {N_ALIKE} experiences")).to_be_visible()
    ready(page)
    assert n_attempts(store) == 0
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text(f"Took back: pruned {N_ALIKE} experiences")).to_be_visible()
    assert n_attempts(store) == N_ALIKE
    settle(page)
    shoot(page, f"first-visit-undone-{theme}")


def around_the_clump(page: Page, store: Path) -> list[tuple[int, int]]:
    """The corners of a box around the domain that fails most, as they are on the stage."""
    shown = MapFile(store / CACHE, "atlas_experiences").load()
    assert shown is not None
    clump = next(domain for domain in shown.domains if FAILING in domain.name)
    members = [row for row, label in enumerate(shown.labels) if label == clump.number]
    places = [page.evaluate("(i) => atlasMap.where(i)", row) for row in members]
    left, right = min(x for x, _ in places) - MARGIN, max(x for x, _ in places) + MARGIN
    top, bottom = min(y for _, y in places) - MARGIN, max(y for _, y in places) + MARGIN
    return [(left, top), (right, top), (right, bottom), (left, bottom)]


def n_attempts(store: Path) -> int:
    """How many attempts of the clump's task the store holds."""
    with atlas.open_memory(store, read_only=True, settings=atlas.Settings()) as memory:
        return memory.experience.count({"task_id": "reindex-bike-catalogue"})
