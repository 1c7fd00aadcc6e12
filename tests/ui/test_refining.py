"""Refine on Curate: what judges, the plan with its reasons, applying exactly that, and undoing it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

import atlas
from atlas.jobs.artefact import CACHE
from atlas.jobs.refinement import RefinementFile, plan_now
from atlas.memory.experience.memory import COLLECTION
from atlas.memory.experience.refinement.plan import RefinePlan
from atlas.protocols.infra import LLMClient
from atlas.testing import ScriptedLLM
from tests.support.dashboard import Dashboard, assert_no_problem, said, undo_button
from tests.support.records import attempt, attempts
from tests.support.stores import make_store, opened_store

REFINE = {"curate_queue": "refine"}


@pytest.fixture
def memory(tmp_path) -> Iterator[atlas.MemorySystem]:
    """Twelve different attempts and three that say the same, beside the dashboard's own view of them."""
    make_store(tmp_path, [*attempts(12), *(attempt("Water the garden", agent=f"agent {n}") for n in range(3))])
    with opened_store(tmp_path) as made:
        yield made


def plan(memory: atlas.MemorySystem, llm: LLMClient | None = None) -> RefinePlan:
    """What the worker does, kept beside the store."""
    made = plan_now(memory, llm=llm)
    RefinementFile(memory.storage.path / CACHE, COLLECTION).save(made)
    return made


def keys(app: AppTest) -> list[str]:
    return [str(button.key) for button in app.button]


def test_without_a_key_it_says_that_rules_judge_and_what_to_set(dashboard: Dashboard, tmp_path, memory, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    app = dashboard(tmp_path, "curate", **REFINE)
    assert app.selectbox(key="refine_judge").options == ["Rules"]
    assert (
        "15 experiences in scope. Rules judge, without a language model. To use one, type a key under Settings"
        in said(app)
    )
    assert app.button(key="refine_run").label == "Plan"
    assert_no_problem(app)


def test_no_cell_of_the_decisions_says_none(dashboard: Dashboard, tmp_path, memory):
    plan(memory)
    app = dashboard(tmp_path, "curate", **REFINE)
    decisions = next(frame.value for frame in app.dataframe if "decision" in frame.value)
    assert decisions.notna().all(axis=None)
    goes = decisions["decision"].str.startswith("merge")
    assert goes.any()
    assert set(decisions[goes]["after"]) == {"–"}


def test_with_a_model_it_judges_unless_rules_are_chosen(dashboard: Dashboard, tmp_path, memory, monkeypatch):
    monkeypatch.setenv("ATLAS_LLM_BASE_URL", "http://127.0.0.1:9")
    app = dashboard(tmp_path, "curate", **REFINE)
    assert app.selectbox(key="refine_judge").options == ["claude-haiku-5-5", "Rules"]
    assert "claude-haiku-5-5 judges, unless you choose rules, and may use 200,000 tokens for a plan." in said(app)


def test_the_plan_is_applied_as_previewed_and_undone(dashboard: Dashboard, tmp_path, memory):
    plan(memory)
    before = memory.experience.ids()
    app = dashboard(tmp_path, "curate", **REFINE)
    assert (
        "**15 experiences judged: 13 stay, 2 would be merged into them, 0 dropped. "
        "2 of 15 would be deleted (13%).**" in (said(app))
    )
    assert "Judged by rules, without a language model" in said(app)
    shown = app.dataframe[0].value
    assert set(shown["task"]) == {"Water the garden"}
    assert all("near-duplicate of" in reason for reason in shown["reason"])
    app.button(key="refine_apply").click().run()
    assert app.button(key="plan_apply").disabled
    app.text_input(key="plan_count").set_value("2").run()
    app.button(key="plan_apply").click().run()
    assert "Refined: 2 merged, 0 dropped" in said(app)
    assert len(memory.experience) == 13
    assert "What it would delete is no longer in the store" in said(app)
    assert app.button(key="refine_apply").disabled
    undo_button(app).click().run()
    assert memory.experience.ids() == before
    assert_no_problem(app)


def test_a_plan_whose_experiences_have_changed_is_not_applied(dashboard: Dashboard, tmp_path, memory):
    made = plan(memory)
    app = dashboard(tmp_path, "curate", **REFINE)
    memory.experience.edit(made.removed_ids[0], feedback="it worked")
    app.button(key="refine_apply").click().run()
    assert "plan_apply" not in keys(app)
    assert "has changed since it was read; nothing was done" in said(app)
    assert "An experience that it touches has changed since the plan was made, so it cannot be applied." in said(app)
    assert len(memory.experience) == 15


def test_what_came_since_does_not_matter(dashboard: Dashboard, tmp_path, memory):
    plan(memory)
    memory.experience.store(attempt("Something else"))
    app = dashboard(tmp_path, "curate", **REFINE)
    assert not app.button(key="refine_apply").disabled


def test_a_model_that_was_wrong_is_reported_and_changes_nothing(dashboard: Dashboard, tmp_path, memory):
    wrong = {"decisions": [{"id": "elsewhere", "action": "drop", "reason": "<b>because</b>"}]}
    plan(memory, ScriptedLLM([wrong] * 4))
    app = dashboard(tmp_path, "curate", **REFINE)
    assert "Judged by scripted" in said(app)
    assert "0 calls, 0 tokens" in said(app)
    assert "Set 1 was not judged: scripted gave two invalid answers" in said(app)
    assert "'elsewhere' is not one of ['e1', 'e2'" in said(app)
    assert "was judged, so all of them stay" in said(app)
    assert "refine_apply" not in keys(app)
    assert set(app.dataframe[0].value["reason"]) == {"it was not judged"}
    assert_no_problem(app)


def test_another_scope_is_said(dashboard: Dashboard, tmp_path, memory):
    plan(memory)
    app = dashboard(tmp_path, "curate", scope_outcomes="succeeded", **REFINE)
    assert "This was planned in another scope than the current one." in said(app)


def test_a_read_only_store_is_planned_for_but_not_changed(dashboard: Dashboard, tmp_path, memory):
    app = dashboard(tmp_path, "curate", read_only=True, **REFINE)
    assert not app.button(key="refine_run").disabled
    assert_no_problem(app)


def test_a_file_of_something_else_counts_as_absent(dashboard: Dashboard, tmp_path, memory):
    plan(memory)
    RefinementFile(tmp_path / CACHE, COLLECTION).path.write_bytes(b"PK\x03\x04 something else")
    app = dashboard(tmp_path, "curate", **REFINE)
    assert app.button(key="refine_run").label == "Plan"
    assert_no_problem(app)


def test_planning_runs_in_a_process_of_its_own_and_can_be_cancelled(dashboard: Dashboard, tmp_path, memory):
    revision = memory.revision()
    app = dashboard(tmp_path, "curate", **REFINE)
    app.button(key="refine_run").click().run()
    assert "refine_cancel" in keys(app)
    app.button(key="refine_cancel").click().run()
    assert app.button(key="refine_run").label == "Plan"
    assert memory.revision() == revision
