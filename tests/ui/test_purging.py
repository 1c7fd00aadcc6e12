"""Purging from a panel and from the trash: shown first, typed to confirm, and never undone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button, Node

import atlas
from atlas.storage.maintenance.backup import backup
from tests.support.dashboard import Dashboard, assert_no_problem, said, texts, undo_button
from tests.support.records import attempt, attempts
from tests.support.stores import make_store, opened_store

SECRET = "the key sk-7Qz9vXw3Lm of a customer"


@pytest.fixture
def memory(tmp_path) -> Iterator[atlas.MemorySystem]:
    """A memory of some experiences, the last of which holds a secret, beside the dashboard's own."""
    make_store(tmp_path / "store", [*attempts(3), attempt(SECRET)])
    with opened_store(tmp_path / "store") as opened:
        yield opened


def opened_with_a_plan(dashboard: Dashboard, memory: atlas.MemorySystem, record_id: str) -> AppTest:
    app = dashboard(memory.storage.path, "experiences", id=record_id)
    app.button(key="experience_purge").click().run()
    assert_no_problem(app)
    return app


def test_an_experience_is_purged_once_its_id_is_typed(dashboard: Dashboard, memory, tmp_path):
    *_, leaked = memory.experience.ids()
    backup(memory.storage, tmp_path / "all.zip")
    app = opened_with_a_plan(dashboard, memory, leaked)
    assert "1 experience would be erased for good." in said(app)
    assert "cannot be undone" in said(app)
    assert str(tmp_path / "all.zip") in app.code[-1].value
    assert app.button(key="purge_apply").disabled
    app.text_input(key="purge_typed").set_value("no").run()
    assert app.button(key="purge_apply").disabled
    app.text_input(key="purge_reason").set_value("leaked").run()
    app.text_input(key="purge_typed").set_value(leaked[:8]).run()
    app.button(key="purge_apply").click().run()
    assert_no_problem(app)
    assert "Purged 1 record. This cannot be undone." in texts(app)
    assert not [button for button in app.button if str(button.key).startswith("act_undo_")]
    assert memory.experience.get(leaked) is None
    assert (memory.history(1)[0].kind, memory.history(1)[0].reason) == ("purge", "leaked")


def test_a_plan_that_has_changed_since_is_not_applied(dashboard: Dashboard, memory):
    *_, leaked = memory.experience.ids()
    app = opened_with_a_plan(dashboard, memory, leaked)
    memory.experience.change_marks([leaked], note="mine")
    app.text_input(key="purge_typed").set_value("PURGE").run()
    app.button(key="purge_apply").click().run()
    assert "Nothing was done" in app.warning[0].value
    assert memory.experience.get(leaked) is not None
    app.button(key="purge_anew").click().run()
    app.text_input(key="purge_typed").set_value("PURGE").run()
    app.button(key="purge_apply").click().run()
    assert memory.experience.get(leaked) is None


def test_cancelling_touches_nothing(dashboard: Dashboard, memory):
    *_, leaked = memory.experience.ids()
    app = opened_with_a_plan(dashboard, memory, leaked)
    app.button(key="purge_cancel").click().run()
    assert_no_problem(app)
    assert memory.history(1)[0].kind == "store"


def test_what_is_in_the_trash_can_be_purged(dashboard: Dashboard, memory):
    first, *_, leaked = memory.experience.ids()
    memory.experience.delete([first, leaked])
    app = dashboard(memory.storage.path, "history", history_tab="Trash")
    assert app.button(key="history_purge").disabled
    rows = list(app.dataframe[0].value["id"])
    key = next(str(frame.key) for frame in app.dataframe)
    app.session_state[key] = {"selection": {"rows": [rows.index(leaked)], "columns": [], "cells": []}}
    app.run()
    app.button(key="history_purge").click().run()
    app.text_input(key="purge_typed").set_value("PURGE").run()
    app.button(key="purge_apply").click().run()
    assert_no_problem(app)
    assert [record.id for record in memory.experience.trash()] == [first]


def test_the_history_says_that_it_is_gone_and_offers_no_undo(dashboard: Dashboard, memory):
    *_, leaked = memory.experience.ids()
    stored = memory.history(1)[0]
    done = memory.apply_purge(memory.plan_purge([leaked]))
    app = dashboard(memory.storage.path, "history", operation=done.operation_id)
    assert app.subheader[0].value == "Purged 1 experience for good"
    assert [button for button in app.button if str(button.key).startswith("history_undo")] == []
    assert any("Cannot be undone" in element.value for element in app.markdown)
    assert "Its content was erased for good" in texts(app)
    app = dashboard(memory.storage.path, "history", operation=stored.id)
    assert SECRET not in said(app)
    undo_button(app, "history").click().run()
    assert memory.history(1)[0].reason.endswith("; without 1 record that was purged later")
    assert memory.experience.ids() == []


@pytest.mark.parametrize(("page", "key"), [("concepts", "concept"), ("strategies", "strategy"), ("journal", "entry")])
def test_every_kind_offers_it(dashboard: Dashboard, memory, page, key):
    concept = atlas.CodeConcept(name="leak", description=SECRET, code="def leak():\n    return 1")
    ids = {
        "concepts": memory.concepts.add(concept),
        "strategies": memory.strategies.add(atlas.Strategy(situation=SECRET, suggestion="go on")),
        "journal": memory.journal.add("observation", SECRET, generation=1),
    }
    app = dashboard(memory.storage.path, page, id=str(ids[page]))
    app.button(key=f"{key}_purge").click().run()
    assert_no_problem(app)
    assert "would be erased for good." in said(app)
    app.text_input(key="purge_typed").set_value("PURGE").run()
    app.button(key="purge_apply").click().run()
    assert_no_problem(app)
    assert [found.id for found in memory.plan_purge([memory.experience.ids()[-1]]).records]
    assert memory.history(1)[0].kind == "purge"


def test_a_store_that_is_only_read_offers_no_purge(dashboard: Dashboard, memory):
    *_, leaked = memory.experience.ids()
    app = dashboard(memory.storage.path, "experiences", read_only=True, id=leaked)
    assert app.button(key="experience_purge").disabled


def test_what_deletes_and_purges_does_not_stand_beside_what_closes(dashboard: Dashboard, memory):
    app = dashboard(memory.storage.path, "experiences", id=memory.experience.ids()[0])
    places = dict(button_places(app._tree))
    assert places["experience_close"][-1] != "popover"
    assert places["experience_delete"][-1] == places["experience_purge"][-1] == "popover"


def button_places(node: Node, path: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the key of each button of a page, with the kinds of the blocks that it stands in."""
    for child in getattr(node, "children", {}).values():
        if isinstance(child, Button):
            yield str(child.key), path
        yield from button_places(child, (*path, str(getattr(child, "type", ""))))
