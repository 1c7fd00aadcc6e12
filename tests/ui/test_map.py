"""The map page: what it draws on every kind of store, and what it does with what the browser tells it."""

from __future__ import annotations

import json
import struct
import time
from functools import partial
from typing import Any

import numpy as np
import pytest
from streamlit.proto.BidiComponent_pb2 import BidiComponent
from streamlit.testing.v1 import AppTest

import atlas
from atlas.jobs.map import MapFile
from atlas.maps.map import make_map
from atlas.maps.snapshot import read_embedded
from atlas.memory.experience.memory import COLLECTION
from atlas.testing import HashEmbedder
from atlas.views.map.packets import mask_text
from atlas.views.map.spread import spread_map
from tests.support.dashboard import Dashboard, assert_no_problem, domain_numbers, table, tables, touch_table
from tests.support.records import attempt, attempts, kinds
from tests.support.stores import make_store

MAP_SECONDS = 500
"""How long umap-learn may take to compile itself on a busy machine."""

HOSTILE = "<img src=x onerror=alert(1)> ![x](https://example.invalid/x.png) $$x$$ :red[x]"


def test_an_empty_store_is_filled_from_the_page(dashboard: Dashboard, tmp_path):
    make_store(tmp_path)
    app = dashboard(tmp_path, "map")
    assert [element.value for element in app.info] == ["Nothing is remembered yet."]
    assert parts(app) == {}
    app.button(key="import_sample").click().run()
    assert layer(app, "map_points")["n"] > 300
    assert_no_problem(app)


def test_two_experiences_are_too_few_for_a_map(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(2))
    app = dashboard(tmp_path, "map")
    assert app.info[0].value == "A map needs at least 3 experiences; this store has 2 experiences."
    assert parts(app) == {}
    make_store(tmp_path, kinds(3))
    app.run()
    assert layer(app, "map_points")["n"] == 5
    assert_no_problem(app)


def test_a_store_is_drawn_with_its_domains_worst_first(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, kinds(60))
    app = dashboard(tmp_path, "map")
    assert layer(app, "map_points")["n"] == 60
    assert len(domains(app)) >= 2
    assert domains(app)["rate"].iloc[0]["text"].startswith("0% of ")
    assert sum(entry["n"] for entry in layer(app, "map_colours")["entries"]) == 60
    assert len(layer(app, "map_colours")["labels"]) == len(domains(app))
    assert_no_problem(app)
    assert "**1 of 3 domains is clearly below the average of 67%.**" in [each.value for each in app.markdown]
    assert "0 of 60 in no domain" in [each.value for each in app.caption]
    [heading] = [each for each in app.markdown if each.value == "**Domains, weakest first**"]
    assert "the lowest success rate first." in heading.help


def test_the_verdict_leads_to_the_failures_of_the_weak_domains(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, kinds(60))
    app = dashboard(tmp_path, "map")
    weak = domain_numbers(app)[0]
    app.button(key="map_failures").click().run()
    scope = app.session_state["scope"]
    assert (scope.domains, scope.values) == ((int(weak),), {"outcomes": ("failed",)})
    assert [element.value for element in app.title] == ["Experiences"]
    assert len(table(app)) == 20
    assert_no_problem(app)


def test_where_no_domain_is_weak_the_verdict_says_so_and_offers_nothing(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, [attempt(each.task.description) for each in kinds(60)])
    app = dashboard(tmp_path, "map")
    assert "**None of 3 domains is clearly below the average of 100%.**" in [each.value for each in app.markdown]
    assert "map_failures" not in [button.key for button in app.button]


def test_a_read_only_store_is_drawn_and_nothing_is_written_into_it(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, kinds(30))
    app = dashboard(tmp_path, "map", read_only=True)
    assert layer(app, "map_points")["n"] == 30
    assert not (tmp_path / "cache").exists()
    assert_no_problem(app)


def test_a_damaged_store_is_reported(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(4))
    (tmp_path / "atlas.sqlite").write_bytes(b"garbage" * 10_000)
    for journal in tmp_path.glob("atlas.sqlite-*"):
        journal.unlink()
    app = dashboard(tmp_path, "map")
    assert [element.value for element in app.error] == ["This memory cannot be shown."]


def test_a_damaged_map_is_made_anew(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, kinds(30))
    (tmp_path / "cache").mkdir()
    MapFile(tmp_path / "cache", COLLECTION).path.write_bytes(b"garbage")
    app = dashboard(tmp_path, "map")
    assert layer(app, "map_points")["n"] == 30
    assert_no_problem(app)


