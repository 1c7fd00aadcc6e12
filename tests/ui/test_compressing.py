"""Compress on Curate: what can be compressed, what was found, choosing, adding and undoing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from atlas.infra.actor import Actor, Role
from atlas.jobs.artefact import CACHE
from atlas.jobs.compression_file import CompressionFile, CompressionResult
from atlas.memory.concepts.memory import COLLECTION
from tests.support.dashboard import Dashboard, assert_no_problem, said, shown_code, undo_button
from tests.support.learning.tool_calls import refund
from tests.support.programs import compress_store, make_programs, programs
from tests.support.records import attempt, attempts
from tests.support.stores import make_store, opened_store
from tests.support.visitors import visiting

COMPRESS = {"curate_queue": "compress"}


@pytest.fixture
def store(tmp_path) -> Path:
    """Four programs that have a function in common."""
    make_programs(tmp_path)
    return tmp_path


def n_concepts(store: Path) -> int:
    with opened_store(store) as memory:
        return len(memory.concepts)


def test_it_says_how_many_programs_are_in_scope(dashboard: Dashboard, store):
    app = dashboard(store, "curate", **COMPRESS)
    assert "4 Python programs in 4 successful attempts in scope, 4 with tests that can prove a rewrite." in said(app)
    assert not app.button(key="compress_run").disabled
    assert_no_problem(app)


def test_the_scope_chooses_the_programs(dashboard: Dashboard, tmp_path):
    make_programs(tmp_path, source="north")
    make_store(tmp_path, [attempt("Talk to a customer", source="south")])
    app = dashboard(tmp_path, "curate", scope_sources="south", **COMPRESS)
    assert "0 Python programs in 1 successful attempt in scope: " in said(app)
    assert app.button(key="compress_run").disabled


def test_a_scope_without_success_says_so(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, programs(success=False))
    app = dashboard(tmp_path, "curate", **COMPRESS)
    assert "No attempt in scope succeeded, and only the programs of successful ones are compressed." in said(app)
    assert app.button(key="compress_run").disabled


def test_what_was_found_is_shown_with_its_proof_and_both_versions(dashboard: Dashboard, store):
    found = compress_store(store)
    app = dashboard(store, "curate", **COMPRESS)
    after = found.tokens_after + found.tokens_library
    counted = f"{found.tokens_before} tokens become {after}, counting the library's"
    assert f"**1 function in 4 programs: {counted}" in said(app)
    assert "4 programs rewritten. Tests run the new code in 4 of them, and 4 of those did the same" in said(app)
    row = app.dataframe[0].value.iloc[0]
    assert (row["n_programs"], row["n_tasks"], row["verified"]) == (4, 4, "4 of 4")
    assert found.learned[0].concept.code in shown_code(app)
    assert found.rewritings[0].before in shown_code(app)
    assert found.rewritings[0].after in shown_code(app)
    assert "Program 1 of 4: with the function, it does the same" in said(app)
    assert app.button(key="compress_run").label == "Compress again"
    assert_no_problem(app)


def test_what_is_chosen_is_added_and_undone(dashboard: Dashboard, store):
    compress_store(store)
    app = dashboard(store, "curate", **COMPRESS)
    assert app.button(key="compress_apply").label == "Add 1 concept"
    app.button(key="compress_apply").click().run()
    assert "Added 1 concept found in 4 programs" in said(app)
    assert "The library has all of them." in said(app)
    assert app.dataframe[0].value.iloc[0]["state"] == "in the library"
    assert n_concepts(store) == 1
    undo_button(app).click().run()
    assert n_concepts(store) == 0
    assert app.button(key="compress_apply").label == "Add 1 concept"
    assert_no_problem(app)


def test_workflows_are_offered_as_strategies_too_and_shown_as_steps(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, [refund(number) for number in range(6)])
    found = compress_store(tmp_path)
    app = dashboard(tmp_path, "curate", **COMPRESS)
    assert "6 attempts with tool calls, which may share workflows." in said(app)
    assert "**1 workflow of tool calls in 6 attempts.**" in said(app)
    row = app.dataframe[0].value.iloc[0]
    assert (row["n_programs"], row["n_tasks"], row["verified"]) == (6, 6, "6 of 6")
    app.checkbox(key="compress_strategies").check().run()
    app.button(key="compress_apply").click().run()
    assert "Added 1 concept found in 6 attempts, and 1 strategy" in said(app)
    with opened_store(tmp_path) as memory:
        assert len(memory.strategies) == 1
        assert memory.storage.history()[0].reason == "found in 6 attempts"
    app = dashboard(tmp_path, "concepts", id=found.learned[0].concept.id)
    assert "2. order_result = get_order(order_id=order_id)" in shown_code(app)
    assert_no_problem(app)


def test_a_program_is_no_workflow(dashboard: Dashboard, store):
    compress_store(store)
    app = dashboard(store, "curate", **COMPRESS)
    assert not [box for box in app.checkbox if box.key == "compress_strategies"]
    assert "with tool calls" not in said(app)


def test_what_could_not_be_run_is_not_chosen_at_first(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, programs(tested=False))
    compress_store(tmp_path)
    app = dashboard(tmp_path, "curate", **COMPRESS)
    assert app.dataframe[0].value.iloc[0]["state"] == "not proven"
    (choice,) = (box for box in app.multiselect if str(box.key).startswith("compress_chosen"))
    assert choice.value == []
    assert app.button(key="compress_apply").disabled
    assert "is not checked by any test" in said(app)


def test_a_concept_that_is_not_proven_says_so_on_its_page_once_it_is_added(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, programs(tested=False))
    found = compress_store(tmp_path)
    app = dashboard(tmp_path, "curate", **COMPRESS)
    (choice,) = (box for box in app.multiselect if str(box.key).startswith("compress_chosen"))
    choice.set_value([found.learned[0].concept.id]).run()
    app.button(key="compress_apply").click().run()
    assert n_concepts(tmp_path) == 1
    app = dashboard(tmp_path, "concepts", id=found.learned[0].concept.id)
    assert "no: no program's tests ran it" in said(app)
    assert_no_problem(app)


def test_a_store_that_changed_since_says_so(dashboard: Dashboard, store):
    compress_store(store)
    make_store(store, [attempt("Water the garden")])
    app = dashboard(store, "curate", **COMPRESS)
    assert "The store has changed since: 1 experience added or changed." in said(app)
    app = dashboard(store, "curate", scope_outcomes="succeeded", **COMPRESS)
    assert "The store has changed since" in said(app)


def test_another_scope_than_it_was_found_in_is_said(dashboard: Dashboard, store):
    compress_store(store)
    app = dashboard(store, "curate", scope_outcomes="succeeded", **COMPRESS)
    assert "This was found in another scope than the current one." in said(app)


def test_a_read_only_store_can_be_compressed_too(dashboard: Dashboard, store):
    app = dashboard(store, "curate", read_only=True, **COMPRESS)
    assert not app.button(key="compress_run").disabled
    assert_no_problem(app)


def test_what_proposes_can_be_chosen_where_there_is_a_model(dashboard: Dashboard, store, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    compress_store(store)
    app = dashboard(store, "curate", **COMPRESS)
    assert "compress_by" not in [box.key for box in app.selectbox]
    assert "Found by Anti-unification " in said(app)
    monkeypatch.setenv("ATLAS_LLM_BASE_URL", "http://localhost:9")
    monkeypatch.setenv("ATLAS_LLM_MODEL", "some-model")
    app = dashboard(store, "curate", **COMPRESS)
    assert app.selectbox(key="compress_by").options == ["Stitch", "some-model"]
    assert app.selectbox(key="compress_by").value is False
    assert_no_problem(app)


def test_the_modules_beside_programs_are_those_of_the_settings_at_first(dashboard: Dashboard, store, monkeypatch):
    app = dashboard(store, "curate", **COMPRESS)
    assert app.text_input(key="compress_path").value == ""
    monkeypatch.setenv("ATLAS_PROGRAM_PATH", str(store))
    app = dashboard(store, "curate", **COMPRESS)
    assert app.text_input(key="compress_path").value == str(store)
    app.text_input(key="compress_path").input(str(store / "gone")).run()
    app.button(key="compress_run").click().run()
    assert f"expected directories, separated by ':', for the path of modules, got '{store / 'gone'}'" in said(app)


def test_whoever_a_server_has_let_in_names_no_directories_of_its(dashboard: Dashboard, store):
    with visiting(Actor("ada", Role.ADMIN)):
        app = dashboard(store, "curate", **COMPRESS)
    assert "compress_path" not in [box.key for box in app.text_input]
    assert "compress_run" in [button.key for button in app.button]


def test_programs_that_have_little_in_common_are_said_to(dashboard: Dashboard, store):
    found = compress_store(store)
    save(store, replace(found, tokens_before=10_000, tokens_after=9_900, tokens_library=40))
    app = dashboard(store, "curate", **COMPRESS)
    assert "(1% less). These programs have little in common." in said(app)


def test_nothing_found_says_what_it_means(dashboard: Dashboard, store):
    save(store, CompressionResult(learned=(), rewritings=(), n_attempts=4, n_programs=4, tokens_before=9,
                                 tokens_after=9, tokens_library=0, made_at="2026-03-01T00:00:00+00:00"))  # fmt: skip
    app = dashboard(store, "curate", **COMPRESS)
    assert "Found no function: no code that two tasks share in 4 programs. More attempts" in said(app)
    assert "compress_apply" not in [button.key for button in app.button]
    assert_no_problem(app)


def test_a_file_of_something_else_counts_as_absent(dashboard: Dashboard, store):
    compress_store(store)
    CompressionFile(store / CACHE, COLLECTION).path.write_bytes(b"PK\x03\x04 something else")
    app = dashboard(store, "curate", **COMPRESS)
    assert app.button(key="compress_run").label == "Compress"
    assert_no_problem(app)


@pytest.mark.parametrize("read_only", [False, True])
def test_stores_without_programs_are_no_problem(dashboard: Dashboard, tmp_path, read_only):
    make_store(tmp_path, attempts(12))
    app = dashboard(tmp_path, "curate", read_only=read_only, **COMPRESS)
    assert "0 Python programs in 4 successful attempts in scope" in said(app)
    assert_no_problem(app)


def test_an_empty_store_says_how_to_fill_it(dashboard: Dashboard, tmp_path):
    make_store(tmp_path)
    app = dashboard(tmp_path, "curate", **COMPRESS)
    assert "Nothing is remembered yet." in said(app)
    assert_no_problem(app)


def save(store: Path, found: CompressionResult) -> None:
    CompressionFile(store / CACHE, COLLECTION).save(found)


def test_compressing_runs_in_a_process_of_its_own_and_the_page_shows_it(dashboard: Dashboard, store):
    app = dashboard(store, "curate", **COMPRESS)
    app.button(key="compress_run").click().run()
    assert "compress_cancel" in [button.key for button in app.button]
    app.button(key="compress_cancel").click().run()
    assert app.button(key="compress_run").label == "Compress"
    assert n_concepts(store) == 0
