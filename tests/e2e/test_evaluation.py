"""A person measures how well the sample store is searched, tries other weights, keeps them, and thinks better of it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import atlas
from atlas.core.schema import encode
from atlas.evaluation.trial.agents import RunResult
from atlas.evaluation.trial.design import Cell
from atlas.evaluation.trial.figures import report_of
from atlas.evaluation.trial.journal import FinishedCell
from atlas.evaluation.trial.report import as_json
from tests.support.browser.page import settle, shoot, tall
from tests.support.browser.server import Serve, run_atlas
from tests.support.records import attempts
from tests.support.repository import REPOSITORY
from tests.support.stores import make_store

PATIENCE_MILLISECONDS = 600_000
"""How long measuring may take on a busy machine."""

FEW = ("databases.jsonl",)
MORE = ("databases.jsonl", "grid_puzzles.jsonl", "security.jsonl")
"""Of the sample data: all of them would take some minutes to be measured."""


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
    expect(page.get_by_text(re.compile(r"attempts at \d+ tasks that were tried more than once"))).to_be_visible()
    page.get_by_role("button", name="Measure").click()
    expect(page.get_by_text("You can leave this page.")).to_be_visible()
    page.get_by_role("link", name="History").click()
    page.get_by_role("link", name="Evaluation").click()
    expect(page.get_by_text("Measured 20")).to_be_visible(timeout=PATIENCE_MILLISECONDS)
    expect(page.get_by_text("As an agent gets it (default)")).to_be_visible()
    shoot(page, "evaluation-measured")


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


def strictness_of(store: Path) -> float:
    with atlas.open_memory(store, read_only=True, settings=atlas.Settings()) as memory:
        return memory.strictness()


def test_strictness_is_moved_with_a_preview_of_queries_and_taken_back(page: Page, serve: Serve, store: Path):
    page.goto(f"{serve(store)}/evaluation?evaluation_tab=Strictness")
    expect(page.get_by_text("Strictness is 1 (as calibrated).")).to_be_visible()
    expect(page.get_by_role("button", name="Apply")).to_be_disabled()
    page.get_by_role("slider", name="Strictness").press("End")
    expect(page.get_by_text("Strictness 1 (as calibrated) → 3.")).to_be_visible()
    settle(page)
    shoot(page, "evaluation-strictness")
    assert strictness_of(store) == 1
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("Changed the strictness of all searches from 1 (as calibrated) to 3")).to_be_visible()
    assert strictness_of(store) == 3
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Strictness is 1 (as calibrated).")).to_be_visible()
    assert strictness_of(store) == 1


def finished(number: int, arm: str, *, success: bool) -> FinishedCell:
    step = {"action": f"cancel_order({number}, {arm})", "observation": "cancelled" if success else "no such order"}
    return FinishedCell(
        cell=Cell(task=number, repeat=0, arm=arm),
        is_seen=False,
        block_tokens=120 if arm == "memory" else 0,
        shown={"experience": ("e1",)} if arm == "memory" else {},
        result=RunResult(success=success, seconds=1.0, steps=(step,)),
    )


def test_the_report_of_a_trial_is_read_with_both_conversations_of_a_task(
    page: Page, serve: Serve, store: Path, tmp_path
):
    tasks = [atlas.Task(f"t{number}", "", f"Cancel order {number}") for number in range(8)]
    cells = [finished(n, arm, success=arm == "memory" or n > 5) for n in range(8) for arm in ("nothing", "memory")]
    hashes = {"store_hash": "5" * 64, "code_hash": "c" * 64, "embedding_model": "m", "atlas": "1", "seed": 0}
    design = {"command": ["agent"], "arms": ["nothing", "memory"], "tasks": [encode(t) for t in tasks]}
    report = report_of(design | hashes, ["nothing", "memory"], tasks, cells, 16)
    file = tmp_path / "report.json"
    file.write_text(as_json(report))
    make_store(tmp_path / "store", attempts(2))
    page.goto(f"{serve(tmp_path / 'store')}/evaluation?evaluation_tab=Trials")
    page.get_by_label("Report of a trial (JSON)").set_input_files(file)
    expect(page.get_by_text("16 of 16 runs of agent at 8 tasks")).to_be_visible()
    expect(page.get_by_text("cancel_order(0, memory)")).to_be_visible()
    expect(page.get_by_text("cancel_order(0, nothing)")).to_be_visible()
    expect(page.get_by_text("memory · 1 record shown, 120 tokens")).to_be_visible()
    page.get_by_role("combobox", name="Task").click()
    page.get_by_role("option", name="won: Cancel order 4").click()
    expect(page.get_by_text("cancel_order(4, memory)")).to_be_visible()
    settle(page)
    with tall(page, 2200):
        shoot(page, "evaluation-trial")
    file.write_text("{}")
    page.get_by_label("Report of a trial (JSON)").set_input_files(file)
    expect(page.get_by_text("This is not the report of a trial.")).to_be_visible()
