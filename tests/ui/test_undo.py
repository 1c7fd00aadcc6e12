"""Undoing and redoing from the bar that says what was done."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

import atlas
from pages.components.lists.selection import Selection
from tests.support.dashboard import Dashboard, assert_no_problem, texts, undo_button
from tests.support.records import attempts
from tests.support.stores import make_store, opened_store


@pytest.fixture
def memory(tmp_path) -> Iterator[atlas.MemorySystem]:
    """A memory of forty experiences, beside the dashboard's own."""
    make_store(tmp_path, attempts(40))
    with opened_store(tmp_path) as opened:
        yield opened


def test_what_was_undone_can_be_redone_and_undone_again(dashboard: Dashboard, tmp_path, memory):
    before = memory.experience.ids()
    app = deleted(dashboard(tmp_path, "history"), before[0])
    seen = []
    for _ in range(3):
        seen.append((texts(app)[0], undo_button(app).label, len(memory.experience)))
        undo_button(app).click().run()
    assert seen == [
        ("Deleted 1 experience", "Undo", 39),
        ("Undone: deleted 1 experience", "Redo", 40),
        ("Redone: deleted 1 experience", "Undo", 39),
    ]
    assert memory.experience.ids() == before
    assert_no_problem(app)


def test_a_click_that_comes_twice_undoes_once(dashboard: Dashboard, tmp_path, memory):
    app = deleted(dashboard(tmp_path, "history"), memory.experience.ids()[0])
    clicked = undo_button(app)
    clicked.click().run()
    clicked.click().run()
    assert len(memory.experience) == 40
    assert texts(app)[0] == "Undone: deleted 1 experience"


def deleted(app: AppTest, experience_id: str) -> AppTest:
    """The page after this was deleted from the tray."""
    app.session_state["selection"] = Selection((experience_id,), "lasso on the map", 1)
    app.run()
    app.button(key="tray_delete").click().run()
    return app.button(key="plan_apply").click().run()
