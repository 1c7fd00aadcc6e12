"""What the concepts page shows for what it is asked, and what can be done there."""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

from pages.components.lists.selection import Selection
from tests.support.dashboard import (
    Dashboard,
    assert_no_problem,
    box,
    of_type,
    plan_tables,
    said,
    selecting,
    table,
    texts,
    undo_button,
)
from tests.support.records import attempt, concept
from tests.support.stores import make_library, make_store, opened_store

CROP = "def crop(grid, box):\n    return [row[box[1]:box[3]] for row in grid[box[0]:box[2]]]\n"
TWICE = "def crop_twice(grid, box):\n    return crop(crop(grid, box), box)\n"


def test_an_empty_library_says_how_to_fill_it(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, [attempt()])
    app = dashboard(tmp_path, "concepts")
    assert [element.value for element in app.info] == ["There are no concepts yet."]
    assert any(element.value.endswith(f"--store {tmp_path} import PATH") for element in app.code)
    assert_no_problem(app)


def test_the_list_is_sorted_filtered_and_paged_by_the_store(dashboard: Dashboard, tmp_path, memory):
    ids = memory.concepts.add_many(
        [concept(number, source="learned" if number % 3 else "primitive") for number in range(30)]
    )
    for success in (True, False, True):
        memory.concepts.update_stats(ids[7], success)
    app = dashboard(tmp_path, "concepts")
    assert caption(app) == "30 concepts · 1 not clear yet · 29 not used yet"
    assert len(names(app)) == 25
    app.pagination(key="concepts_page").set_value(2).run()
    assert len(names(app)) == 5
    app.selectbox(key="concepts_order").select("Most used first").run()
    assert names(app)[0] == "step_7"
    assert tries(app)[:2] == ["2 of 3 uses", "not used yet"]
    app.multiselect(key="concepts_source").select("primitive").run()
    assert caption(app) == "10 of 30 concepts"
    assert {heading["origin"] for heading in table(app)["heading"]} == {"2 lines, ready-made"}
    assert_no_problem(app)


def test_a_use_that_another_records_meanwhile_is_shown_at_the_next_run(dashboard: Dashboard, tmp_path, memory):
    often, other = memory.concepts.add_many([concept(1), concept(2)])
    app = dashboard(tmp_path, "concepts", concepts_order="Most used first")
    assert set(tries(app)) == {"not used yet"}
    memory.concepts.update_stats(other, True)
    app.run()
    assert (names(app), tries(app)) == (["step_2", "step_1"], ["1 of 1 use", "not used yet"])
    memory.concepts.update_stats(often, False)
    memory.concepts.update_stats(often, True)
    app.run()
    assert tries(app) == ["1 of 2 uses", "1 of 1 use"]
    assert_no_problem(app)


def test_an_opened_concept_is_shown_in_full(dashboard: Dashboard, tmp_path, memory):
    found = memory.experience.store(attempt("Solve the puzzle of the box"))
    crop, twice = memory.concepts.add_many(
        [
            concept(
                name="crop",
                code=CROP,
                signature="crop(grid, box)",
                guidance="When a part is asked for",
                examples=(("crop([[0, 1], [2, 3]], (0, 0, 1, 1))", "[[0]]"), ("crop([], 0)", "[]")),
                found_in=(found, "gone"),
            ),
            concept(name="crop_twice", code=TWICE),
        ]
    )
    app = dashboard(tmp_path, "concepts", id=crop)
    codes = {element.value: element.language for element in app.code}
    assert codes[CROP.rstrip("\n")] == "python"
    assert {"crop([[0, 1], [2, 3]], (0, 0, 1, 1))", ">>> crop([], 0)\n[]"} <= {*codes}
    assert "[[0]]" not in codes
    assert {"crop(grid, box)", "When a part is asked for", "Solve the puzzle of the box"} <= {*texts(app)}
    assert list(table(app, 1)["name"]) == ["crop_twice"]
    app = dashboard(tmp_path, "concepts", id=twice)
    assert list(table(app, 1)["how"]) == ["it calls"]
    memory.concepts.delete([crop])
    app.run()
    assert any("1 of the concepts that it needs" in element.value for element in app.warning)
    assert_no_problem(app)


def test_a_concept_without_examples_says_how_to_add_a_test(dashboard: Dashboard, tmp_path, memory):
    (crop,) = memory.concepts.add_many([concept(name="crop", code=CROP)])
    app = dashboard(tmp_path, "concepts", id=crop)
    assert "Tests" in [tab.label for tab in app.tabs]
    assert "add one under Edit" in said(app)
    assert_no_problem(app)


def test_grids_are_pictures_and_what_is_none_is_code(dashboard: Dashboard, tmp_path, memory):
    (opened,) = memory.concepts.add_many([concept(examples=(("step([[1, 2]])", "[[2]]"), ("step('x')", "7")))])
    app = dashboard(tmp_path, "concepts", id=opened)
    assert len(of_type(app, "image")) == 2
    assert ">>> step('x')\n7" in {element.value for element in app.code}


