"""What the history shows, and what can be taken back from it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import atlas
from tests.support.dashboard import Dashboard, undo_button
from tests.support.records import attempt, attempts
from tests.support.stores import make_store, opened_store


@pytest.fixture
def memory(tmp_path) -> Iterator[atlas.MemorySystem]:
    """A memory of three experiences, beside the dashboard's own."""
    make_store(tmp_path, attempts(3))
    with opened_store(tmp_path) as opened:
        yield opened


def test_operations_are_listed_newest_first_with_who_and_why(dashboard: Dashboard, tmp_path, memory):
    memory.experience.as_operation("prune", "too old").delete(memory.experience.ids()[:2])
    operation = memory.history(1)[0]
    lines = main_texts(dashboard(tmp_path, "history"))
    cells = [f"{operation.created_at:%H:%M}", "Deleted 2 experiences by a rule", "“too old”", operation.actor]
    begin = lines.index(cells[0])
    assert lines[begin : begin + len(cells)] == cells
    assert lines.index("Stored 3 experiences") > begin


def test_the_undo_of_several_sorts_of_changes_counts_all(dashboard: Dashboard, tmp_path, memory):
    memory.experience.apply_merge(memory.experience.plan_merge([memory.experience.ids()]))
    assert dict(memory.history(1)[0].counts) == {"changed": 1, "removed": 2}
    button = line_button(dashboard(tmp_path, "history"), "Undo: bring back 2, put back 1")
    assert button.help == "Undo brings back 2 experiences and puts 1 experience back as before"


def test_each_operation_is_a_sentence_about_what_it_did(dashboard: Dashboard, tmp_path, memory):
    first, second, third = memory.experience.ids()
    title = memory.experience.titles([first])[first]
    memory.experience.change_marks([first], pinned=True)
    memory.experience.change_marks([first, second], add_tags=["talk"])
    memory.experience.change_marks([third], buried=True)
    memory.experience.edit(first, feedback="Check the units")
    memory.experience.edit(first, feedback="Check the names")
    memory.experience.edit(first, feedback="Ask whoever wrote the report " * 9)
    memory.experience.delete([second])
    memory.undo(memory.history(1)[0].id)
    memory.experience.report_outcomes({first: None})
    memory.experience.report_outcomes({first: True})
    lines = main_texts(dashboard(tmp_path, "history"))
    assert {"Tagged 2 experiences “talk”", f"Pinned experience “{title}”", f"Edited experience “{title}”"} <= {*lines}
    assert "unknown → succeeded" in lines
    assert lines[lines.index("feedback: Check the [units → names]") + 1].startswith("Changed again on ")
    assert any(line.startswith("feedback, now: Ask whoever wrote the report Ask") for line in lines)
    assert [line[:24] for line in lines if "eleted experience" in line or "deletion" in line] == [
        "Undid the deletion of ex",
        "Deleted experience “Task",
    ]
    assert any(line.startswith("Retired experience “") for line in lines)


def test_an_operation_on_records_of_two_kinds_names_the_first_and_counts_the_other(
    dashboard: Dashboard, tmp_path, memory
):
    water = memory.experience.store(attempt("Water the garden"))
    drought = memory.strategies.add(atlas.Strategy(situation="A dry day", suggestion="Water"))
    memory.quarantine([water, drought], reason="odd")
    (line,) = [line for line in main_texts(dashboard(tmp_path, "history")) if "quarantine" in line]
    assert line == "Changed the quarantine of experience “Water the garden” and 1 strategy"


def test_an_operation_is_undone_and_done_again_from_its_line(dashboard: Dashboard, tmp_path, memory):
    memory.experience.as_operation("prune").delete(memory.experience.ids()[:2])
    app = dashboard(tmp_path, "history")
    assert line_button(app, "Undo: bring back 2").help == "Undo brings back 2 experiences"
    line_button(app, "Undo: bring back 2").click().run()
    assert len(memory.experience) == 3
    assert line_button(app, "Redo: delete 2").help == "Redo deletes 2 experiences again"
    assert ":gray-badge[undone]" in [element.value for element in app.markdown]
    assert "Redid the deletion of 2 experiences by a rule" not in main_texts(app)
    line_button(app, "Redo: delete 2").click().run()
    assert len(memory.experience) == 1
    assert "Redid the deletion of 2 experiences by a rule" in main_texts(app)


def test_each_line_tells_what_undoing_it_would_do(dashboard: Dashboard, tmp_path, memory):
    first, second, _ = memory.experience.ids()
    memory.experience.edit(first, feedback="Check the units")
    memory.experience.change_marks([first, second], add_tags=["talk"])
    app = dashboard(tmp_path, "history")
    undoing = [button for button in app.button if str(button.key).startswith("history_list")]
    assert [(button.label, button.disabled) for button in undoing] == [
        ("Undo: remove the tag from 2", False),
        ("Undo: restore the old text", False),
        ("Undo: delete 3", True),
    ]
    assert undoing[0].help == "Undo restores the former marks of 2 experiences"
    assert len([line for line in main_texts(app) if line.endswith(" UTC: undo that first")]) == 1
    assert undoing[2].help.endswith(" UTC: undo that first")
    for _ in range(2):
        memory.undo(next(each.id for each in memory.history(9) if each.kind != "undo" and not each.undone_by))
    assert not line_button(dashboard(tmp_path, "history"), "Undo: delete 3").disabled


