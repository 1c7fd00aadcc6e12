"""Given successes of an airline's agent come in, and a workflow of theirs is learned, found and used again."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser.page import settle
from tests.support.browser.server import Serve, run_atlas
from tests.support.browser.tables import click_row
from tests.support.stores import opened_store

PATIENCE_MILLISECONDS = 180_000
"""How long compressing may take on a busy machine; on a quiet one it takes some seconds."""


@pytest.fixture
def store(real_data: Path, tmp_path: Path) -> Path:
    """A store with half of the given successes."""
    rows = json.loads((real_data / "tau_bench" / "gpt-4o-airline.json").read_text("utf-8"))
    successes = [row for row in rows if row["reward"] == 1.0]
    path = tmp_path / "gpt-4o-airline.json"
    path.write_text(json.dumps(successes[::2]), "utf-8")
    run_atlas(tmp_path / "store", "import", str(path))
    return tmp_path / "store"


@pytest.fixture
def next_task(real_data: Path) -> str:
    """The text of a task of the other half."""
    rows = json.loads((real_data / "tau_bench" / "gpt-4o-airline.json").read_text("utf-8"))
    text = next(row["info"]["task"]["instruction"] for row in [row for row in rows if row["reward"] == 1.0][1::2])
    return str(text)


def test_a_workflow_is_learned_found_for_the_next_task_and_its_use_counts(
    page: Page, serve: Serve, store: Path, next_task: str
):
    address = serve(store)
    page.goto(f"{address}/curate?curate_queue=compress")
    expect(page.get_by_text("with tool calls, which may share workflows.")).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Compress", exact=True).last.click()
    add = page.get_by_role("button", name=re.compile(r"^Add \d+ concepts?$"))
    expect(add).to_be_visible(timeout=PATIENCE_MILLISECONDS)
    expect(page.get_by_text(re.compile(r"^\d+ workflows? of tool calls in \d+ attempts\.$"))).to_be_visible()
    settle(page)
    page.get_by_text("Add workflows as strategies too").click()
    settle(page)
    add.click()
    expect(page.get_by_text(re.compile(r"Added \d+ concepts? found in \d+ attempts, and \d+ strateg"))).to_be_visible()
    with opened_store(store) as memory:
        assert len(memory.strategies) == len(memory.concepts) > 0
        found = memory.concepts.search(next_task, k=1)[0]
        memory.concepts.record_use(found.id, True, task_id="the next task")
    page.get_by_role("link", name="Concepts").click()
    click_row(page, found.name)
    expect(page.get_by_text(re.compile(r"^1\. ")).first).to_be_visible()
    expect(page.locator(".st-key-opened").get_by_text("1 of 1 use")).to_be_visible()
    page.get_by_role("link", name="Strategies").click()
    expect(page.get_by_text(re.compile(r"^\d+ strateg"))).to_be_visible()