def test_the_examples_of_a_learned_concept_are_run_in_a_sandbox_when_it_is_asked_for(
    dashboard: Dashboard, tmp_path, memory
):
    code = "def half(number):\n    return number / 2\n"
    examples = (("half(3)", "1.5"), ("half(4)", "2"), ("half('a')", "''"))
    half = concept(name="half", code=code, examples=examples, source="learned", metadata={"calls_recorded": 3})
    opened = memory.concepts.add(half)
    app = dashboard(tmp_path, "concepts", id=opened)
    assert "Calls of real programs, run again when it was found" in said(app)
    app.button(key=f"concept_run_{opened}").click().run()
    assert "1 of 3 examples gave what they should" in said(app)
    shown = [element.value for element in app.code]
    assert "2.0" in shown, "what the second one gave"
    assert any(value.startswith("TypeError") for value in shown), "what the third one raised"
    assert_no_problem(app)


def test_the_examples_of_a_concept_may_import_from_a_module_beside_programs(
    dashboard: Dashboard, tmp_path, memory, monkeypatch
):
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "common.py").write_text("SIZE = 3\n", "utf-8")
    code = "def sized(number):\n    from common import SIZE\n    return number * SIZE\n"
    opened = memory.concepts.add(concept(name="sized", code=code, examples=(("sized(2)", "6"),), source="learned"))
    app = dashboard(tmp_path, "concepts", id=opened)
    app.button(key=f"concept_run_{opened}").click().run()
    assert "0 of 1 example gave what they should" in said(app)
    monkeypatch.setenv("ATLAS_PROGRAM_PATH", str(tmp_path / "modules"))
    app.button(key=f"concept_run_{opened}").click().run()
    assert "1 of 1 example gave what they should" in said(app)
    assert_no_problem(app)


def test_an_edit_is_kept_and_undone_and_an_earlier_version_restored(dashboard: Dashboard, tmp_path, memory):
    (opened,) = memory.concepts.add_many([concept(3)])
    before = memory.concepts.get(opened)
    app = dashboard(tmp_path, "concepts", id=opened)
    box(app, "concept", "description").set_value("Cut some columns off.")
    app.button(key="concept_edit_save").click().run()
    assert memory.concepts.get(opened).description == "Cut some columns off."
    undo_button(app).click().run()
    assert memory.concepts.get(opened) == before
    memory.concepts.edit(opened, description="Another one.")
    memory.concepts.edit(opened, description="A third one.")
    app.run()
    first = memory.concepts.versions(opened)[-1].number
    app.button(key=f"concept_restore_{first}").click().run()
    assert memory.concepts.get(opened) == before
    assert app.button(key=f"concept_restore_{first}").disabled
    assert_no_problem(app)


def test_what_was_typed_stays_where_another_changes_the_concept(dashboard: Dashboard, tmp_path, memory):
    (opened,) = memory.concepts.add_many([concept(3)])
    app = dashboard(tmp_path, "concepts", id=opened)
    box(app, "concept", "description").set_value("Mine.").run()
    memory.concepts.edit(opened, description="Theirs.")
    app.run()
    assert any("changed elsewhere" in element.value for element in app.warning)
    assert box(app, "concept", "description").value == "Mine."
    app.button(key="concept_edit_discard").click().run()
    assert box(app, "concept", "description").value == "Theirs."


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [("code", "def (:", "expected Python"), ("description", " ", "not blank"), ("examples", "x = 1", ">>>")],
)
def test_what_cannot_be_saved_is_refused_with_the_reason(dashboard: Dashboard, tmp_path, memory, name, text, said):
    (opened,) = memory.concepts.add_many([concept(3)])
    before = memory.concepts.get(opened)
    app = dashboard(tmp_path, "concepts", id=opened)
    box(app, "concept", name).set_value(text)
    app.button(key="concept_edit_save").click().run()
    assert any(said in text for text in texts(app))
    assert memory.concepts.get(opened) == before
    assert_no_problem(app)


def test_two_are_merged_as_previewed_and_parted_again(dashboard: Dashboard, tmp_path, memory):
    first, second, *_ = memory.concepts.add_many([concept(number) for number in range(25)])
    memory.concepts.update_stats(second, success=True)
    app = selecting("concepts", dashboard(tmp_path, "concepts"), first, second)
    app.button(key="tray_merge").click().run()
    assert "2 concepts would become 1: 1 of 25 would be deleted (4%)." in [element.value for element in app.text]
    app.button(key="plan_apply").click().run()
    assert first not in memory.concepts.ids()
    assert "Merged 2 concepts into 1" in texts(app)
    undo_button(app).click().run()
    assert first in memory.concepts.ids()
    assert_no_problem(app)


def test_deleting_says_first_who_would_lack_it(dashboard: Dashboard, tmp_path, memory):
    crop, twice = memory.concepts.add_many([concept(name="crop", code=CROP), concept(name="crop_twice", code=TWICE)])
    memory.concepts.add_many([concept(number) for number in range(30)])
    app = dashboard(tmp_path, "concepts", id=crop)
    app.button(key="concept_delete").click().run()
    assert "1 concept calls a concept that would be deleted, and would not run without it." in [
        e.value for e in app.caption
    ]
    assert any("its code calls crop" in why for why in plan_tables(app)[0]["why"])
    app.button(key="plan_apply").click().run()
    assert "id" not in app.query_params
    assert crop not in memory.concepts.ids()
    assert twice in memory.concepts.ids()
    undo_button(app).click().run()
    assert crop in memory.concepts.ids()