def test_what_is_added_appears_and_nothing_else_moves(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, kinds(40))
    app = dashboard(tmp_path, "map")
    before = layer(app, "map_points")
    make_store(tmp_path, [attempt("One more shell script that greps a log for cron 77")])
    app.run()
    after = layer(app, "map_points")
    assert after["n"] == 41
    assert after["xy"][:80].tolist() == before["xy"].tolist()
    assert any("1 placed since the map was made" in element.value for element in app.caption)


def test_what_is_lassoed_is_selected_for_all_pages(dashboard: Dashboard, tmp_path):
    ids = make_store(tmp_path, kinds(30))
    app = dashboard(tmp_path, "map")
    lasso(app, [3, 7, 29])
    selection = app.session_state["selection"]
    assert selection.ids == (ids[3], ids[7], ids[29])
    assert selection.origin == "lasso on the map"
    assert marked(app, "chosen") == [3, 7, 29]
    lasso(app, [4], mode="add")
    lasso(app, [7], mode="remove")
    assert app.session_state["selection"].ids == (ids[3], ids[29], ids[4])
    tell(app, "map_points", "selected", {"points": key(app), "mask": "", "mode": "replace", "how": "clear"})
    assert "selection" not in app.session_state


def test_a_lasso_on_points_that_are_no_longer_drawn_selects_nothing(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, kinds(30))
    app = dashboard(tmp_path, "map")
    tell(app, "map_points", "selected", {"points": "of yesterday", "mask": "////", "mode": "replace"})
    assert "selection" not in app.session_state
    for nonsense in ({}, {"points": key(app)}, {"points": key(app), "mask": 7}, "text", [1], None):
        tell(app, "map_points", "selected", nonsense)
        tell(app, "map_points", "opened", nonsense)
        assert_no_problem(app)


def test_a_click_opens_the_experience_beside_the_map_with_its_neighbours(dashboard: Dashboard, tmp_path):
    ids = make_store(tmp_path, kinds(30))
    app = dashboard(tmp_path, "map")
    tell(app, "map_points", "opened", {"points": key(app), "point": 5})
    assert app.query_params["id"] == ids[5]
    assert layer(app, "map_marks")["opened"] == 5
    assert len(layer(app, "map_marks")["neighbours"]) == 8
    app.button(key="experience_close").click().run()
    assert layer(app, "map_marks")["opened"] is None


def test_a_lasso_drawn_while_the_store_grew_means_the_points_that_were_seen(dashboard: Dashboard, tmp_path):
    ids = make_store(tmp_path, kinds(30))
    app = dashboard(tmp_path, "map")
    seen = key(app)
    make_store(tmp_path, attempts(5))
    app.run()
    assert key(app) != seen
    bits = np.zeros(30, np.bool_)
    bits[[1, 2]] = True
    tell(app, "map_points", "selected", {"points": seen, "mask": mask_text(bits), "mode": "replace", "how": "box"})
    assert app.session_state["selection"].ids == (ids[1], ids[2])
    assert app.session_state["selection"].origin == "box on the map"


def test_an_address_that_names_no_experience_says_so_beside_the_map(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, kinds(30))
    app = dashboard(tmp_path, "map", id="no-such-id")
    assert app.warning[0].value == "This experience is not in the store. It may have been deleted since."
    assert layer(app, "map_marks")["opened"] is None
    assert_no_problem(app)


def test_a_hover_is_answered_with_text(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, [*kinds(30), attempt(HOSTILE, success=False)])
    app = dashboard(tmp_path, "map")
    tell(app, "map_talk", "hovered", {"points": key(app), "point": 30})
    assert layer(app, "map_talk")["lines"][:2] == [HOSTILE, "✗ failed"]


def test_the_view_is_given_back_after_another_page(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, kinds(30))
    app = dashboard(tmp_path, "map")
    tell(app, "map_talk", "viewed", {"x": 0.5, "y": 0.25, "scale": 900, "tool": "lasso"})
    app.switch_page("pages/experiences.py").run()
    app.switch_page("pages/map.py").run()
    assert layer(app, "map_marks")["start"] == {"x": 0.5, "y": 0.25, "scale": 900, "tool": "lasso"}


