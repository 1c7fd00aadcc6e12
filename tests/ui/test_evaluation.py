"""The evaluation page: what can be measured and what was, two profiles side by side, and acts that can be undone."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import atlas
from atlas.core.schema import encode
from atlas.core.statistics import Estimate
from atlas.embedding.choice import BUNDLED
from atlas.embedding.sentence_transformers import SentenceTransformerEmbedder
from atlas.evaluation.foreign import StrictnessStep
from atlas.evaluation.job import EvaluationFile, evaluate_now
from atlas.evaluation.trial.agents import RunResult
from atlas.evaluation.trial.design import Cell
from atlas.evaluation.trial.figures import build_report
from atlas.evaluation.trial.journal import FinishedCell
from atlas.evaluation.trial.report import as_json
from atlas.jobs.artefact import CACHE
from atlas.memory.experience.memory import COLLECTION
from atlas.storage.profiles import DEFAULT
from atlas.views.evaluation.verdict import MARKS_MEAN, RULE
from atlas.views.lists.cells import GOOD
from atlas.views.shared.rates import LIKELY_MEANS
from pages.components.evaluation import strictness as strictness_part
from tests.support.dashboard import (
    Dashboard,
    assert_no_problem,
    cards,
    drawn_by,
    run_until,
    text_of,
    touch_table,
    undo_button,
)
from tests.support.dashboard import table as drawn_table
from tests.support.records import attempt, attempts
from tests.support.stores import MODEL, copied, make_store, opened_store

COMPARE = {"evaluation_tab": "Compare profiles"}
RED = "Rotate the red grid by a quarter"
HOSTILE = "<b>bold</b> [link](https://example.invalid) $x$"
MEASURED = re.compile(r"Measured \d+ \w+ 20\d\d")


def repeated(n_tasks: int = 6) -> list[atlas.Trajectory]:
    """Two attempts at each of some tasks; the first of them succeeded."""
    return [
        attempt(f"Mend report {task} of customer {task * 37}", task_id=f"task-{task}", success=trial == 0)
        for task in range(n_tasks)
        for trial in range(2)
    ]


def step(strictness: float, first: float, answered: float, n_judged: int = 20) -> StrictnessStep:
    right, empty, foreign = (Estimate(mean=share, interval=None) for share in (first, 0.0, answered))
    return StrictnessStep(
        strictness=strictness, first_right=right, found_nothing=empty, foreign_answered=foreign,
        judged_right=right, n_judged=n_judged,
    )  # fmt: skip


def strictness_of(store: Path) -> float:
    with opened_store(store) as memory:
        return memory.strictness()


def measure(store: Path, strictness: tuple[StrictnessStep, ...] | None = None) -> None:
    """What the button does, with an embedder that is quick, or with other answers at each strictness."""
    with opened_store(store) as memory:
        found = evaluate_now(memory, seed=0, on_progress=lambda done, total, what: None)
        if strictness is not None:
            found = replace(found, report=replace(found.report, strictness=strictness))
        EvaluationFile(store / CACHE, COLLECTION).save(found)


def save(store: Path, name: str, **weights: float) -> None:
    with opened_store(store) as memory:
        memory.storage.profiles.save(name, replace(atlas.RankingWeights(), **weights))


def in_use(store: Path) -> str:
    with opened_store(store) as memory:
        return memory.storage.profiles.in_use().name


def texts(app: AppTest) -> str:
    every = [*app.text, *app.caption, *app.info, *app.warning, *app.markdown]
    return "\n".join(element.value for element in every)


def chart_of(app: AppTest) -> dict:
    *_, chart = app.get("plotly_chart")  # the first is by strictness
    return json.loads(chart.proto.spec)


def test_it_says_what_can_be_measured_and_offers_it(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, repeated(6))
    app = dashboard(tmp_path, "evaluation")
    assert [heading.value for heading in app.subheader] == ["Not measured yet."]
    assert "12 attempts at 6 tasks that were tried more than once, and 12 known outcomes." in texts(app)
    assert app.button(key="evaluation_run").label == "Measure"
    assert "atlas evaluate PATH" in [code.value for code in app.code]
    assert_no_problem(app)


def test_few_tasks_are_said_to_be_too_few_for_intervals(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, repeated(1))
    measure(tmp_path)
    app = dashboard(tmp_path, "evaluation")
    assert "2 attempts at 1 task that was tried more than once" in texts(app)
    assert "These are too few tasks for intervals, which need 5." in texts(app)
    assert "(" not in "".join(app.dataframe[-1].value["hit@1"])
    assert_no_problem(app)


def test_a_stricter_search_is_applied_beside_what_it_changes_tried_and_taken_back(dashboard: Dashboard, tmp_path):
    again = attempt("Mend report 2 of customer 74 again", task_id="task-2")
    make_store(tmp_path, [*repeated(6), again])
    measure(tmp_path, strictness=(step(1.0, 1.0, 0.65), step(1.8, 1.0, 0.1)))
    app = dashboard(tmp_path, "evaluation")
    change = (
        "**Strictness 1 → 1.8**: off-topic answered 65% → 10%, first hit right 100% → 100%, "
        "for your judged queries 100% → 100%"
    )
    assert change in [element.value for element in app.markdown]
    assert "Strictness is how sure search must be before it answers." in [caption.value for caption in app.caption]
    assert "evaluation_strictness_try" not in [button.key for button in app.button]
    assert {LIKELY_MEANS, MARKS_MEAN, RULE} < {text.value for text in app.text}
    assert [button.label for button in app.button if button.proto.type == "primary"] == ["Make it stricter"]
    app.button(key="evaluation_stricter_preview").click().run()
    [slider] = app.slider
    assert slider.value == 1.8
    app.button(key="evaluation_stricter").click().run()
    assert strictness_of(tmp_path) == 1.8
    assert app.subheader[0].value == (
        "Search finds the right memory first for all of the judged queries, and answers a tenth of the off-topic "
        "questions."
    )
    assert "Keep strictness 1.8: search finds the right memories, and little that is off topic." in texts(app)
    with opened_store(tmp_path) as memory:
        assert memory.history(1)[0].reason.endswith("; 0 of 1 task loses its best record")
    undo_button(app).click().run()
    assert strictness_of(tmp_path) == 1
    assert_no_problem(app)


def test_a_stricter_search_that_is_not_advised_can_be_tried_and_then_applied(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, repeated(6))
    measure(tmp_path, strictness=(step(1.0, 1.0, 0.65), step(1.1, 0.9, 0.5)))
    app = dashboard(tmp_path, "evaluation")
    assert "At 1.1, off-topic answers would fall to 50%" in texts(app)
    app.button(key="evaluation_strictness_try").click().run()
    assert [slider.value for slider in app.slider] == [1.1]
    app.button(key="evaluation_strictness_apply").click().run()
    assert strictness_of(tmp_path) == 1.1
    assert_no_problem(app)


def test_before_queries_are_judged_the_page_leads_to_judging_them(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, repeated(6))
    measure(tmp_path, strictness=(step(1.0, 1.0, 0.65, n_judged=5), step(1.8, 1.0, 0.1, n_judged=5)))
    app = dashboard(tmp_path, "evaluation")
    assert app.subheader[0].value.endswith(", and answers two thirds of the off-topic questions.")
    assert "Judge 15 more to learn whether it should be stricter" in [link.label for link in app.get("page_link")]
    assert not [button for button in app.button if str(button.key).startswith("evaluation_stricter")]
    assert_no_problem(app)


def test_nothing_is_advised_from_a_measurement_with_other_weights(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, repeated(6))
    save(tmp_path, "eager", success=10.0)
    measure(tmp_path, strictness=(step(1.0, 1.0, 0.65), step(1.8, 1.0, 0.1)))
    assert "Search answers too many" in str(drawn_by(dashboard(tmp_path, "overview"), "records"))
    with opened_store(tmp_path) as memory:
        memory.storage.profiles.use("eager")
    app = dashboard(tmp_path, "evaluation")
    assert "Profiles have changed since this was measured." in texts(app)
    assert "Search answers too many" not in texts(app)
    assert not [button for button in app.button if str(button.key).startswith("evaluation_stricter")]
    app = dashboard(tmp_path, "overview")
    assert "Search answers" not in str(drawn_by(app, "records"))
    assert_no_problem(app)


def test_without_a_repeated_task_only_outcomes_can_be_foretold(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(6))
    measure(tmp_path)
    app = dashboard(tmp_path, "evaluation")
    assert "No task was tried more than once (by its id)" in texts(app)
    assert "only whether the hits predict the 4 known outcomes" in texts(app)
    assert list(app.dataframe[-1].value.columns) == ["setting", "outcome predicted"]
    assert_no_problem(app)


def test_with_nothing_to_compare_it_says_so_and_offers_nothing(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, [attempt(success=None)])
    app = dashboard(tmp_path, "evaluation")
    assert "there is nothing to measure yet" in texts(app)
    assert not [button for button in app.button if button.key == "evaluation_run"]
    assert_no_problem(app)


def test_what_was_measured_is_shown_with_its_intervals_and_its_size(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, repeated(6))
    save(tmp_path, HOSTILE, success=100)
    measure(tmp_path)
    app = dashboard(tmp_path, "evaluation")
    assert app.subheader[0].value.startswith(
        "Search finds the right memory first for all of the attempts that are looked up again"
    )
    own = drawn_table(app).iloc[0]
    assert (own["label"], own["rate"]["text"], own["counts"]) == (
        "Own attempts: first hit right",
        "100%",
        "12 of 12 attempts",
    )
    assert (own["interval"], own["mark"]) == ("59–100%", GOOD)
    compared = drawn_table(app, 1)
    assert [cell["text"] for cell in compared["rate"]] == ["100%", "100%", "100%", "9%"]
    assert MEASURED.search(texts(app))
    assert {"Keyword search", "Semantic search"} < {*compared["name"]}
    assert "default" not in texts(app)
    assert "On 12 attempts at 6 tasks, with 95% intervals over tasks. Dotted: a random order (0.091)." in texts(app)
    left, right = chart_of(app)["data"]
    assert left["y"][:3] == [
        "As an agent gets it",
        "The same, nothing hidden",
        f"Profile {HOSTILE}".replace("<", "&lt;").replace(">", "&gt;"),
    ]
    assert left["x"][0] == 1.0
    assert len(right["x"]) == len(left["x"]) - 1
    table = app.dataframe[-1].value.set_index("setting")
    assert table.loc["As an agent gets it", "hit@1"] == "1.000 (1.00–1.00)"
    assert table.loc["As an agent gets it", "found nothing"] == "0.000 (0.00–0.00)"
    assert drawn_table(app).iloc[1]["counts"].endswith("of 200 questions")
    assert table.loc["Chance", "hit@1"] == f"{1 / 11:.3f}"
    assert table.loc[f"Profile {HOSTILE}", "hit@1"] == "0.500 (0.50–0.50)"
    assert "since this was measured" not in texts(app)
    assert_no_problem(app)


@pytest.fixture(scope="module")
def measured_once(tmp_path_factory) -> Path:
    """A store of repeated attempts, measured."""
    store = tmp_path_factory.mktemp("measured")
    make_store(store, repeated(6))
    measure(store)
    return store


def test_another_measure_is_drawn_when_it_is_asked_for(dashboard: Dashboard, measured_once, tmp_path):
    app = dashboard(copied(measured_once, tmp_path), "evaluation")
    app.session_state["evaluation_measure"] = "outcome predicted"
    app.run()
    assert "How often an attempt ended as most of the first 4 hits" in texts(app)
    assert "Dotted: always the more frequent outcome (0.500)." in texts(app)
    assert_no_problem(app)


def test_what_changed_since_is_said(dashboard: Dashboard, measured_once, tmp_path):
    save(copied(measured_once, tmp_path), "another", words=1.0)
    app = dashboard(tmp_path, "evaluation")
    assert "Profiles have changed since this was measured." in texts(app)
    make_store(tmp_path, attempts(2))
    app.run()
    assert "2 experiences added or changed since this was measured." in texts(app)
    labels = [element.label for element in app.main if element.type in ("button", "expander")]
    assert labels.index("Measure again") < labels.index("All figures")  # beside what has changed


def test_a_damaged_result_is_as_none(dashboard: Dashboard, measured_once, tmp_path):
    copied(measured_once, tmp_path)
    EvaluationFile(tmp_path / CACHE, COLLECTION).path.write_bytes(b"garbage")
    app = dashboard(tmp_path, "evaluation")
    assert app.button(key="evaluation_run").label == "Measure"
    assert [each.value for each in app.warning] == ["What was measured here before cannot be read. Measure again."]
    assert_no_problem(app)


def test_the_button_measures_in_another_process_also_where_the_store_is_read_only(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, repeated(6))
    app = dashboard(tmp_path, "evaluation", read_only=True)
    app.button(key="evaluation_run").click().run()
    run_until(app, lambda: bool(MEASURED.search(texts(app))))
    assert len(drawn_table(app, 1)["rate"]) == 4
    assert not (tmp_path / CACHE / "atlas_experiences.evaluation.npz").exists()
    assert_no_problem(app)


@pytest.fixture(scope="module")
def grids_once(tmp_path_factory) -> Path:
    """A store in which the nearest attempt failed."""
    store = tmp_path_factory.mktemp("grids")
    blue = attempt("Rotate the blue grid by a quarter", task_id="b")
    with atlas.open_memory(store, embedder=SentenceTransformerEmbedder(MODEL), settings=atlas.Settings()) as memory:
        memory.experience.store_many([attempt(RED, success=False, task_id="r"), blue])
    save(store, "eager", success=10.0)
    return store


@pytest.fixture
def grids(grids_once, tmp_path) -> Path:
    """A copy of that store."""
    return copied(grids_once, tmp_path)


def titles(app: AppTest) -> list[str]:
    """The hits as they stand, those of the left side first."""
    return [f"{card['badge']['text'][0]} {text_of(card)}" for card in cards(app)]


def test_two_profiles_rank_side_by_side_and_say_what_moved(dashboard: Dashboard, grids):
    app = dashboard(grids, "evaluation", **COMPARE, evaluation_query=RED)
    assert "A profile is a set of weights." in texts(app)
    assert app.selectbox(key="evaluation_profile_left").value == DEFAULT
    assert app.selectbox(key="evaluation_profile_right").value == "eager"
    red, blue = f"✗ {RED}", "✓ Rotate the blue grid by a quarter"
    assert titles(app) == [red, blue, blue, red]
    badges = [element.value for element in app.main.markdown]
    assert sum("▲ 1" in badge for badge in badges) == sum("▼ 1" in badge for badge in badges) == 2
    assert "2 hits on both sides." in texts(app)
    assert "success 10.000" in cards(app)[2]["bar"]["words"]
    assert_no_problem(app)


def test_comparing_counts_no_retrieval_and_stays_within_the_scope(dashboard: Dashboard, grids):
    app = dashboard(grids, "evaluation", **COMPARE, evaluation_query=RED, scope_outcomes="failed")
    assert titles(app) == [f"✗ {RED}"] * 2
    with opened_store(grids) as memory:
        assert {used.n_retrieved for used in memory.experience.usage(memory.experience.ids()).values()} == {0}


def test_nonsense_is_answered_with_nothing(dashboard: Dashboard, grids):
    app = dashboard(grids, "evaluation", **COMPARE, evaluation_query="xyzzy plugh")
    assert [element.value for element in app.info] == ["Nothing relevant."] * 2
    assert texts(app).count("2 not shown") == 2


def turned(app: AppTest, weight: str, value: float, side: str = "right") -> AppTest:
    (slider,) = (each for each in app.slider if str(each.key).startswith(f"evaluation_{weight}_{side}"))
    return slider.set_value(value).run()


def test_weights_that_are_turned_rank_at_once_and_are_saved_used_and_taken_back(dashboard: Dashboard, grids):
    app = dashboard(grids, "evaluation", **COMPARE, evaluation_query=RED)
    turned(app, "success", 0.0)
    assert titles(app)[2:] == [f"✗ {RED}", "✓ Rotate the blue grid by a quarter"]
    assert app.button(key="evaluation_use_right").disabled
    app.text_input(key="evaluation_name_right").set_value("fair 公平").run()
    app.button(key="evaluation_save_right").click().run()
    assert app.selectbox(key="evaluation_profile_right").value == "fair 公平"
    assert "Saved the profile 'fair 公平'" in texts(app)
    app.button(key="evaluation_use_right").click().run()
    assert in_use(grids) == "fair 公平"
    assert "All searches use the profile 'fair 公平' now" in texts(app)
    undo_button(app).click().run()
    assert in_use(grids) == DEFAULT
    assert_no_problem(app)


def test_a_deleted_profile_comes_back_with_one_click(dashboard: Dashboard, grids):
    app = dashboard(grids, "evaluation", **COMPARE)
    app.button(key="evaluation_delete_right").click().run()
    assert app.selectbox(key="evaluation_profile_right").options == ["default (in use)"]
    undo_button(app).click().run()
    assert app.selectbox(key="evaluation_profile_right").options == ["default (in use)", "eager"]
    assert_no_problem(app)


def test_a_name_that_cannot_be_kept_is_said_and_nothing_is_saved(dashboard: Dashboard, grids):
    app = dashboard(grids, "evaluation", **COMPARE)
    app.text_input(key="evaluation_name_right").set_value("Default").run()
    app.button(key="evaluation_save_right").click().run()
    assert "'Default' is the built-in profile" in texts(app)
    assert app.selectbox(key="evaluation_profile_right").options == ["default (in use)", "eager"]


def test_a_read_only_store_is_compared_but_not_changed(dashboard: Dashboard, grids):
    app = dashboard(grids, "evaluation", read_only=True, **COMPARE, evaluation_query=RED)
    assert len(titles(app)) == 4
    for act in ("use", "delete"):
        assert app.button(key=f"evaluation_{act}_right").disabled
    assert_no_problem(app)


def test_a_profile_in_use_that_is_gone_is_said(dashboard: Dashboard, grids):
    with opened_store(grids) as memory, memory.storage.ledger.database.write() as connection:
        connection.execute("INSERT INTO meta VALUES ('profile_in_use', 'never saved')")
    app = dashboard(grids, "evaluation", **COMPARE)
    assert [each.value for each in app.warning] == ["The chosen profile cannot be used."]
    assert "'never saved', which cannot be read (the profile was deleted)" in texts(app)
    assert_no_problem(app)


def test_a_damaged_profile_is_named_and_the_others_are_offered(dashboard: Dashboard, grids):
    with opened_store(grids) as memory, memory.storage.ledger.database.write() as connection:
        connection.execute("INSERT INTO meta VALUES ('profile:bad', 'garbage'), ('profile_in_use', 'bad')")
    app = dashboard(grids, "evaluation", **COMPARE, evaluation_query=RED)
    assert "A profile cannot be used." in texts(app)
    assert "bad: cannot be read" in texts(app)
    assert app.selectbox(key="evaluation_profile_left").options == ["default", "eager"]
    assert_no_problem(app)


JUDGED = {"evaluation_tab": "Judged queries"}


def judged_rows(app: AppTest) -> list[list[str]]:
    """Query, right and wrong, row by row."""
    return [*app.dataframe[0].value[["query", "right", "wrong"]].values.tolist()]


def test_without_judgements_it_says_where_they_come_from(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, repeated(6))
    assert "On the page Ask, mark hits as right or wrong" in texts(dashboard(tmp_path, "evaluation"))
    app = dashboard(tmp_path, "evaluation", **JUDGED)
    assert "On the page Ask, mark hits as right or wrong" in texts(app)
    assert len(app.dataframe) == 0
    assert_no_problem(app)


def test_judged_queries_are_measured_beside_the_attempts_of_the_store(dashboard: Dashboard, tmp_path):
    ids = make_store(tmp_path, repeated(6))
    with opened_store(tmp_path) as memory:
        memory.judge("Mend report 2 of customer 74", ids[4], True)
        memory.judge("lamb tagine", ids[0], False)
    measure(tmp_path)
    app = dashboard(tmp_path, "evaluation")
    assert "1 judged query with an experience that was judged right." in texts(app)
    app.segmented_control(key="evaluation_queries").set_value("your judged queries").run()
    assert "How often the first hit was judged right. On 1 judged query, with 95% intervals over queries." in texts(app)
    assert "Of 1 more query with only wrong hits, it rightly gets nothing for 100%." in texts(app)
    assert "hit@1" in app.dataframe[-1].value.columns
    assert "since this was measured" not in texts(app)
    with opened_store(tmp_path) as memory:
        memory.judge("lamb tagine", ids[0], None)
    app.run()
    assert "Hits were judged since this was measured." in texts(app)
    assert_no_problem(app)


def test_judged_queries_whose_first_hit_is_wrong_are_listed_with_what_was_right(dashboard: Dashboard, tmp_path):
    ids = make_store(tmp_path, repeated(6))
    with opened_store(tmp_path) as memory:
        memory.judge("Mend report 2 of customer 74", ids[0], True)
        memory.judge("Mend report 3 of customer 111", ids[6], True)
    measure(tmp_path)
    app = dashboard(tmp_path, "evaluation")
    assert "For 1 of 2 judged queries, the first hit is not one that was judged right." in texts(app)
    row = drawn_table(app, 1).iloc[0]
    assert (row["query"], row["right"]) == ("Mend report 2 of customer 74", "Mend report 0 of customer 0")
    assert row["first"] != row["right"]
    touch_table(app, "opened", row["query"], number=1)
    assert app.text_input(key="ask_text").value == row["query"]
    assert_no_problem(app)


def test_where_no_query_was_judged_right_nothing_is_listed_or_asked_for(dashboard: Dashboard, tmp_path):
    ids = make_store(tmp_path, repeated(6))
    with opened_store(tmp_path) as memory:
        memory.judge("lamb tagine", ids[0], False)
    measure(tmp_path)
    app = dashboard(tmp_path, "evaluation")
    assert "Judged queries that search gets wrong" not in str([element.value for element in app.markdown])
    assert "Measure again to list" not in texts(app)
    assert_no_problem(app)


def test_judged_queries_alone_can_be_measured(dashboard: Dashboard, tmp_path):
    [record_id] = make_store(tmp_path, [attempt(success=None)])
    with opened_store(tmp_path) as memory:
        memory.judge("Sort numbers", record_id, True)
    measure(tmp_path)
    app = dashboard(tmp_path, "evaluation")
    assert app.button(key="evaluation_run").label == "Measure again"
    assert "How often the first hit was judged right." in texts(app)
    assert "outcome predicted" not in app.dataframe[-1].value.columns
    assert_no_problem(app)


def test_judged_queries_are_listed_deleted_and_come_back_with_one_click(dashboard: Dashboard, tmp_path):
    ids = make_store(tmp_path, repeated(2))
    with opened_store(tmp_path) as memory:
        entry = memory.journal.add("observation", "The web report broke at midnight", generation=1)
        memory.judge("first", ids[0], True)
        memory.judge(HOSTILE, ids[0], True)
        memory.judge(HOSTILE, ids[1], True)
        memory.judge(HOSTILE, entry, False)
    app = dashboard(tmp_path, "evaluation", **JUDGED)
    both = [[HOSTILE, "2 experiences", "1 entry"], ["first", "1 experience", ""]]
    assert judged_rows(app) == both
    assert app.button(key="evaluation_forget").disabled
    app.session_state[app.dataframe[0].key] = {"selection": {"rows": [0], "columns": [], "cells": []}}
    app.run()
    app.button(key="evaluation_forget").click().run()
    assert judged_rows(app) == both[1:]
    assert "Deleted the judgements of 1 query" in texts(app)
    undo_button(app).click().run()
    assert judged_rows(app) == both
    assert_no_problem(app)


def test_judged_queries_of_a_store_for_reading_only_stay(dashboard: Dashboard, tmp_path):
    ids = make_store(tmp_path, repeated(2))
    with opened_store(tmp_path) as memory:
        memory.judge("first", ids[0], True)
    app = dashboard(tmp_path, "evaluation", read_only=True, **JUDGED)
    app.session_state[app.dataframe[0].key] = {"selection": {"rows": [0], "columns": [], "cells": []}}
    app.run()
    assert app.button(key="evaluation_forget").disabled
    assert_no_problem(app)


TEXTS = ("repair the old pump", "the pump in the cellar leaks again")


def test_strictness_is_previewed_applied_undone_and_one_click_from_the_calibrated_level(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, repeated(6))
    app = dashboard(tmp_path, "evaluation", evaluation_tab="Strictness")  # of an older link
    assert "evaluation_strictness_apply" not in [button.key for button in app.button]
    [slider] = app.slider
    slider.set_value(3.0).run()
    assert "Strictness 1 (as measured) → 3. Of 6 queries of this store" in texts(app)
    assert strictness_of(tmp_path) == 1
    app.button(key="evaluation_strictness_apply").click().run()
    assert strictness_of(tmp_path) == 3
    assert "of this store" not in texts(app), "the present strictness changes nothing, so no query is asked"
    assert app.button(key="evaluation_strictness_calibrated").label == "Back to the measured level"
    undo_button(app).click().run()
    assert strictness_of(tmp_path) == 1
    undo_button(app).click().run()
    app.button(key="evaluation_strictness_calibrated").click().run()
    assert strictness_of(tmp_path) == 1
    assert_no_problem(app)


def test_a_slider_without_curves_has_its_name_and_one_below_them_leaves_it_to_the_axis(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, repeated(2))
    app = dashboard(tmp_path, "evaluation")
    hidden = [slider.proto.label_visibility.value for slider in app.slider]
    assert "enough records to measure them" in texts(app)
    measure(tmp_path, strictness=(step(1.0, 1.0, 0.65), step(1.8, 1.0, 0.1)))
    app = dashboard(tmp_path, "evaluation")
    assert "enough records to measure them" not in texts(app)
    assert (hidden, [slider.proto.label_visibility.value for slider in app.slider]) == ([0], [2])


def test_strictness_shows_the_tasks_that_lose_their_best_record_before_it_is_applied(dashboard: Dashboard, tmp_path):
    with atlas.open_memory(
        tmp_path, embedder=SentenceTransformerEmbedder(BUNDLED), settings=atlas.Settings()
    ) as memory:
        memory.experience.store_many([attempt(text, task_id="pump") for text in TEXTS])
        plan = memory.plan_strictness(3.0)
    assert plan.n_losing
    app = dashboard(tmp_path, "evaluation")
    assert not app.warning
    [slider] = app.slider
    slider.set_value(3.0).run()
    assert [f"{plan.loss_sentence}:".lower()] == [element.value.lower() for element in app.warning]
    assert plan.lost[0].title in texts(app)
    app.button(key="evaluation_strictness_apply").click().run()
    with opened_store(tmp_path) as memory:
        assert plan.loss_sentence in memory.history(1)[0].reason
    assert_no_problem(app)


def test_without_its_model_the_page_shows_its_figures_below_a_strictness_that_cannot_be_tried(
    dashboard: Dashboard, tmp_path, monkeypatch
):
    make_store(tmp_path, repeated(6))
    measure(tmp_path)
    with opened_store(tmp_path) as memory:
        memory.apply_strictness(memory.plan_strictness(0.5))

    def without_model(memory: atlas.MemorySystem) -> None:
        raise atlas.EmbeddingUnavailable("its files are gone")

    monkeypatch.setattr(strictness_part, "strictness_queries", without_model)
    app = dashboard(tmp_path, "evaluation")
    assert not app.warning
    [slider] = app.slider
    slider.set_value(2.0).run()
    assert [warning.value for warning in app.warning] == ["What it would change cannot be shown."]
    assert "All figures" in [element.label for element in app.expander]


def trial_report() -> str:
    cells = [
        FinishedCell(
            cell=Cell(task=number, repeat=0, arm=arm),
            is_seen=False,
            block_tokens=0,
            shown={},
            result=RunResult(success=arm == "memory", seconds=1.0, solution="pay first"),
        )
        for number in range(8)
        for arm in ("nothing", "memory")
    ]
    tasks = [atlas.Task(f"t{number}", "", f"{HOSTILE} {number}") for number in range(8)]
    hashes = {"store_hash": "5" * 64, "code_hash": "c" * 64, "embedding_model": "m", "atlas": "1", "seed": 0}
    arms = ["nothing", "memory"]
    design = {"command": ["agent"], "arms": arms, "tasks": [encode(task) for task in tasks], **hashes}
    return as_json(build_report(design, arms, tasks, cells, 16))


def test_the_report_of_a_trial_is_drawn_from_its_file(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(2))
    app = dashboard(tmp_path, "evaluation", evaluation_tab="Trials")
    app.file_uploader(key="evaluation_trial").upload("report.json", trial_report().encode(), "application/json").run()
    assert "16 of 16 runs of agent at 8 tasks" in texts(app)
    assert list(app.dataframe[0].value["arm"]) == ["nothing", "memory"]
    assert app.dataframe[1].value["difference"][0].startswith("+100")
    assert app.selectbox[1].options[0] == f"won: {HOSTILE} 0"
    assert_no_problem(app)
    app.file_uploader(key="evaluation_trial").set_value(("report.json", b"{}", "application/json")).run()
    assert "This is not the report of a trial." in texts(app)
