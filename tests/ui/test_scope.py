"""The scope bar: shared by the pages, in the address, and answered in our own words where the address is wrong."""

from __future__ import annotations

import re
from datetime import date, timedelta

import pytest
from streamlit.testing.v1 import AppTest

import atlas
from atlas.jobs.artefact import CACHE
from atlas.jobs.live_map import MAX_SYNCHRONOUS
from atlas.jobs.map import MapFile
from atlas.maps.labels import DomainNames
from atlas.maps.map import make_map
from atlas.maps.snapshot import read_embedded
from atlas.memory.experience.memory import COLLECTION
from atlas.views.shared.scope import AWAITED
from tests.support.dashboard import Dashboard, table, tables, tasks
from tests.support.records import START, attempt, attempts
from tests.support.stores import make_store


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
    assert {box.key for box in app.multiselect} == set()


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


def test_experiences_of_more_steps_are_those_of_at_least_one_more(dashboard: Dashboard, tmp_path):
    lengths = {f"{n} steps": (atlas.Step(action="look"),) * n for n in range(4)}
    make_store(tmp_path, [attempt(task, steps=steps) for task, steps in lengths.items()])
    app = dashboard(tmp_path, "experiences", scope_steps="1")
    assert sorted(tasks(app)) == ["2 steps", "3 steps"]
    assert sentence(app) == "2 of 4 experiences in scope"
    app.text_input(key="scope_steps").set_value(" 0").run()
    assert sorted(tasks(app)) == ["1 steps", "2 steps", "3 steps"]
    assert app.query_params["scope_steps"] == "0"
    app.text_input(key="scope_steps").set_value("").run()
    assert sentence(app) == "4 experiences"


@pytest.mark.parametrize("typed", ["-1", "1e3", "²", "9" * 400, "<b>"])
def test_a_number_of_steps_that_is_none_is_left_out_of_the_scope(dashboard: Dashboard, tmp_path, typed):
    make_store(tmp_path, attempts(2))
    app = dashboard(tmp_path, "experiences", scope_steps=typed)
    assert "names 1 step count that this store does not have" in app.warning[0].value
    assert sentence(app) == "2 experiences"


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
    assert not tables(app)


def test_an_address_that_asks_for_what_is_not_there_is_answered_in_our_own_words(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(4))
    asked = {"scope_outcomes": "![x](y)", "scope_sources": "$$", "scope_since": "<b>", "scope_by": "*"}
    app = dashboard(tmp_path, "experiences", **asked, scope_domains="drop table", experiences_order="#")
    said = "1 way of searching, 1 outcome, 1 domain, 1 source and 1 date"
    ignored = f"The address names {said} that this store does not have. The scope leaves this out."
    assert app.warning[0].value == ignored
    assert sentence(app) == "4 experiences"
    assert not app.exception
    app.run()
    assert not app.warning


def test_a_domain_is_in_the_address_by_its_number_and_in_the_box_by_its_name(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(60))
    app = dashboard(tmp_path, "experiences")
    box = app.multiselect(key="scope_domains")
    shell = next(number for number, title in enumerate(box.options) if title.startswith("shell"))
    box.select(shell).run()  # domains are numbered by their size, and so offered
    assert sentence(app) == "15 of 60 experiences in scope"
    assert {task.split(" the ")[1][:5] for task in tasks(app)} == {"shell"}
    (number,) = [str(value) for value in app.multiselect(key="scope_domains").value]
    assert app.query_params["scope_domains"] == number
    again = dashboard(tmp_path, "overview", scope_domains=number)
    assert sentence(again) == "15 of 60 experiences in scope"


NARROWED = {"scope_outcomes": "failed", "scope_domains": "1"}


@pytest.mark.parametrize("page", ["overview", "map", "concepts", "strategies", "journal", "ask", "curate", "history"])
def test_another_page_is_narrowed_too_and_its_address_says_so(dashboard: Dashboard, tmp_path, page):
    make_store(tmp_path, attempts(60))
    app = dashboard(tmp_path, "experiences", **NARROWED)
    go(app, page)
    assert sentence(app) == "5 of 60 experiences in scope"
    assert app.multiselect(key="scope_domains").value == [1]
    assert asked(app) == NARROWED
    app.button(key="scope_clear").click().run()
    assert sentence(app) == "60 experiences"
    assert asked(app) == {}


def test_a_choice_is_taken_to_the_page_that_is_opened_at_once(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(12))
    app = dashboard(tmp_path, "overview")
    app.pills(key="scope_outcomes").select("failed")
    go(app, "experiences")
    assert sentence(app) == "4 of 12 experiences in scope"
    assert asked(app) == {"scope_outcomes": "failed"}


def test_an_address_that_is_behind_does_not_undo_a_choice(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(12))
    app = dashboard(tmp_path, "experiences", scope_outcomes="failed", scope_sources="of nobody")
    for behind in ({}, {"scope_outcomes": "failed", "scope_sources": "of nobody"}, {"scope_outcomes": "unknown"}):
        app.multiselect(key="scope_sources").set_value(["north"])
        app.query_params = dict(behind)
        app.run()
        assert sentence(app) == "2 of 12 experiences in scope"
        assert asked(app) == {"scope_outcomes": "failed", "scope_sources": "north"}