def test_the_undo_and_the_redo_of_a_mark_or_an_outcome_name_their_effect(dashboard: Dashboard, tmp_path, memory):
    first, second, third = memory.experience.ids()
    memory.experience.report_outcomes({third: None})
    effects = {
        lambda: memory.experience.change_marks([first], pinned=True): ("unpin", "pin"),
        lambda: memory.experience.change_marks([first, second], buried=True): ("bring back 2", "retire 2"),
        lambda: memory.experience.report_outcomes({third: True}): ("back to unknown", "back to succeeded"),
    }
    for act, (undoing, redoing) in effects.items():
        act()
        app = dashboard(tmp_path, "history")
        line_button(app, f"Undo: {undoing}").click().run()
        assert line_button(app, f"Redo: {redoing}")


def test_an_undo_that_deletes_many_is_drawn_in_the_colour_of_danger(dashboard: Dashboard, tmp_path, memory):
    memory.experience.store_many([attempt(f"Water plant {number}") for number in range(4)])
    assert {"Undo: delete 3", ":red[Undo: delete 4]"} <= {
        button.label for button in dashboard(tmp_path, "history").button
    }


def test_operations_of_one_sort_are_listed_alone(dashboard: Dashboard, tmp_path, memory):
    memory.experience.as_operation("prune").delete(memory.experience.ids()[:2])
    app = dashboard(tmp_path, "history", history_what="Deleted by a rule")
    assert "Deleted 2 experiences by a rule" in main_texts(app)
    assert "Stored 3 experiences" not in main_texts(app)


def test_operations_are_found_by_the_text_of_a_record_and_by_their_reason(dashboard: Dashboard, tmp_path, memory):
    watered = memory.experience.store(attempt("Water the garden"))
    memory.experience.as_operation("prune", "too OLD").delete(memory.experience.ids()[:2])
    found = {
        text: [line for line in main_texts(dashboard(tmp_path, "history", history_text=text)) if "experience" in line]
        for text in ("the GARDEN", "old", "100%")
    }
    assert found == {
        "the GARDEN": ["Stored experience “Water the garden”"],
        "old": ["Deleted 2 experiences by a rule"],
        "100%": [],
    }
    (link,) = dashboard(tmp_path, "history", history_text="garden").get("page_link")
    assert (link.proto.page, link.proto.query_string) == ("experiences", f"id={watered}")


def test_the_name_of_a_deleted_record_is_no_link(dashboard: Dashboard, tmp_path, memory):
    memory.experience.delete([memory.experience.store(attempt("Water the garden"))])
    app = dashboard(tmp_path, "history")
    assert not app.get("page_link")
    assert "Deleted experience “Water the garden”" in main_texts(app)


def test_an_edit_shows_each_field_before_and_after_and_undo_brings_it_back(dashboard: Dashboard, tmp_path, memory):
    (edited, *_) = memory.experience.ids()
    before = memory.experience.get(edited)
    memory.experience.edit(edited, feedback="Check the units first")
    operation = memory.history(1)[0]
    app = dashboard(tmp_path, "history", operation=operation.id)
    shown = [element.value for element in app.code]
    assert "Check the units first" in shown
    undo_button(app, "history").click().run()
    assert not app.error
    assert memory.experience.get(edited) == before


def test_an_operation_is_one_table_with_the_words_that_differ(dashboard: Dashboard, tmp_path, memory):
    ids = memory.experience.ids()
    scoped = memory.experience.as_operation("edit")
    for number, one in enumerate(ids):
        scoped.edit(one, feedback=f"Check the units of report {number} first")
    again = memory.experience.as_operation("edit")
    for number, one in enumerate(ids):
        again.edit(one, feedback=f"Check the names of report {number} first")
    app = dashboard(tmp_path, "history", operation=memory.history(1)[0].id)
    (table,) = app.dataframe
    assert list(table.value["title"]) == list(memory.experience.titles(ids).values())
    assert [line for line in table.value["difference"] if "report 1" in line] == [
        "Check the [units → names] of report 1 …"
    ]
    assert "Check the names of report 0 first" in [element.value for element in app.code]
    app.session_state[str(table.key)] = {"selection": {"rows": [2], "columns": [], "cells": []}}
    app.run()
    assert [code.value for code in app.code if "report" in code.value] == [
        "Check the units of report 2 first",
        "Check the names of report 2 first",
    ]


