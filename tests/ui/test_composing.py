"""Composing the concepts that are selected; and primitives: loading them, and running their examples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from atlas.memory.concepts.primitives import mark_shipped
from atlas.primitives.arc.loader import ARCPrimitiveLoader
from atlas.primitives.swe.loader import SWEPrimitiveLoader
from pages.components.lists.selection import Selection
from tests.support.dashboard import Dashboard, assert_no_problem, said, shown_code, undo_button
from tests.support.records import concept
from tests.support.stores import make_library, make_store, opened_store

HALVE = "def halve(numbers: list[int]) -> list[int]:\n    return [number // 2 for number in numbers]\n"
TOTAL = "def total(numbers: list[int]) -> int:\n    return sum(numbers)\n"
GREET = "def greet(name: str) -> str:\n    return 'Hello ' + name\n"
UNTYPED = "def guess(name):\n    return name\n"


def library(store: Path) -> dict[str, str]:
    """Concepts of which two fit and others do not; their ids by name."""
    codes = {"halve": HALVE, "total": TOTAL, "greet": GREET, "guess": UNTYPED}
    examples = {"halve": (("halve([4, 6])", "[2, 3]"),)}
    ids = make_library(
        store, *(concept(name=name, code=code, examples=examples.get(name, ())) for name, code in codes.items())
    )
    return dict(zip(codes, ids, strict=True))


def select(app: AppTest, ids: Sequence[str]) -> None:
    app.session_state["selection_concepts"] = Selection(tuple(ids), "rows on Concepts", 0)
    app.run()


def names(store: Path) -> set[str]:
    with opened_store(store) as memory:
        return set(memory.concepts.titles(memory.concepts.ids()).values())


def test_two_concepts_that_fit_are_composed_previewed_added_and_taken_back(dashboard: Dashboard, tmp_path):
    ids = library(tmp_path)
    app = dashboard(tmp_path, "concepts")
    select(app, [ids["total"], ids["halve"]])
    app.button(key="tray_compose").click().run()
    assert "return total(halve(numbers))" in shown_code(app)
    assert "halve_then_total([4, 6])" in shown_code(app)
    assert "What its examples returned" in said(app)
    assert "halve_then_total" not in names(tmp_path)
    app.button(key="compose_apply").click().run()
    assert "Added a composed concept" in said(app)
    assert "halve_then_total" in names(tmp_path)
    undo_button(app).click().run()
    assert names(tmp_path) == set(ids)
    assert_no_problem(app)


@pytest.mark.parametrize(
    ("chosen", "why"),
    [
        (("total", "greet"), "There is no order in which these concepts fit."),
        (("total", "guess"), "The return type of guess is not known."),
    ],
)
def test_concepts_that_do_not_fit_say_why(dashboard: Dashboard, tmp_path, chosen, why):
    ids = library(tmp_path)
    app = dashboard(tmp_path, "concepts")
    select(app, [ids[name] for name in chosen])
    app.button(key="tray_compose").click().run()
    assert "These concepts cannot be composed." in said(app)
    assert why in said(app)
    assert "total: takes list[int]; returns int" in said(app)
    app.button(key="compose_close").click().run()
    assert "These concepts cannot be composed." not in said(app)
    assert names(tmp_path) == set(ids)


def test_one_concept_is_not_composed(dashboard: Dashboard, tmp_path):
    ids = library(tmp_path)
    app = dashboard(tmp_path, "concepts")
    select(app, [ids["halve"]])
    assert app.button(key="tray_compose").disabled


def test_a_read_only_library_composes_and_adds_nothing(dashboard: Dashboard, tmp_path):
    ids = library(tmp_path)
    app = dashboard(tmp_path, "concepts", read_only=True)
    select(app, [ids["halve"], ids["total"]])
    app.button(key="tray_compose").click().run()
    assert "return total(halve(numbers))" in shown_code(app)
    assert app.button(key="compose_apply").disabled


def loaders(app: AppTest) -> dict[str, str]:
    return {button.label: str(button.key) for button in app.button if str(button.key).startswith("concepts_load_")}


def added(n: int, domain: str) -> str:
    """The label of the button that adds functions."""
    return f"Add {n} functions for {domain}"


def test_primitives_are_offered_loaded_run_and_taken_back(dashboard: Dashboard, tmp_path):
    make_store(tmp_path)
    app = dashboard(tmp_path, "concepts")
    n_arc, n_swe = len(ARCPrimitiveLoader().load()), len(SWEPrimitiveLoader().load())
    assert list(loaders(app)) == [added(n_arc, "ARC grid puzzles"), added(n_swe, "software engineering")]
    app.button(key=loaders(app)[added(n_arc, "ARC grid puzzles")]).click().run()
    assert f"Added {n_arc} ready-made functions" in said(app)
    assert list(loaders(app)) == [added(n_swe, "software engineering")]
    assert "rotate_90" in names(tmp_path)
    detail = dashboard(tmp_path, "concepts", id="arc_rotate_90")
    detail.button(key="concept_run_arc_rotate_90").click().run()
    assert "examples gave what they should" in said(detail)
    assert "As expected" in said(detail)
    assert "Another result" not in said(detail)
    assert_no_problem(detail)
    undo_button(app).click().run()
    assert names(tmp_path) == set()


def test_an_edited_primitive_is_not_run(dashboard: Dashboard, tmp_path):
    hostile = concept(
        id="arc_rotate_90", name="rotate_90", code="def rotate_90(grid):\n    open('/tmp/pwned', 'w')\n",
        examples=(("rotate_90([[1]])", "[[1]]"),), source="primitive",
    )  # fmt: skip
    make_library(tmp_path, hostile)
    app = dashboard(tmp_path, "concepts", id="arc_rotate_90")
    app.button(key="concept_run_arc_rotate_90").click().run()
    assert "differs from the installed primitive" in said(app)
    assert "As expected" not in said(app)
    assert "Another result" not in said(app)


def test_examples_in_another_language_cannot_be_run(dashboard: Dashboard, tmp_path):
    [one] = make_library(tmp_path, concept(name="halve", language="bash", examples=(("halve 4", "2"),)))
    app = dashboard(tmp_path, "concepts", id=one)
    assert not [button for button in app.button if str(button.key).startswith("concept_run_")]
    assert_no_problem(app)


def test_a_primitive_that_came_newer_is_offered_brought_in_and_taken_back(dashboard: Dashboard, tmp_path):
    code = "def rotate_90(grid):\n    return grid\n"
    make_library(tmp_path, mark_shipped(concept(id="arc_rotate_90", name="rotate_90", code=code, source="primitive")))
    app = dashboard(tmp_path, "concepts")
    (offer,) = (button for button in app.button if str(button.key).startswith("concepts_update_"))
    assert offer.label == "Update 1 function for ARC grid puzzles"
    offer.click().run()
    assert "Updated 1 ready-made function" in said(app)
    assert names(tmp_path) == {"rotate_90"}
    with opened_store(tmp_path) as memory:
        assert memory.concepts.get("arc_rotate_90").code != code
    undo_button(app).click().run()
    assert names(tmp_path) == {"rotate_90"}
    with opened_store(tmp_path) as memory:
        assert memory.concepts.get("arc_rotate_90").code == code
