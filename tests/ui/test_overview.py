"""What the overview shows, and where it leads."""

from __future__ import annotations

from dataclasses import replace

from streamlit.testing.v1 import AppTest

from tests.support.dashboard import Dashboard, undo_button
from tests.support.hostile import MARKER
from tests.support.records import attempt, attempts
from tests.support.stores import DIMENSION, MODEL, make_store, opened_store


def test_the_figures_are_those_of_the_store(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(12))
    app = dashboard(tmp_path, "overview")
    figures = {metric.label: metric.value for metric in app.metric}
    assert figures == {"Experiences": "12", "Succeeded": "50 %", "Failed": "4", "Outcome unknown": "4"}
    assert app.metric[1].delta == "22–78 % (n = 8)"
    assert f"{MODEL}, {DIMENSION} dimensions" in [text.value for text in app.text]


def test_what_asks_to_be_looked_at_leads_to_its_queue(dashboard: Dashboard, tmp_path):
    alike = [attempt("Water the garden", agent=f"agent {n}") for n in range(3)]
    make_store(tmp_path, [*alike, attempt("Mend a shoe", success=None)])
    app = dashboard(tmp_path, "overview")
    links = {
        link.proto.label: link.proto.query_string for link in app.page_link if "curate_queue" in link.proto.query_string
    }
    assert links == {
        "1 group of near-duplicates, 3 in all": "curate_queue=duplicates",
        "1 of unknown outcome": "curate_queue=unknown",
    }


def test_sample_data_are_named_as_such_and_go_with_one_click(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, [attempt("own"), replace(attempt("made up"), metadata={"is_sample": True})])
    app = dashboard(tmp_path, "overview")
    assert any("1 of these are **sample data**" in element.value for element in app.markdown)
    app.button(key="overview_remove_sample").click().run()
    assert app.metric[0].value == "1"
    assert any(element.value == "Removed the sample data, 1 experience" for element in app.text)
    undo_button(app).click().run()
    assert app.metric[0].value == "2"


def test_an_empty_store_offers_the_sample_data_and_a_read_only_one_does_not(dashboard: Dashboard, tmp_path):
    make_store(tmp_path)
    assert dashboard(tmp_path, "overview").button(key="overview_load_sample").label == "Load the sample data"
    app = dashboard(tmp_path, "overview", read_only=True)
    assert [button for button in app.button if button.key == "overview_load_sample"] == []
    assert not app.exception


def test_sample_data_cannot_be_removed_where_the_store_is_read_only(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, [replace(attempt("made up"), metadata={"is_sample": True})])
    assert dashboard(tmp_path, "overview", read_only=True).button(key="overview_remove_sample").disabled


def test_what_was_done_lately_is_listed(dashboard: Dashboard, tmp_path):
    (first, *_) = make_store(tmp_path, attempts(3))
    with opened_store(tmp_path) as memory:
        memory.experience.within("delete", "too old").delete([first])
    lately = next(frame.value for frame in dashboard(tmp_path, "overview").dataframe if "reason" in frame.value)
    assert list(lately["what"]) == ["delete", "store"]
    assert lately["reason"][0] == "too old"


def test_a_search_for_near_duplicates_that_failed_is_not_called_one_that_nobody_made():
    def page() -> None:
        from atlas.core.statistics import SuccessRate
        from atlas.jobs.duplicates import FoundDuplicates
        from atlas.jobs.worker import JobStatus
        from atlas.views.curate.health import Health
        from pages.components.overview.parts import draw_health

        nothing = Health(rate=SuccessRate(), domains=(), never=(), stale=(), n_unknown=0, n_buried=0)
        draw_health(nothing, FoundDuplicates(status=JobStatus(state="failed", message="it broke")))

    said = [caption.value for caption in AppTest.from_function(page).run().caption]
    assert said == ["The search for near-duplicates failed. Curate says why."]


def test_nothing_that_memories_hold_is_in_the_chart(dashboard: Dashboard, tmp_path):
    hostile = f"<script>{MARKER}</script>"
    make_store(tmp_path, [attempt(hostile, source=hostile, domain=hostile, agent=hostile) for _ in range(3)])
    app = dashboard(tmp_path, "overview")
    (chart,) = app.get("plotly_chart")
    assert MARKER not in str(chart.proto)
