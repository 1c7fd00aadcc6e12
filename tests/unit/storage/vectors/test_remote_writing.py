"""Writing an index in a service: by one process at a time, in parts, without anybody waiting for it."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time

import pytest

from atlas.core.errors import InvalidInput, NotFound, StoreUnavailable
from atlas.core.index_address import IndexAddress, Service
from atlas.storage.following_index import Seal
from atlas.storage.maintenance.purge import apply_purge, plan_purge
from atlas.storage.vectors.remote import book
from atlas.storage.vectors.remote import index as remote_index
from atlas.storage.vectors.remote.chroma import ChromaService
from tests.support.storage.engines import every_engine
from tests.support.storage.forks import fork, went_through
from tests.support.storage.indexes import FEW, IDS, await_followed, filled, missed, nearest_of
from tests.support.storage.ledgers import DIMENSION, THINGS
from tests.support.storage.pinecone_server import Trouble, serving

engine = every_engine
pytestmark = pytest.mark.usefixtures("no_rest")


def noted_of(opened):
    return nearest_of(opened).index._book.read()


def test_half_a_write_is_written_again(open_store, pinecone):
    opened = open_store(index=pinecone.address, **FEW)
    opened.add(*IDS)
    pinecone.troubles = [Trouble(), Trouble(), Trouble(body=b'{"upsertedCount": 3}')]
    assert opened.store.catch_up() == 0
    assert opened.store.indexes.fault == f"{pinecone.address} cannot be used: it took in 3 of 70 vectors"
    assert nearest_of(opened).seal() == Seal()
    assert opened.store.catch_up() == 70
    assert nearest_of(opened).index.count() == 70


def test_a_write_that_had_no_answer_cannot_spoil_what_is_written_later(open_store, pinecone, monkeypatch):
    monkeypatch.setattr(remote_index, "WRITING_SECONDS", 0.5)
    opened = open_store(index=pinecone.address, **FEW)
    opened.add(*IDS)
    late = Trouble(seconds=2.0)
    pinecone.troubles = [Trouble(), Trouble(), late]
    assert opened.store.catch_up() == 0
    assert opened.store.indexes.fault == f"{pinecone.address} did not answer within 0.5 s"
    assert noted_of(opened).namespace == ""
    (before,) = noted_of(opened).unsure
    opened.edit("r3", "another text")
    monkeypatch.setattr(remote_index, "WRITING_SECONDS", 60.0)
    assert opened.store.catch_up() == 70
    assert noted_of(opened).namespace != before
    until = time.monotonic() + 60
    while before not in pinecone.namespaces and time.monotonic() < until:
        time.sleep(0.05)
    assert before in pinecone.namespaces  # the write has come after all
    assert opened.nearest("another text") == ["r3"]
    assert nearest_of(opened).index.clear()
    assert pinecone.namespaces == {}


def test_a_service_that_refuses_leaves_no_names_behind(open_store, pinecone):
    opened = open_store(index=pinecone.address, **FEW)
    opened.add(*IDS)
    names = set()
    for _ in range(3):
        pinecone.troubles = [Trouble(), Trouble(status=403)]
        assert opened.store.catch_up() == 0
        names.add(noted_of(opened).namespace)
        assert noted_of(opened).dropped == ()
    assert opened.store.catch_up() == 70
    assert names == {noted_of(opened).namespace} == set(pinecone.namespaces)


@pytest.fixture
def silent_address():
    """A ChromaDB server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"chroma+http://127.0.0.1:{server.getsockname()[1]}"


def is_done_without_waiting(call, seconds=60.0):
    """Whether a call ends, however long that takes a slow machine."""
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()


def test_a_service_that_falls_silent_holds_up_neither_closing_nor_purging_nor_opening(open_store, pinecone):
    options = {**FEW, "index_timeout_seconds": 2.0}
    with serving(DIMENSION) as server:
        opened = filled(open_store, server.address, **options)
    with socket.create_server(("127.0.0.1", int(server.address.rpartition(":")[2]))):
        opened.add("late")
        assert opened.store.catch_up() == 0
        assert opened.store.indexes.fault == f"{server.address} did not answer within 2 s"
        plan = plan_purge(opened.store, ["r3"])
        assert is_done_without_waiting(lambda: apply_purge(opened.store, plan))
        assert server.address in opened.store.finish_purges()
        assert is_done_without_waiting(opened.store.close)
        assert is_done_without_waiting(lambda: open_store(index=server.address, **options))


def test_who_adds_does_not_wait_for_the_service(open_store, pinecone, silent_address):
    silent = open_store(index=silent_address, index_timeout_seconds=30.0, exact_max_rows=10, index_lag_rows=10)
    assert is_done_without_waiting(lambda: silent.add(*IDS), 20)
    answering = open_store(index=pinecone.address, exact_max_rows=10, index_lag_rows=10)
    answering.add("late")
    await_followed(answering)
    assert missed(answering) == []


def test_a_writer_that_died_on_another_machine_holds_up_neither_closing_nor_searching(
    open_store, pinecone, monkeypatch
):
    opened = filled(open_store, pinecone.address)
    dead = open_store(index=pinecone.address, **FEW)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(book, "_machine", lambda: "another")
        assert nearest_of(dead).index._book.take()
    opened.add("late")
    assert opened.nearest("late") == ["late"]
    assert is_done_without_waiting(opened.store.close)
    assert nearest_of(opened).n_behind() == 1


