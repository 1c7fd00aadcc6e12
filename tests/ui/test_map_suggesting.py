"""The map page: names for domains that a language model suggests."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.support.dashboard import Dashboard, assert_no_problem, domain_numbers, said, table, tables, undo_button
from tests.support.messages_server import Reply, call, error, message, serving
from tests.support.records import kinds
from tests.support.stores import make_store


def named(request: dict[str, Any]) -> Reply:
    """A name for each group that the request asks about."""
    asked = json.dumps(request["messages"])
    groups = [number for number in range(20) if f"group {number}\\" in asked]
    return message(call({"names": [{"group": number, "name": f"Kind of work {number}"} for number in groups]}))


@pytest.fixture
def model(monkeypatch):
    """Point the dashboard to a model that gives these replies."""
    with serving(named) as server:
        monkeypatch.setenv("ATLAS_LLM_BASE_URL", server.url)
        yield server


def names_on(app: AppTest) -> list[str]:
    """The names in the table of domains."""
    return next(frame["name"].tolist() for frame in map(partial(table, app), range(tables(app))) if "name" in frame)


def test_a_model_names_the_domains_and_that_can_be_taken_back(dashboard: Dashboard, tmp_path, model):
    make_store(tmp_path, kinds(60))
    app = dashboard(tmp_path, "map")
    before = names_on(app)
    app.button(key="map_suggest").click().run()
    names = names_on(app)
    assert len(set(names)) == len(before)
    assert all(name.startswith("Kind of work") for name in names)
    assert any(f"named {len(before)} domains (1 call" in element.value for element in app.text)
    app.session_state["map_domain"] = domain_numbers(app)[0]
    assert "name suggested by" in said(app.run())
    app.button(key="map_domain_close").click().run()
    undo_button(app).click().run()
    assert names_on(app) == before
    assert any(element.value.startswith("Undone: ") for element in app.text)
    undo_button(app).click().run()
    assert names_on(app) == names
    assert_no_problem(app)


def test_a_model_that_cannot_be_asked_is_told_of_and_names_stay(dashboard: Dashboard, tmp_path, model):
    model.replies[:] = [error(401, "authentication_error")]
    make_store(tmp_path, kinds(60))
    app = dashboard(tmp_path, "map")
    before = names_on(app)
    app.button(key="map_suggest").click().run()
    assert names_on(app) == before
    assert app.button(key="act_problem_close")


def test_without_a_model_or_without_writing_there_is_no_such_button(dashboard: Dashboard, tmp_path, monkeypatch):
    make_store(tmp_path, kinds(60))
    assert "map_suggest" not in [button.key for button in dashboard(tmp_path, "map").button]
    monkeypatch.setenv("ATLAS_LLM_BASE_URL", "http://127.0.0.1:9")
    assert "map_suggest" not in [button.key for button in dashboard(tmp_path, "map", read_only=True).button]
