"""A process that forks: parent and child may both go on using the store object that the parent opened."""

from __future__ import annotations

import os
import traceback

from atlas.core.types import Marks


def fork(work):
    """The id of a forked child that does some work."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            if code:
                traceback.print_exc()
            os._exit(code)
    return pid


def went_through(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


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
