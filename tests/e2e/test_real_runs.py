"""Real agent runs, imported as a person would, and read in the browser."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser.page import shoot, tall
from tests.support.browser.server import Serve, run_atlas
from tests.support.browser.tables import click_row


@pytest.fixture(scope="module", params=[60, pytest.param(None, marks=pytest.mark.slow)], ids=["some", "all"])
def made(request, real_data: Path, tmp_path_factory) -> tuple[Path, int]:
    """A store with runs of τ-bench and MBPP, the first of them or all, and how many it holds."""
    tau = json.loads((real_data / "tau_bench" / "gpt-4o-airline.json").read_text("utf-8"))[: request.param]
    mbpp = (real_data / "reflexion" / "mbpp_py_reflexion_gpt4.jsonl").read_text("utf-8").splitlines()[: request.param]
    runs = tmp_path_factory.mktemp("runs")
    (runs / "gpt-4o-airline.json").write_text(json.dumps(tau), "utf-8")
    (runs / "mbpp_py_reflexion_gpt4.jsonl").write_text("\n".join(mbpp), "utf-8")
    store = tmp_path_factory.mktemp("real") / "store"
    run_atlas(store, "import", *(str(runs / name) for name in ("gpt-4o-airline.json", "mbpp_py_reflexion_gpt4.jsonl")))
    return store, len(tau) + len(mbpp)


@pytest.fixture
def imported(made: tuple[Path, int], serve: Serve) -> tuple[str, int]:
    """A dashboard on those: its address, and how many there are."""
    store, n = made
    return serve(store), n


def test_a_reservation_bought_with_a_certificate_is_found_and_read_step_by_step(page: Page, imported):
    address, n = imported
    page.goto(address)
    expect(page.get_by_role("link", name=f"{n} experiences: ")).to_be_visible()
    shoot(page, "overview-sample", themes=True)
    page.get_by_role("link", name="Experiences").first.click()
    expect(page.get_by_text(re.compile(rf"{n} (experiences|attempts) ·"))).to_be_visible()
    shoot(page, "experiences-sample", themes=True)
    page.get_by_role("searchbox").fill("cancel a reservation bought with a certificate")
    page.get_by_role("searchbox").press("Enter")
    expect(page.get_by_text(f" of {n} experiences are relevant")).to_be_visible()
    shoot(page, "experiences-search", themes=True)
    click_row(page, "cancel")
    expect(page.get_by_text("Step 1", exact=True)).to_be_visible()
    expect(page.get_by_text("tau-bench/airline/").first).to_be_attached()
    trace = page.get_by_role("region", name="Steps")
    expect(trace.locator(".user").first).to_be_visible()
    call = trace.locator("button.call").first
    expect(call).to_have_attribute("aria-expanded", "false")
    call.click()
    expect(trace.locator("dl").first).to_be_visible()
    with tall(page, 2400):
        shoot(page, "experiences-sample-opened", themes=True)


def test_a_program_is_highlighted(page: Page, imported):
    page.goto(f"{imported[0]}/experiences?scope_sources=reflexion%2Fmbpp&experiences_order=Most+steps+first")
    click_row(page, "Write a")
    page.get_by_role("tab", name="Result").click()
    expect(page.locator("code.language-python").first).to_be_attached()
    with tall(page, 1600):
        shoot(page, "experiences-program")
