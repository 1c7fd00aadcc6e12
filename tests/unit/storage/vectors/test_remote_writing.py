"""Writing an index in a service: by one process at a time, in parts, without anybody waiting for it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import threading
import time

import numpy as np
import pytest

from atlas.core.errors import InvalidInput, NotFound, StoreUnavailable
from atlas.core.index_address import IndexAddress, Service
from atlas.storage.following_index import IndexCheckpoint
from atlas.storage.maintenance.doctor import examine
from atlas.storage.maintenance.purge import apply_purge, plan_purge
from atlas.storage.vectors.remote import index as remote_index
from atlas.storage.vectors.remote import notes as index_notes
from atlas.storage.vectors.remote.chroma import ChromaService
from atlas.storage.vectors.remote.pinecone import RETRY_SECONDS
from tests.support.storage.engines import every_engine, of_files
from tests.support.storage.forks import fork, went_through
from tests.support.storage.indexes import FEW, IDS, await_followed, filled, missed, nearest_of
from tests.support.storage.ledgers import DIMENSION, THINGS, vector_of
from tests.support.storage.pinecone_server import Trouble, serving

engine = every_engine
pytestmark = pytest.mark.usefixtures("no_rest")


def noted_of(opened):
    return nearest_of(opened).index._notes.read()


def test_half_a_write_is_written_again(open_store, pinecone):
    opened = open_store(index=pinecone.address, **FEW)
    opened.add(*IDS)
    pinecone.troubles = [Trouble(), Trouble(), Trouble(body=b'{"upsertedCount": 3}')]
    assert opened.store.catch_up() == 0
    assert opened.store.indexes.fault == f"{pinecone.address} cannot be used: the service stored 3 of 70 vectors"
    assert nearest_of(opened).updater.checkpoint() == IndexCheckpoint()
    assert opened.store.catch_up() == 70
    assert nearest_of(opened).index.count() == 70


def edited_and_not_handed_over(open_store, address):
    """A store whose index has followed 70 records, of which one was edited since."""
    opened = filled(open_store, address)
    opened.edit("r3", "one text")
    return opened


def check_nobody_writes_before_it_is_done(open_store, pinecone, released, monkeypatch):
    """A write has no answer yet. Others wait until it is done, so that it spoils nothing."""
    opened = open_store(index=pinecone.address, **FEW)
    opened.edit("r3", "another text")
    assert opened.store.catch_up() == 0
    assert opened.nearest("another text") == ["r3"]
    with monkeypatch.context() as hasty:
        hasty.setattr(remote_index, "CLEARING_SECONDS", 0.0)
        assert not nearest_of(opened).index.clear()  # nor does a purge believe that nothing is left
    n_before = pinecone.positions()
    released.set()
    until = time.monotonic() + 60
    while pinecone.positions() == n_before and time.monotonic() < until:
        time.sleep(0.02)
    assert pinecone.positions() != n_before
    lease = nearest_of(opened).index._notes._lease_name
    opened.store.ledger.notes.write({lease: None})  # as if its time had run out
    assert opened.store.catch_up() == 1
    fresh = open_store(index=pinecone.address, **FEW)
    assert nearest_of(fresh).updater.n_behind() == 0
    assert fresh.nearest("another text") == ["r3"]


def test_a_write_that_had_no_answer_comes_after_no_later_one(open_store, pinecone, monkeypatch):
    opened = edited_and_not_handed_over(open_store, pinecone.address)
    released = threading.Event()
    pinecone.troubles = [Trouble(), Trouble(until=released)]
    with monkeypatch.context() as impatient:
        impatient.setattr(remote_index, "WRITING_SECONDS", 0.2)
        assert opened.store.catch_up() == 0
    assert opened.store.indexes.fault == f"{pinecone.address} did not answer within 0.2 s"
    check_nobody_writes_before_it_is_done(open_store, pinecone, released, monkeypatch)


def test_what_a_killed_writer_sent_comes_after_no_later_write(open_store, pinecone, monkeypatch):
    opened = edited_and_not_handed_over(open_store, pinecone.address)
    released, reached = threading.Event(), threading.Event()
    pinecone.troubles = [Trouble(), Trouble(until=released, reached=reached)]
    writer = fork(opened.store.catch_up)
    assert reached.wait(60)
    os.kill(writer, signal.SIGKILL)
    os.waitpid(writer, 0)
    check_nobody_writes_before_it_is_done(open_store, pinecone, released, monkeypatch)


def test_what_had_no_answer_is_not_sent_again(open_store, pinecone, monkeypatch):
    opened = edited_and_not_handed_over(open_store, pinecone.address)
    nearest_of(opened).index._service._seconds = 0.3  # after which the SDK closes the connection
    nearest_of(opened).index._service.close()
    released = threading.Event()
    pinecone.exchanges.clear()
    pinecone.troubles = [Trouble(), *[Trouble(until=released)] * 3]
    assert opened.store.catch_up() == 0
    assert "cannot be used: timed out" in opened.store.indexes.fault
    check_nobody_writes_before_it_is_done(open_store, pinecone, released, monkeypatch)
    assert len([exchange for exchange in pinecone.exchanges if exchange.path == "/vectors/upsert"]) == 2


def test_no_call_is_made_after_its_lease_may_have_run_out():
    assert RETRY_SECONDS < remote_index.WRITING_SECONDS < index_notes.LEASE_SECONDS * 2 / 3


def test_an_index_is_followed_again_once_what_had_no_answer_cannot_come(open_store, pinecone, monkeypatch):
    opened = edited_and_not_handed_over(open_store, pinecone.address)
    pinecone.troubles = [Trouble(), Trouble(n_sent=0)]
    monkeypatch.setattr(index_notes, "LEASE_SECONDS", 1.0)
    assert opened.store.catch_up() == 0
    assert opened.store.catch_up() == 0  # it is too soon, and is not forgotten over that
    until = time.monotonic() + 60
    while nearest_of(opened).updater.n_behind() and time.monotonic() < until:
        opened.nearest("one text")  # whoever searches has it looked after
        time.sleep(0.05)
    assert nearest_of(opened).updater.n_behind() == 0


def test_a_lease_of_a_clock_that_was_ahead_is_none(open_store, pinecone, monkeypatch):
    opened = edited_and_not_handed_over(open_store, pinecone.address)
    dead = open_store(index=pinecone.address, **FEW)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(index_notes, "_boot_id", lambda: "another")
        elsewhere.setattr(index_notes, "LEASE_SECONDS", 10**8)
        assert nearest_of(dead).index._notes.acquire_lease()
    assert opened.store.catch_up() == 1


def test_who_is_stopped_midway_costs_no_new_index(open_store, chroma_server):
    opened = filled(open_store, chroma_server.address)
    opened.add("a", "b", "c")
    nearest_of(opened).index.upsert(["71:0"], np.stack([vector_of("a")]))
    fresh = open_store(index=chroma_server.address, **FEW)
    assert fresh.store.catch_up() == 3
    assert missed(fresh, [*IDS, "a", "b", "c"]) == []
    assert nearest_of(fresh).index.count() == 73


def test_a_service_that_refuses_leaves_no_names_behind(open_store, pinecone):
    opened = open_store(index=pinecone.address, **FEW)
    opened.add(*IDS)
    names = set()
    for _ in range(3):
        pinecone.troubles = [Trouble(), Trouble(status=403)]
        assert opened.store.catch_up() == 0
        names.add(noted_of(opened).namespace)
        assert noted_of(opened).dropped_namespaces == ()
    assert opened.store.catch_up() == 70
    assert names == {noted_of(opened).namespace} == set(pinecone.namespaces)


def is_done_without_waiting(call, seconds=60.0):
    """Whether a call ends, however long that takes a slow machine."""
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()


def test_a_service_that_falls_silent_holds_up_neither_closing_nor_purging_nor_opening(open_store, pinecone):
    with serving(DIMENSION) as server:
        assert nearest_of(filled(open_store, server.address)).updater.n_behind() == 0
    options = {**FEW, "index": server.address, "index_timeout_seconds": 0.5}
    with socket.create_server(("127.0.0.1", int(server.address.rpartition(":")[2]))):
        opened = open_store(**options)
        opened.add("late")
        assert opened.store.catch_up() == 0
        assert opened.store.indexes.fault == f"{server.address} did not answer within 0.5 s"
        plan = plan_purge(opened.store, ["r3"])
        assert is_done_without_waiting(lambda: apply_purge(opened.store, plan))
        assert server.address in opened.store.finish_purges()
        assert is_done_without_waiting(opened.store.close)
        assert is_done_without_waiting(lambda: open_store(**options))


def test_who_adds_does_not_wait_for_the_service(open_store, pinecone):
    released = threading.Event()
    pinecone.troubles = [Trouble(until=released)]
    opened = open_store(index=pinecone.address, index_timeout_seconds=60.0, exact_max_rows=10, index_lag_rows=10)
    assert is_done_without_waiting(lambda: opened.add(*IDS), 20)
    assert pinecone.namespaces == {}
    released.set()
    await_followed(opened)
    assert missed(opened) == []


def test_a_store_that_is_used_after_it_was_closed_is_followed_too(open_store, pinecone):
    opened = filled(open_store, pinecone.address, index_lag_rows=10)
    opened.store.close()
    opened.add(*(f"later{i}" for i in range(20)))
    await_followed(opened)


def test_a_purge_waits_for_what_its_own_process_is_handing_over(open_store, pinecone, monkeypatch):
    monkeypatch.setattr(remote_index, "CLEARING_SECONDS", 0.0)
    released, reached = threading.Event(), threading.Event()
    pinecone.troubles = [Trouble(), Trouble(), Trouble(), Trouble(until=released, reached=reached)]
    opened = open_store(index=pinecone.address, exact_max_rows=10, index_lag_rows=10)
    opened.add(*IDS)
    assert reached.wait(60)
    plan, problems = plan_purge(opened.store, ["r3"]), []
    purging = threading.Thread(target=lambda: problems.append(apply_purge(opened.store, plan).problem))
    purging.start()
    purging.join(0.5)
    assert purging.is_alive()
    released.set()
    purging.join()
    assert problems == [""]


def test_a_writer_that_died_on_another_machine_holds_up_neither_closing_nor_searching(
    open_store, pinecone, monkeypatch
):
    opened = filled(open_store, pinecone.address)
    dead = open_store(index=pinecone.address, **FEW)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(index_notes, "_boot_id", lambda: "another")
        assert nearest_of(dead).index._notes.acquire_lease()
    opened.add("late")
    assert opened.nearest("late") == ["late"]
    assert is_done_without_waiting(opened.store.close)
    assert nearest_of(opened).updater.n_behind() == 1


def test_a_child_writes_once_its_parent_has_finished(open_store, pinecone):
    opened = filled(open_store, pinecone.address)
    holds, may_end = threading.Event(), threading.Event()

    def hold():
        with nearest_of(opened).index.locked():
            holds.set()
            may_end.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    holds.wait()
    ready, told = os.pipe()

    def work():
        assert os.read(ready, 1) == b"."
        with nearest_of(opened).index.locked(0) as is_held:
            assert is_held

    child = fork(work)
    may_end.set()
    holder.join()
    os.write(told, b".")
    assert went_through(child)


def test_a_service_that_is_gone_for_good_can_be_left(open_store, pinecone, monkeypatch):
    monkeypatch.setattr(remote_index, "CLEARING_SECONDS", 0.0)
    with serving(DIMENSION) as server:
        opened = filled(open_store, server.address)
        (before,) = server.namespaces
        with monkeypatch.context() as elsewhere:  # whose writer has died on another machine
            elsewhere.setattr(index_notes, "_boot_id", lambda: "another")
            assert nearest_of(opened).index._notes.acquire_lease()
    opened = open_store(index=pinecone.address, **FEW)
    plan = plan_purge(opened.store, ["r3"])
    assert plan.indexes == ()
    assert server.address in apply_purge(opened.store, plan).problem
    with pytest.raises(InvalidInput, match="is the service in use; set ATLAS_INDEX"):
        opened.store.indexes.abandon(pinecone.address)
    with pytest.raises(NotFound, match="this store never had an index at pinecone://elsewhere"):
        opened.store.indexes.abandon("pinecone://elsewhere")
    assert opened.store.indexes.abandon(server.address) == [before]
    assert opened.store.finish_purges() == ""
    assert plan_purge(opened.store, ["r4"]).indexes == (f"{before} at {server.address}",)


@of_files
def test_a_ledger_that_was_put_back_has_its_index_built_again(open_store, chroma_server, store_place, tmp_path):
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


def test_a_child_that_was_forked_during_a_query_can_search(open_store, pinecone):
    opened = filled(open_store, pinecone.address)
    asks, may_end = threading.Event(), threading.Event()

    def ask():
        with nearest_of(opened)._lock:
            asks.set()
            may_end.wait()

    asker = threading.Thread(target=ask)
    asker.start()
    asks.wait()
    child = fork(lambda: missed(opened, IDS[:3]) == [] or os._exit(1))
    assert went_through(child)
    may_end.set()
    asker.join()


@of_files
def test_a_purge_of_a_copy_names_the_index_that_it_leaves(open_store, pinecone, store_place, tmp_path):
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
    assert index.max_hits == 300
    assert len(opened.nearest("r3", k=280)) == 280
    assert len(opened.nearest("r3", k=500)) == 500  # the index gives too few, so all are compared
    assert opened.store.indexes.fault == ""
    index.close()


def test_a_write_without_the_lease_is_refused(open_store, pinecone, monkeypatch):
    monkeypatch.setattr("atlas.storage.vectors.remote.index.CLEARING_SECONDS", 0.0)
    opened = filled(open_store, pinecone.address)
    other = open_store(index=pinecone.address, **FEW)
    with nearest_of(opened).index.locked() as is_held:
        assert is_held
        with nearest_of(other).index.locked(0) as is_also_held:
            assert not is_also_held
        with pytest.raises(StoreUnavailable):
            other.store.indexes.drop(THINGS, DIMENSION, None)
    with nearest_of(other).index.locked(0) as is_held:
        assert is_held


@pytest.mark.parametrize("revision", [63, 1_060])
def test_a_checkpoint_in_the_ledger_that_it_cannot_have_written_is_none(open_store, pinecone, revision):
    opened = filled(open_store, pinecone.address, n=60)
    opened.add(*IDS[60:])
    notes = opened.store.ledger.notes
    ((name, text),) = notes.read(index_notes.INDEX).items()
    notes.write({index_notes.INDEX + name: text.replace('"revision": 60', f'"revision": {revision}')})
    assert nearest_of(opened).updater.checkpoint() == IndexCheckpoint()
    assert missed(opened) == []  # what is asked has it built anew, and so has doctor
    assert not any(finding.problem and not finding.is_fixed for finding in examine(opened.store, fix=True))
    assert nearest_of(opened).updater.checkpoint().revision == 70
    assert missed(opened) == []
