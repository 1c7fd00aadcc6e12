"""The tray: what is selected, and acting on exactly that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import atlas
from atlas.views.experience.proposals import PruneRequest
from pages.components.lists.selection import Selection
from pages.components.shared import plans
from tests.support.dashboard import Dashboard, drawn_by, plan_tables, said, tables, touch_table, undo_button
from tests.support.records import attempt, attempts
from tests.support.stores import copied, make_store, opened_store


@pytest.fixture(scope="module")
def forty_attempts(tmp_path_factory) -> Path:
    """A store whose level is measured, as each plan would measure it otherwise."""
    place = tmp_path_factory.mktemp("forty")
    make_store(place, attempts(40))
    with opened_store(place) as memory:
        memory.experience.calibrate()
    return place


@pytest.fixture
def memory(forty_attempts, tmp_path) -> Iterator[atlas.MemorySystem]:
    """Forty attempts, beside the dashboard's own view of them."""
    with opened_store(copied(forty_attempts, tmp_path)) as opened:
        yield opened


def selecting(app: AppTest, *ids: str) -> AppTest:
    """The page with a selection."""
    app.session_state["selection"] = Selection(tuple(ids), "lasso on the map", 1)
    return app.run()


def test_it_is_shown_on_every_page_while_something_is_selected(dashboard: Dashboard, tmp_path, memory):
    ids = memory.experience.ids()[:3]
    for page in ("overview", "experiences", "curate", "history"):
        app = selecting(dashboard(tmp_path, page), *ids)
        assert "3 selected from lasso on the map" in said(app)
        assert "50% of" in said(app)
        app.button(key="tray_clear").click().run()
        assert "selected from" not in said(app)


def test_it_says_what_is_gone_and_acts_on_the_rest(dashboard: Dashboard, tmp_path, memory):
    first, second, third, *_ = memory.experience.ids()
    app = dashboard(tmp_path, "history")
    memory.experience.delete([first])
    selecting(app, first, second, third)
    assert "2 still there, 1 gone since" in said(app)
    app.button(key="tray_pin").click().run()
    assert memory.experience.ids({"marks.pinned": True}) == [second, third]


@pytest.mark.parametrize(
    ("acts", "back", "mark"),
    [(["tray_pin"], "Unpin", "marks.pinned"), (["tray_retire", "plan_apply"], "Bring back", "marks.buried")],
)
def test_marks_are_one_operation_that_can_be_undone(dashboard: Dashboard, tmp_path, memory, acts, back, mark):
    ids = memory.experience.ids()[:3]
    app = selecting(dashboard(tmp_path, "history"), *ids)
    for act in acts:
        app.button(key=act).click().run()
    assert memory.experience.ids({mark: True}) == ids
    assert app.button(key=acts[0]).label == back
    assert dict(memory.history(1)[0].counts) == {"marked": 3}
    undo_button(app).click().run()
    assert memory.experience.count({mark: True}) == 0


def test_tags_are_added_to_and_taken_from_all(dashboard: Dashboard, tmp_path, memory):
    ids = memory.experience.ids()[:3]
    memory.experience.change_marks(ids[:1], add_tags=["old"])
    app = selecting(dashboard(tmp_path, "history"), *ids)
    app.multiselect(key="tray_tags").set_value(["old"]).run()
    app.button(key="tray_tag_add").click().run()
    assert memory.experience.ids({"marks.tags": "old"}) == ids
    app.multiselect(key="tray_tags").set_value(["old"]).run()
    app.button(key="tray_tag_remove").click().run()
    assert memory.experience.count({"marks.tags": "old"}) == 0


def test_deleting_takes_what_was_chosen_and_nothing_else(dashboard: Dashboard, tmp_path, memory):
    before = memory.experience.ids()
    app = selecting(dashboard(tmp_path, "experiences"), before[3], before[5])
    app.button(key="tray_delete").click().run()
    assert "That is 5% of the 40 experiences." in said(app)
    assert memory.experience.ids() == before
    app.button(key="plan_apply").click().run()
    assert memory.experience.ids() == [record_id for record_id in before if record_id not in (before[3], before[5])]
    assert "Deleted 2 experiences" in said(app)
    assert "selected from" not in said(app)
    undo_button(app).click().run()
    assert memory.experience.ids() == before


