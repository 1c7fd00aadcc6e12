"""What the experiences page shows for what it is asked."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button, Multiselect, TextArea

import atlas
from atlas.testing import HashEmbedder
from tests.support.dashboard import (
    Dashboard,
    assert_no_problem,
    caption,
    drawn_by,
    of_type,
    table,
    tables,
    tasks,
    touch_table,
    undo_button,
)
from tests.support.records import attempt, attempts
from tests.support.stores import DIMENSION, MODEL, make_store, opened_store


def test_the_list_is_sorted_and_paged_by_the_store(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(60))
    app = dashboard(tmp_path, "experiences")
    assert caption(app) == "60 experiences · 50% of 40 succeeded (likely 35–65%) · newest first"
    assert tasks(app)[0].startswith("Task 59")
    assert len(tasks(app)) == 25
    app.pagination(key="experiences_page").set_value(3).run()
    assert [task.split(":")[0] for task in tasks(app)] == [f"Task {number}" for number in range(9, -1, -1)]
    app.selectbox(key="experiences_order").select("Oldest first").run()
    assert tasks(app)[0].startswith("Task 0")


def test_the_boxes_of_the_scope_stand_above_the_list_and_keep_what_another_page_chose(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(12))
    app = dashboard(tmp_path, "map")
    app.sidebar.pills(key="scope_outcomes").select("failed").run()
    app.switch_page("pages/experiences.py").run()
    assert not app.sidebar.pills
    assert app.main.pills(key="scope_outcomes").value == ["failed"]
    assert {*map(tuple, table(app)["outcomes"])} == {("✗ failed",)}
    app.main.pills(key="scope_outcomes").select("unknown").run()
    app.switch_page("pages/map.py").run()
    assert app.sidebar.pills(key="scope_outcomes").value == ["failed", "unknown"]


def test_a_buried_row_is_drawn_as_retired(dashboard: Dashboard, tmp_path):
    ids = make_store(tmp_path, attempts(2))
    with atlas.open_memory(tmp_path, settings=atlas.Settings()) as memory:
        memory.experience.mark({ids[0]: atlas.Marks(buried=True)})
    shown = table(dashboard(tmp_path, "experiences"))
    assert dict(zip(shown["id"], shown["state"], strict=True)) == {ids[0]: "retired", ids[1]: ""}


def test_the_scope_narrows_the_list_and_begins_it_anew(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(60))
    app = dashboard(tmp_path, "experiences", experiences_page="2")
    assert tasks(app)[0].startswith("Task 34")
    app.pills(key="scope_outcomes").select("failed").run()
    app.multiselect(key="scope_sources").select("south").run()
    assert caption(app) == "10 of 60 experiences · 0% of 10 succeeded (likely 0–28%) · newest first"
    assert {*map(tuple, table(app)["outcomes"])} == {("✗ failed",)}
    assert all(int(task.split()[1].strip(":")) % 2 for task in tasks(app))  # those from the south


def test_words_are_searched_among_what_passes_the_filters(dashboard: Dashboard, tmp_path):
    make_store(
        tmp_path, [attempt("Peel the turnip"), attempt("Boil the turnip", success=False), attempt("Boil an egg")]
    )
    app = dashboard(tmp_path, "experiences", scope_by="Words", scope_text="turnip")
    assert sorted(tasks(app)) == ["Boil the turnip", "Peel the turnip"]
    app.pills(key="scope_outcomes").select("failed").run()
    assert tasks(app) == ["Boil the turnip"]
    app.text_input(key="scope_text").set_value("parsnip").run()
    assert caption(app) == "Nothing found among 1 experience in scope"
    assert not tables(app)


def test_a_store_whose_records_were_all_deleted_finds_no_words(dashboard: Dashboard, tmp_path):
    ids = make_store(tmp_path, attempts(3))
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(DIMENSION, MODEL)) as memory:
        memory.experience.delete(ids)
    app = dashboard(tmp_path, "experiences", scope_by="Words", scope_text="report")
    assert_no_problem(app)
    assert not tables(app)


def test_what_a_search_finds_is_paged(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(60))
    app = dashboard(tmp_path, "experiences", scope_by="Words", scope_text="report")
    assert caption(app) == "60 that hold any of these words among 60 experiences, best match first"
    first = tasks(app)
    app.pagination(key="experiences_page").set_value(3).run()
    assert len(first) == 25
    assert len(tasks(app)) == 10
    assert not {*first} & {*tasks(app)}


def test_an_opened_experience_is_shown_in_full(dashboard: Dashboard, tmp_path):
    steps = (atlas.Step(thought="Look first", action='{"open": "door"}', observation="It is locked"),)
    solution = "def unlock(door):\n    return door.turn(key)"
    given = {"steps": steps, "solution": solution, "feedback": "Well done", "agent": "smith", "source": "north"}
    opened, other = make_store(
        tmp_path, [attempt("Unlock the door", **given, context={"key": "brass"}), attempt("Unlock the gate")]
    )
    app = dashboard(tmp_path, "experiences", id=opened)
    texts = [element.value for element in app.text]
    assert {"Unlock the door", "smith", "north", "1 Mar 2026, 09:30 UTC", "Well done"} <= {*texts}
    assert ":green-badge[✓ succeeded]" in [element.value for element in app.markdown]
    codes = {element.value: element.language for element in app.code}
    assert codes[solution] == "python"
    assert [turn["text"] for turn in conversation(app)["steps"][0]["turns"]] == [
        "Look first", '{"open": "door"}', "It is locked",
    ]  # fmt: skip
    assert codes['{"key": "brass"}'] == "json"
    app.session_state["experience_tabs"] = "Similar"
    app.run()
    assert list(table(app, 1)["id"]) == [other]


def test_what_stands_between_backticks_in_a_title_and_an_ending_is_code(dashboard: Dashboard, tmp_path):
    (opened,) = make_store(tmp_path, [attempt("Mend `door.turn()`", success=False, feedback="Call `key` *first*")])
    drawn = [element.value for element in dashboard(tmp_path, "experiences", id=opened).markdown]
    assert "Mend `door.turn()`" in drawn
    assert r"Feedback\: Call `key` \*first\*" in drawn


def test_a_long_task_is_shown_whole_at_the_press_of_a_button(dashboard: Dashboard, tmp_path):
    rest = ("It is locked. " * 40).strip()
    (opened,) = make_store(tmp_path, [attempt(f"Unlock the door of the kitchen. {rest}")])
    app = dashboard(tmp_path, "experiences", id=opened)
    drawn = [element.value for element in app.text]
    assert "Unlock the door of the kitchen" in drawn, "the title is its first sentence"
    assert rest not in drawn
    button_named(app, "Show all").click().run()
    assert rest in [element.value for element in app.text]
    button_named(app, "Show less").click().run()
    assert button_named(app, "Show all")


def test_what_the_source_did_not_record_has_no_tab(dashboard: Dashboard, tmp_path):
    opened, bare = make_store(tmp_path, [attempt("one", feedback="Well done", steps=()), attempt("two", steps=())])
    names = [[tab.label for tab in dashboard(tmp_path, "experiences", id=each).tabs][:2] for each in (opened, bare)]
    assert names == [["Result", "Similar"], ["Steps", "Similar"]]


def test_an_opened_experience_lists_its_uses(dashboard: Dashboard, tmp_path):
    (opened,) = make_store(tmp_path, [attempt("Unlock the door")])
    with opened_store(tmp_path) as memory:
        memory.store(attempt("Unlock the gate", success=False, used={"experiences": [opened]}))
    app = dashboard(tmp_path, "experiences", id=opened)
    assert list(table(app, 1)["task"]) == ["Unlock the gate"]


def test_marks_and_usage_are_shown_once_there_are_any(dashboard: Dashboard, tmp_path):
    opened, _ = make_store(tmp_path, [attempt(), attempt("another")])
    with atlas.open_memory(tmp_path, settings=atlas.Settings()) as memory:
        memory.experience.mark({opened: atlas.Marks(tags=("red", "blue"), pinned=True, note="keep this")})
        memory.experience.record_use(opened, success=True)
    app = dashboard(tmp_path, "experiences", id=opened)
    assert "for 1 task, 1 of them succeeded" in [element.value for element in app.text]
    assert tags_box(app).value == ["red", "blue"]
    assert note_box(app).value == "keep this"
    assert app.button(key="experience_pin").label == "Unpin"
    assert [*table(app)["marks"]] == ["pinned, has a note, red, blue", ""]


def test_other_attempts_at_the_task_stand_in_the_order_of_time(dashboard: Dashboard, tmp_path):
    given = [("2026-05-03", True), ("2026-05-01", False), ("2026-05-02", None)]
    ids = make_store(
        tmp_path,
        [attempt(at=datetime.fromisoformat(f"{day}T12:00:00+00:00"), success=success) for day, success in given],
    )
    app = dashboard(tmp_path, "experiences", id=ids[0])
    attempts_shown = [button for button in app.button if str(button.key).startswith("experience_attempt_")]
    assert [button.label for button in attempts_shown] == ["✗ 1 May 2026", "? 2 May 2026", "✓ 3 May 2026"]
    assert [button.disabled for button in attempts_shown] == [False, False, True]
    attempts_shown[0].click().run()
    assert app.query_params["id"] == ids[1]


def test_an_attempt_opens_beside_one_of_the_other_outcome(dashboard: Dashboard, tmp_path):
    _, failed = make_store(tmp_path, [attempt(task_id="egg"), attempt(success=False, task_id="egg", agent="b")])
    app = dashboard(tmp_path, "experiences", id=failed)
    assert conversation(app)["ending"] == ""  # the head shows it above the only step
    compare = app.button(key="experience_compare")
    assert compare.label == "Compare with ✓ 1 Mar"
    compare.click().run()
    assert not app.exception
    assert {"**✗ failed**", "**✓ succeeded**"} <= {element.value for element in app.markdown}


def test_pinning_burying_and_tagging_are_undone_one_by_one(dashboard: Dashboard, tmp_path):
    (opened,) = make_store(tmp_path, [attempt()])
    app = dashboard(tmp_path, "experiences", id=opened)
    app.button(key="experience_pin").click().run()
    app.button(key="experience_retire").click().run()
    assert marks_of(tmp_path, opened) == atlas.Marks(pinned=True)
    assert ":red[**1 of 1 task loses its best record**]" in [element.value for element in app.markdown]
    assert app.button(key="plan_apply").proto.shortcut == ""  # the key does only what costs no task its best record
    app.button(key="plan_apply").click().run()
    assert "Retired 1 experience; 1 of 1 task loses its best record" in [element.value for element in app.text]
    with atlas.open_memory(tmp_path, read_only=True, settings=atlas.Settings()) as memory:
        assert memory.history(1)[0].reason == "1 of 1 task loses its best record"
    tags_box(app).set_value(["new"]).run()
    assert marks_of(tmp_path, opened) == atlas.Marks(tags=("new",), pinned=True, buried=True)
    assert "Added a tag" in [element.value for element in app.text]
    undo_button(app).click().run()
    assert marks_of(tmp_path, opened) == atlas.Marks(pinned=True, buried=True)
    assert tags_box(app).value == []


def test_a_note_is_kept_when_it_is_saved(dashboard: Dashboard, tmp_path):
    (opened,) = make_store(tmp_path, [attempt()])
    app = dashboard(tmp_path, "experiences", id=opened)
    note_box(app).set_value("look at this again")
    button_named(app, "Save the note").click().run()
    assert marks_of(tmp_path, opened).note == "look at this again"
    assert "Saved the note" in [element.value for element in app.text]
    assert note_box(app).value == "look at this again"
    assert not app.warning


def test_an_edit_changes_what_was_typed_and_can_be_undone(dashboard: Dashboard, tmp_path):
    (opened,) = make_store(tmp_path, [attempt("Sort the list", feedback="wrong", success=False)])
    app = dashboard(tmp_path, "experiences", id=opened)
    edit_box(app, "feedback").set_value("right after all")
    button_named(app, "Save").click().run()
    assert stored(tmp_path, opened).feedback == "right after all"
    assert stored(tmp_path, opened).outcome.success is False
    undo_button(app).click().run()
    assert stored(tmp_path, opened).feedback == "wrong"
    assert edit_box(app, "feedback").value == "wrong"


def test_what_another_process_changed_meanwhile_is_told_and_nothing_typed_is_lost(dashboard: Dashboard, tmp_path):
    (opened,) = make_store(tmp_path, [attempt("Sort the list", feedback="wrong")])
    app = dashboard(tmp_path, "experiences", id=opened)
    with atlas.open_memory(tmp_path, settings=atlas.Settings()) as memory:
        memory.experience.edit(opened, feedback="theirs")
    edit_box(app, "feedback").set_value("mine")
    button_named(app, "Save").click().run()
    assert stored(tmp_path, opened).feedback == "theirs"
    assert "This experience was changed elsewhere" in app.warning[0].value
    assert "theirs" in [element.value for element in app.code]
    assert edit_box(app, "feedback").value == "mine"
    button_named(app, "Overwrite with mine").click().run()
    assert stored(tmp_path, opened).feedback == "mine"
    assert not app.warning


def test_what_is_stored_can_be_taken_in_place_of_what_was_typed(dashboard: Dashboard, tmp_path):
    (opened,) = make_store(tmp_path, [attempt("Sort the list")])
    app = dashboard(tmp_path, "experiences", id=opened)
    with atlas.open_memory(tmp_path, settings=atlas.Settings()) as memory:
        memory.experience.change_marks([opened], note="theirs")
    note_box(app).set_value("mine")
    button_named(app, "Save the note").click().run()
    assert marks_of(tmp_path, opened).note == "theirs"
    assert note_box(app).value == "mine"
    app.button(key="experience_note_discard").click().run()
    assert note_box(app).value == "theirs"
    assert not app.warning


def test_a_deleted_experience_comes_back_with_undo(dashboard: Dashboard, tmp_path):
    ids = make_store(tmp_path, attempts(3))
    app = dashboard(tmp_path, "experiences", id=ids[1])
    app.button(key="experience_delete").click().run()
    assert "id" not in app.query_params
    assert [*table(app)["id"]] == [ids[2], ids[0]]
    undo_button(app).click().run()
    assert [*table(app)["id"]] == [ids[2], ids[1], ids[0]]


def test_reading_only_switches_every_change_off_and_says_why(dashboard: Dashboard, tmp_path):
    (opened,) = make_store(tmp_path, [attempt()])
    app = dashboard(tmp_path, "experiences", read_only=True, id=opened)
    acts = [app.button(key=f"experience_{act}") for act in ("pin", "retire", "delete")]
    boxes = [*acts, tags_box(app), note_box(app), edit_box(app, "task"), button_named(app, "Save")]
    assert all(box.disabled for box in boxes)
    assert {act.help for act in acts} == {
        "Nothing can be changed here: the store is open for reading only, or you are a viewer."
    }


def test_all_that_is_in_scope_is_selected_over_its_pages(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(60))
    app = dashboard(tmp_path, "experiences", scope_sources="north")
    touch_table(app, "chosen", {"ids": [table(app)["id"][0]], "isChosen": True})
    app.button(key="experiences_all").click().run()
    selection = app.session_state["selection"]
    assert len(selection.ids) == 30
    assert selection.origin == "rows on Experiences"
    assert {*table(app)["id"]} < {*selection.ids}


def test_the_steps_are_a_conversation_with_long_texts_cut(dashboard: Dashboard, tmp_path):
    steps = [atlas.Step(action=f"act {n}", observation="x" * 2**20 if n == 1 else "ok") for n in range(1, 121)]
    steps[86] = atlas.Step(action="act 87", observation="ValueError: no rows")
    (opened,) = make_store(tmp_path, [attempt(steps=tuple(steps))])
    app = dashboard(tmp_path, "experiences", id=opened)
    trace = conversation(app)
    assert trace["summary"] == "120 steps · 1 error"
    assert (trace["first"], trace["last"], trace["errors"]) == (1, 100, [87])
    assert trace["steps"][0]["turns"][1]["n_cut"] > 2**20 - 20_001
    assert_no_problem(app)


def test_a_long_solution_shows_its_beginning_and_offers_the_whole(dashboard: Dashboard, tmp_path):
    long = "x" * 2**20
    (opened,) = make_store(tmp_path, [attempt(steps=(atlas.Step(action=long),))])
    app = dashboard(tmp_path, "experiences", id=opened)
    assert long[:20_000] in [element.value for element in app.code]
    (offer,) = (toggle for toggle in app.toggle if "Solution" in str(toggle.key))
    assert offer.label == "Show all 1,048,576 characters"
    offer.set_value(True).run()
    assert long in [element.value for element in app.code]


def test_an_experience_that_is_gone_says_so_beside_the_list(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(3))
    app = dashboard(tmp_path, "experiences", id="no-such-id")
    assert app.warning[0].value == "This experience is not in the store. It may have been deleted since."
    assert len(tasks(app)) == 3
    app.button(key="experience_close").click().run()
    assert not app.warning
    assert "id" not in app.query_params


def conversation(app: AppTest) -> dict[str, Any]:
    """The trajectory that the page gave to the browser."""
    [drawn] = [node for node in of_type(app, "bidi_component") if node.proto.component_name.endswith("trace")]
    [trace] = json.loads(drawn.proto.json)["traces"]
    return trace


def tags_box(app: AppTest) -> Multiselect:
    """The tags of the opened experience."""
    return next(box for box in app.multiselect if str(box.key).startswith("experience_tags"))


def note_box(app: AppTest) -> TextArea:
    """Its note."""
    return next(box for box in app.text_area if str(box.key).startswith("experience_note"))


def edit_box(app: AppTest, name: str) -> TextArea:
    """A text of its form."""
    return next(box for box in app.text_area if "experience_edit" in str(box.key) and str(box.key).endswith(name))


def button_named(app: AppTest, label: str) -> Button:
    """A button, by what stands on it."""
    return next(button for button in app.button if button.label == label)


def test_what_an_attempt_used_and_was_given_stands_above_its_tabs(dashboard: Dashboard, tmp_path):
    egg, milk = make_store(tmp_path, [attempt("Boil an egg"), attempt("Heat milk", False, task_id="milk")])
    with opened_store(tmp_path) as memory:
        memory.store(attempt("Boil two eggs", task_id="two", used={"experiences": [egg, milk]}))
        (used,) = memory.experience.ids({"task_id": "two"})
        given = memory.experience.store(attempt("Fry an egg", task_id="fry", shown_records=3))
    app = dashboard(tmp_path, "experiences", id=used)
    assert {"✓ succeeded", "✗ failed"} <= {element.value for element in app.caption}
    assert {"Boil an egg", "Heat milk"} <= {element.value for element in app.text}
    app = dashboard(tmp_path, "experiences", id=given)
    assert "3 records of the memory" in [element.value for element in app.text]


def test_the_range_in_the_first_sentence_is_explained_beside_it(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(6))
    app = dashboard(tmp_path, "experiences")
    (sentence,) = [element for element in app.caption if "(likely " in element.value]
    assert "probability of 95%" in sentence.help


def test_an_opened_attempt_is_marked_on_its_page_and_leads_to_the_rows_around_it(dashboard: Dashboard, tmp_path):
    ids = make_store(tmp_path, attempts(60))
    app = dashboard(tmp_path, "experiences", id=ids[34])
    assert (place(app), marked(app), app.pagination(key="experiences_page").value) == ("Row 26 of 60", ids[34], 2)
    app.button(key="experience_previous").click().run()
    assert (place(app), marked(app), app.pagination(key="experiences_page").value) == ("Row 25 of 60", ids[35], 1)
    app.button(key="experience_next").click().run()
    assert (place(app), marked(app)) == ("Row 26 of 60", ids[34])
    app.pagination(key="experiences_page").set_value(3).run()
    assert (place(app), marked(app), app.pagination(key="experiences_page").value) == ("Row 26 of 60", None, 3)
    touch_table(app, "opened", ids[0])
    assert place(app) == "Row 60 of 60"
    assert app.button(key="experience_next").disabled


def test_a_filter_that_hides_the_opened_attempt_says_so(dashboard: Dashboard, tmp_path):
    egg, _ = make_store(tmp_path, [attempt("Boil an egg"), attempt("Heat milk", False, task_id="milk")])
    app = dashboard(tmp_path, "experiences", id=egg)
    assert (place(app), marked(app)) == ("Row 1 of 2", egg)
    app.main.pills(key="scope_outcomes").select("failed").run()
    assert "Not in this list" in [element.value for element in app.caption]
    assert marked(app) is None


def test_each_attempt_at_a_task_marks_the_row_of_the_task(dashboard: Dashboard, tmp_path):
    first, last, milk = make_store(
        tmp_path,
        [attempt(f"Make {task_id}", task_id=task_id, agent=str(day), at=datetime(2026, 5, day, tzinfo=UTC))
         for day, task_id in enumerate(("eggs", "eggs", "milk"), start=1)],
    )  # fmt: skip
    app = dashboard(tmp_path, "experiences", id=first)
    assert (place(app), marked(app)) == ("Row 2 of 2", last)
    app.button(key="experience_previous").click().run()
    assert marked(app) == milk


def place(app: AppTest) -> str:
    """The place of the open attempt in its list."""
    return next(element.value for element in app.caption if element.value.startswith("Row "))


def marked(app: AppTest) -> str | None:
    """The row of the list that is marked as open."""
    opened: str | None = drawn_by(app, "records")[0]["opened"]
    return opened


def stored(store: Path, experience_id: str) -> atlas.Experience:
    """An experience as the store holds it."""
    with atlas.open_memory(store, settings=atlas.Settings()) as memory:
        experience = memory.experience.get(experience_id)
    assert experience is not None
    return experience


def marks_of(store: Path, experience_id: str) -> atlas.Marks:
    """What was said of an experience."""
    with atlas.open_memory(store, settings=atlas.Settings()) as memory:
        return memory.experience.marks([experience_id])[experience_id]


def test_a_tick_beside_a_task_selects_all_attempts_at_it(dashboard: Dashboard, tmp_path):
    first, other, second = make_store(
        tmp_path,
        [attempt("Boil an egg", False, task_id="egg"), attempt("Heat milk", task_id="milk"),
         attempt("Boil an egg", task_id="egg", agent="b", at=datetime(2026, 6, 1, tzinfo=UTC))],
    )  # fmt: skip
    app = dashboard(tmp_path, "experiences")
    assert {*map(tuple, table(app)["outcomes"])} == {("✓ succeeded",)}
    assert {*table(app)["history"]} == {"after ✗", ""}
    touch_table(app, "chosen", {"ids": [table(app)["id"][tasks(app).index("Boil an egg")]], "isChosen": True})
    assert {*app.session_state["selection"].ids} == {first, second}
    assert other not in app.session_state["selection"].ids
