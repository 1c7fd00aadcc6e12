"""A page refuses a store that was cut off or is gone, whether it is opened on it or was open before."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import atlas
from tests.support.dashboard import Dashboard, counted_on
from tests.support.records import attempts, concept, entry
from tests.support.stores import make_journal, make_library, make_store, opened_store, remove_store

PAGES = ["experiences", "history"]
"""A list with a panel, and a page over all memories. Every page refuses in one place, before it is drawn."""

PAGE_BYTES = 8192
CUTS = {"nothing left": 0.0, "a header": 100, "a page": PAGE_BYTES, "half": 0.5}


@pytest.fixture(params=PAGES)
def page(request) -> str:
    return str(request.param)


@pytest.fixture
def store(tmp_path) -> Path:
    """A store of all memories, whose journal of SQLite is empty."""
    store = tmp_path / "store"
    make_store(store, attempts(60))
    make_library(store, *map(concept, range(5)))
    make_journal(store, *map(entry, range(5)))
    with opened_store(store) as memory:
        memory.strategies.add(atlas.Strategy(situation="a report", suggestion="mend it"))
    return store


def cut(store: Path, how: str) -> None:
    ledger = store / "atlas.sqlite"
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = CUTS[how]
    os.truncate(ledger, size if isinstance(size, int) else int(size * ledger.stat().st_size))


def refused(app) -> str:
    """What a page says that shows nothing of the memory."""
    assert not app.exception
    assert [element.value for element in app.error] == ["This memory cannot be shown."]
    assert len(app.dataframe) + len(app.metric) == 0
    return str(app.code[0].value)


@pytest.mark.parametrize("how", CUTS)
def test_a_page_refuses_a_ledger_that_is_cut_off(dashboard: Dashboard, store, page, how):
    cut(store, how)
    content = (store / "atlas.sqlite").read_bytes()
    app = dashboard(store, page)
    assert "is damaged" in refused(app)
    assert "is damaged" in refused(app.run())
    assert (store / "atlas.sqlite").read_bytes() == content


@pytest.mark.parametrize("how", ["nothing left", "half"])
def test_an_open_page_refuses_a_ledger_that_was_cut_off_since(dashboard: Dashboard, store, page, how):
    app = dashboard(store, page)
    assert not app.error
    cut(store, how)
    assert "is damaged" in refused(app.run())


def test_an_open_page_says_that_the_store_is_gone_and_does_not_make_it_again(dashboard: Dashboard, store, page):
    app = dashboard(store, page)
    assert not app.error
    remove_store(store)
    for _ in range(2):
        app.run()
        assert f"the store {store} has been removed or moved" in refused(app)
        assert not store.exists()


def test_a_store_that_was_gone_is_shown_when_it_is_back(dashboard: Dashboard, store, tmp_path):
    app = dashboard(store, "overview")
    store.rename(tmp_path / "elsewhere")
    assert "has been removed or moved" in refused(app.run())
    (tmp_path / "elsewhere").rename(store)
    app.run()
    assert counted_on(app) == 60
    remove_store(store)
    assert "has been removed or moved" in refused(app.run())
    make_store(store, attempts(3))
    app.run()
    assert counted_on(app) == 3
