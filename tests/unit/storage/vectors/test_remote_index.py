"""A store whose index a service keeps: whatever the service does, searches find every record."""

from __future__ import annotations

import logging
import shutil
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from atlas.core.index_address import read_index_address
from atlas.storage.following_index import IndexCheckpoint, IndexUnreachable
from atlas.storage.maintenance.backup import backup, restore
from atlas.storage.maintenance.doctor import examine
from atlas.storage.maintenance.purge import apply_purge, plan_purge
from atlas.storage.vectors.remote import circuit_breaker
from atlas.storage.vectors.remote.chroma import ChromaService, Client
from atlas.storage.vectors.remote.lazy_client import LazyClient
from tests.support.storage.engines import every_engine, of_files
from tests.support.storage.indexes import FEW, IDS, await_followed, filled, missed, nearest_of
from tests.support.storage.ledgers import DIMENSION, THINGS
from tests.support.storage.pinecone_server import KEY, Trouble, listening, serving
from tests.support.waiting import GIVE_UP_SECONDS

engine = every_engine
pytestmark = pytest.mark.usefixtures("no_rest")


@pytest.fixture(params=["pinecone", "chroma server"])
def service(request):
    """Each service in turn."""
    return request.getfixturevalue(request.param.replace(" ", "_"))


def problem_of(store):
    (finding,) = [finding for finding in examine(store) if finding.check == "index"]
    return finding.problem


def paths_of(server):
    return [exchange.path for exchange in server.exchanges]


def await_no_fault(opened):
    """Ask on until the service is found to answer again."""
    until = time.monotonic() + GIVE_UP_SECONDS
    while opened.store.indexes.fault and time.monotonic() < until:
        opened.nearest("r3")
        time.sleep(0.02)
    assert opened.store.indexes.fault == ""


def test_the_index_answers_and_what_it_has_not_followed_is_found_too(open_store, service):
    opened = filled(open_store, service.address)
    assert nearest_of(opened).updater.checkpoint().n_keys == 70
    assert nearest_of(opened).index.count() == 70
    opened.add("late", "later")
    opened.edit("r3", "another text")
    opened.delete("r5")
    assert opened.nearest("later") == ["later"]
    assert opened.nearest("another text") == ["r3"]
    assert opened.nearest("r5") != ["r5"]
    assert missed(opened, IDS[6:20]) == []
    assert opened.store.catch_up() == 4
    assert nearest_of(opened).index.count() == 71
    assert problem_of(opened.store) == ""


def test_another_process_goes_on_from_where_the_first_one_left_it(open_store, service):
    filled(open_store, service.address)
    second = open_store(index=service.address, **FEW)
    assert nearest_of(second).updater.n_behind() == 0
    second.add("new")
    assert second.store.catch_up() == 1
    assert missed(second, [*IDS, "new"]) == []


def test_the_index_answers_in_a_store_that_is_for_reading_only(open_store, pinecone):
    filled(open_store, pinecone.address)
    reading = open_store(read_only=True, index=pinecone.address, **FEW)
    pinecone.exchanges.clear()
    assert reading.nearest("r7") == ["r7"]
    assert paths_of(pinecone) == ["/query"]


def test_what_does_not_show_yet_is_found_and_the_checkpoint_waits_for_it(open_store, pinecone, monkeypatch):
    monkeypatch.setattr("atlas.storage.vectors.remote.index.POLL_POSITION_SECONDS", 0.0)
    opened = filled(open_store, pinecone.address, n=40)
    nearest = nearest_of(opened)
    pinecone.is_late = True
    opened.add(*IDS[40:])
    assert opened.store.catch_up() == 30
    assert (
        nearest.index.writer_checkpoint().revision,
        nearest.updater.checkpoint().revision,
        nearest.updater.n_behind(),
    ) == (
        70,
        40,
        30,
    )
    assert missed(opened) == []
    assert opened.store.catch_up() == 0  # nothing is handed over twice
    pinecone.show()
    assert (nearest.updater.checkpoint().revision, nearest.updater.n_behind()) == (70, 0)
    assert missed(opened) == []
    assert opened.store.indexes.fault == ""