def test_the_scope_dims_what_it_leaves_out_and_marks_what_is_found(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, kinds(30))
    app = dashboard(tmp_path, "map", scope_outcomes="failed")
    assert marked(app, "shown") == list(range(1, 30, 3))
    app = dashboard(tmp_path, "map", scope_text="cron", scope_by="Words")
    marks = layer(app, "map_marks")
    assert marks["shown"] is None
    assert sorted(marks["hits"]) == list(range(2, 30, 3))


def test_a_question_that_is_asked_on_the_map_is_the_scopes_and_its_hits_stand_beside(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, kinds(30))
    app = dashboard(tmp_path, "map", scope_by="Words")
    app.session_state["map_domain"] = domain_numbers(app)[0]
    app.run()
    tell(app, "map_points", "asked", {"text": "cron"})
    assert "**Found, best first**" in [each.value for each in app.markdown]
    assert app.session_state["map_domain"] is None, "what is found takes the place of the open domain"
    assert app.query_params["scope_text"] == "cron"
    marks = layer(app, "map_marks")
    assert marks["asked"] == "cron"
    assert list(table(app)["rank"]) == [str(rank) for rank in range(1, len(marks["hits"]) + 1)]
    tell(app, "map_points", "asked", {"text": ""})
    assert layer(app, "map_marks")["hits"] == []
    assert_no_problem(app)


def test_colours_change_without_the_points_being_sent_anew(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, kinds(30))
    app = dashboard(tmp_path, "map")
    before = parts(app)["map_points"].bytes
    assert [entry["name"] for entry in layer(app, "map_colours")["entries"]] == ["Weak domains", "Other domains"]
    app.selectbox(key="map_colour_by").set_value("Outcome").run()
    assert parts(app)["map_points"].bytes == before
    assert [entry["name"] for entry in layer(app, "map_colours")["entries"]] == ["succeeded", "failed", "unknown"]


def test_a_domain_is_looked_at_selected_and_renamed(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, kinds(60))
    app = dashboard(tmp_path, "map")
    app.session_state["map_domain"] = worst = domain_numbers(app)[0]
    app.run()
    assert any("20 of 20 experiences with a known outcome" in element.value for element in app.caption)
    assert "**:red[0% succeeded]**" in [element.value for element in app.markdown]
    app.button(key="map_domain_select").click().run()
    assert len(app.session_state["selection"].ids) == 20
    assert app.session_state["selection"].origin == "domain on the map"
    (name,) = (box for box in app.text_input if str(box.key).startswith(f"map_name_{worst}"))
    name.set_value("Databases").run()
    app.button(key="map_domain_close").click().run()
    assert domains(app)["name"].iloc[0] == "Databases"
    touch_table(app, "opened", str(worst))
    assert app.session_state["map_domain"] == worst
    assert layer(app, "map_marks")["focus"]["turn"] == 1
    assert "Databases" in [label["name"] for label in layer(app, "map_colours")["labels"]]
    assert_no_problem(app)


def test_the_page_stays_as_it_is_while_a_person_may_be_typing_beside_the_map(dashboard: Dashboard, tmp_path):
    (first, *_) = make_store(tmp_path, kinds(60))
    app = dashboard(tmp_path, "map")
    assert app.session_state["live_refreshing"]
    app.session_state["map_domain"] = domain_numbers(app)[0]
    assert not app.run().session_state["live_refreshing"]
    (box,) = (box for box in app.text_input if str(box.key).startswith("map_name_"))
    make_store(tmp_path, kinds(63)[60:])
    app.run()
    assert box.id in [after.id for after in app.text_input]
    assert not dashboard(tmp_path, "map", id=first).session_state["live_refreshing"]


def test_domains_of_another_smallest_size_are_found_at_once(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, kinds(90))
    app = dashboard(tmp_path, "map")
    slider = app.select_slider(key="map_size_chosen")
    before = layer(app, "map_points")["xy"].tolist()
    slider.set_value(slider.options[-1] if slider.value != slider.options[-1] else slider.options[0]).run()
    assert layer(app, "map_points")["xy"].tolist() == before
    assert_no_problem(app)


def test_a_browser_without_webgl_gets_a_chart(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, kinds(30))
    app = dashboard(tmp_path, "map")
    tell(app, "map_points", "unsupported", {"webgl2": False})
    assert "map_points" not in parts(app)
    assert any("no WebGL2" in element.value for element in app.caption)
    app = dashboard(tmp_path, "map", map_renderer="plotly")
    assert not any(name.startswith("map_") for name in parts(app))
    assert_no_problem(app)


