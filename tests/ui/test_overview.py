"""What the overview shows, and where it leads."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

from streamlit.testing.v1 import AppTest

from atlas.core.settings import Settings
from atlas.importers.sample import load_sample
from atlas.views.charts.trend import LEAST_KNOWN
from atlas.views.shared.rates import LIKELY_MEANS
from tests.support.dashboard import Dashboard, drawn_by, undo_button
from tests.support.hostile import MARKER
from tests.support.records import START, attempt, attempts
from tests.support.repository import REPOSITORY
from tests.support.stores import make_store, opened_store


def test_the_figures_are_those_of_the_store(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(12))
    app = dashboard(tmp_path, "overview")
    assert totals(app) == ["12 experiences: 50% of 8 succeeded (likely 21–79%), 4 unknown"]


def test_a_source_whose_outcomes_are_unknown_has_no_known_attempts(dashboard: Dashboard, tmp_path):
    north = [attempt(f"task {n}", success=None, task_id=f"task {n}", source="north") for n in range(20)]
    make_store(tmp_path, north)
    app = dashboard(tmp_path, "overview")
    assert "Success by source" not in [box.label for box in app.expander], "there is nothing to compare"
    make_store(tmp_path, [attempt("Bake", source="south")])
    app = dashboard(tmp_path, "overview")
    assert [row["rate"]["text"] for row in rate_rows(app, "Success by source")] == ["not known", "100% of 1"]


def test_what_needs_attention_is_listed_worst_first(dashboard: Dashboard, tmp_path):
    alike = [attempt("Water the garden", agent=f"agent {n}") for n in range(3)]
    make_store(tmp_path, [*alike, attempt("Mend a shoe", success=None)])
    app = dashboard(tmp_path, "overview")
    first = drawn_by(app, "records")[0]
    assert first["label"] == "Needs attention"
    assert [(row["what"], row["detail"]) for row in first["rows"]] == [
        ("No backup", "If this disk fails, the store is lost"),
        ("2 cases to decide", "1 near-duplicates, 1 outcome unknown"),
    ]


def test_as_many_cases_are_to_decide_as_curate_then_lists(dashboard: Dashboard, tmp_path):
    alike = [attempt("Water the garden", agent=f"agent {n}") for n in range(3)]
    make_store(tmp_path, [*alike, *(attempt(f"Mend shoe {n}", success=None) for n in range(3))])
    needing = drawn_by(dashboard(tmp_path, "overview"), "records")[0]["rows"]
    row = next(row for row in needing if row["id"] == "undecided")
    queue = dashboard(tmp_path, "curate").selectbox[0]
    assert row["what"] == "4 cases to decide"
    assert queue.options[0] == "All 4"


def test_a_rate_of_a_group_counts_known_outcomes_alone(dashboard: Dashboard, tmp_path):
    make_store(
        tmp_path,
        [
            *(attempt(f"task {n}", success=(None, True, False)[n], task_id=f"t{n}", source="north") for n in range(3)),
            attempt("Bake", source="south"),
        ],
    )
    rates = [row["rate"]["text"] for row in rate_rows(dashboard(tmp_path, "overview"), "Success by source")]
    assert rates == ["50% of 2", "100% of 1"]


def test_the_randomised_figure_leads_where_attempts_were_held_out(dashboard: Dashboard, tmp_path):
    sides = [("shown", n % 10 < 8) for n in range(40)] + [("held out", n % 10 < 2) for n in range(40)]
    made = [attempt(f"task {n}", success=went, task_id=f"t{n}") for n, (_, went) in enumerate(sides)]
    marks = [{"holdout": side, "holdout_share": 0.5} for side, _ in sides]
    make_store(tmp_path, [replace(each, metadata=mark) for each, mark in zip(made, marks, strict=True)])
    app = dashboard(tmp_path, "overview")
    figures = {metric.label: metric.value for metric in app.metric}
    assert figures["Effect of memory"] == "+60\xa0points"
    assert (figures["With memory"], figures["Held out"]) == ("80% of 40", "20% of 40")
    assert answers(app)[0] == "Memory helps."
    assert any(element.value.startswith("A coin decided") for element in app.caption)


def test_sample_data_are_named_as_such_and_go_with_one_click(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, [attempt("own"), replace(attempt("made up"), metadata={"is_sample": True})])
    app = dashboard(tmp_path, "overview")
    assert any(": 1 of 2 experiences" in element.value for element in app.caption)
    app.button(key="overview_remove_sample").click().run()
    assert totals(app) == ["1 experience: 100% succeeded (likely 16–100%)"]
    assert any(element.value == "Deleted the sample data, 1 record" for element in app.text)
    undo_button(app).click().run()
    assert totals(app) == ["2 experiences: 100% succeeded (likely 29–100%)"]


def test_an_empty_store_offers_the_sample_data_and_a_read_only_one_does_not(dashboard: Dashboard, tmp_path):
    make_store(tmp_path)
    app = dashboard(tmp_path, "overview")
    assert app.button(key="import_sample").label == "Load the sample data"
    assert not app.columns  # nothing is as high as the import without having as much to show
    app = dashboard(tmp_path, "overview", read_only=True)
    assert [button for button in app.button if button.key == "import_sample"] == []
    assert not app.exception


def test_sample_data_cannot_be_removed_where_the_store_is_read_only(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, [replace(attempt("made up"), metadata={"is_sample": True})])
    assert dashboard(tmp_path, "overview", read_only=True).button(key="overview_remove_sample").disabled


def test_nothing_that_memories_hold_is_in_the_chart(dashboard: Dashboard, tmp_path):
    hostile = f"<script>{MARKER}</script>"
    days = [START + timedelta(days=number) for number in range(3)] * LEAST_KNOWN
    make_store(tmp_path, [attempt(hostile, source=hostile, domain=hostile, agent=hostile, at=at) for at in days])
    app = dashboard(tmp_path, "overview")
    (chart,) = app.get("plotly_chart")
    assert MARKER not in str(chart.proto)


def test_it_opens_with_what_this_is_and_with_the_questions_that_it_answers(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(3))
    app = dashboard(tmp_path, "overview")
    assert app.title[0].value == "Overview"
    assert app.caption[0].value.startswith("The long-term memory of your AI agents")
    assert [part.value for part in app.main.markdown if part.value.startswith("#####")] == [
        "##### Does memory help?", "##### What is the agent bad at?", "##### What is remembered",
    ]  # fmt: skip
    assert answers(app) == ["Not known yet."]


def test_it_says_at_how_many_tasks_memory_helped_and_which_they_are(dashboard: Dashboard, tmp_path):
    make_store(tmp_path)
    with opened_store(tmp_path) as memory:
        load_sample(memory, REPOSITORY / "sample_data", Settings())
    app = dashboard(tmp_path, "overview")
    assert answers(app)[0] == "Tasks probably went better with memory."
    assert "By week: 68% of 114 succeeded since 26 Oct 2026, 64% of 244 before." in [
        caption.value for caption in app.caption
    ]
    verdict = r"Not clear yet: \+5\xa0points in the last 4 weeks( of attempts)?, likely −11 to \+19\xa0points\."
    assert any(re.fullmatch(rf":small\[\*\*{verdict}\*\*\]", element.value) for element in app.markdown)
    comparison = (
        "On average, 35% succeeded without memory and 68% with it: +33\xa0points at 18 tasks tried both ways, likely "
        "+5 to +58\xa0points."
    )
    assert [element.proto.help for element in app.caption if element.value == comparison] == [LIKELY_MEANS]
    assert any("better at 11 (likely 7–15)" in element.proto.body for element in app.get("html"))
    tasks = next(rows for rows in all_rows(app) if "not_used" in rows[0])
    assert len(tasks) == 18
    assert (tasks[0]["used"], tasks[0]["not_used"]) == ("100% of 2", "0% of 1")


def test_what_is_new_is_counted_and_leads_to_the_list_of_it(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, [attempt(f"task {n}", at=START - timedelta(days=5 * n)) for n in range(3)])
    (new,) = [link.proto for link in dashboard(tmp_path, "overview").page_link if "7 days to" in link.proto.label]
    assert new.label == "7 days to 1 Mar 2026: 2 attempts"
    assert new.query_string == "scope_since=2026-02-23"
    app = dashboard(tmp_path, "experiences", scope_since="2026-02-23")
    assert any("2 of 3 experiences" in element.value for element in (*app.markdown, *app.caption))


def test_it_says_what_to_record_where_no_attempt_recorded_a_memory(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(3))
    app = dashboard(tmp_path, "overview")
    advice = "No attempt has recorded a memory that it was given. To measure it, record what an attempt was given"
    assert any(caption.value.startswith(advice) for caption in app.caption)
    assert "With memory" not in [metric.label for metric in app.metric]


def test_it_names_the_tasks_that_go_worst_as_long_as_there_are_no_domains(dashboard: Dashboard, tmp_path):
    outcomes = {"Bake bread": (False, False), "Plant a tree": (True, False), "Wash a cup": (True, True)}
    told = [
        attempt(words, success, task_id=words, agent=f"agent {n}")
        for words, given in outcomes.items()
        for n, success in enumerate(given)
    ]
    make_store(tmp_path, told)
    app = dashboard(tmp_path, "overview")
    weak = [
        (row["name"], row["rate"]["text"], row["interval"])
        for row in rate_rows(app, "Tasks with the lowest success rate")
    ]
    assert weak == [("Bake bread", "0% of 2", "0–71%"), ("Plant a tree", "50% of 2", "9–91%")]


def totals(app: AppTest) -> list[str]:
    """The sizes of the memories."""
    return [
        link.proto.label
        for link in app.page_link
        if "experience" in link.proto.label and "succeeded" in link.proto.label
    ]


def answers(app: AppTest) -> list[str]:
    """The answers to the questions of the page."""
    return [part.value.strip("*") for part in app.main.markdown if part.value.startswith("**")]


def all_rows(app: AppTest) -> list[list[dict[str, Any]]]:
    """The rows of each table."""
    return [table["rows"] for table in drawn_by(app, "records")]


def rate_rows(app: AppTest, label: str) -> list[dict[str, Any]]:
    """The rows of the table of success rates with this label."""
    return next(table["rows"] for table in drawn_by(app, "records") if table["label"] == label)
