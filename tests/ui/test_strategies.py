"""What the strategies page shows for what it is asked, and what can be done there."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

import atlas
from atlas.views.kinds.verdicts import VERDICTS_MEAN
from pages.components.lists.selection import Selection
from tests.support.dashboard import (
    Dashboard,
    assert_no_problem,
    box,
    drawn_by,
    of_type,
    said,
    selecting,
    table,
    tables,
    texts,
    touch_table,
    undo_button,
)
from tests.support.records import attempt
from tests.support.stores import make_store, opened_store

CALLS = tuple(atlas.Step(action=f"{call}(booking)") for call in ("look_up", "check_policy", "refund"))


def strategy(number: int = 0, **given) -> atlas.Strategy:
    said = {"title": f"refund {number}", "situation": f"refund flight {number}", "suggestion": f"look up {number}"}
    return atlas.Strategy(**{**said, **given})


def add(memory, *strategies):
    return [memory.strategies.add(one) for one in strategies]


def tried(memory, strategy_id, *outcomes):
    for number, success in enumerate(outcomes):
        memory.strategies.update_stats(strategy_id, success, task_id=f"task {number}")


def test_an_empty_bank_is_filled_from_successful_attempts_as_previewed(dashboard: Dashboard, tmp_path, memory):
    refund = "Refund the cancelled flight of a customer"
    memory.experience.store_many([attempt(refund, steps=CALLS), attempt(refund, steps=CALLS, success=False)])
    app = dashboard(tmp_path, "strategies")
    assert [element.value for element in app.info] == ["There are no strategies yet."]
    app.button(key="strategies_write").click().run()
    assert "1 attempt would become 1 strategy." in [element.value for element in app.text]
    assert memory.strategies.count() == 0
    app.button(key="plan_apply").click().run()
    assert "Wrote 1 strategy" in texts(app)
    assert column(app, "record", "tries") == ["not used yet"]
    opened = dashboard(tmp_path, "strategies", id=memory.strategies.ids()[0])
    assert "2 attempts: 1 succeeded, 1 failed" in texts(opened)
    undo_button(app).click().run()
    assert memory.strategies.count() == 0
    assert_no_problem(app)


def test_without_a_success_nothing_can_be_written_but_by_hand(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, [attempt(success=False)])
    app = dashboard(tmp_path, "strategies")
    assert app.button(key="strategies_write").disabled
    assert not app.button(key="strategies_by_hand").disabled


def test_the_list_is_sorted_filtered_and_paged(dashboard: Dashboard, tmp_path, memory):
    ids = add(memory, *(strategy(number) for number in range(30)))
    tried(memory, ids[7], True, True, False)
    app = dashboard(tmp_path, "strategies")
    assert caption(app) == "30 strategies · 1 not clear yet · 29 not used yet"
    assert (titles(app)[0], column(app, "record", "tries")[0]) == ("refund 7", "2 of 3 uses")
    app.pagination(key="strategies_page").set_value(2).run()
    assert len(titles(app)) == 5
    memory.strategies.retire(ids[3:5])
    app.selectbox(key="strategies_state").select("Retired").run()
    assert caption(app) == "2 of 30 strategies"
    assert set(column(app, "heading", "status")) == {"retired by a person"}
    app.selectbox(key="strategies_state").select("All").run()
    assert caption(app) == "30 strategies · 1 not clear yet · 27 not used yet · 2 retired"
    assert_no_problem(app)


def test_the_rule_behind_a_verdict_stands_where_verdicts_are_counted_and_listed(dashboard: Dashboard, tmp_path, memory):
    [good, unclear] = add(memory, strategy(0), strategy(1))
    tried(memory, good, *[True] * 9)
    tried(memory, unclear, True, False)
    app = dashboard(tmp_path, "strategies")
    [bad] = add(memory, strategy(2))
    tried(memory, bad, *[False] * 9)
    app = dashboard(tmp_path, "strategies")
    (counts,) = [element for element in app.caption if "mostly works" in element.value]
    assert counts.value == "3 strategies · 1 mostly works · 1 not clear yet"
    assert app.button(key="strategies_narrowing").label == "1 clearly worse: look at it"
    assert counts.proto.help == VERDICTS_MEAN
    (heading,) = [column for column in drawn_by(app, "records")[0]["columns"] if column["name"] == "record"]
    assert VERDICTS_MEAN in heading["help"]
    assert_no_problem(app)


def test_a_strategy_that_was_not_tried_stands_below_one_that_always_failed(dashboard: Dashboard, tmp_path, memory):
    sources = [attempt("Refund a flight", task_id="a") for _ in range(4)]
    memory.experience.store_many(sources)
    [bad, _] = add(memory, strategy(0), strategy(1, sources=tuple(source.id for source in sources)))
    tried(memory, bad, *[False] * 5)
    app = dashboard(tmp_path, "strategies")
    assert titles(app) == ["refund 0", "refund 1"]
    assert column(app, "record", "tries") == ["0 of 5 uses", "not used yet"]
    assert column(app, "record", "tone") == ["bad", ""]


def test_retired_strategies_come_last(dashboard: Dashboard, tmp_path, memory):
    [retired, failed, _] = add(memory, strategy(0), strategy(1), strategy(2))
    tried(memory, retired, *[True] * 9)
    tried(memory, failed, False)
    memory.strategies.retire([retired])
    app = dashboard(tmp_path, "strategies")
    assert titles(app) == ["refund 1", "refund 2", "refund 0"]
    assert column(app, "heading", "status") == ["", "", "retired by a person"]


def test_a_try_that_is_recorded_meanwhile_is_shown_at_the_next_run(dashboard: Dashboard, tmp_path, memory):
    [one] = add(memory, strategy())
    app = dashboard(tmp_path, "strategies")
    assert column(app, "record", "tries") == ["not used yet"]
    tried(memory, one, True)
    app.run()
    assert column(app, "record", "tries") == ["1 of 1 use"]


def test_one_in_full_shows_its_tries_what_counts_them_and_its_sources(dashboard: Dashboard, tmp_path, memory):
    source = attempt("Refund a flight")
    memory.experience.store(source)
    [one] = add(memory, strategy(sources=(source.id, "gone"), rationale="It worked once."))
    memory.strategies.update_stats(one, True, task_id="task-1", trajectory_id=source.id)
    app = dashboard(tmp_path, "strategies", id=one)
    said = texts(app)
    assert {"refund flight 0", "look up 0", "It worked once.", "Refund a flight"} <= {*said}
    assert "**Its only use succeeded. No similar task was tried without it.**" in [
        element.value for element in app.markdown
    ]
    assert any("Plain average" in frame.value.to_csv() for frame in app.dataframe)
    assert list(table(app, 1)["task"]) == ["Refund a flight"]
    assert "One that is no longer in the store" in [element.value for element in app.caption]
    assert_no_problem(app)


def test_what_to_do_is_listed_step_by_step(dashboard: Dashboard, tmp_path, memory):
    [one] = add(memory, strategy(suggestion="1. Call `find(booking)`.\n2. Say: “It is refunded.”"))
    app = dashboard(tmp_path, "strategies", id=one)
    assert r"1\. Call `find(booking)`\." in [element.value for element in app.markdown]
    assert "2. Say: “It is refunded.”" in texts(app)
    assert_no_problem(app)


def test_an_edit_is_kept_and_undone(dashboard: Dashboard, tmp_path, memory):
    [one] = add(memory, strategy())
    app = dashboard(tmp_path, "strategies", id=one)
    box(app, "strategy", "parameters").set_value("booking (text): its number")
    app.button(key="strategy_edit_save").click().run()
    kept = {"name": "booking", "type": "text", "description": "its number"}
    assert memory.strategies.get(one).parameters == (kept,)
    box(app, "strategy", "parameters").set_value("(")
    app.button(key="strategy_edit_save").click().run()
    assert any("one a line" in said for said in texts(app))
    assert memory.strategies.get(one).parameters == (kept,)
    undo_button(app).click().run()
    assert memory.strategies.get(one).parameters == ()
    assert_no_problem(app)


def test_retiring_and_bringing_back_are_undone(dashboard: Dashboard, tmp_path, memory):
    [one] = add(memory, strategy())
    tried(memory, one, *[False] * 12)
    app = dashboard(tmp_path, "strategies", id=one)
    assert app.button(key="strategy_retire").label == "Bring back"
    app.button(key="strategy_retire").click().run()
    assert memory.strategies.rate(one).retired == ""
    undo_button(app).click().run()
    assert memory.strategies.rate(one).retired == "by its outcomes"
    assert_no_problem(app)


def test_one_is_written_by_hand_after_what_is_wrong_was_said(dashboard: Dashboard, tmp_path, memory):
    add(memory, strategy())
    app = dashboard(tmp_path, "strategies")
    app.button(key="strategies_by_hand").click().run()
    app.text_area(key="writing_hand_situation").set_value("Mirror a grid")
    app.button(key="writing_save").click().run()
    assert any("expected a string that is not blank for a strategy's suggestion" in said for said in texts(app))
    assert app.text_area(key="writing_hand_situation").value == "Mirror a grid"
    app.text_area(key="writing_hand_suggestion").set_value("Copy one half")
    app.button(key="writing_save").click().run()
    assert memory.strategies.count() == 2
    assert app.query_params["id"] in memory.strategies.ids()
    undo_button(app).click().run()
    assert memory.strategies.count() == 1
    assert_no_problem(app)


def test_two_are_merged_retired_tagged_and_deleted_in_the_tray(dashboard: Dashboard, tmp_path, memory):
    first, second, *_ = add(memory, *(strategy(number) for number in range(25)))
    tried(memory, second, True)
    app = selecting("strategies", dashboard(tmp_path, "strategies"), first, second)
    app.button(key="tray_retire").click().run()
    assert memory.strategies.retired() == {}
    app.button(key="plan_apply").click().run()
    assert set(memory.strategies.retired()) == {first, second}
    undo_button(app).click().run()
    app.button(key="tray_merge").click().run()
    assert "2 strategies would become 1: 1 of 25 would be deleted (4%)." in [element.value for element in app.text]
    touch_table(app, "chosen", {"ids": [first], "isChosen": False}, tables(app) - 1)
    assert "The rest cannot be planned. The ticks stay as they were." in said(app)
    assert any(text.startswith("expected at least two records in a group to merge, got 1") for text in texts(app))
    app.button(key="plan_apply").click().run()
    assert "cannot be planned" not in said(app)
    assert first not in memory.strategies.ids()
    undo_button(app).click().run()
    assert first in memory.strategies.ids()
    selecting("strategies", app, first)
    app.button(key="tray_delete").click().run()
    app.button(key="plan_apply").click().run()
    assert first not in memory.strategies.ids()
    assert_no_problem(app)


def test_what_is_selected_on_other_pages_stays_and_is_not_acted_on(dashboard: Dashboard, tmp_path, memory):
    kept = memory.experience.store(attempt())
    [one] = add(memory, strategy())
    app = dashboard(tmp_path, "strategies")
    app.session_state["selection"] = Selection((kept,), "lasso on the map", 1)
    selecting("strategies", app, one)
    app.button(key="tray_pin").click().run()
    assert memory.strategies.marks([one])[one].pinned
    assert not memory.experience.marks([kept])[kept].pinned
    app.button(key="tray_clear").click().run()
    assert app.session_state["selection"].ids == (kept,)


def test_read_only_nothing_can_be_changed(dashboard: Dashboard, tmp_path):
    with opened_store(tmp_path) as memory:
        one, other = add(memory, strategy(1), strategy(2))
        memory.strategies.edit(one, title="Another")
    app = selecting("strategies", dashboard(tmp_path, "strategies", read_only=True, id=one), one, other)
    acts = ("strategy_pin", "strategy_retire", "strategy_delete", "strategy_edit_save", "strategy_note_save",
            "tray_merge", "tray_delete", "tray_retire", "tray_pin")  # fmt: skip
    assert all(app.button(key=key).disabled for key in acts)
    assert all(area.disabled for area in app.text_area)
    assert_no_problem(app)


def test_one_that_is_not_there_is_said_to_be_gone(dashboard: Dashboard, tmp_path, memory):
    add(memory, strategy())
    app = dashboard(tmp_path, "strategies", id="nowhere")
    assert any("not in the bank" in element.value for element in app.warning)


def test_the_history_and_the_trash_link_and_restore_strategies(dashboard: Dashboard, tmp_path, memory):
    [one] = add(memory, strategy())
    memory.strategies.delete([one])
    app = dashboard(tmp_path, "history", history_tab="Trash", history_kind="Strategies")
    key = next(str(frame.key) for frame in app.dataframe)
    app.session_state[key] = {"selection": {"rows": [0], "columns": [], "cells": []}}
    app.run()
    app.button(key="history_restore").click().run()
    assert memory.strategies.ids() == [one]
    app = dashboard(tmp_path, "history", operation=memory.history(1)[0].id)
    assert any(element.value.startswith("Restored ") for element in app.subheader)
    assert [link.proto.page for link in of_type(app, "page_link")][-1] == "strategies"
    assert_no_problem(app)


def test_the_overview_tells_of_strategies(dashboard: Dashboard, tmp_path, memory):
    memory.experience.store(attempt())
    one, other = add(memory, strategy(1), strategy(2))
    tried(memory, one, *[True] * 6)
    tried(memory, other, *[False] * 6)
    app = dashboard(tmp_path, "overview")
    said = [link.proto.label for link in of_type(app, "page_link")]
    assert "2 strategies: 2 used" in said
    assert_no_problem(app)


def caption(app: AppTest) -> str:
    return next(e.value for e in app.caption if " strateg" in e.value)


def column(app: AppTest, part: str, name: str) -> list:
    """What a part of the list's rows shows of its strategies, from the top."""
    return [shown[name] for shown in table(app)[part]]


def titles(app: AppTest) -> list[str]:
    return column(app, "heading", "title")
