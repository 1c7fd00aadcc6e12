"""A viewer writes by no widget of any page, though a page that was drawn for somebody else still stands open."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from atlas.infra.actor import Actor, Role
from atlas.jobs.live_map import LiveMap
from atlas.jobs.worker import Worker
from tests.support.dashboard import of_type, page_at
from tests.support.everything import Ids, content, make_everything
from tests.support.repository import REPOSITORY
from tests.support.sample import opened
from tests.support.stores import remove_store
from tests.support.visitors import Become, visiting

VIEWER, ADMIN = Actor("vera", Role.VIEWER), Actor("root", Role.ADMIN)

PAGES = sorted(path.stem for path in (REPOSITORY / "pages").glob("[a-z]*.py"))
PARTS = {
    "curate": (
        "curate_queue",
        ("duplicates", "failing", "never", "unknown", "buried", "rule", "refine", "compress", "review"),
    ),
    "journal": (
        "journal_tab",
        ("Link suggestions", "What agents read", "Archiving", "Refused entries", "Conversations"),
    ),
    "history": ("history_tab", ("Trash",)),
    "evaluation": ("evaluation_tab", ("Compare profiles", "Judged queries")),
    "settings": (
        "settings_tab",
        ("Import", "Export and backup", "Models", "Ready-made functions", "Keys", "People", "Links", "Audit"),
    ),
}
OPENED = {"experiences": "experience", "concepts": "concepts", "strategies": "strategies", "journal": "journal"}

JOBS = {"evaluation_run", "refine_run", "map_refit"}
"""Buttons that begin what takes long and writes nothing to the memory."""

NAMES = ("Name", "For whom or what")
TYPED = (*NAMES, "Note", "Feedback", "What it does", "What it says", "Title")
"""Labels of the fields that something is typed into, so that saving it would change something."""

KINDS = ("button", "toggle", "checkbox", "text_input", "text_area", "multiselect")
"""Kinds of widgets that write at once, or could. Boxes of one choice and of numbers narrow lists or stand in forms."""

WRITING = [
    ("experiences", {"id": "experience"}, "", "experience_pin"),
    ("experiences", {"id": "experience"}, "", "experience_note_save"),
    ("experiences", {"id": "experience"}, "", "experience_delete"),
    ("experiences", {"id": "experience"}, "experience_purge", "purge_apply"),
    ("concepts", {"id": "concepts"}, "", "concept_edit_save"),
    ("concepts", {"id": "concepts"}, "concept_delete", "plan_apply"),
    ("strategies", {"id": "strategies"}, "strategy_retire", "plan_apply"),
    ("journal", {}, "", "journal_new_write"),
    ("journal", {"journal_tab": "Refused entries"}, "", "journal_gate_noise"),
    ("journal", {"journal_tab": "Link suggestions"}, "", "journal_accept_0"),
    ("curate", {"curate_queue": "review"}, "", "curate_review_accept"),
    ("curate", {"curate_queue": "review"}, "curate_review_reject", "plan_apply"),
    ("curate", {"curate_queue": "duplicates"}, "curate_merge_0", "plan_apply"),
    ("history", {"history_who": "crawler"}, "history_undo_all", "plan_apply"),
    ("settings", {"settings_tab": "Export and backup"}, "", "settings_backup"),
    ("settings", {"settings_tab": "Ready-made functions"}, "", "settings_primitives_load"),
    ("settings", {"settings_tab": "Keys"}, "", "FormSubmitter:settings_key_new-Make a key"),
    ("settings", {"settings_tab": "Keys"}, "", "settings_key_revoke"),
    ("settings", {"settings_tab": "People"}, "", "settings_person_give"),
    ("settings", {"settings_tab": "Links"}, "", "FormSubmitter:settings_link_new-Make a link"),
]
"""Buttons that write: their page, what its address says, the button that opens their dialog, and their own key."""

Act = tuple[str, str]
"""The kind of a widget and its key."""


def addresses(ids: Ids) -> Iterator[tuple[str, dict[str, str]]]:
    """Every page, each of its parts, a record of each kind that is open, and an operation."""
    for page in PAGES:
        yield page, {}
        key, parts = PARTS.get(page, ("", ()))
        yield from ((page, {key: part}) for part in parts)
        if page in OPENED:
            yield page, {"id": ids[OPENED[page]]}
    yield "history", {"history_who": "crawler"}
    yield "history", {"operation": ids["operation"]}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory) -> tuple[Path, Ids]:
    """A store with something of every kind, and its ids."""
    store = tmp_path_factory.mktemp("viewers") / "store"
    ids = make_everything(store)
    with opened(store) as memory:
        LiveMap(memory, Worker()).latest()  # saves the map, or each copy of the store would make it again
        return store, ids | {"operation": memory.history(1)[0].id}


@pytest.fixture
def become() -> Iterator[Become]:
    """Say for whom the next pages are drawn, and what is pressed there from now on."""
    before = dict(os.environ)
    with visiting(VIEWER) as becoming:
        yield becoming
    st.cache_resource.clear()
    os.environ.clear()
    os.environ.update(before)


@contextmanager
def copied(store: Path, own: Path) -> Iterator[Path]:
    """A copy of a store that the pages show, and that is gone afterwards."""
    shutil.copytree(store, own)
    os.environ["ATLAS_STORE"] = str(own)
    yield own
    st.cache_resource.clear()
    remove_store(own)


def drawn(page: str, address: dict[str, str]) -> AppTest:
    app = page_at(page, address).run()
    assert not app.exception, (page, address)
    return app


def filled(app: AppTest) -> AppTest:
    """The page once something is chosen and typed, so that what asks for that can be pressed."""
    for box in app.selectbox:
        if box.value is None and box.options and not box.disabled:
            box.select_index(0)
    type_in(app)
    return app.run()


def type_in(app: AppTest) -> None:
    for field in [*app.text_input, *app.text_area]:
        if field.key == "plan_count":
            field.set_value(field.label.split()[1])  # what is to be typed to confirm
        elif field.placeholder and str(field.key).startswith("purge_"):
            field.set_value(field.placeholder)
        elif field.label in TYPED and (not field.value or field.label not in NAMES):
            field.set_value(f"{field.value or ''} mine".strip())


def prepared_page(page: str, address: dict[str, str], opener: str) -> AppTest:
    """A page on which everything is filled in, with the dialog of a button where one is to be open."""
    app = filled(drawn(page, address))
    return filled(act(app, ("button", opener))) if opener else app


def acts_on(app: AppTest) -> list[Act]:
    """Every widget that can be acted on."""
    every = [(kind, widget) for kind in KINDS for widget in getattr(app, kind)]
    return [(kind, widget.key) for kind, widget in every if widget.key and not widget.disabled]


def act(app: AppTest, one: Act) -> AppTest:
    """The page after a widget of it was pressed or changed."""
    kind, key = one
    [widget] = [widget for widget in getattr(app, kind) if widget.key == key]
    if kind == "button":
        if key.startswith("FormSubmitter:"):
            type_in(app)  # such a form forgets at each run what was typed
        widget.click()
    elif kind in ("toggle", "checkbox"):
        widget.set_value(not widget.value)
    elif kind == "multiselect":
        widget.set_value([*widget.options[-1:]])
    else:
        widget.set_value(f"{widget.value or ''} mine")
    return app.run()


def acts_with_dialogs(page: str, address: dict[str, str]) -> Iterator[tuple[str, list[Act]]]:
    """The acts on a page as it stands, and then those in each dialog that a button opens, after that button's key."""
    app = prepared_page(page, address, "")
    standing = acts_on(app)
    yield "", standing
    for button in app.button:
        if button.label.endswith("…") and ("button", button.key) in standing:
            inside = prepared_page(page, address, button.key)
            yield button.key, [one for one in acts_on(inside) if one not in standing]