def test_an_answer_that_sees_less_than_an_earlier_one_did_is_not_believed(open_store, pinecone):
    opened = filled(open_store, pinecone.address, n=40)
    opened.add(*IDS[40:])
    opened.store.catch_up()
    assert nearest_of(opened).updater.checkpoint().revision == 70
    (namespace,) = pinecone.namespaces.values()
    namespace.position = 1  # another of its replicas answers from here on
    namespace.shown = {key: vector for key, vector in namespace.shown.items() if int(key.partition(":")[0]) <= 40}
    pinecone.is_late = True
    assert missed(opened) == []
    assert nearest_of(opened).updater.checkpoint().revision == 40


def test_without_positions_nothing_is_believed(open_store, pinecone):
    pinecone.sends_positions = False
    opened = filled(open_store, pinecone.address)
    assert nearest_of(opened).updater.checkpoint() == IndexCheckpoint()
    assert opened.store.indexes.fault == (
        f"{pinecone.address} cannot be used: the reply lacks the position of the write, so its visibility is unknown"
    )
    assert missed(opened) == []


def test_a_service_that_is_gone_is_done_without_and_caught_up_with_when_it_is_back(open_store, pinecone, caplog):
    with serving(DIMENSION) as server:
        opened = filled(open_store, server.address, n=40)
        port = int(server.address.rpartition(":")[2])
    with caplog.at_level(logging.INFO, "atlas"):
        assert missed(opened, IDS[:40]) == []
    assert "is left out of a query" in caplog.text
    assert opened.store.indexes.fault.startswith(server.address)
    opened.add(*IDS[40:])
    assert opened.store.catch_up() == 0
    assert missed(opened) == []
    assert problem_of(opened.store).startswith(
        f"the index of {THINGS} cannot be reached, so searches compare every vector ({server.address} "
    )
    with listening(server, port):
        await_no_fault(opened)
        await_followed(opened)
        assert missed(opened) == []
        opened.store.close()


def test_a_service_that_is_slow_is_not_waited_for(open_store, pinecone):
    opened = filled(open_store, pinecone.address, index_timeout_seconds=1.5)
    pinecone.troubles = [Trouble(seconds=6.0)]
    assert opened.nearest("r3") == ["r3"]
    assert opened.store.indexes.fault == f"{pinecone.address} did not answer within 1.5 s"
    opened.store.close()


def test_a_service_that_has_failed_is_left_alone_for_a_while(open_store, pinecone, monkeypatch):
    opened = filled(open_store, pinecone.address)
    monkeypatch.setattr(circuit_breaker, "MIN_PAUSE_SECONDS", 60.0)
    monkeypatch.setattr(circuit_breaker, "MAX_PAUSE_SECONDS", 60.0)
    pinecone.key = "another"
    pinecone.exchanges.clear()
    assert missed(opened, IDS[:5]) == []
    assert opened.store.catch_up() == 0
    assert paths_of(pinecone) == ["/query"]


def test_searches_do_not_ask_a_service_that_has_failed(open_store, pinecone, monkeypatch):
    monkeypatch.setattr("atlas.storage.vectors.exact_search.MAX_RESIDENT", 10)  # more than memory is to hold
    opened = filled(open_store, pinecone.address)
    pinecone.key = "another"
    pinecone.exchanges.clear()
    assert missed(opened, IDS[:5]) == []
    assert paths_of(pinecone).count("/query") == 1  # it is asked beside them, for its count
    pinecone.key = KEY
    await_no_fault(opened)
    opened.store.close()


def test_an_index_that_was_never_built_is_built_by_whoever_searches(open_store, pinecone):
    with serving(DIMENSION) as server:
        port = int(server.address.rpartition(":")[2])
    first = open_store(index=server.address, **FEW)
    first.add(*IDS)
    assert first.store.catch_up() == 0
    with listening(server, port):
        second = open_store(index=server.address, **FEW)
        assert nearest_of(second).updater.n_behind() == 70
        assert missed(second, IDS[:2]) == []
        await_followed(second)
        assert nearest_of(second).index.count() == 70
        second.store.close()


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_fails_for_a_moment_is_asked_again(open_store, pinecone, status):
    opened = filled(open_store, pinecone.address, index_timeout_seconds=30.0)
    pinecone.troubles = [Trouble(status=status, headers={"retry-after": "0"})]
    pinecone.exchanges.clear()
    assert opened.nearest("r3") == ["r3"]
    assert [exchange.status for exchange in pinecone.exchanges] == [status, 200]
    assert opened.store.indexes.fault == ""


