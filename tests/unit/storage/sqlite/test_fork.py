"""A store object that is closed or carried over a fork while it is used: everyone may go on using it."""

from __future__ import annotations

import os
import sqlite3
import threading

import psycopg
import pytest

from atlas.core.errors import StoreError
from atlas.core.operations import Marks
from atlas.storage.following_index import IndexUnusable
from atlas.storage.maintenance.doctor import examine
from tests.support.storage.engines import every_engine, of_files
from tests.support.storage.forks import fork, went_through
from tests.support.storage.ledgers import THINGS, vector_of

engine = every_engine


def test_a_forked_child_reads_and_writes_with_the_parents_store(open_store):
    opened = open_store()
    opened.add("before")

    def work():
        assert opened.nearest("before") == ["before"]
        opened.add("child")
        opened.mark(child=Marks(pinned=True))
        assert opened.nearest("child") == ["child"]

    assert went_through(fork(work))
    assert opened.nearest("child") == ["child"]
    assert opened.marks("child") == Marks(pinned=True)
    opened.add("after")
    assert open_store().ids() == ["before", "child", "after"]


@of_files
def test_what_a_child_writes_while_its_parent_closes_the_store_is_kept(open_store):
    opened = open_store()
    opened.add("before")
    ready, go = os.pipe(), os.pipe()

    def work():
        opened.add("first")
        os.write(ready[1], b".")
        os.read(go[0], 1)  # until the parent has closed
        opened.add("second")

    child = fork(work)
    os.read(ready[0], 1)
    opened.store.ledger.close()
    os.write(go[1], b".")
    assert went_through(child)
    for end in (*ready, *go):
        os.close(end)
    again = open_store()
    assert again.ids() == ["before", "first", "second"]
    with again.store.ledger.database.session() as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_child_of_a_parent_that_uses_the_index_does_without_its_client(open_store):
    ids = [f"r{i}" for i in range(30)]
    opened = open_store(exact_max_rows=5, index_lag_rows=5)
    opened.add(*ids)
    opened.store.catch_up()
    assert opened.nearest("r3") == ["r3"]

    def work():
        assert [opened.nearest(record_id) for record_id in ids] == [[record_id] for record_id in ids]

    assert went_through(fork(work))
    assert opened.nearest("r4") == ["r4"]


@of_files
def test_a_child_that_cannot_use_the_index_does_not_clear_or_change_it(open_store):
    opened = open_store(exact_max_rows=5, index_lag_rows=5)
    opened.add(*[f"r{i}" for i in range(30)])
    opened.store.catch_up()
    index = opened.store.collection(THINGS).parts.nearest.index
    checkpoint = index.checkpoint()

    def work():
        index.clear()
        for use in (index.count, lambda: index.remove(["1:0"]), lambda: index.set_checkpoint("x", 1)):
            with pytest.raises(IndexUnusable, match="forked from one that has used it"):
                use()
        (finding,) = [finding for finding in examine(opened.store, fix=True) if finding.check == "index"]
        assert "forked from one that has used it" in finding.problem

    assert went_through(fork(work))
    assert index.checkpoint() == checkpoint
    assert index.count() == 30


def test_a_connection_that_is_in_use_when_the_store_is_closed_is_closed_after_its_use(open_store):
    opened = open_store()
    opened.add("a")
    ledger = opened.store.ledger
    with ledger.database.read() as connection:
        closer = threading.Thread(target=ledger.close)
        closer.start()
        closer.join()
        assert ledger.count(THINGS) == 1
        assert connection.execute("SELECT id FROM records").fetchall() == [("a",)]
    with pytest.raises((sqlite3.ProgrammingError, psycopg.OperationalError), match="closed"):
        connection.execute("SELECT 1")
    assert opened.ids() == ["a"]


def test_threads_go_on_searching_while_another_one_closes_the_ledger(open_store):
    opened = open_store()
    opened.add("a", "b", "c")
    opened.mark(a=Marks(pinned=True))
    things, found, is_over = opened.store.collection(THINGS), [], threading.Event()

    def search():
        while not is_over.is_set():
            try:
                hits = things.query(vector_of("b"), 3, {"marks.pinned": True})
                found.append(("".join(hits.ids), things.count()))
            except (StoreError, sqlite3.Error) as error:
                found.append(error)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    while len(found) < 300:
        opened.store.ledger.close()
    is_over.set()
    for thread in threads:
        thread.join()
    assert set(found) == {("a", 3)}