def test_a_refit_is_suggested_once_much_was_placed(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, kinds(30))
    app = dashboard(tmp_path, "map")
    assert not any("came after the map was made" in element.value for element in app.caption)
    make_store(tmp_path, attempts(10))
    app.run()
    assert any("came after the map was made" in element.value for element in app.caption)


def test_a_person_chooses_which_umap_draws_a_new_map(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, kinds(30))
    chosen = dashboard(tmp_path, "map").selectbox(key="map_engine")
    assert chosen.options == ["UMAP (built in)", "UMAP (umap-learn)"]
    assert chosen.value == "umap"


@pytest.mark.slow  # umap-learn compiles itself for more than a minute
def test_umap_learn_draws_a_new_map_where_a_person_chooses_it(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, kinds(30))
    app = dashboard(tmp_path, "map")
    before = layer(app, "map_points")["xy"].tolist()
    app.selectbox(key="map_engine").set_value("umap-learn").run()
    app.button(key="map_refit").click().run()
    wait_for_the_map(app)
    made = MapFile(tmp_path / "cache", COLLECTION).load()
    assert (made.recipe.engine, len(made.ids)) == ("umap-learn", 30)
    assert "umap-learn" in made.recipe.versions
    assert layer(app, "map_points")["xy"].tolist() != before
    assert any("UMAP (umap-learn)" in element.value for element in app.caption)
    assert app.selectbox(key="map_engine").value == "umap-learn"
    assert_no_problem(app)


def wait_for_the_map(app: AppTest) -> None:
    """Run the page until the worker has made the map that was asked for, and once more: it may end during a run."""
    deadline = time.monotonic() + MAP_SECONDS
    while any(button.key == "map_refit_cancel" for button in app.run().button):
        assert time.monotonic() < deadline, "the map is not made"
    app.run()


def test_a_map_that_was_made_elsewhere_is_shown_at_the_next_run(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, kinds(30))
    app = dashboard(tmp_path, "map")
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(384, "all-MiniLM-L6-v2")) as memory:
        made = make_map(read_embedded(memory.storage, COLLECTION), engine="pca")
    MapFile(tmp_path / "cache", COLLECTION).save(made)
    app.run()
    assert np.allclose(layer(app, "map_points")["xy"], spread_map(made).coordinates.ravel())


def parts(app: AppTest) -> dict[str, BidiComponent]:
    """The components of the map, by their names."""
    protos = [element.proto for element in app.main if element.type == "bidi_component"]
    return {proto.component_name: proto for proto in protos if proto.component_name != "palette"}


def layer(app: AppTest, name: str) -> dict[str, Any]:
    """What a component of the map was given."""
    packet = parts(app)[name].bytes
    (length,) = struct.unpack_from("<I", packet)
    found: dict[str, Any] = json.loads(packet[4 : 4 + length])
    kinds = {"f4": np.float32, "u2": np.uint16, "u1": np.uint8}
    arrays = {name: np.frombuffer(packet, kinds[kind], n, start) for name, kind, start, n in found.pop("arrays")}
    return found | arrays


def domains(app: AppTest) -> Any:
    """The table of the domains, which stands below what is said of a selection."""
    return next(frame for frame in map(partial(table, app), range(tables(app))) if {"name", "rate"} <= {*frame})


def key(app: AppTest) -> str:
    return str(layer(app, "map_points")["key"])


def marked(app: AppTest, mask: str) -> list[int]:
    """The points that are in a mask."""
    from atlas.views.map.packets import mask_bits

    return [int(i) for i in np.flatnonzero(mask_bits(layer(app, "map_marks")[mask], layer(app, "map_points")["n"]))]


def lasso(app: AppTest, points: list[int], mode: str = "replace") -> None:
    """Draw a lasso around points."""
    bits = np.zeros(layer(app, "map_points")["n"], np.bool_)
    bits[points] = True
    tell(app, "map_points", "selected", {"points": key(app), "mask": mask_text(bits), "mode": mode, "how": "lasso"})


def tell(app: AppTest, name: str, event: str, value: object) -> None:
    """What the browser would tell of a component, in the form in which it does."""
    states = app._tree.get_widget_states()
    state = states.widgets.add()
    state.id = f"$$STREAMLIT_INTERNAL_KEY_{parts(app)[name].id}__events"
    state.json_trigger_value = json.dumps([{"event": event, "value": value}])
    app._run(states)
