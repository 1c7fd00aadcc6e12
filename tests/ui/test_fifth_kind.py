"""The page of a kind that the library lacks, drawn by its description: listed, opened, edited, selected and undone."""

from __future__ import annotations

import pytest
from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.testing.v1 import AppTest

from tests.support.dashboard import assert_no_problem, box, said, selecting, table, undo_button
from tests.support.recipes import Recipe, recipe_book, register
from tests.support.waiting import GIVE_UP_SECONDS

SOUP = Recipe(text="boil the soup", cuisine="french", minutes=40)
PASTA = Recipe(text="boil the pasta", cuisine="italian", minutes=10)


def draw() -> None:
    """Draw the page and the tray, as the router does."""
    from pages.components.lists.kind_page import draw_page
    from pages.components.shared.snapshot import drawn_from, take_snapshot
    from pages.components.shared.tray import draw_tray
    from pages.components.shared.undo_toast import draw_act
    from pages.frame.address import begin_address, end_address
    from tests.support.recipes import PAGE

    begin_address()
    snapshot = take_snapshot()
    with drawn_from(snapshot):
        draw_act(snapshot.memory)
        draw_page(PAGE)
        draw_tray(snapshot.memory, "recipes", {"recipes": PAGE})
    end_address()


@pytest.fixture
def page(monkeypatch, tmp_path, memory) -> AppTest:
    """The page over a store with two recipes."""
    register(monkeypatch)
    monkeypatch.setenv("ATLAS_STORE", str(tmp_path))
    recipe_book(memory).add([SOUP, PASTA])
    app = AppTest.from_function(draw, default_timeout=GIVE_UP_SECONDS)
    app._bidi_component_manager = BidiComponentManager()
    return app


def rows(app: AppTest) -> list[str]:
    return list(table(app)["text"])


def test_it_is_listed_and_narrowed(page):
    app = page.run()
    assert app.title[0].value == "Recipes"
    assert rows(app) == [PASTA.text, SOUP.text]
    app.multiselect(key="recipes_cuisine").select("french").run()
    assert rows(app) == [SOUP.text]
    assert "1 of 2 recipes" in said(app)
    assert_no_problem(app)


def test_its_boxes_keep_their_room_above_the_record_that_is_open(page):
    page.query_params["id"] = SOUP.id
    app = page.run()
    assert len(app.columns) == 2
    assert [box.key for column in app.columns for box in column.text_input] == []
    assert app.text_input(key="recipes_text").label == "Search"
    assert_no_problem(app)


def test_it_is_opened_edited_and_the_edit_is_undone(page, memory):
    page.query_params["id"] = SOUP.id
    app = page.run()
    box(app, "recipe", "minutes").set_value(45)
    app.button(key="recipe_edit_save").click().run()
    assert recipe_book(memory).get(SOUP.id).minutes == 45
    undo_button(app).click().run()
    assert recipe_book(memory).get(SOUP.id) == SOUP
    assert_no_problem(app)


def test_it_is_selected_exported_and_deleted(page, memory):
    app = selecting("recipes", page.run(), SOUP.id)
    assert app.button(key="tray_delete").label == "Delete …"
    assert [node.label for node in app.get("download_button") if "Export" in node.label] == ["Export"]
    app.button(key="tray_delete").click().run()
    app.text_input(key="plan_count").set_value("1").run()
    app.button(key="plan_apply").click().run()
    assert "Deleted 1 recipe" in said(app)
    assert rows(app) == [PASTA.text]
    undo_button(app).click().run()
    assert rows(app) == [PASTA.text, SOUP.text]
    assert_no_problem(app)


def test_found_ones_are_cards_and_the_panel_says_why(page):
    page.query_params.update({"id": PASTA.id, "recipes_text": "boil the pasta"})
    app = page.run()
    assert "Why it is here" in said(app)
    app.segmented_control(key="recipes_form").set_value("Cards").run()
    assert app.checkbox(key=f"recipes_card_{PASTA.id}_select").label == "Select"
    assert_no_problem(app)
