"""Every page opens on every kind of store, and says what to do if there is nothing to show."""

from __future__ import annotations

import ast
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import atlas
from tests.support.dashboard import PAGES, Dashboard, assert_no_problem, counted_on
from tests.support.records import attempts, concept, entry
from tests.support.repository import REPOSITORY
from tests.support.stores import make_journal, make_library, make_store, opened_store

SLOW = {"chromadb", "sentence_transformers", "torch", "umap"}


FAULTY = pytest.mark.parametrize("page", ["experiences", "history"])
"""A store that cannot be shown is refused in one place, before any page is drawn, so two pages stand for all."""


@pytest.fixture(params=PAGES)
def page(request) -> str:
    return str(request.param)


def test_an_empty_store_says_how_to_fill_it(dashboard: Dashboard, tmp_path, page):
    store = tmp_path / "my store"
    make_store(store)
    app = dashboard(store, page)
    if page == "history":
        assert "Nothing has changed in this store yet." in [element.value for element in app.info]
    elif page == "settings":
        assert app.button(key="settings_doctor").label == "Check"
    else:
        assert "Nothing is remembered yet." in [element.value for element in app.info]
        assert any(element.value.endswith(f"atlas --store '{store}' import PATH") for element in app.code)
    assert_no_problem(app)


def test_a_filled_store_is_counted_as_it_is(dashboard: Dashboard, tmp_path, page):
    make_store(tmp_path, attempts(7))
    app = dashboard(tmp_path, page)
    assert counted_on(app) == 7
    assert_no_problem(app)


def test_what_another_process_adds_is_there_at_the_next_run(dashboard: Dashboard, tmp_path, page):
    make_store(tmp_path, attempts(3))
    app = dashboard(tmp_path, page)
    make_store(tmp_path, attempts(2))
    app.run()
    assert counted_on(app) == 5


def test_a_store_is_shown_read_only(dashboard: Dashboard, tmp_path, page):
    make_store(tmp_path, attempts(4))
    app = dashboard(tmp_path, page, read_only=True)
    assert counted_on(app) == 4
    assert "Read only" in app.sidebar.markdown[0].value
    assert_no_problem(app)


@FAULTY
def test_a_damaged_store_is_reported_with_what_to_do(dashboard: Dashboard, tmp_path, page):
    make_store(tmp_path, attempts(4))
    (tmp_path / "atlas.sqlite").write_bytes(b"garbage" * 10_000)
    for journal in tmp_path.glob("atlas.sqlite-*"):
        journal.unlink()
    app = dashboard(tmp_path, page)
    assert [element.value for element in app.error] == ["This memory cannot be shown."]
    assert "is damaged" in app.code[0].value
    assert "atlas --store NEW restore FILE" in app.code[0].value
    assert not app.exception


@FAULTY
def test_a_store_that_is_not_there_is_not_created_by_looking_read_only(dashboard: Dashboard, tmp_path, page):
    app = dashboard(tmp_path / "nowhere", page, read_only=True)
    assert "there is no store at" in app.code[0].value
    assert not (tmp_path / "nowhere").exists()


@FAULTY
def test_a_mended_store_is_shown_at_the_next_run(dashboard: Dashboard, tmp_path, page):
    store = tmp_path / "later"
    app = dashboard(store, page, read_only=True)
    make_store(store, attempts(2))
    app.run()
    assert counted_on(app) == 2
    assert not app.error


@FAULTY
def test_a_wrong_setting_is_reported_by_its_name(dashboard: Dashboard, tmp_path, page):
    os.environ["ATLAS_BATCH_SIZE"] = "many"
    app = dashboard(tmp_path, page)
    assert app.code[0].value == "expected int for ATLAS_BATCH_SIZE, got 'many'"


def test_a_fault_of_our_own_is_one_sentence_and_a_logged_traceback(dashboard: Dashboard, tmp_path, caplog):
    make_store(tmp_path, attempts(2))
    with closing(sqlite3.connect(tmp_path / "atlas.sqlite")) as ledger, ledger:
        ledger.execute("UPDATE records SET metadata = json_set(metadata, '$.n_steps', 'many')")
    app = dashboard(tmp_path, "experiences")
    assert "This page failed" in app.error[0].value
    assert not app.exception
    assert "Traceback" in caplog.text


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files as Linux lists them")
def test_a_page_drawn_again_and_again_keeps_no_more_files_open(dashboard: Dashboard, tmp_path, page):
    make_store(tmp_path, attempts(3))
    app = dashboard(tmp_path, page)
    opened = [len(files_open_in(app.run() and tmp_path)) for _ in range(12)]
    assert min(opened[6:]) <= max(opened[:6])  # a thread may just read the store for its copies of marks


def test_a_page_that_embeds_nothing_loads_no_model(tmp_path):
    """Neither to browse nor to search by words."""
    (shown,) = make_store(tmp_path, attempts(1))
    (known,) = make_library(tmp_path, concept(1))
    (noted,) = make_journal(tmp_path, entry(1))
    with opened_store(tmp_path) as memory:
        tried = memory.strategies.add(atlas.Strategy(situation="a report", suggestion="mend it"))
        memory.strategies.update_stats(tried, True)
    shown_on = [*((page, shown) for page in PAGES), ("concepts", known), ("strategies", tried), ("journal", noted)]
    queries = ({}, {"scope_text": "report", "scope_by": "Words"})
    opened = [(page, {**query, "id": record_id}) for query in queries for page, record_id in shown_on]
    program = f"""
import sys
from tests.support.dashboard import page_at
for page, query in {opened!r}:
    app = page_at(page, query).run()
    assert not app.exception and not app.error, app
    print("shown", page, *{SLOW} & {{*sys.modules}})
"""
    environment = {**os.environ, "ATLAS_STORE": str(tmp_path)}
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, cwd=REPOSITORY, env=environment, check=True, capture_output=True, text=True)
    assert run.stdout.splitlines() == [f"shown {page}" for page, _ in opened]


def test_pages_reach_the_library_through_views_and_public_names_only():
    programs = [file for name in ("server", "alone") for file in (REPOSITORY / "pages" / name).glob("*.py")]
    files = sorted({*(REPOSITORY / "pages").rglob("*.py")} - {*programs})
    assert {file.name: names for file in files if (names := forbidden_modules(file))} == {}


def forbidden_modules(path: Path) -> set[str]:
    """The modules that a file imports and a page may not."""
    allowed = {"atlas", "pages", "streamlit", "app", "__future__", *sys.stdlib_module_names}
    if path.name in ("messages.py", "page_changes.py", "unknown_addresses.py"):
        allowed |= {"starlette", "google"}  # what Streamlit's own server speaks with its pages
    names = imported_modules(path)
    outside = {name for name in names if name.split(".")[0] not in allowed}
    return outside | {name for name in names if name.startswith("atlas.") and not name.startswith("atlas.views")}


def imported_modules(path: Path) -> set[str]:
    """The modules that a file imports, anywhere in it."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}


def files_open_in(store: Path) -> list[str]:
    """What this process has open of a store, a name for each time that it is open."""
    links = [str(entry.readlink()) for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()]
    return [link for link in links if link.startswith(str(store))]
