"""The scope bar: shared by the pages, in the address, and answered in our own words where the address is wrong."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from streamlit.testing.v1 import AppTest

import atlas
from tests.ui.conftest import Dashboard
from tests.ui.stores import START, attempt, attempts, make_store
from tests.ui.test_experiences import tasks


def test_the_boxes_offer_what_the_store_holds(dashboard: Dashboard, tmp_path):
    ids = make_store(tmp_path, [*attempts(2), attempt(agent="smith")])
    mark(tmp_path, {ids[0]: atlas.Marks(tags=("red", "blue")), ids[1]: atlas.Marks(tags=("blue",))})
    app = dashboard(tmp_path, "experiences")
    assert app.pills(key="scope_outcomes").options == ["succeeded", "failed", "unknown"]
    assert app.multiselect(key="scope_sources").options == ["north", "south"]
    assert app.multiselect(key="scope_agents").options == ["smith"]
    assert app.multiselect(key="scope_tags").options == ["blue", "red"]


def test_boxes_for_what_no_experience_says_are_left_out(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, [attempt()])
    app = dashboard(tmp_path, "experiences")
    assert {box.key for box in app.sidebar.multiselect} == set()


@pytest.mark.parametrize("page", ["overview", "experiences", "history"])
def test_a_link_narrows_every_page_and_says_to_how_many(dashboard: Dashboard, tmp_path, page):
    make_store(tmp_path, attempts(12))
    app = dashboard(tmp_path, page, scope_outcomes="failed", scope_sources="south")
    assert sentence(app) == "2 of 12 experiences in scope"


def test_tags_and_pins_narrow_and_an_agent_does(dashboard: Dashboard, tmp_path):
    ids = make_store(tmp_path, [attempt("one", agent="smith"), attempt("two"), attempt("three", agent="jones")])
    mark(tmp_path, {ids[0]: atlas.Marks(tags=("red",)), ids[1]: atlas.Marks(pinned=True)})
    assert tasks(dashboard(tmp_path, "experiences", scope_tags="red")) == ["one"]
    assert tasks(dashboard(tmp_path, "experiences", scope_pinned="true")) == ["two"]
    assert tasks(dashboard(tmp_path, "experiences", scope_agents="jones")) == ["three"]


def test_days_are_whole_and_both_ends_count(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, [attempt(f"day {n}", at=START.replace(hour=23) + timedelta(days=n)) for n in range(4)])
    app = dashboard(tmp_path, "experiences", scope_since="2026-03-02", scope_until="2026-03-03")
    assert tasks(app) == ["day 2", "day 1"]
    app.date_input(key="scope_until").set_value(date(2026, 3, 2)).run()
    assert tasks(app) == ["day 1"]


def test_clear_takes_everything_away(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(12))
    app = dashboard(tmp_path, "experiences", scope_outcomes="failed", scope_by="Words", scope_text="report")
    assert sentence(app) == "4 of 12 experiences in scope, ranked by words"
    app.button(key="scope_clear").click().run()
    assert sentence(app) == "12 experiences"
    assert [*app.query_params] == []
    assert app.button(key="scope_clear").disabled


def test_a_value_that_is_chosen_stays_when_the_last_that_held_it_goes(dashboard: Dashboard, tmp_path):
    ids = make_store(tmp_path, attempts(2))
    app = dashboard(tmp_path, "experiences", scope_sources="north")
    with atlas.open_memory(tmp_path, settings=atlas.Settings()) as memory:
        memory.experience.delete([ids[0]])
    app.run()
    assert app.multiselect(key="scope_sources").value == ["north"]
    assert sentence(app) == "0 of 1 experience in scope"


def test_an_outcome_that_is_chosen_stays_when_the_last_of_it_goes(dashboard: Dashboard, tmp_path):
    *_, unknown = make_store(tmp_path, attempts(3))
    app = dashboard(tmp_path, "experiences", scope_outcomes="unknown")
    assert sentence(app) == "1 of 3 experiences in scope"
    with atlas.open_memory(tmp_path, settings=atlas.Settings()) as memory:
        memory.experience.delete([unknown])
    app.run()
    assert app.pills(key="scope_outcomes").value == ["unknown"]
    assert sentence(app) == "0 of 2 experiences in scope"
    assert not app.dataframe


def test_an_address_that_asks_for_what_is_not_there_is_answered_in_our_own_words(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(4))
    asked = {"scope_outcomes": "![x](y)", "scope_sources": "$$", "scope_since": "<b>", "scope_by": "*"}
    app = dashboard(tmp_path, "experiences", **asked, scope_domains="drop table", experiences_order="#")
    said = "1 way of searching, 1 outcome, 1 domain, 1 source and 1 date that this store does not hold"
    assert app.sidebar.warning[0].value == f"The address also asked for {said}; left out here."
    assert sentence(app) == "4 experiences"
    assert not app.exception
    app.run()
    assert not app.sidebar.warning


def test_a_domain_is_in_the_address_by_its_number_and_in_the_box_by_its_name(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(60))
    app = dashboard(tmp_path, "experiences")
    box = app.multiselect(key="scope_domains")
    shell = next(number for number, title in enumerate(box.options) if title.startswith("shell · "))
    box.select(shell).run()  # domains are numbered by their size, and so offered
    assert sentence(app) == "15 of 60 experiences in scope"
    assert {task.split(" the ")[1][:5] for task in tasks(app)} == {"shell"}
    (number,) = [str(value) for value in app.multiselect(key="scope_domains").value]
    assert app.query_params["scope_domains"] == number
    again = dashboard(tmp_path, "overview", scope_domains=number)
    assert sentence(again) == "15 of 60 experiences in scope"


def test_every_row_says_its_domain(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(60))
    table = dashboard(tmp_path, "experiences").dataframe[0].value
    assert {domain.split(" · ")[0] for domain in table["domain"]} == {"shell", "web", "data", "puzzles"}
    assert all(domain.split(" · ")[0] in task for domain, task in zip(table["domain"], table["task"], strict=True))


def mark(store, marks: dict[str, atlas.Marks]) -> None:
    """Say something of experiences."""
    with atlas.open_memory(store, settings=atlas.Settings()) as memory:
        memory.experience.mark(marks)


def sentence(app: AppTest) -> str:
    """What the scope bar says of itself."""
    return str(next(element.value for element in app.sidebar.markdown if "experience" in element.value).strip("*"))