def test_a_child_writes_once_its_parent_has_finished(open_store, pinecone):
    opened = filled(open_store, pinecone.address)
    holds, may_end = threading.Event(), threading.Event()

    def hold():
        with nearest_of(opened).index.held():
            holds.set()
            may_end.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    holds.wait()
    ready, told = os.pipe()

    def work():
        assert os.read(ready, 1) == b"."
        with nearest_of(opened).index.held(0) as is_held:
            assert is_held

    child = fork(work)
    may_end.set()
    holder.join()
    os.write(told, b".")
    assert went_through(child)


def test_a_service_that_is_gone_for_good_can_be_left(open_store, pinecone):
    with serving(DIMENSION) as server:
        opened = filled(open_store, server.address)
        (before,) = server.namespaces
    opened = open_store(index=pinecone.address, **FEW)
    plan = plan_purge(opened.store, ["r3"])
    assert plan.indexes == ()
    assert server.address in apply_purge(opened.store, plan).problem
    with pytest.raises(InvalidInput, match="keeps the index now; set another ATLAS_INDEX"):
        opened.store.indexes.leave(pinecone.address)
    with pytest.raises(NotFound, match="no index of this store was ever at pinecone://elsewhere"):
        opened.store.indexes.leave("pinecone://elsewhere")
    assert opened.store.indexes.leave(server.address) == [before]
    assert opened.store.finish_purges() == ""
    assert plan_purge(opened.store, ["r4"]).indexes == (f"{before} at {server.address}",)


def test_a_ledger_that_was_put_back_has_its_index_built_again(open_store, chroma_server, store_place, tmp_path, engine):
    if engine == "postgres":  # whoever puts a database back makes another one
        return
    ledger = store_place / "atlas.sqlite"
    opened = filled(open_store, chroma_server.address, n=40)
    opened.store.close()
    shutil.copy(ledger, tmp_path / "before.sqlite")
    opened = open_store(index=chroma_server.address, **FEW)
    opened.add(*IDS[40:])
    opened.edit("r3", "another text")
    opened.store.close()
    with (tmp_path / "before.sqlite").open("rb") as before, ledger.open("r+b") as file:  # it stays the same file
        file.truncate()
        shutil.copyfileobj(before, file)
    again = open_store(index=chroma_server.address, **FEW)
    again.add("new")
    assert again.store.catch_up() == 41
    assert missed(again, [*IDS[:40], "new"]) == []
    assert nearest_of(again).index.count() == 41


def test_a_purge_of_a_copy_names_the_index_that_it_leaves(open_store, pinecone, store_place, tmp_path, engine):
    if engine == "postgres":  # a copy of a database is another database, with notes of its own
        return
    opened = filled(open_store, pinecone.address)
    opened.store.close()
    (before,) = pinecone.namespaces
    shutil.copytree(store_place, tmp_path / "copy")
    copy = open_store(tmp_path / "copy", index=pinecone.address, **FEW)
    copy.add("new")
    copy.store.catch_up()
    plan = plan_purge(copy.store, ["r3"])
    assert plan.indexes == (f"{before} at {pinecone.address}",)
    assert apply_purge(copy.store, plan).problem == ""
    assert before in pinecone.namespaces
    assert plan_purge(copy.store, ["r4"]).indexes == plan.indexes
    assert plan_purge(opened.store, ["r4"]).indexes == ()


def test_chroma_cloud_takes_and_gives_less_at_once(open_store, chroma_server, monkeypatch):
    monkeypatch.setenv("CHROMA_API_KEY", "ck-of-a-test")
    port = chroma_server.port
    address = IndexAddress(
        service=Service.CHROMA_CLOUD,
        host="127.0.0.1",
        port=port,
        is_secure=False,
        tenant="default_tenant",
        database="default_database",
    )
    opened = open_store(index=chroma_server.address, **FEW)
    index = nearest_of(opened).index
    index._service = ChromaService(address, seconds=30.0)
    opened.add(*(f"r{i}" for i in range(700)))
    assert opened.store.catch_up() == 700
    assert index.count() == 700
    assert index.most_hits == 300
    assert len(opened.nearest("r3", k=280)) == 280
    assert len(opened.nearest("r3", k=500)) == 500  # the index gives too few, so all are compared
    assert opened.store.indexes.fault == ""
    index.close()


def test_a_write_without_the_lease_is_refused(open_store, pinecone, monkeypatch):
    monkeypatch.setattr("atlas.storage.vectors.remote.index.CLEARING_SECONDS", 0.0)
    opened = filled(open_store, pinecone.address)
    other = open_store(index=pinecone.address, **FEW)
    with nearest_of(opened).index.held() as is_held:
        assert is_held
        with nearest_of(other).index.held(0) as is_also_held:
            assert not is_also_held
        with pytest.raises(StoreUnavailable):
            other.store.indexes.drop(THINGS, DIMENSION, None)
    with nearest_of(other).index.held(0) as is_held:
        assert is_held