@pytest.mark.parametrize("status", [400, 402, 403, 413])
def test_what_the_service_refuses_is_not_asked_again(open_store, pinecone, status):
    opened = filled(open_store, pinecone.address)
    pinecone.troubles = [Trouble(status=status)]
    pinecone.exchanges.clear()
    assert opened.nearest("r3") == ["r3"]
    assert [exchange.status for exchange in pinecone.exchanges] == [status]
    assert opened.store.indexes.fault == f"{pinecone.address} cannot be used: [{status}] trouble"


def test_a_service_that_asks_for_a_long_rest_is_done_without(open_store, pinecone):
    opened = filled(open_store, pinecone.address, index_timeout_seconds=1.5)
    pinecone.troubles = [Trouble(status=429, headers={"retry-after": "9"})] * 2
    assert opened.nearest("r3") == ["r3"]
    assert opened.store.indexes.fault == f"{pinecone.address} did not answer within 1.5 s"
    opened.store.close()


HALVES = {
    "a body that is cut off": Trouble(n_sent=20),
    "a body that is not JSON": Trouble(body=b'{"matches": [{"id": "1'),
    "a body of something else": Trouble(body=b"<html>a proxy's greeting</html>"),
    "fewer hits than there are": Trouble(
        body=b'{"matches": [{"id": "4:0", "score": 0.1, "values": []}]}',
        headers={"x-pinecone-max-indexed-lsn": "99"},
    ),
    "keys of somebody else": Trouble(
        body=b'{"matches": [{"id": "doc-1", "score": 0.1}, {"id": "doc-2", "score": 0.1}]}',
        headers={"x-pinecone-max-indexed-lsn": "99"},
    ),
    "numbers that no record has": Trouble(
        body=b'{"matches": [{"id": "99999999999999999999999:0", "score": 0.1}, {"id": "2:0", "score": 0.1}]}',
        headers={"x-pinecone-max-indexed-lsn": "99"},
    ),
    "hits without a position": Trouble(body=b'{"matches": [{"id": "1:0", "score": 0.1}, {"id": "2:0", "score": 0.1}]}'),
}


@pytest.mark.parametrize("half", HALVES.values(), ids=HALVES.keys())
def test_half_an_answer_is_none(open_store, pinecone, half):
    opened = filled(open_store, pinecone.address)
    pinecone.sends_positions = bool(half.headers) or half.n_sent is not None
    pinecone.troubles = [half] * 4  # a connection that is lost is tried three times more
    assert opened.nearest("r3") == ["r3"]
    pinecone.troubles, pinecone.sends_positions = [], True
    assert missed(opened) == []
    await_no_fault(opened)


def test_no_key_and_no_sdk_are_said_with_what_to_do(open_store, pinecone, monkeypatch):
    opened = open_store(index=pinecone.address, **FEW)
    opened.add(*IDS)
    monkeypatch.delenv("PINECONE_API_KEY")
    assert opened.store.catch_up() == 0
    assert opened.store.indexes.fault.endswith("cannot be used: the API key is missing; set PINECONE_API_KEY")
    monkeypatch.setitem(sys.modules, "pinecone", None)
    assert opened.store.catch_up() == 0
    assert opened.store.indexes.fault.endswith(
        "is not installed; install it: pip install 'atlas-agent-memory[pinecone]'"
    )
    assert missed(opened) == []


def test_a_key_may_end_with_a_line(open_store, pinecone, monkeypatch):
    monkeypatch.setenv("PINECONE_API_KEY", f"{KEY}\n")
    opened = filled(open_store, pinecone.address)
    assert nearest_of(opened).updater.checkpoint().n_keys == 70
    assert opened.store.indexes.fault == ""


def test_a_key_that_no_request_can_carry_ends_no_search(open_store, pinecone, monkeypatch):
    monkeypatch.setenv("PINECONE_API_KEY", "clé\nclé")
    opened = filled(open_store, pinecone.address)
    assert missed(opened, IDS[:3]) == []
    assert opened.store.indexes.fault.startswith(f"{pinecone.address} cannot be used: ")
    assert "clé" not in opened.store.indexes.fault


@dataclass(frozen=True)
class Held:
    """A collection of ChromaDB that gives whatever it is told to."""

    answer: Any

    def query(self, **_):
        return self.answer

    def count(self):
        return self.answer