def test_a_plan_that_was_put_away_does_nothing(dashboard: Dashboard, tmp_path, memory):
    ids = memory.experience.ids()
    app = selecting(dashboard(tmp_path, "history"), *ids[:2])
    app.button(key="tray_delete").click().run()
    app.button(key="plan_cancel").click().run()
    assert [button for button in app.button if button.key == "plan_apply"] == []
    assert memory.experience.ids() == ids


def test_what_would_be_deleted_can_be_retired_instead(dashboard: Dashboard, tmp_path, memory):
    ids = memory.experience.ids()
    app = selecting(dashboard(tmp_path, "history"), *ids[:2])
    app.button(key="tray_delete").click().run()
    app.button(key="plan_retire").click().run()
    app.button(key="plan_apply").click().run()
    assert memory.experience.ids() == ids
    assert {*memory.experience.ids({"marks.buried": True})} == {*ids[:2]}
    app = selecting(dashboard(tmp_path, "history"), *ids[:2])
    app.button(key="tray_delete").click().run()
    app.button(key="plan_retire").click().run()
    assert [button for button in app.button if button.key == "plan_apply"] == []  # they are retired already


def test_much_goes_only_after_its_count_was_typed(dashboard: Dashboard, tmp_path, memory):
    ids = memory.experience.ids()
    app = selecting(dashboard(tmp_path, "history"), *ids[:10])
    app.button(key="tray_delete").click().run()
    assert app.button(key="plan_apply").disabled
    app.text_input(key="plan_count").set_value("9").run()
    assert app.button(key="plan_apply").disabled
    app.text_input(key="plan_count").set_value("10").run()
    app.button(key="plan_apply").click().run()
    assert memory.experience.ids() == ids[10:]


def test_a_plan_that_no_longer_holds_is_told_and_can_be_made_anew(dashboard: Dashboard, tmp_path, memory):
    first, second, *rest = memory.experience.ids()
    app = selecting(dashboard(tmp_path, "history"), first, second)
    app.button(key="tray_delete").click().run()
    memory.experience.edit(first, feedback="changed meanwhile")
    app.button(key="plan_apply").click().run()
    assert "Nothing was done." in said(app)
    assert len(memory.experience) == 40
    app.button(key="plan_anew").click().run()
    app.button(key="plan_apply").click().run()
    assert memory.experience.ids() == rest


def test_what_tasks_need_is_unticked_and_goes_once_it_is_ticked(dashboard: Dashboard, tmp_path, memory):
    alike = memory.experience.store_many(
        [attempt("Water the garden", success=n == 0, agent=f"agent {n}") for n in range(3)]
    )
    app = selecting(dashboard(tmp_path, "history"), *alike)
    app.button(key="tray_delete").click().run()
    assert "That is 5% of the 43 experiences." in said(app)
    assert "1 of the 3 you chose stays: it is the best record of 1 task." in said(app)
    assert "Delete 2 failed experiences" in [element.value for element in app.subheader]
    assert ":green[:material/check:] No task loses its best record" in said(app)
    (effect,) = [drawn["rows"] for drawn in drawn_by(app, "records") if drawn["label"] == "What changes"]
    assert [effect[0][name] for name in ("name", "experiences", "rate", "rate_afterwards")] == [
        "All", "43 → 41", "50% of 30 (likely 33–67%)", "54% of 28 (likely 36–71%)",
    ]  # fmt: skip
    (rows,) = plan_tables(app)
    assert (rows["id"][0], list(rows["facts"][0])) == (alike[0], ["stays: best for 1 task"])
    assert (app.button(key="plan_apply").label, bool(app.button(key="plan_apply").proto.shortcut)) == (
        "Delete 2 experiences", True,
    )  # fmt: skip
    touch_table(app, "chosen", {"ids": [alike[0]], "isChosen": True}, tables(app) - 1)
    assert "1 of 1 task loses its best record" in said(app)
    assert app.button(key="plan_apply").label == "Delete 3 experiences"
    assert not app.button(key="plan_apply").proto.shortcut
    assert "No shortcut while a task loses its best record." in said(app)
    assert "Delete 3 experiences: 1 succeeded, 2 failed" in [element.value for element in app.subheader]
    touch_table(app, "chosen", {"ids": [alike[0], alike[2]], "isChosen": False}, tables(app) - 1)
    assert "That is 2% of the 43 experiences." in said(app)
    assert "1 of the 3 you chose stays: you unticked it." in said(app)
    app.button(key="plan_apply").click().run()
    assert set(alike) & set(memory.experience.ids()) == {alike[0], alike[2]}


