"""Real agent runs, imported as a person would, and read in the browser."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import REPOSITORY, Serve, shoot, tall
from tests.e2e.tables import click_row
from tests.ui.stores import MODEL


@pytest.fixture(scope="module")
def imported(real_data: Path, tmp_path_factory, serve: Serve) -> str:
    """A dashboard on the runs of τ-bench and MBPP."""
    store = tmp_path_factory.mktemp("real")
    runs = [real_data / "tau_bench" / "gpt-4o-airline.json", real_data / "reflexion" / "mbpp_py_reflexion_gpt4.jsonl"]
    command = [sys.executable, "-m", "atlas", "--store", str(store), "import", *map(str, runs)]
    subprocess.run(command, cwd=REPOSITORY, check=True, env={**os.environ, "ATLAS_EMBEDDING_MODEL": MODEL})
    return serve(store)


@pytest.mark.parametrize("theme", ["light", "dark"], indirect=True)
def test_a_reservation_bought_with_a_certificate_is_found_and_read_step_by_step(page: Page, imported: str, theme):
    page.goto(imported)
    expect(page.get_by_text("597", exact=True).first).to_be_visible()
    shoot(page, f"overview-sample-{theme}")
    page.get_by_role("link", name="Experiences").click()
    expect(page.get_by_text("597 experiences ·")).to_be_visible()
    shoot(page, f"experiences-sample-{theme}")
    page.get_by_role("searchbox").fill("cancel a reservation bought with a certificate")
    page.get_by_role("searchbox").press("Enter")
    expect(page.get_by_text(" of 597 experiences have to do with it")).to_be_visible()
    shoot(page, f"experiences-search-{theme}")
    click_row(page, "cancel")
    expect(page.get_by_text("Step 1 of")).to_be_visible()
    expect(page.get_by_text("tau-bench/airline/").first).to_be_attached()
    expect(page.get_by_test_id("stCode").filter(has_text="cancel").first).to_be_attached()
    with tall(page, 2400):
        shoot(page, f"experiences-sample-opened-{theme}")


def test_a_program_is_highlighted(page: Page, imported: str):
    page.goto(f"{imported}/experiences?scope_sources=reflexion%2Fmbpp&experiences_order=Most+steps+first")
    click_row(page, "Write a")
    page.get_by_role("tab", name="Result").click()
    expect(page.locator("code.language-python").first).to_be_attached()
    with tall(page, 1600):
        shoot(page, "experiences-program")
