"""What axe-core finds on every page of the sample store, in light and in dark: nothing serious, nothing critical."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.support.browser.page import THEMES, show_theme
from tests.support.browser.server import Serve
from tests.support.repository import REPOSITORY
from tests.support.sample import make_sample

FIRST = "overview"
"""The page that has the address of the dashboard itself."""

PAGES = tuple(sorted(path.stem for path in (REPOSITORY / "pages").glob("[a-z]*.py")))
GRAVE = {"serious", "critical"}

STREAMLITS_OWN = {
    "list": '[data-testid="stSidebarNavItems"]',
    "listitem": '[data-testid="stSidebarNavItems"] li',
}
"""What lies in Streamlit's widgets and cannot be mended from outside: a selector of the elements, by axe-core's rule.

The names of the sections in the sidebar stand in a `div` between the list of pages and its items.
"""


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


def found_in(page: Page, theme: str) -> list[str]:
    """What axe-core finds on the page in a theme, a line for each element."""
    show_theme(page, theme)
    violations = Axe().run(page).response["violations"]
    return [line for one in violations if one["impact"] in GRAVE for line in _lines(page, theme, one)]


def _lines(page: Page, theme: str, violation: dict[str, Any]) -> list[str]:
    excused = STREAMLITS_OWN.get(violation["id"], "")
    return [
        f"{theme}: {violation['id']} ({violation['impact']}): {node['target']} {node['html'][:200]} {_why(node)}"
        for node in violation["nodes"]
        if not excused or not page.locator(node["target"][-1]).first.evaluate("(one, own) => one.matches(own)", excused)
    ]


def _why(node: dict[str, Any]) -> str:
    return "; ".join(check["message"] for kind in ("any", "all", "none") for check in node[kind])