def test_a_deletion_is_not_done_where_another_has_begun_to_call_it(dashboard: Dashboard, tmp_path, memory):
    (crop,) = memory.concepts.add_many([concept(name="crop", code=CROP)])
    memory.concepts.add_many([concept(number) for number in range(30)])
    app = dashboard(tmp_path, "concepts", id=crop)
    app.button(key="concept_delete").click().run()
    memory.concepts.add(concept(name="crop_twice", code=TWICE))
    app.button(key="plan_apply").click().run()
    assert crop in memory.concepts.ids()
    assert any("Nothing was done" in element.value for element in app.warning)


def test_marks_are_changed_and_undone(dashboard: Dashboard, tmp_path, memory):
    (opened,) = memory.concepts.add_many([concept(3)])
    app = dashboard(tmp_path, "concepts", id=opened)
    app.button(key="concept_pin").click().run()
    assert memory.concepts.marks([opened])[opened].pinned
    note = next(area for area in app.text_area if str(area.key).startswith("concept_note"))
    note.set_value("Good")
    app.button(key="concept_note_save").click().run()
    assert memory.concepts.marks([opened])[opened].note == "Good"
    undo_button(app).click().run()
    assert memory.concepts.marks([opened])[opened].note == ""


def test_what_is_selected_elsewhere_stays_and_is_not_acted_on(dashboard: Dashboard, tmp_path, memory):
    kept = memory.experience.store(attempt())
    (opened,) = memory.concepts.add_many([concept(3)])
    app = dashboard(tmp_path, "concepts")
    app.session_state["selection"] = Selection((kept,), "lasso on the map", 1)
    selecting("concepts", app, opened)
    app.button(key="tray_pin").click().run()
    assert memory.concepts.marks([opened])[opened].pinned
    assert not memory.experience.marks([kept])[kept].pinned
    app.button(key="tray_clear").click().run()
    assert app.session_state["selection"].ids == (kept,)


def test_read_only_nothing_can_be_changed(dashboard: Dashboard, tmp_path):
    opened, other = make_library(tmp_path, concept(1), concept(2))
    with opened_store(tmp_path) as memory:
        memory.concepts.edit(opened, description="Another one.")
    app = selecting("concepts", dashboard(tmp_path, "concepts", read_only=True, id=opened), opened, other)
    acts = ("concept_pin", "concept_retire", "concept_delete", "concept_edit_save", "concept_note_save", "tray_merge",
            "tray_delete", "tray_pin")  # fmt: skip
    assert all(app.button(key=key).disabled for key in acts)
    assert all(area.disabled for area in app.text_area)
    assert_no_problem(app)


def test_one_that_is_not_there_is_said_to_be_gone(dashboard: Dashboard, tmp_path):
    make_library(tmp_path, concept(1))
    app = dashboard(tmp_path, "concepts", id="nowhere")
    assert any("not in the library" in element.value for element in app.warning)


def test_a_damaged_library_is_reported(dashboard: Dashboard, tmp_path):
    make_library(tmp_path, concept(1))
    (tmp_path / "atlas.sqlite").write_bytes(b"garbage" * 10_000)
    for journal in tmp_path.glob("atlas.sqlite-*"):
        journal.unlink()
    app = dashboard(tmp_path, "concepts")
    assert [element.value for element in app.error] == ["This memory cannot be shown."]


def test_the_history_names_concepts_opens_them_and_brings_them_back(dashboard: Dashboard, tmp_path, memory):
    (added,) = memory.concepts.add_many([concept(name="crop", code=CROP)])
    memory.concepts.delete([added])
    app = dashboard(tmp_path, "history")
    lines = [element.value for element in app.main.text]
    assert [line for line in lines if "crop" in line] == ["Deleted concept “crop”", "Stored concept “crop”"]
    app = dashboard(tmp_path, "history", history_tab="Trash", history_kind="Concepts")
    key = next(str(frame.key) for frame in app.dataframe)
    app.session_state[key] = {"selection": {"rows": [0], "columns": [], "cells": []}}
    app.run()
    app.button(key="history_restore").click().run()
    assert memory.concepts.ids() == [added]
    operation = memory.history(1)[0]
    app = dashboard(tmp_path, "history", operation=operation.id)
    assert [element.value for element in app.subheader] == ["Restored concept “crop” from the trash"]
    assert [link.proto.page for link in of_type(app, "page_link")][-1] == "concepts"
    undo_button(app, "history").click().run()
    assert memory.concepts.ids() == []
    assert_no_problem(app)


def caption(app: AppTest) -> str:
    return next(e.value for e in app.caption if re.match(r"[\d,]+ ", e.value))


def names(app: AppTest) -> list[str]:
    return [heading["title"] for heading in table(app)["heading"]]


def tries(app: AppTest) -> list[str]:
    return [record["tries"] for record in table(app)["record"]]