def chroma_that_gives(answer):
    """An index of ChromaDB with one collection."""
    service = ChromaService(read_index_address("chroma+http://127.0.0.1:1"), seconds=1.0)
    service._lazy_client = LazyClient(lambda: Client(None, {"held": Held(answer)}), lambda _: None)
    return service


@pytest.mark.parametrize(
    "answer",
    [
        {"ids": [], "distances": []},
        {"ids": [["1:0"]], "distances": None},
        {"ids": [["1:0", "2:0"]], "distances": [[0.1]]},
        {"ids": [["1:0"]], "distances": [[None]]},
        {},
    ],
)
def test_half_an_answer_of_chroma_is_none(answer):
    with pytest.raises(IndexUnreachable):
        chroma_that_gives(answer).query("held", np.ones(DIMENSION, np.float32), 2)


@pytest.mark.parametrize("answer", ["many", None])
def test_a_count_of_chroma_that_is_no_number_is_none(answer):
    with pytest.raises(IndexUnreachable):
        chroma_that_gives(answer).count("held")


def test_no_key_is_ever_shown_or_kept(open_store, pinecone, caplog, store_place, monkeypatch):
    opened = filled(open_store, pinecone.address)
    pinecone.key = "another"  # the server's answer repeats the one that it was given
    with caplog.at_level(logging.DEBUG):
        assert missed(opened, IDS[:3]) == []
        opened.add("new")
        assert opened.store.catch_up() == 0
        problem = problem_of(opened.store)
    fault = opened.store.indexes.fault
    assert "the key *** is not valid" in fault
    history = "".join(map(str, opened.store.history()))
    for text in (fault, problem, caplog.text, history, repr(opened.store.settings)):
        assert KEY not in text
    for path in opened.store.path.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes()
    assert not any(KEY in value for value in opened.store.ledger.notes.read("index").values())


@pytest.mark.parametrize(
    ("index", "said"),
    [
        (
            {"dimension": 3},
            "expected 8 dimensions for the store's embedding model, got an index with 3; create an index",
        ),
        (
            {"dimension": 8, "metric": "euclidean"},
            "expected an index with the metric cosine, got 'euclidean'; create one with the metric cosine",
        ),
    ],
)
def test_an_index_of_another_kind_is_refused_with_what_to_do(open_store, pinecone, index, said):
    with serving(**index) as server:
        opened = filled(open_store, server.address)
        assert said in opened.store.indexes.fault
        assert server.namespaces == {}
        assert missed(opened) == []


def test_an_index_that_somebody_emptied_is_built_again(open_store, service):
    opened = filled(open_store, service.address)
    index = nearest_of(opened).index
    index._service.drop(index._notes.read().namespace)
    assert missed(opened, IDS[:5]) == []
    assert opened.store.catch_up() == 70
    assert index.count() == 70
    assert missed(opened) == []
    assert problem_of(opened.store) == ""


def test_half_an_index_that_somebody_emptied_is_not_believed(open_store, pinecone, monkeypatch):
    monkeypatch.setattr("atlas.storage.vectors.following.BATCH", 20)
    opened = open_store(index=pinecone.address, exact_max_rows=25, index_lag_rows=10**6)
    opened.add(*IDS[:40])
    pinecone.most_upserts = 1
    opened.store.catch_up()
    assert (nearest_of(opened).updater.checkpoint().revision, nearest_of(opened).updater.checkpoint().n_keys) == (20, 0)
    pinecone.most_upserts = sys.maxsize
    (namespace,) = pinecone.namespaces.values()
    namespace.shown.clear()
    assert nearest_of(opened).index.count() == 0
    assert missed(opened, IDS[:40]) == []


def test_doctor_finds_and_mends_an_index_that_lacks_records(open_store, service):
    opened = filled(open_store, service.address)
    index = nearest_of(opened).index
    index._service.remove(index._notes.read().namespace, ["3:0", "4:0"])
    assert problem_of(opened.store) == f"the index of {THINGS} has 68 vectors, but the ledger 70"
    assert [finding.check for finding in examine(opened.store, fix=True) if finding.is_fixed] == ["index"]
    assert index.count() == 70


def test_an_index_that_is_built_again_leaves_nothing_behind(open_store, pinecone):
    opened = filled(open_store, pinecone.address)
    (before,) = pinecone.namespaces
    assert nearest_of(opened).index.clear()
    assert pinecone.namespaces == {}
    opened.store.catch_up()
    (after,) = pinecone.namespaces
    assert after != before


