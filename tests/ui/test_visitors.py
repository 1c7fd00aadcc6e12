"""What pages show somebody whom a server has let in: the memory, and nothing of the machine that keeps it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Node

from atlas.infra.actor import Actor, Role
from tests.support.dashboard import Dashboard, assert_no_problem
from tests.support.records import attempts
from tests.support.stores import make_store
from tests.support.visitors import visiting

BACKUPS = "Export and backup"
"""The one part that tells admins where something lies: the backups that they make."""

TABS = ["", "Import", BACKUPS, "Models", "Ready-made functions"]


def sent(app: AppTest) -> str:
    """Everything that the browser gets."""
    return "\n".join(nodes(app._tree))


def nodes(node: Node) -> Iterator[str]:
    yield str(getattr(node, "proto", ""))
    for child in getattr(node, "children", {}).values():
        yield from nodes(child)


@pytest.mark.parametrize("tab", TABS)
def test_settings_name_no_path_of_the_server_to_a_visitor(dashboard: Dashboard, tmp_path, tab):
    make_store(tmp_path, attempts(2))
    asked = {"settings_tab": tab} if tab else {}
    if tab not in ("Models", "Ready-made functions"):  # these two name no path at all
        assert str(tmp_path) in sent(dashboard(tmp_path, "settings", **asked)), "whoever runs it sees where it lies"
    with visiting(Actor("ada", Role.ADMIN if tab != BACKUPS else Role.CURATOR)):
        app = dashboard(tmp_path, "settings", **asked)
        assert_no_problem(app)
        assert str(tmp_path) not in sent(app)


@pytest.mark.parametrize("page", ["overview", "map", "experiences", "ask", "evaluation", "curate", "history"])
def test_no_page_names_a_path_of_the_server_to_a_guest(dashboard: Dashboard, tmp_path, page):
    make_store(tmp_path, attempts(2))
    with visiting(Actor("link board")):
        app = dashboard(tmp_path, page)
        assert_no_problem(app)
        assert str(tmp_path) not in sent(app)
