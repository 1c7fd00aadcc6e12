"""A person measures how well the sample store is searched, tries other weights, keeps them, and thinks better of it."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import atlas
from atlas.embedding.choice import BUNDLED
from tests.support.browser.page import settle, shoot, tall
from tests.support.browser.server import Serve, run_atlas
from tests.support.repository import REPOSITORY

PATIENCE_MILLISECONDS = 600_000
"""How long measuring may take on a busy machine."""

FEW = ("databases.jsonl",)
MORE = ("databases.jsonl", "grid_puzzles.jsonl", "security.jsonl")
"""Of the sample data: all of them would take some minutes to be measured."""


ORDER = "Cancel the order of Anna"


@pytest.fixture(scope="module", params=[FEW, pytest.param(MORE, marks=pytest.mark.slow)], ids=["few", "more"])
def pristine(request, tmp_path_factory) -> Path:
    """A store filled with a part of what `make run` fills it with."""
    sample = tmp_path_factory.mktemp("sample")
    store = tmp_path_factory.mktemp("evaluation") / "store"
    for name in request.param:
        shutil.copy(REPOSITORY / "sample_data" / name, sample)
    run_atlas(store, "init", "--sample", str(sample))
    return store


@pytest.fixture
def store(pristine: Path, tmp_path) -> Path:
    """A copy of that store."""
    return Path(shutil.copytree(pristine, tmp_path / "store"))


def in_use(store: Path) -> atlas.RankingWeights:
    with atlas.open_memory(store, read_only=True, settings=atlas.Settings()) as memory:
        return memory.experience.weights


def test_the_store_is_measured_while_the_page_is_left(page: Page, serve: Serve, store: Path):
    page.goto(serve(store))
    page.get_by_role("link", name="Evaluation").click()
    expect(page.get_by_text(re.compile(r"attempts at \d+ tasks that were tried more than once")).first).to_be_visible()
    page.get_by_role("button", name="Measure").click()
    expect(page.get_by_text("You can leave this page.")).to_be_visible()
    page.get_by_role("link", name="History").click()
    page.get_by_role("link", name="Evaluation").click()
    expect(page.get_by_text(re.compile(r"Measured \d+ \w+ 20\d\d"))).to_be_visible(timeout=PATIENCE_MILLISECONDS)
    expect(page.get_by_role("heading", name=re.compile("^Search finds the right memory first for"))).to_be_visible()
    expect(page.get_by_text(re.compile(r"\d+ of \d+ attempts"))).to_be_visible()
    expect(page.get_by_role("button", name="Measure again")).to_be_enabled()
    shoot(page, "evaluation-measured", themes=True)


def test_weights_are_tried_saved_used_by_all_and_taken_back(page: Page, serve: Serve, store: Path):
    page.goto(f"{serve(store)}/evaluation")
    page.get_by_text("Compare profiles").click()
    query = page.get_by_role("searchbox", name="Query")
    query.fill("the list of orders is slow to load")
    query.press("Enter")
    expect(page.get_by_text(re.compile("on both sides|Both rankings are the same")).first).to_be_visible()
    page.get_by_text("Weights", exact=True).last.click()
    turn(page, "Words", times=11)
    expect(page.get_by_text("on both sides").first).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Save as …").last.click()
    page.get_by_role("textbox", name="Name").fill("by meaning")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved the profile 'by meaning'")).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Use for all searches").last.click()
    expect(page.get_by_text("All searches use the profile 'by meaning' now")).to_be_visible()
    assert in_use(store) == atlas.RankingWeights(words=0.0)
    with tall(page, 2200):
        shoot(page, "evaluation-compared")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone: all searches use the profile")).to_be_visible()
    assert in_use(store) == atlas.RankingWeights()


def turn(page: Page, weight: str, *, times: int) -> None:
    """Move the right side's slider of a weight down, step by step."""
    slider = page.get_by_role("slider", name=weight).last
    slider.focus()
    for _ in range(times):
        slider.press("ArrowLeft")
    settle(page)


TRIAL_AGENT = str(REPOSITORY / "tests" / "support" / "trial_agent.py")


def test_a_trial_is_run_and_both_conversations_of_a_task_that_was_won_are_read(page: Page, serve: Serve, tmp_path):
    store = tmp_path / "store"
    with atlas.open_memory(store, settings=atlas.Settings(embedding_model=BUNDLED)) as memory:
        solved = atlas.Trajectory(atlas.Task("a", "", ORDER), (atlas.Step(action="ANSWER1Z"),), atlas.Outcome(True))
        memory.experience.store(solved)
    tasks = [
        {"id": "a", "description": ORDER, "context": {"answer": "ANSWER1Z"}},
        {"id": "b", "description": "Print the tickets", "context": {"answer": "ANSWER2Z"}},
    ]
    (tmp_path / "tasks.jsonl").write_text("\n".join(map(json.dumps, tasks)))
    report, chosen = str(tmp_path / "report.json"), ["--tasks", str(tmp_path / "tasks.jsonl")]
    arms = ["--arm", "nothing", "--arm", "memory"]
    command = ["--json", report, "--", sys.executable, TRIAL_AGENT]
    run_atlas(store, "trial", str(tmp_path / "trial"), *chosen, *arms, *command)
    page.goto(f"{serve(store)}/evaluation?evaluation_tab=Trials")
    page.locator('input[type="file"]').set_input_files(report)
    expect(page.get_by_text("4 of 4 runs of")).to_be_visible()
    won, lost = (page.get_by_role("heading", name=name) for name in ("memory · 1 record", "nothing · 0 records"))
    expect(won).to_contain_text("succeeded")
    expect(lost).to_contain_text("failed")
    settle(page)
    shoot(page, "evaluation-trials")


def strictness_of(store: Path) -> float:
    with atlas.open_memory(store, read_only=True, settings=atlas.Settings()) as memory:
        return memory.strictness()


def test_strictness_is_moved_with_a_preview_of_queries_and_taken_back(page: Page, serve: Serve, store: Path):
    page.goto(f"{serve(store)}/evaluation")
    slider = page.get_by_role("slider", name="Try another strictness")
    slider.press("End")
    expect(page.get_by_text("Strictness 1 (as measured) → 3.")).to_be_visible()
    settle(page)
    shoot(page, "evaluation-strictness")
    assert strictness_of(store) == 1
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("Changed the strictness of all searches from 1 (as measured) to 3")).to_be_visible()
    assert strictness_of(store) == 3
    page.get_by_role("button", name="Undo").click()
    expect(slider).to_have_value("1")
    expect(page.get_by_role("button", name="Apply")).to_have_count(0)
    assert strictness_of(store) == 1
