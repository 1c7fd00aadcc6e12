"""The violations that axe-core finds on a page."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.support.browser.page import THEMES, show_theme

GRAVE = {"serious", "critical"}

STREAMLITS_OWN = {
    "list": '[data-testid="stSidebarNavItems"]',
    "listitem": '[data-testid="stSidebarNavItems"] li',
}
"""What lies in Streamlit's widgets and cannot be mended from outside: a selector of the elements, by axe-core's rule.

The names of the sections in the sidebar stand in a `div` between the list of pages and its items.
"""


def found_in(page: Page) -> list[str]:
    """What axe-core finds on a page of the dashboard in each theme, a line for each element."""
    found = []
    for theme in THEMES:
        show_theme(page, theme)
        found += found_now(page, theme)
    return found


def found_now(page: Page, theme: str) -> list[str]:
    """What axe-core finds on a page as it is, a line for each element.

    In dark it looks at colours alone: by all other rules, which take most of its time, a page is what it is in light.
    """
    rules = {"runOnly": ["color-contrast", "link-in-text-block"]} if theme == "dark" else {}
    violations = Axe().run(page, options={"resultTypes": ["violations"], **rules}).response["violations"]
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