def test_what_the_service_could_not_forget_is_forgotten_later(open_store, pinecone):
    opened = filled(open_store, pinecone.address)
    pinecone.troubles = [Trouble(status=403)]
    assert not nearest_of(opened).index.clear()
    assert len(pinecone.namespaces) == 1
    opened.store.catch_up()
    assert len(pinecone.namespaces) == 1
    assert nearest_of(opened).index.count() == 70


@of_files
def test_a_copy_of_a_store_has_an_index_of_its_own(open_store, pinecone, store_place, tmp_path):
    opened = filled(open_store, pinecone.address)
    opened.store.close()
    shutil.copytree(store_place, tmp_path / "copy")
    copy = open_store(tmp_path / "copy", index=pinecone.address, **FEW)
    assert nearest_of(copy).updater.checkpoint() == IndexCheckpoint()
    copy.edit("r3", "another text")
    copy.store.catch_up()
    assert copy.nearest("another text") == ["r3"]
    assert len(pinecone.namespaces) == 2
    assert nearest_of(copy).index.clear()
    assert missed(opened) == []
    assert len(pinecone.namespaces) == 1


def test_a_store_can_change_its_index_at_any_time(open_store, pinecone, chroma_server):
    for n, address in enumerate(["", pinecone.address, chroma_server.address, pinecone.address, ""]):
        opened = open_store(index=address, **FEW)
        opened.add(*(f"r{i}" for i in range(20 * n, 20 * n + 20)))
        opened.store.catch_up()
        assert nearest_of(opened).updater.n_behind() == 0
        assert missed(opened, [f"r{i}" for i in range(20 * n + 20)]) == []
        opened.store.close()
    assert len(pinecone.namespaces) == 1  # the second time it went on from where it was


def purge(opened, *ids):
    return apply_purge(opened.store, plan_purge(opened.store, list(ids)), reason="a test")


def test_a_purge_empties_every_service_in_which_a_store_had_an_index(open_store, pinecone, chroma_server):
    opened = filled(open_store, chroma_server.address)
    on_chroma = nearest_of(opened).index
    named = on_chroma._notes.read().namespace
    opened.store.close()
    opened = filled_on(open_store, pinecone.address)
    (before,) = pinecone.namespaces
    purge(opened, "r3")
    assert opened.store.finish_purges() == ""
    assert before not in pinecone.namespaces
    assert on_chroma._service.count(named) == 0
    opened.store.catch_up()
    assert opened.nearest("r3") != ["r3"]


def filled_on(open_store, address):
    opened = open_store(index=address, **FEW)
    opened.store.catch_up()
    return opened


def test_a_purge_is_not_done_before_the_service_has_forgotten(open_store, pinecone, monkeypatch):
    opened = filled(open_store, pinecone.address)
    (before,) = pinecone.namespaces
    pinecone.key = "another"
    purge(opened, "r3")
    assert pinecone.address in opened.store.finish_purges()
    assert before in pinecone.namespaces
    assert [finding.check for finding in examine(opened.store) if finding.problem][-1] == "purges"
    pinecone.key = KEY
    assert opened.store.finish_purges() == ""
    assert before not in pinecone.namespaces


def test_a_restored_store_does_not_forget_what_a_service_has_of_it(open_store, pinecone, tmp_path):
    opened = filled(open_store, "", n=40)
    backup(opened.store, tmp_path / "backup.atlas")
    opened.store.close()
    opened = filled_on(open_store, pinecone.address)
    (before,) = pinecone.namespaces
    restore(opened.store, tmp_path / "backup.atlas")
    opened.store.catch_up()
    assert before not in pinecone.namespaces
    assert missed(opened, IDS[:40]) == []


def test_a_query_for_a_checkpoint_that_was_replaced_is_refused(open_store, pinecone):
    opened = filled(open_store, pinecone.address)
    index = nearest_of(opened).index
    checkpoint = index.checkpoint()
    index.clear()
    with pytest.raises(IndexUnreachable, match="the index has been cleared or rebuilt since its checkpoint was read"):
        index.query([1.0] * DIMENSION, 3, checkpoint=checkpoint)


def test_a_ledger_is_known_by_its_file_system_and_machine_too(open_store, engine):
    opened = open_store()
    if engine == "sqlite":
        status = (opened.store.path / "atlas.sqlite").stat()
        assert opened.store.ledger.identity().endswith(f"-{status.st_dev}-{status.st_ino}")