def test_what_was_undone_can_be_done_again(dashboard: Dashboard, tmp_path, memory):
    memory.experience.delete(memory.experience.ids()[:2])
    deletion = memory.history(1)[0]
    memory.undo(deletion.id)
    app = dashboard(tmp_path, "history", operation=deletion.id)
    assert undo_button(app, "history").label == "Redo: delete 2"
    undo_button(app, "history").click().run()
    assert len(memory.experience) == 1


def test_an_undo_that_is_refused_says_why_and_changes_nothing(dashboard: Dashboard, tmp_path, memory):
    (edited, *_) = memory.experience.ids()
    memory.experience.edit(edited, feedback="first")
    first = memory.history(1)[0]
    app = dashboard(tmp_path, "history", operation=first.id)
    memory.experience.edit(edited, feedback="second")
    undo_button(app, "history").click().run()
    assert any("Undo that first" in element.value for element in app.text)
    assert memory.experience.get(edited).feedback == "second"
    assert undo_button(app, "history").disabled
    assert any("undo that first. Edited experience “" in line for line in main_texts(app))


def test_only_the_chosen_experience_comes_back_from_the_trash(dashboard: Dashboard, tmp_path, memory):
    first, second, third = memory.experience.ids()
    memory.experience.delete([first, second])
    app = dashboard(tmp_path, "history", history_tab="Trash")
    assert sorted(trashed(app)) == sorted([first, second])
    row = trashed(app).index(second)
    key = next(str(frame.key) for frame in app.dataframe)
    app.session_state[key] = {"selection": {"rows": [row], "columns": [], "cells": []}}
    app.run()
    app.button(key="history_restore").click().run()
    assert sorted(memory.experience.ids()) == sorted([second, third])
    assert trashed(app) == [first]


def test_an_operation_that_is_not_there_says_so(dashboard: Dashboard, tmp_path, memory):
    app = dashboard(tmp_path, "history", operation="no-such-operation")
    assert app.warning[0].value == "There is no such operation in this store."
    app.button(key="history_back").click().run()
    assert "Stored 3 experiences" in main_texts(app)


def test_nothing_can_be_taken_back_where_the_store_is_read_only(dashboard: Dashboard, tmp_path, memory):
    memory.experience.delete(memory.experience.ids()[:1])
    operation = memory.history(1)[0]
    assert undo_button(dashboard(tmp_path, "history", read_only=True, operation=operation.id), "history").disabled
    assert dashboard(tmp_path, "history", read_only=True, history_tab="Trash").button(key="history_restore").disabled


def test_a_store_in_which_nothing_was_done_says_so(dashboard: Dashboard, tmp_path):
    make_store(tmp_path)
    app = dashboard(tmp_path, "history")
    assert any(element.value == "Nothing has changed in this store yet." for element in app.info)
    assert not app.exception


def test_hostile_reasons_and_titles_are_shown_as_text(dashboard: Dashboard, tmp_path):
    hostile = "<script>alert(1)</script> ![x](https://example.invalid/p.png) $$x$$ :red[x]"
    (marked,) = make_store(tmp_path, [attempt(hostile)])
    with atlas.open_memory(tmp_path, settings=atlas.Settings(actor=hostile)) as memory:
        memory.experience.mark({marked: atlas.Marks(tags=(hostile,), note=hostile)})
        operation = memory.history(1)[0]
    app = dashboard(tmp_path, "history", operation=operation.id)
    assert hostile in [element.value for element in app.text]
    assert not [element for element in app.markdown if "script" in element.value]
    assert not [element for element in app.caption if "script" in element.value]


def test_a_kind_that_is_none_of_ours_is_shown_as_it_is_written(dashboard: Dashboard, tmp_path, memory):
    hostile = "![x](https://example.invalid/p.png) :red[x]"
    memory.experience.as_operation(hostile, "as they say").delete(memory.experience.ids()[:1])
    app = dashboard(tmp_path, "history", operation=memory.history(1)[0].id)
    (heading,) = (heading.value for heading in app.subheader)
    assert heading.startswith(r"\!\[x\]\(https\:\/\/example\.invalid\/p\.png\) \:red\[x\]\: experience “Task 0")


def main_texts(app: AppTest) -> list[str]:
    """The texts of the page, in their order. A sentence with a link is one text."""
    lines: list[str] = []
    was_link = False
    for element in app.main:
        is_link = element.type == "page_link"
        if is_link or (was_link and element.type == "text" and element.value.startswith("and ")):
            words = re.sub(r"\\(.)", r"\1", element.proto.label) if is_link else element.value
            lines[-1] += f" {words}"
        elif element.type == "text":
            lines.append(element.value)
        was_link = is_link
    return lines


def line_button(app: AppTest, label: str) -> Any:
    """The first button of a line that has a label."""
    return next(button for button in app.button if button.label == label and str(button.key).startswith("history_list"))


def trashed(app: AppTest) -> list[str]:
    """The ids in the trash's table."""
    return list(app.dataframe[0].value["id"]) if app.dataframe else []