def test_a_link_says_all_of_the_scope_of_the_page_that_it_opens(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(12))
    app = dashboard(tmp_path, "ask", scope_outcomes="failed")
    go(app, "experiences", scope_text="report", scope_by="Words")
    assert app.text_input(key="scope_text_1_0").value == "report"
    assert sentence(app) == "12 experiences, ranked by words"
    assert asked(app) == {"scope_text": "report", "scope_by": "Words"}
    go(app, "history", history_tab="Trash")
    assert sentence(app) == "12 experiences, ranked by words"
    assert asked(app) == {"scope_text": "report", "scope_by": "Words"}


def test_what_is_narrowed_survives_a_store_that_is_empty_for_a_while(dashboard: Dashboard, tmp_path):
    ids = make_store(tmp_path, attempts(4))
    app = dashboard(tmp_path, "experiences", scope_sources="north")
    app.pills(key="scope_outcomes").select("failed").run()
    assert sentence(app) == "0 of 4 experiences in scope"
    with atlas.open_memory(tmp_path, settings=atlas.Settings()) as memory:
        memory.experience.delete(ids)
        app.run()
        assert not app.pills
        memory.undo(memory.history(1)[0].id)
    app.run()
    assert app.pills(key="scope_outcomes").value == ["failed"]
    assert app.multiselect(key="scope_sources").value == ["north"]
    assert asked(app) == {"scope_outcomes": "failed", "scope_sources": "north"}


def test_a_domain_that_is_renamed_stays_chosen(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(60))
    dashboard(tmp_path, "experiences", scope_domains="1")
    memory_map = MapFile(tmp_path / CACHE, COLLECTION).load()
    assert memory_map is not None
    chosen = memory_map.domains[0]
    app = dashboard(tmp_path, "experiences", scope_domains=str(chosen.number))
    DomainNames(tmp_path, COLLECTION).rename(memory_map, chosen.number, "Reports of data")
    app.run()
    (box,) = [box for box in app.multiselect if (box.key or "").startswith("scope_domains")]
    assert box.value == [chosen.number]
    assert "Reports of data" in box.options
    assert chosen.name not in box.options
    app.run()
    assert sentence(app) == f"{chosen.n} of 60 experiences in scope"
    assert asked(app) == {"scope_domains": str(chosen.number)}


def test_a_domain_holds_and_what_acts_on_all_in_scope_waits_until_the_map_is_made(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(MAX_SYNCHRONOUS + 1))
    app = dashboard(tmp_path, "experiences", scope_domains=["1", "-1"])
    compared = {"evaluation_tab": "Compare profiles", "evaluation_query": "report"}
    for page, query in (("experiences", {}), ("curate", {}), ("evaluation", compared)):
        go(app, page, **query)
        titles = ["In no domain, when the map is made", "Domain 1, when the map is made"]
        assert app.multiselect(key="scope_domains").options == titles
        assert sentence(app).startswith("1,001 experiences; how many of them are in scope is known when")
        assert AWAITED in [info.value for info in app.main.info]
        assert not [button.label for button in app.main.button if re.search(r"all [\d,]+", button.label)]
        assert not tables(app)
        assert asked(app) == {"scope_domains": ["-1", "1"]}
    with atlas.open_memory(tmp_path, settings=atlas.Settings()) as memory:
        made = make_map(read_embedded(memory.storage, COLLECTION), engine="pca", min_domain_size=50)
        MapFile(tmp_path / CACHE, COLLECTION).save(made)
    go(app, "experiences")
    assert sentence(app) == f"{len(made.members(1)) + len(made.members(-1)):,} of 1,001 experiences in scope"
    assert tables(app)
    assert asked(app) == {"scope_domains": ["-1", "1"]}


def test_an_address_of_many_and_wild_values_is_harmless(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(12))
    wild = [
        "failed",
        "failed",
        "<img src=x onerror=alert(1)>",
        "01",
        "-2",
        "1e999",
        "9" * 400,
        *map(str, range(90, 300)),
    ]
    app = dashboard(tmp_path, "experiences", scope_outcomes=wild, scope_domains=wild, scope_tags=wild)
    assert not app.exception
    assert "names 215 outcomes, 216 domains and 216 tags that this store does not have" in app.warning[0].value
    assert sentence(app) == "4 of 12 experiences in scope"
    assert asked(app) == {"scope_outcomes": "failed"}


def test_the_rows_of_a_queue_say_their_domain(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(60))
    shown = table(dashboard(tmp_path, "curate", curate_queue="unknown"), 1)
    named = [(domain, task) for domain, task in zip(shown["domain"], shown["task"], strict=True) if domain]
    assert {domain.split()[0] for domain, _ in named} == {"shell", "web", "data", "puzzles"}
    assert all(domain.split()[0] in task for domain, task in named)
    assert len(named) > 0.8 * len(shown)  # some may lie at the edge of a domain: a layout differs by processor


def mark(store, marks: dict[str, atlas.Marks]) -> None:
    """Say something of experiences."""
    with atlas.open_memory(store, settings=atlas.Settings()) as memory:
        memory.experience.mark(marks)


def go(app: AppTest, page: str, **query: str) -> None:
    """Open another page as the browser does: its address says what the link says, and nothing of before."""
    app.query_params = dict(query)
    app.switch_page(f"pages/{page}.py").run()


def asked(app: AppTest) -> dict[str, object]:
    """What the address says of the scope."""
    return {key: value for key, value in app.query_params.items() if key.startswith("scope_")}


def sentence(app: AppTest) -> str:
    """What the scope bar says of itself."""
    return str(next(each.value for each in app.markdown if re.match(r"\*\*.* experience", each.value)).strip("*"))
