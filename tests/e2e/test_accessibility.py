"""What axe-core finds on every page of the sample store, in light and in dark: nothing serious, nothing critical."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.support.browser.axe import found_in
from tests.support.browser.page import THEMES
from tests.support.browser.server import Serve
from tests.support.repository import REPOSITORY
from tests.support.sample import make_sample

FIRST = "overview"
"""The page that has the address of the dashboard itself."""

PAGES = tuple(sorted(path.stem for path in (REPOSITORY / "pages").glob("[a-z]*.py")))


@pytest.fixture(scope="module")
def sample(tmp_path_factory) -> Path:
    """The sample data with a few records of the other kinds."""
    path = tmp_path_factory.mktemp("sample") / "store"
    make_sample(path)
    return path


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_serious_violation_in_light_or_dark(page: Page, serve: Serve, sample: Path, name):
    address = serve(sample)
    page.goto(address if name == FIRST else f"{address}/{name}")
    page.get_by_test_id("stMain").get_by_role("heading", level=1).wait_for()
    found = [line for theme in THEMES for line in found_in(page, theme)]
    assert not found, "\n".join(found)
