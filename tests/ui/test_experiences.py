"""What the experiences page shows for what it is asked."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

import atlas
from tests.ui.conftest import Dashboard
from tests.ui.stores import attempt, attempts, make_store


def test_the_list_is_sorted_and_paged_by_the_store(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(60))
    app = dashboard(tmp_path, "experiences")
    assert caption(app) == "60 experiences · 50 % succeeded (n = 40 with a known outcome)"
    assert tasks(app)[0].startswith("Task 59")
    assert len(tasks(app)) == 25
    app.pagination(key="experiences_page").set_value(3).run()
    assert [task.split(":")[0] for task in tasks(app)] == [f"Task {number}" for number in range(9, -1, -1)]
    app.selectbox(key="experiences_order").select("Oldest first").run()
    assert tasks(app)[0].startswith("Task 0")


def test_filters_narrow_the_list_and_begin_it_anew(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(60))
    app = dashboard(tmp_path, "experiences", experiences_page="2")
    app.multiselect(key="experiences_outcomes").select("failed").run()
    app.multiselect(key="experiences_sources").select("south").run()
    assert caption(app) == "10 of 60 experiences · 0 % succeeded (n = 10 with a known outcome)"
    assert set(table(app)["outcome"]) == {"✗ failed"}
    assert set(table(app)["source"]) == {"south"}


def test_filters_offer_what_the_store_holds(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(2))
    app = dashboard(tmp_path, "experiences")
    assert app.multiselect(key="experiences_outcomes").options == ["succeeded", "failed"]
    assert app.multiselect(key="experiences_sources").options == ["north", "south"]


def test_words_are_searched_among_what_passes_the_filters(dashboard: Dashboard, tmp_path):
    make_store(
        tmp_path, [attempt("Peel the turnip"), attempt("Boil the turnip", success=False), attempt("Boil an egg")]
    )
    app = dashboard(tmp_path, "experiences", experiences_by="Words", experiences_text="turnip")
    assert sorted(tasks(app)) == ["Boil the turnip", "Peel the turnip"]
    app.multiselect(key="experiences_outcomes").select("failed").run()
    assert tasks(app) == ["Boil the turnip"]
    app.text_input(key="experiences_text").set_value("parsnip").run()
    assert caption(app) == "Nothing found among 1 experience left by the filters"
    assert not app.dataframe


def test_an_opened_experience_is_shown_in_full(dashboard: Dashboard, tmp_path):
    steps = (atlas.Step(thought="Look first", action='{"open": "door"}', observation="It is locked"),)
    solution = "def unlock(door):\n    return door.turn(key)"
    given = {"steps": steps, "solution": solution, "feedback": "Well done", "agent": "smith", "source": "north"}
    opened, other = make_store(
        tmp_path, [attempt("Unlock the door", **given, context={"key": "brass"}), attempt("Unlock the gate")]
    )
    app = dashboard(tmp_path, "experiences", id=opened)
    texts = [element.value for element in app.text]
    assert {"Unlock the door", "✓ succeeded", "smith", "north", "2026-03-01 09:30 UTC", "Look first", "Well done"} <= {
        *texts
    }
    codes = {element.value: element.language for element in app.code}
    assert codes['{"open": "door"}'] == "json"
    assert codes[solution] == "python"
    assert codes["It is locked"] == "plaintext"
    assert codes['{"key": "brass"}'] == "json"
    assert list(app.dataframe[1].value["id"]) == [other]


def test_marks_and_usage_are_shown_once_there_are_any(dashboard: Dashboard, tmp_path):
    (opened,) = make_store(tmp_path, [attempt()])
    with atlas.open_memory(tmp_path, settings=atlas.Settings()) as memory:
        memory.experience.mark({opened: atlas.Marks(tags=("red", "blue"), pinned=True, note="keep this")})
        memory.experience.record_use(opened, success=True)
    texts = {element.value for element in dashboard(tmp_path, "experiences", id=opened).text}
    assert {"red, blue", "yes, so it is never pruned", "keep this", "for 1 task, 1 of them succeeded"} <= texts


def test_many_steps_come_a_page_at_a_time(dashboard: Dashboard, tmp_path):
    (opened,) = make_store(tmp_path, [attempt(steps=tuple(atlas.Step(action=f"act {n}") for n in range(1, 401)))])
    app = dashboard(tmp_path, "experiences", id=opened)
    assert shown_actions(app) == [f"act {n}" for n in range(1, 21)]
    app.pagination(key=f"experience_steps_{opened}").set_value(20).run()
    assert shown_actions(app) == [f"act {n}" for n in range(381, 401)]


def test_a_long_text_shows_its_beginning_and_offers_the_whole(dashboard: Dashboard, tmp_path):
    long = "x" * 2**20
    (opened,) = make_store(tmp_path, [attempt(steps=(atlas.Step(observation=long),))])
    app = dashboard(tmp_path, "experiences", id=opened)
    assert long[:20_000] in [element.value for element in app.code]
    (offer,) = (toggle for toggle in app.toggle if "Observation" in str(toggle.key))
    assert offer.label == "Show all 1,048,576 characters"
    offer.set_value(True).run()
    assert long in [element.value for element in app.code]


def test_an_experience_that_is_gone_says_so_beside_the_list(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(3))
    app = dashboard(tmp_path, "experiences", id="no-such-id")
    assert app.warning[0].value == "This experience is not in the store. It may have been deleted since."
    assert len(tasks(app)) == 3
    app.button(key="experience_close").click().run()
    assert not app.warning
    assert "id" not in app.query_params


def caption(app: AppTest) -> str:
    """What the page says above its list, without the invitation to click."""
    said = next(element.value for element in app.caption if " experience" in element.value)
    return str(said.removesuffix(". Click one to open it."))


def table(app: AppTest):
    """The list."""
    return app.dataframe[0].value


def tasks(app: AppTest) -> list[str]:
    """The tasks of the list, from the top."""
    return list(table(app)["task"])


def shown_actions(app: AppTest) -> list[str]:
    """The actions of the steps on the page; the last one is the solution as well."""
    return [element.value for element in app.code if element.value.startswith("act ")][:20]
