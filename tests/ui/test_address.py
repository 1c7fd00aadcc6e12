"""The address while requests overlap: one that was sent before the browser heard of a change names the old values."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from tests.support.dashboard import Dashboard
from tests.support.records import attempts
from tests.support.stores import make_store


def test_a_request_that_still_names_a_closed_record_does_not_open_it_again(dashboard: Dashboard, tmp_path):
    [first, *_] = make_store(tmp_path, attempts(3))
    app = dashboard(tmp_path, "experiences", id=first)
    close(app)
    app.query_params["id"] = first
    app.selectbox(key="experiences_order").select("Oldest first").run()
    assert not is_open(app)
    assert app.query_params == {"experiences_order": "Oldest first"}


def test_a_link_to_a_record_that_was_closed_opens_it_once_the_browser_has_heard(dashboard: Dashboard, tmp_path):
    [first, *_] = make_store(tmp_path, attempts(3))
    app = dashboard(tmp_path, "experiences", id=first)
    close(app)
    app.run()  # the browser's next request names no record
    app.query_params["id"] = first
    app.run()
    assert is_open(app)


def test_a_link_to_another_record_opens_it_at_once(dashboard: Dashboard, tmp_path):
    [first, second, _] = make_store(tmp_path, attempts(3))
    app = dashboard(tmp_path, "experiences", id=first)
    close(app)
    app.query_params["id"] = second
    app.run()
    assert is_open(app)
    assert app.query_params["id"] == second


def test_an_address_that_has_lost_a_choice_names_it_again(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(3))
    app = dashboard(tmp_path, "experiences")
    app.selectbox(key="experiences_order").select("Oldest first").run()
    assert app.query_params["experiences_order"] == "Oldest first"
    app.query_params.clear()
    app.pills(key="scope_outcomes").select("failed").run()
    assert app.query_params == {"experiences_order": "Oldest first", "scope_outcomes": "failed"}


def test_an_address_that_names_a_choice_taken_back_loses_it_again(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(3))
    app = dashboard(tmp_path, "experiences", experiences_order="Oldest first")
    app.selectbox(key="experiences_order").select("Newest first").run()
    app.query_params["experiences_order"] = "Oldest first"
    app.run()
    assert app.selectbox(key="experiences_order").value == "Newest first"
    assert app.query_params == {}


def test_a_queue_that_was_chosen_stays_where_a_request_names_the_one_before(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(3))
    app = dashboard(tmp_path, "curate", curate_queue="refine")
    queue(app).select("compress").run()
    app.query_params["curate_queue"] = "refine"
    app.run()
    assert queue(app).value == "compress"
    assert app.query_params["curate_queue"] == "compress"


def close(app: AppTest) -> None:
    [button] = [button for button in app.button if button.label == "Close"]
    button.click().run()
    assert not is_open(app)


def is_open(app: AppTest) -> bool:
    return any(button.label == "Close" for button in app.button)


def queue(app: AppTest):
    [box] = [box for box in app.segmented_control if box.label == "Many at once"]
    return box
