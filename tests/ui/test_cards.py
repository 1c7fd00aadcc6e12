"""What a search found as cards, the card of what is open, and one row for each task."""

from __future__ import annotations

import pytest

import atlas
from tests.support.dashboard import Dashboard, caption, cards, table, tables, tasks, text_of, touch_table
from tests.support.records import attempt, attempts
from tests.support.stores import make_store


def test_a_search_is_a_table_until_cards_are_asked_for(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, [attempt("Peel the turnips", success=False), attempt("Boil an egg", task_id="egg")])
    app = dashboard(tmp_path, "experiences", scope_by="Words", scope_text="turnip")
    assert tasks(app) == ["Peel the turnips"]
    assert cards(app) == []
    app.segmented_control(key="experiences_form").set_value("Cards").run()
    assert not tables(app)
    (card,) = cards(app)
    assert card["badge"] == {"text": "✗ failed", "colour": "red"}
    assert card["pieces"] == [["Peel the ", False], ["turnips", True]]
    assert card["bar"] is None


def test_a_list_without_a_question_has_no_cards(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(3))
    app = dashboard(tmp_path, "experiences", experiences_form="Cards")
    assert len(tasks(app)) == 3
    assert cards(app) == []


def test_cards_are_paged_as_the_table_is(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(60))
    app = dashboard(tmp_path, "experiences", scope_by="Words", scope_text="report", experiences_page="3")
    listed = tasks(app)
    app.segmented_control(key="experiences_form").set_value("Cards").run()
    assert [text_of(card) for card in cards(app)] == listed
    app.pagination(key="experiences_page").set_value(1).run()
    assert len(cards(app)) == 25


def test_a_card_opens_what_it_stands_for_beside_the_cards(dashboard: Dashboard, tmp_path):
    egg, milk = make_store(tmp_path, [attempt("Boil an egg"), attempt("Boil some milk", task_id="milk")])
    app = dashboard(tmp_path, "experiences", scope_by="Words", scope_text="boil egg", experiences_form="Cards")
    app.button(key=f"experiences_card_{milk}_open").click().run()
    assert app.query_params["id"] == milk
    assert [text_of(card) for card in cards(app)] == ["Boil an egg", "Boil some milk", "Boil some milk"]
    assert "Why it is here" in [element.value for element in app.caption]
    keys = {str(button.key) for button in app.button}
    assert f"experiences_card_{egg}_open" in keys
    assert f"experiences_card_{milk}_open" not in keys


def test_cards_and_table_share_the_selection(dashboard: Dashboard, tmp_path):
    egg, milk = make_store(tmp_path, [attempt("Boil an egg"), attempt("Boil some milk", task_id="milk")])
    app = dashboard(tmp_path, "experiences", scope_by="Words", scope_text="boil", experiences_form="Cards")
    app.checkbox(key=f"experiences_card_{milk}_select").check().run()
    assert app.session_state["selection"].ids == (milk,)
    app.button(key="experiences_all").click().run()
    assert app.checkbox(key=f"experiences_card_{egg}_select").value
    app.checkbox(key=f"experiences_card_{milk}_select").uncheck().run()
    assert app.session_state["selection"].ids == (egg,)
    app.segmented_control(key="experiences_form").set_value("Table").run()
    assert app.session_state["selection"].ids == (egg,)


def test_what_is_open_and_not_found_is_not_in_the_list(dashboard: Dashboard, tmp_path):
    _, milk = make_store(tmp_path, [attempt("Boil an egg"), attempt("Heat some milk", task_id="milk")])
    app = dashboard(tmp_path, "experiences", scope_by="Words", scope_text="egg", id=milk)
    assert "Not in this list" in [element.value for element in app.caption]
    assert cards(app) == []


def test_without_a_question_nothing_says_why_it_is_here(dashboard: Dashboard, tmp_path):
    (egg,) = make_store(tmp_path, [attempt("Boil an egg")])
    app = dashboard(tmp_path, "experiences", id=egg)
    assert cards(app) == []
    assert not any("Why" in element.value or "search lists" in element.value for element in app.caption)


@pytest.fixture
def kitchen(tmp_path):
    """A store with the embedding model of the dashboard, in which one task was tried four times."""
    eggs = [attempt("Boil an egg for breakfast", task_id="egg", success=n != 2, agent=str(n)) for n in range(4)]
    milk = attempt("Heat the milk for breakfast", task_id="milk")
    with atlas.open_memory(tmp_path, settings=atlas.Settings(embedding_model="all-MiniLM-L6-v2")) as memory:
        memory.experience.store_many([*eggs, milk])
    return tmp_path


def test_one_per_task_tells_how_all_of_its_attempts_went(dashboard: Dashboard, kitchen):
    app = dashboard(kitchen, "experiences", scope_text="boil an egg for breakfast", experiences_distinct="false")
    assert len(tasks(app)) == 5
    app.toggle(key="experiences_distinct").set_value(True).run()
    assert caption(app) == "5 of 5 experiences are relevant, shown as 2, best first"
    assert [list(labels) for labels in table(app)["outcomes"]] == [["✓ 3 succeeded", "✗ 1 failed"], ["✓ succeeded"]]
    assert "experiences_all" not in {button.key for button in app.button}
    touch_table(app, "chosen", {"ids": [table(app)["id"][0]], "isChosen": True})
    assert app.button(key="experiences_all").label == "Select all 2 experiences"
    asked = {"scope_text": "boil an egg for breakfast", "experiences_form": "Cards"}
    app = dashboard(kitchen, "experiences", **asked)
    assert [card["attempts"] for card in cards(app)] == ["4 attempts: 3 succeeded, 1 failed", ""]


def test_what_is_open_says_why_it_is_here(dashboard: Dashboard, kitchen):
    app = dashboard(kitchen, "experiences", scope_text="boiling eggs")
    row = table(app).iloc[0]
    app.query_params["id"] = row["id"]
    app.run()
    (card,) = cards(app)
    assert [text for text, is_match in card["pieces"] if is_match] == ["Boil", "egg"]
    assert card["title"] == ""
    assert card["relevance"] == f"{row['relevance']:.2f}"
    assert card["sentence"] == row["why"] + " Words that met: eggs ↔ egg, boiling ↔ Boil."
    values = [float(segment["value"].replace("−", "-")) for segment in card["bar"]["segments"]]
    assert sum(values) == pytest.approx(float(card["bar"]["total"]), abs=0.003)


def test_a_nonsense_question_is_told_so(dashboard: Dashboard, kitchen):
    app = dashboard(
        kitchen, "experiences", scope_text="qqq zzz xyzzy", experiences_form="Cards", experiences_distinct="false"
    )
    assert caption(app) == "Nothing relevant among 5 experiences, 5 not shown"
    assert cards(app) == []
    assert not tables(app)