@pytest.mark.slow
def test_no_widget_of_any_page_writes_for_a_viewer(prepared, tmp_path, become):
    store, ids = prepared
    acted = set[tuple[str, Act]]()
    for page, address in addresses(ids):
        with copied(store, tmp_path / "store") as own:
            become(ADMIN)
            for opener, acts in acts_with_dialogs(page, address):
                app = prepared_page(page, address, opener)
                for one in acts:
                    if (opener, one) in acted or one[1] in JOBS:
                        continue
                    acted.add((opener, one))
                    if one not in acts_on(app):  # what came before has put it away
                        app = prepared_page(page, address, opener)
                    before = content(own)
                    become(VIEWER)
                    act(app, one)
                    assert content(own) == before, (page, address, opener, one)
                    become(ADMIN)
                    app.run()
    pressed = {(opener, key) for opener, (kind, key) in acted if kind == "button"}
    assert len(pressed) > 80, len(pressed)
    assert len(acted) > 150, len(acted)
    assert pressed >= {(opener, key) for _, _, opener, key in WRITING}


@pytest.mark.parametrize(("page", "opened_one", "opener", "key"), WRITING)
def test_a_press_writes_for_an_admin_and_not_for_a_viewer(prepared, tmp_path, become, page, opened_one, opener, key):
    store, ids = prepared
    with copied(store, tmp_path / "store") as own:
        address = {name: ids.get(value, value) for name, value in opened_one.items()}
        for actor in (VIEWER, ADMIN):
            become(ADMIN)
            app = prepared_page(page, address, opener)
            before = content(own)
            become(actor)
            act(app, ("button", key))
            assert (content(own) != before) == (actor is ADMIN)


def test_a_page_that_is_drawn_for_a_viewer_offers_no_button_that_writes(prepared, tmp_path, become):
    store, ids = prepared
    with copied(store, tmp_path / "store"):
        become(VIEWER)
        for page, opened_one, opener, key in WRITING:
            app = drawn(page, {name: ids.get(value, value) for name, value in opened_one.items()})
            assert ("button", opener or key) not in acts_on(app), (page, opener, key)
            assert not [one for one in of_type(app, "file_uploader") if not one.proto.disabled], page


def test_a_guest_is_shown_no_path_of_the_server(prepared, tmp_path, become):
    store, ids = prepared
    with copied(store, tmp_path / "store") as own:
        [copy] = own.glob("frozen-*")
        os.environ["ATLAS_STORE"] = str(own)
        for page, address in addresses(ids):
            become(Actor("link board", Role.VIEWER, store=copy))
            told = everything_said(drawn(page, address))
            assert str(tmp_path) not in told, (page, address)
            assert str(REPOSITORY) not in told, (page, address)
        become(Actor("link board", Role.VIEWER, store=copy))
        assert "Size on disk" in everything_said(drawn("settings", {})), "the facts about the store are shown"


def everything_said(app: AppTest) -> str:
    """All that the elements of a page say, in whatever way."""
    return "\n".join(str(node.proto) for node in app._tree if getattr(node, "proto", None) is not None)