def test_a_second_tick_before_the_table_is_redrawn_keeps_the_first(memory, monkeypatch):
    ids, drawn = memory.experience.ids()[:3], []
    monkeypatch.setattr(st, "session_state", {})
    monkeypatch.setattr(plans, "ticked_table", lambda *_, on_ticked, **__: drawn.append(on_ticked))
    plans.propose(memory, PruneRequest(among=tuple(ids)))
    plans._draw_rows(memory, st.session_state["plan_shown"])
    [on_ticked] = drawn
    on_ticked(ids[:1], False)
    on_ticked(ids[1:2], False)
    assert st.session_state["plan_shown"].offer.kept == {*ids[:2]}
    assert st.session_state["plan_shown"].offer.plan.removed_ids == (ids[2],)


def test_a_pinned_one_is_saved_and_says_so(dashboard: Dashboard, tmp_path, memory):
    first, second, *_ = memory.experience.ids()
    memory.experience.change_marks([first], pinned=True)
    app = selecting(dashboard(tmp_path, "history"), first, second)
    app.button(key="tray_delete").click().run()
    assert "That is 3% of the 40 experiences. 1 more is protected." in said(app)
    going, saved = plan_tables(app)
    assert ["it is pinned" in why for why in saved["why"]] == [True]
    rows = {row["id"]: row["outcomes"] for found in (going, saved) for row in found.to_dict("records")}
    assert rows == {first: ["✓ succeeded"], second: ["✗ failed"]}


def test_two_to_four_are_compared_side_by_side_as_text(dashboard: Dashboard, tmp_path, memory):
    hostile = "<script>hostile</script> $$hostile$$"
    (other,) = memory.experience.store_many([attempt(hostile, feedback=hostile, solution=hostile)])
    app = selecting(dashboard(tmp_path, "history"), other, memory.experience.ids()[0])
    assert app.button(key="tray_show").label == "Compare"
    app.button(key="tray_show").click().run()
    assert not app.exception
    assert [element.value for element in app.text].count(hostile) == 2
    assert hostile in [element.value for element in app.code]
    assert "hostile" not in "".join(element.value for element in (*app.markdown, *app.caption))


def test_many_are_listed(dashboard: Dashboard, tmp_path, memory):
    app = selecting(dashboard(tmp_path, "history"), *memory.experience.ids()[:7])
    app.button(key="tray_show").click().run()
    assert len(app.dataframe[-1].value) == 7


def test_a_read_only_store_offers_looking_and_exporting_only(dashboard: Dashboard, tmp_path, memory):
    app = selecting(dashboard(tmp_path, "experiences", read_only=True), *memory.experience.ids()[:3])
    for act in ("pin", "retire", "merge", "delete"):
        assert app.button(key=f"tray_{act}").disabled
        assert (
            app.button(key=f"tray_{act}").help
            == "Nothing can be changed here: the store is open for reading only, or you are a viewer."
        )
    assert not app.button(key="tray_show").disabled
    assert not app.download_button(key="tray_export").disabled
