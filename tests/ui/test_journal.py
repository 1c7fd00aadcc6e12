"""What the journal's page shows for what it is asked, and what can be done there."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import atlas
from atlas.jobs.artefact import CACHE
from atlas.jobs.compaction import plan_now
from atlas.jobs.compaction_file import CompactionFile
from atlas.memory.journal import COLLECTION, CompactPlan
from pages.components.journal.upkeep import PARTS
from pages.components.lists.selection import Selection
from tests.support.dashboard import (
    Dashboard,
    assert_no_problem,
    box,
    drawn_by,
    of_type,
    plan_tables,
    run_until,
    said,
    table,
    undo_button,
)
from tests.support.records import attempt, entry
from tests.support.stores import make_store

SAID = "the parser fails on an empty list of numbers"


def test_an_empty_journal_says_how_to_fill_it(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, [attempt()])
    app = dashboard(tmp_path, "journal")
    assert [element.value for element in app.info] == ["The journal is empty."]
    assert any(element.value.endswith(f"--store {tmp_path} import PATH") for element in app.code)
    assert_no_problem(app)


@pytest.mark.parametrize("tab", ["Conversations", "Links and archiving"])
@pytest.mark.parametrize("is_filled", [True, False])
def test_every_tab_opens_on_a_full_and_on_an_empty_journal(dashboard: Dashboard, tmp_path, memory, tab, is_filled):
    if is_filled:
        memory.journal.add_entries([entry(n) for n in range(12)])
        memory.conversations.add("How?", "So.", "main")
    app = dashboard(tmp_path, "journal", journal_tab=tab)
    assert app.segmented_control(key="journal_tab").value == tab
    assert_no_problem(app)


@pytest.mark.parametrize(
    ("former", "part"),
    [
        ("Link suggestions", "journal_suggestions"),
        ("What agents read", "journal_reading"),
        ("Archiving", "journal_archiving"),
        ("Refused entries", "journal_refused"),
        ("Forgetting", "journal_archiving"),
    ],
)
@pytest.mark.parametrize("is_filled", [True, False])
def test_a_link_to_a_former_tab_opens_its_part_of_the_upkeep(
    dashboard: Dashboard, tmp_path, memory, former, part, is_filled
):
    if is_filled:
        memory.journal.add_entries([entry(n) for n in range(12)])
    app = dashboard(tmp_path, "journal", journal_tab=former)
    assert app.segmented_control(key="journal_tab").value == "Links and archiving"
    assert [key for key in PARTS if app.session_state[key]] == [part]
    assert_no_problem(app)


def test_the_upkeep_counts_what_waits_for_a_decision(dashboard: Dashboard, tmp_path, memory):
    app = dashboard(tmp_path, "journal", journal_tab="Links and archiving")
    assert "**There is nothing to decide on.**" in [element.value for element in app.markdown]
    memory.journal.add_entries(
        [entry(1, entry_type="crash_log", content=SAID), entry(2, entry_type="reflection", content=f"{SAID}, always")]
    )
    memory.journal.add("observation", "ok", generation=1)
    app.run()
    assert "**1 link suggestion and 1 refused entry to decide on.**" in [element.value for element in app.markdown]
    assert_no_problem(app)


def test_the_list_is_filtered_sorted_and_paged_by_the_store(dashboard: Dashboard, tmp_path, memory):
    memory.journal.add_entries([entry(n, metadata={"file": f"{n % 2}.py"}) for n in range(30)])
    app = dashboard(tmp_path, "journal")
    assert caption(app) == "30 entries · 1 Mar 2026 to 2 Mar 2026 · newest first"
    assert generations(app)[:3] == [29, 28, 27]
    app.pagination(key="journal_page").set_value(2).run()
    assert generations(app) == [4, 3, 2, 1, 0]
    app.selectbox(key="journal_order").select("Oldest first").run()
    assert generations(app)[:3] == [0, 1, 2]
    app.multiselect(key="journal_types").select("crash_log").run()
    assert caption(app) == "8 of 30 entries · oldest first"
    app.multiselect(key="journal_meta").select("file=1.py").run()
    app.number_input(key="journal_since").set_value(5).run()
    app.number_input(key="journal_until").set_value(13).run()
    assert generations(app) == [5, 9, 13]
    assert_no_problem(app)


def test_the_timeline_gives_way_to_an_opened_entry(dashboard: Dashboard, tmp_path, memory):
    opened, *_ = memory.journal.add_entries([entry(n) for n in range(3)])
    assert len(of_type(dashboard(tmp_path, "journal"), "plotly_chart")) == 1
    assert not of_type(dashboard(tmp_path, "journal", id=opened), "plotly_chart")


def test_the_sentence_on_open_crashes_lists_only_them(dashboard: Dashboard, tmp_path, memory):
    memory.journal.add_entries([entry(n) for n in range(30)])
    app = dashboard(tmp_path, "journal")
    assert app.button(key="journal_narrowing").label == "8 of 8 crashes have no fix yet"
    app.button(key="journal_narrowing").click().run()
    assert app.selectbox(key="journal_fixes").value == "Crashes without a fix"
    assert caption(app) == "8 of 30 entries · crashes without a fix · newest first"
    assert len(table(app)) == 8
    assert {*table(app)["entry_type"]} == {"crash"}
    assert "journal_narrowing" not in {button.key for button in app.button}
    opened = dashboard(tmp_path, "journal", id=table(app)["id"][0])
    assert "No fix is linked with it yet. **Links** can add one." in said(opened)
    assert_no_problem(app)


def test_the_overview_counts_the_open_crashes_that_the_journal_then_lists(dashboard: Dashboard, tmp_path, memory):
    memory.journal.add_entries([entry(n) for n in range(30)])
    memory.store(attempt("Boil an egg"))
    rows = drawn_by(dashboard(tmp_path, "overview"), "records")[0]["rows"]
    row = next(row for row in rows if row["id"] == "crashes")
    assert (row["what"], row["detail"]) == ("8 crashes without a fix", "The newest on 2 Mar 2026")
    app = dashboard(tmp_path, "journal", journal_fixes="Crashes without a fix")
    assert caption(app) == "8 of 30 entries · crashes without a fix · newest first"
    assert_no_problem(app)


def test_a_link_brings_its_filters_along(dashboard: Dashboard, tmp_path, memory):
    memory.journal.add_entries([entry(n) for n in range(30)])
    app = dashboard(tmp_path, "journal", journal_since="3", journal_until="7", journal_types="crash")
    assert generations(app) == [5]
    assert "More · 2" in [node.proto.popover.label for node in of_type(app, "popover")]
    app.button(key="journal_all_times").click().run()
    assert caption(app) == "8 of 30 entries · newest first"


def test_a_link_with_a_type_as_it_is_stored_is_followed_and_shows_its_word(dashboard: Dashboard, tmp_path, memory):
    memory.journal.add_entries([entry(n) for n in range(30)])
    app = dashboard(tmp_path, "journal", journal_types=["crash_log", "reflection"])
    assert app.multiselect(key="journal_types").value == ["crash_log", "reflection"]
    assert app.query_params["journal_types"] == ["crash", "reflection"]
    app.run()
    assert caption(app) == "15 of 30 entries · newest first"
    app.multiselect(key="journal_types").unselect("crash_log").run()
    assert app.query_params["journal_types"] == "reflection"
    assert_no_problem(app)


def test_words_are_found_literally_and_any_text_is_a_question(dashboard: Dashboard, tmp_path, memory):
    memory.journal.add_entries([entry(1), entry(2, content='An unbalanced " AND ( was read'), entry(3, content=SAID)])
    app = dashboard(tmp_path, "journal", journal_by="Words", journal_text='" AND (')
    assert [*table(app)["content"]] == ['An unbalanced " AND ( was read']
    assert_no_problem(app)


def test_an_opened_entry_is_shown_in_full_and_linked_both_ways(dashboard: Dashboard, tmp_path, memory):
    crash, fix = memory.journal.add_entries([entry(1, content=SAID, metadata={"file": "解析.py"}), entry(2)])
    memory.journal.link(crash, fix, "fixed_by")
    app = dashboard(tmp_path, "journal", id=fix)
    assert "fixed it · 1 Mar 2026 · round 2" in [line.value for line in app.caption]
    app.button(key="entry_thread_0").click().run()
    assert app.query_params["id"] == crash
    app = dashboard(tmp_path, "journal", id=crash)
    assert SAID in [element.value for element in app.text]
    assert any("解析.py" in element.value for element in app.code)
    on_tab(app, "Links")
    app.button(key="entry_unlink_0").click().run()
    assert memory.journal.get(crash).links == ()
    undo_button(app).click().run()
    assert [link.type for link in memory.journal.get(crash).links] == ["fixed_by"]
    assert_no_problem(app)


def test_an_entry_is_linked_to_one_that_is_named(dashboard: Dashboard, tmp_path, memory):
    crash, fix = memory.journal.add_entries([entry(1), entry(2)])
    app = on_tab(dashboard(tmp_path, "journal", id=crash), "Links")
    app.selectbox(key="entry_link_phrase").select("fix of").run()
    app.text_input(key=f"entry_link_text_{crash}").set_value(fix).run()
    app.button(key="entry_link_0").click().run()
    assert [(link.type, link.target_id) for link in memory.journal.get(fix).links] == [("fixed_by", crash)]
    assert_no_problem(app)


def test_an_edit_is_kept_and_undone(dashboard: Dashboard, tmp_path, memory):
    (opened,) = memory.journal.add_entries([entry(3)])
    before = memory.journal.get(opened)
    app = dashboard(tmp_path, "journal", id=opened)
    box(app, "entry", "content").set_value("Something else was read.")
    box(app, "entry", "metadata").set_value('{"by": "hand"}')
    app.button(key="entry_edit_save").click().run()
    now = memory.journal.get(opened)
    assert (now.content, dict(now.metadata)) == ("Something else was read.", {"by": "hand"})
    undo_button(app).click().run()
    assert memory.journal.get(opened) == before
    box(app, "entry", "metadata").set_value("{by: hand}")
    app.button(key="entry_edit_save").click().run()
    assert any("should be JSON such as" in element.value for element in app.text)
    assert memory.journal.get(opened) == before


def test_what_was_typed_stays_where_another_changes_the_entry(dashboard: Dashboard, tmp_path, memory):
    (opened,) = memory.journal.add_entries([entry(3)])
    app = dashboard(tmp_path, "journal", id=opened)
    box(app, "entry", "content").set_value("Mine.").run()
    memory.journal.edit(opened, content="Theirs.")
    app.run()
    assert any("changed elsewhere" in element.value for element in app.warning)
    assert box(app, "entry", "content").value == "Mine."


def test_an_entry_is_written_by_hand_through_the_gates(dashboard: Dashboard, tmp_path, memory):
    memory.journal.add_entries([entry(7)])
    app = dashboard(tmp_path, "journal")
    app.selectbox(key="journal_new_type").select("reflection").run()
    app.text_area(key="journal_new_content").set_value("ok")
    app.button(key="journal_new_write").click().run()
    assert any(element.value.startswith("A gate refused it: 1 different words") for element in app.text)
    assert app.text_area(key="journal_new_content").value == "ok"
    app.text_area(key="journal_new_content").set_value("Empty lists should be handled first")
    app.button(key="journal_new_write").click().run()
    [written] = memory.journal.recent(1)
    assert (written.entry_type, written.content, written.generation) == (
        "reflection",
        "Empty lists should be handled first",
        7,
    )
    assert app.text_area(key="journal_new_content").value == ""
    undo_button(app).click().run()
    assert memory.journal.count() == 1
    app = dashboard(tmp_path, "journal", journal_tab="Refused entries")
    refused = memory.journal.rejected().latest[0].id
    app.button(key=f"journal_accept_{refused}").click().run()
    assert (memory.journal.count(), memory.journal.rejected().n_total) == (2, 0)
    undo_button(app).click().run()
    assert (memory.journal.count(), memory.journal.rejected().n_total) == (1, 1)
    assert_no_problem(app)


def test_a_gate_is_switched_for_all_and_back(dashboard: Dashboard, tmp_path, memory):
    app = dashboard(tmp_path, "journal", journal_tab="Refused entries")
    app.button(key="journal_gate_noise").click().run()
    assert app.button(key="journal_gate_noise").label == "Switch on"
    assert memory.journal.add("observation", "ok", generation=1)
    undo_button(app).click().run()
    assert app.button(key="journal_gate_noise").label == "Switch off"
    assert memory.journal.add("observation", "so", generation=1) is None
    assert_no_problem(app)


def test_a_gate_of_which_the_environment_says_what_it_is_or_in_a_store_to_read_is_not_switched(
    dashboard: Dashboard, tmp_path, memory, monkeypatch
):
    monkeypatch.setenv("ATLAS_KEEP_NOISE", "1")
    app = dashboard(tmp_path, "journal", journal_tab="Refused entries")
    assert [app.button(key=f"journal_gate_{name}").disabled for name in ("noise", "near-duplicate")] == [True, False]
    assert "Unset ATLAS_KEEP_NOISE" in app.button(key="journal_gate_noise").help
    st.cache_resource.clear()
    app = dashboard(tmp_path, "journal", read_only=True, journal_tab="Refused entries")
    assert app.button(key="journal_gate_near-duplicate").disabled
    assert_no_problem(app)


def test_marks_are_set_in_the_panel_and_in_the_tray(dashboard: Dashboard, tmp_path, memory):
    ids = memory.journal.add_entries([entry(n) for n in range(40)])
    app = dashboard(tmp_path, "journal", id=ids[0])
    app.button(key="entry_pin").click().run()
    assert memory.journal.marks([ids[0]])[ids[0]].pinned
    app.session_state["selection_journal"] = Selection(tuple(ids[1:4]), "rows on Journal", 1)
    app.run()
    app.button(key="tray_pin").click().run()
    assert all(held.pinned for held in memory.journal.marks(ids[:4]).values())
    app.button(key="tray_delete").click().run()
    app.text_input(key="plan_count").set_value("3").run()
    app.button(key="plan_apply").click().run()
    assert memory.journal.count() == 37
    undo_button(app).click().run()
    assert memory.journal.count() == 40
    assert_no_problem(app)


def test_what_was_deleted_is_restored_from_the_trash(dashboard: Dashboard, tmp_path, memory):
    ids = memory.journal.add_entries([entry(n) for n in range(3)])
    memory.journal.delete([ids[0]])
    app = dashboard(tmp_path, "history", history_tab="Trash", history_kind="Entries")
    assert "1 deleted entry, latest first" in [element.value for element in app.caption]
    assert_no_problem(app)


def test_compacting_is_previewed_confirmed_and_undone(dashboard: Dashboard, tmp_path, memory):
    old_journal(memory)
    app = dashboard(tmp_path, "journal", journal_tab="Archiving")
    app.number_input(key="journal_keep_recent").set_value(10).run()
    app.multiselect(key="journal_keep_types").select("observation").run()
    app.number_input(key="journal_keep_0").set_value(15).run()
    app.button(key="journal_compact").click().run()
    run_until(app, lambda: "journal_preview" in keys(app))
    assert memory.journal.values("tier") == {"hot": 30}
    app.button(key="journal_preview").click().run()
    assert any(element.value.startswith("15 of 30 entries would move") for element in app.text)
    assert app.button(key="plan_apply").disabled
    app.text_input(key="plan_count").set_value("15").run()
    app.button(key="plan_apply").click().run()
    assert memory.journal.values("tier") == {"hot": 16, "cold": 15}
    assert warnings(app) == ["The entries are where it would move them. The plan may have been applied."]
    assert app.button(key="journal_preview").disabled
    undo_button(app).click().run()
    assert memory.journal.values("tier") == {"hot": 30}
    assert_no_problem(app)


def test_a_cap_is_previewed_with_what_goes_applied_and_undone(dashboard: Dashboard, tmp_path, memory):
    ids = old_journal(memory)
    app = dashboard(tmp_path, "journal", journal_tab="Archiving")
    app.number_input(key="journal_keep_recent").set_value(10).run()
    app.number_input(key="journal_max_entries").set_value(12).run()
    app.button(key="journal_compact").click().run()
    run_until(app, lambda: "journal_preview" in keys(app))
    app.button(key="journal_preview").click().run()
    assert any("19 would be deleted, 1 summary would be written." in element.value for element in app.text)
    assert [why.split(":")[0] for why in plan_tables(app)[0]["why"]] == ["active → deleted"] * 19 + [
        "active → search only"
    ]
    app.text_input(key="plan_count").set_value("20").run()
    app.button(key="plan_apply").click().run()
    assert memory.journal.count() == 12
    undo_button(app).click().run()
    assert sorted(memory.journal.collection.ids()) == sorted(ids)
    assert_no_problem(app)


def test_a_cap_that_cannot_be_reached_is_said_on_the_page(dashboard: Dashboard, tmp_path, memory):
    memory.journal.add_entries([entry(n, entry_type="directive") for n in range(3)])
    plan = plan_now(memory, 0, max_entries=2)
    CompactionFile(memory.storage.path / CACHE, COLLECTION).save(plan)
    app = dashboard(tmp_path, "journal", journal_tab="Archiving")
    assert warnings(app)[0].startswith("The cap of 2 cannot be reached: 3 entries are protected.")
    assert_no_problem(app)


def old_journal(memory: atlas.MemorySystem, n: int = 30) -> list[str]:
    """Entries that are forgotten, but for the latest that are to stay."""
    long_ago = datetime.now(UTC) - timedelta(days=300)
    return memory.journal.add_entries(
        [entry(i, entry_type="observation", created_at=long_ago + timedelta(hours=i)) for i in range(n)]
    )


def keep_plan(memory: atlas.MemorySystem, keep_recent: int = 10) -> CompactPlan:
    """What the worker does, kept beside the store."""
    plan = plan_now(memory, keep_recent)
    CompactionFile(memory.storage.path / CACHE, COLLECTION).save(plan)
    return plan


def test_a_plan_that_another_session_made_is_there_and_says_what_it_keeps(dashboard: Dashboard, tmp_path, memory):
    old_journal(memory)
    keep_plan(memory)
    app = dashboard(tmp_path, "journal", journal_tab="Archiving")
    assert app.button(key="journal_compact").label == "Plan again"
    assert any("keeping the latest 10 entries." in element.value for element in app.text)
    assert warnings(app) == ["The settings have been changed since this was planned. Plan again to use them."]
    app.number_input(key="journal_keep_recent").set_value(10).run()
    assert warnings(app) == []
    app.button(key="journal_preview").click().run()
    assert any(element.value.startswith("20 of 30 entries would move") for element in app.text)
    assert_no_problem(app)


def test_a_plan_is_refused_where_the_journal_has_changed_since(dashboard: Dashboard, tmp_path, memory):
    ids = old_journal(memory)
    keep_plan(memory)
    app = dashboard(tmp_path, "journal", journal_tab="Archiving")
    memory.journal.change_marks([ids[0]], pinned=True)
    app.button(key="journal_preview").click().run()
    assert "plan_apply" not in keys(app)
    assert any("1 of the entries have been pinned" in element.value for element in app.text)
    assert warnings(app)[-1].startswith("An entry that it touches has changed since the plan was made")
    assert app.button(key="journal_preview").disabled
    assert memory.journal.values("tier") == {"hot": 30}


def test_a_plan_that_is_outdated_while_it_is_looked_at_changes_nothing(dashboard: Dashboard, tmp_path, memory):
    ids = old_journal(memory)
    keep_plan(memory)
    app = dashboard(tmp_path, "journal", journal_tab="Archiving")
    app.button(key="journal_preview").click().run()
    memory.journal.edit(ids[0], importance=1.0)
    app.text_input(key="plan_count").set_value("20").run()
    app.button(key="plan_apply").click().run()
    assert "The store has changed since this was planned. Nothing was done." in warnings(app)
    app.button(key="plan_cancel").click().run()
    assert warnings(app)[0].endswith("so it cannot be applied. Plan again.")
    assert memory.journal.values("tier") == {"hot": 30}


def test_planning_to_forget_can_be_cancelled_and_leaves_the_plan_as_it_was(dashboard: Dashboard, tmp_path, memory):
    old_journal(memory)
    plan = keep_plan(memory)
    app = dashboard(tmp_path, "journal", journal_tab="Archiving")
    app.button(key="journal_compact").click().run()
    assert "journal_cancel" in keys(app)
    app.button(key="journal_cancel").click().run()
    assert app.button(key="journal_compact").label == "Plan again"
    assert CompactionFile(tmp_path / CACHE, COLLECTION).load() == plan


def test_a_read_only_journal_is_planned_for_and_previewed_but_not_changed(dashboard: Dashboard, tmp_path, memory):
    old_journal(memory)
    app = dashboard(tmp_path, "journal", read_only=True, journal_tab="Archiving")
    app.number_input(key="journal_keep_recent").set_value(10).run()
    app.button(key="journal_compact").click().run()
    run_until(app, lambda: "journal_preview" in keys(app))
    app.button(key="journal_preview").click().run()
    app.text_input(key="plan_count").set_value("20").run()
    assert app.button(key="plan_apply").disabled
    assert not CompactionFile(tmp_path / CACHE, COLLECTION).path.exists()
    assert_no_problem(app)


def test_nothing_to_forget_says_why_everything_stays(dashboard: Dashboard, tmp_path, memory):
    old_journal(memory, 3)
    keep_plan(memory)
    app = dashboard(tmp_path, "journal", journal_tab="Archiving")
    assert any("all 3 entries stay where they are" in element.value for element in app.markdown)
    assert list(app.dataframe[0].value["why"]) == ["it is among the latest 10"]
    assert "journal_preview" not in keys(app)


def test_a_model_writes_summaries_unless_a_person_chooses_otherwise(
    dashboard: Dashboard, tmp_path, memory, monkeypatch
):
    old_journal(memory, 3)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    app = dashboard(tmp_path, "journal", journal_tab="Archiving")
    assert "journal_writer" not in [box.key for box in app.selectbox]
    monkeypatch.setenv("ATLAS_LLM_BASE_URL", "http://localhost:9")
    monkeypatch.setenv("ATLAS_LLM_MODEL", "some-model")
    app = dashboard(tmp_path, "journal", journal_tab="Archiving")
    assert app.selectbox(key="journal_writer").options == ["some-model", "Sentences of the entries"]
    assert app.selectbox(key="journal_writer").value is True


def test_a_suggested_link_is_accepted_or_refused_by_a_person(dashboard: Dashboard, tmp_path, memory):
    crash, fix = memory.journal.add_entries(
        [entry(1, entry_type="crash_log", content=SAID), entry(2, entry_type="reflection", content=f"{SAID}, always")]
    )
    app = dashboard(tmp_path, "journal", journal_tab="Link suggestions")
    app.button(key="journal_refuse_0").click().run()
    assert app.info[0].value.startswith("There are no links to suggest")
    undo_button(app).click().run()
    app.button(key="journal_accept_0").click().run()
    assert [(link.type, link.target_id) for link in memory.journal.get(crash).links] == [("fixed_by", fix)]
    assert_no_problem(app)


def test_a_crash_and_its_fix_are_promoted_and_taken_back(dashboard: Dashboard, tmp_path, memory):
    crash, fix = memory.journal.add_entries(
        [
            entry(1, entry_type="crash_log", content=SAID),
            entry(2, entry_type="reflection", content="Look before it"),
        ]
    )
    app = dashboard(tmp_path, "journal", id=crash)
    assert app.button(key="entry_promote").disabled
    assert "no link to what fixed it" in app.button(key="entry_promote").help
    memory.journal.link(crash, fix, "fixed_by")
    app.run()
    app.button(key="entry_promote").click().run()
    assert "Look before it" in [element.value for element in app.code]
    assert len(memory.experience) == 0
    app.button(key="plan_apply").click().run()
    [made] = memory.experience.ids()
    assert memory.experience.get(made).solution_output == "Look before it"
    assert app.button(key="entry_promote").disabled
    assert_no_problem(app)
    assert_no_problem(dashboard(tmp_path, "experiences", id=made))
    undo_button(app).click().run()
    assert len(memory.experience) == 0
    assert not app.button(key="entry_promote").disabled
    assert_no_problem(app)


def test_contexts_are_previewed_within_a_token_budget(dashboard: Dashboard, tmp_path, memory):
    memory.journal.add_entries([entry(n) for n in range(20)])
    app = dashboard(tmp_path, "journal", journal_tab="What agents read")
    assert any(element.value.startswith("**10 entries, about") for element in app.markdown)
    app.number_input(key="journal_budget").set_value(40).run()
    assert any(element.value.endswith("of 40 tokens, the most urgent first**") for element in app.markdown)
    app.segmented_control(key="journal_context").set_value("Do a task").run()
    assert [element.value for element in app.info] == ["Enter what the agent was asked to see what it would be told."]
    assert_no_problem(app)


def test_conversations_are_read_and_the_window_is_marked(dashboard: Dashboard, tmp_path, memory):
    for number in range(7):
        memory.conversations.add(f"**Question** {number}", f"Answer {number}", "main")
    app = dashboard(tmp_path, "journal", journal_tab="Conversations")
    assert "**Question** 0" in [element.value for element in app.text]
    assert sum("reminded of now" in element.value for element in app.markdown) == 5
    assert_no_problem(app)


def test_a_store_that_is_read_only_offers_no_change(dashboard: Dashboard, tmp_path, memory):
    (opened,) = memory.journal.add_entries([entry(1)])
    app = dashboard(tmp_path, "journal", read_only=True, id=opened)
    for key in ("entry_pin", "entry_promote", "entry_delete", "entry_edit_save"):
        assert app.button(key=key).disabled
    assert dashboard(tmp_path, "journal", read_only=True).button(key="journal_new_write").disabled
    assert_no_problem(app)


def caption(app: AppTest) -> str:
    """What the list says of itself."""
    [said] = [
        element.value for element in app.caption if "entries" in element.value and "generations" not in element.value
    ]
    return str(said)


def generations(app: AppTest) -> list[int]:
    """Those of the list's entries, by their texts."""
    return [int(re.search(r"customer (\d+)", content)[1]) for content in table(app)["content"]]


def on_tab(app: AppTest, name: str) -> AppTest:
    """The page with a tab of the panel open, which is drawn only then."""
    app.session_state["entry_tabs"] = name
    return app.run()


def keys(app: AppTest) -> list[str]:
    return [str(button.key) for button in app.button]


def warnings(app: AppTest) -> list[str]:
    return [element.value for element in app.warning]
