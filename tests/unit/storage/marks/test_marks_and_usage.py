"""Marks and usage: filtered by, written by several at once, and whole after a crash in between."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import contextmanager
from datetime import timedelta

import pytest

from atlas.core.errors import InvalidInput, NotFound
from atlas.core.operations import NO_USAGE, Marks, Usage
from atlas.core.settings import Settings
from atlas.infra.actor import Actor, Role, acting
from atlas.infra.bridge import in_thread
from atlas.storage.marks import files as marks_files
from atlas.storage.retrievals import FLUSH_RECORDS
from atlas.storage.sql.usage import restore_usage
from atlas.storage.sqlite.ledger import open_sqlite
from atlas.storage.store import Store
from atlas.testing import FixedClock
from tests.support.storage.engines import every_engine, of_files
from tests.support.storage.ledgers import THINGS, Opened, vector_of

engine = every_engine

IDS = ["a", "b", "c", "d"]


@pytest.fixture
def marked(open_store):
    opened = open_store()
    opened.add("a", "b", n=1)
    opened.add("c", "d", n=2)
    opened.mark(a=Marks(tags=("red", "blue"), note="first"), b=Marks(tags=("blue",), pinned=True), c=Marks(note="z"))
    return opened


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"marks.tags": "blue"}, "ab"),
        ({"marks.tags": "red"}, "a"),
        ({"marks.tags": "green"}, ""),
        ({"marks.tags": {"$in": ["red", "green"]}}, "a"),
        ({"marks.pinned": True}, "b"),
        ({"marks.pinned": False}, "acd"),
        ({"marks.pinned": {"$in": [True, False]}}, "abcd"),
        ({"marks.pinned": {"$gte": 1}}, "b"),
        ({"marks.pinned": "yes"}, ""),
        ({"marks.note": "first"}, "a"),
        ({"marks.note": {"$gt": "m"}}, "c"),
        ({"marks.tags": "blue", "n": 1, "marks.pinned": True}, "b"),
        ({"$or": [{"marks.pinned": True}, {"n": 2}]}, "bcd"),
        ({"$and": [{"$or": [{"marks.note": "z"}, {"marks.tags": "red"}]}, {"n": 1}]}, "a"),
        ({"marks.unheard of": 1}, ""),
    ],
)
def test_records_are_filtered_by_their_marks(marked, where, expected):
    things = marked.store.collection(THINGS)
    assert "".join(marked.ids(where)) == expected
    assert things.count(where) == len(expected)
    assert "".join(sorted(things.query(vector_of("a"), 9, where).ids)) == expected
    assert "".join(sorted(things.search_text("text", 9, where).ids)) == expected


@pytest.mark.parametrize(
    ("reader", "with_buried", "expected"),
    [("", False, "abcd"), ("intern", False, "abd"), ("other", False, "abcd"), ("", True, "b"), ("intern", True, "b")],
)
def test_a_search_leaves_out_records_in_quarantine_and_buried_or_pending_ones(marked, reader, with_buried, expected):
    marked.mark(a=Marks(buried=True), b=Marks(buried=True), d=Marks(buried=True))
    marked.store.collection(THINGS).quarantine({"b": "it reads like an attack"})
    marked.delete("c")
    with acting(Actor("intern", Role.WRITER, is_reviewed=True)):
        marked.add("c2")
    marked.add("intern")  # the id of a record, and the text of a mark, are no names of readers
    marked.mark(intern=Marks(note="intern"))
    hidden = marked.store.ledger.marks.hidden_seqs(THINGS, reader, only_quarantined=with_buried)
    assert hidden.tolist() == sorted(hidden.tolist())
    ids = {record.id for record in marked.store.ledger.read_by_seq(hidden.tolist()).values()}
    assert ids == {"c2" if letter == "c" else letter for letter in expected}


def test_the_ledger_of_a_store_filters_by_marks_itself(marked):
    assert marked.store.ledger.count(THINGS, {"marks.tags": "blue"}) == 2
    assert marked.store.ledger.count_by(THINGS, "n", {"marks.pinned": False}) == {2: 2, 1: 1}


@of_files
def test_a_ledger_alone_filters_by_marks_too(marked):
    ledger = open_sqlite(marked.store.path / "atlas.sqlite", clock=marked.store.ledger.clock)
    assert ledger.count(THINGS, {"marks.tags": "blue"}) == 2
    ledger.close()


def test_filters_follow_changes_of_marks_at_once(marked):
    other = Opened(Store.open(marked.store.path, settings=Settings()))
    for pinned in (True, False, True):
        other.mark(d=Marks(pinned=pinned))
        assert ("d" in marked.ids({"marks.pinned": True})) is pinned
        marked.mark(a=Marks(pinned=not pinned))
        assert ("a" in other.ids({"marks.pinned": True})) is not pinned
    other.store.ledger.close()


def test_marks_of_deleted_records_are_not_found(marked):
    marked.delete("b")
    assert marked.ids({"marks.pinned": True}) == []
    assert marked.ids({"marks.pinned": False}) == ["a", "c", "d"]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"usage.n_uses": {"$gt": 0}}, "ab"),
        ({"usage.n_uses": 0}, "cd"),
        ({"usage.n_successes": {"$gte": 2}}, "a"),
        ({"usage.n_retrieved": 3}, "c"),
        ({"usage.n_retrieved": {"$in": [0, 3]}}, "abcd"),
        ({"usage.n_retrieved": {"$in": [3.0, 0.5, "3", 10**30]}}, "c"),
        ({"usage.last_used_at": {"$gt": "2026-01-01"}}, "ab"),
        ({"usage.last_used_at": {"$gt": "2026-02-01"}}, ""),
        ({"usage.last_retrieved_at": {"$lt": "2027"}}, "c"),
        ({"$or": [{"usage.n_retrieved": 3}, {"usage.n_successes": 2}]}, "ac"),
        ({"usage.n_uses": "0"}, ""),
    ],
)
def test_records_are_filtered_by_their_usage(tmp_path, where, expected):
    with Store.open(tmp_path / "store", clock=FixedClock()) as store:
        opened = Opened(store)
        opened.add(*IDS)
        things = store.collection(THINGS)
        for record_id, success in (("a", True), ("a", True), ("b", False)):
            things.record_use(record_id, success)
        with store.ledger.database.write() as connection:
            retrieved = Usage(n_retrieved=3, last_retrieved_at=FixedClock().now())
            restore_usage(connection, THINGS, {"c": retrieved})
        assert "".join(opened.ids(where)) == expected
        opened.delete(*IDS)


def test_an_unknown_kind_of_usage_is_refused(marked):
    with pytest.raises(InvalidInput, match=r"expected one of usage.n_uses, .* as a filter key, got 'usage.n_likes'"):
        marked.ids({"usage.n_likes": 1})


def test_uses_add_up(tmp_path):
    clock = FixedClock()
    store = Store.open(tmp_path / "store", clock=clock)
    opened = Opened(store)
    opened.add("a", "b")
    things = store.collection(THINGS)
    things.record_use("a", True, "t1")
    clock.advance(timedelta(days=1))
    things.record_use("a", False, "t2")
    assert things.usage(["a", "b"]) == {
        "a": Usage(n_uses=2, n_successes=1, last_used_at=clock.now()),
        "b": NO_USAGE,
    }
    with pytest.raises(NotFound, match="there is no record 'zzz'"):
        things.record_use("zzz", True)
    store.ledger.close()


def test_an_attempt_counts_once_for_a_record(open_store):
    opened = open_store()
    opened.add("a", "b")
    things = opened.store.collection(THINGS)
    for record_id, trajectory_id in (("a", "one"), ("a", "one"), ("a", "two"), ("b", "one"), ("b", ""), ("b", "")):
        things.record_use(record_id, True, "t", trajectory_id)
    named = {i: [use.trajectory_id for use in of] for i, of in things.uses(["a", "b"]).items()}
    assert named == {"a": ["one", "two"], "b": ["one", "", ""]}
    assert {i: usage.n_uses for i, usage in things.usage(["a", "b"]).items()} == {"a": 2, "b": 3}
    by_attempt = opened.store.ledger.usage.records_by_attempt
    assert by_attempt() == {"one": [(THINGS, "a"), (THINGS, "b")], "two": [(THINGS, "a")]}
    assert by_attempt(["two", "unknown"]) == {"two": [(THINGS, "a")]}
    assert by_attempt([]) == {}


def test_retrievals_are_counted_and_written_when_the_store_closes(open_store):
    opened = open_store()
    opened.add("a", "b")
    things = opened.store.collection(THINGS)
    for ids in (["a", "b"], ["a"]):
        things.count_retrievals(ids)
    opened.store.close()
    usage = open_store().store.collection(THINGS).usage(["a", "b"])
    assert {record_id: u.n_retrieved for record_id, u in usage.items()} == {"a": 2, "b": 1}


def test_what_was_retrieved_since_a_time_is_told(tmp_path):
    clock = FixedClock()
    with Store.open(tmp_path / "store", clock=clock) as store:
        usage, first = store.ledger.usage, clock.now().isoformat()
        usage.record_retrievals({THINGS: {"a": 2, "b": 1}})
        clock.advance(timedelta(seconds=1))
        second = clock.now().isoformat()
        usage.record_retrievals({THINGS: {"b": 1}, "others": {"c": 1}})
        assert usage.retrieved_since(THINGS, "") == {"a": first, "b": second}
        assert usage.retrieved_since(THINGS, first) == {"b": second}
        assert usage.retrieved_since(THINGS, second) == {}


@contextmanager
def locked(path):
    """Another process is writing inside the block."""
    writer = sqlite3.connect(path / "atlas.sqlite", isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        writer.close()


@of_files
def test_retrievals_that_cannot_be_written_yet_fail_no_search_and_are_kept(open_store, caplog):
    opened = open_store(busy_timeout_seconds=0.05)
    ids = [f"r{i}" for i in range(FLUSH_RECORDS)]
    opened.add("a", *ids)
    things = opened.store.collection(THINGS)
    with locked(opened.store.path):
        things.count_retrievals(ids)
        things.count_retrievals(["a"])
    messages = [record.message for record in caplog.records if record.name != marks_files.__name__]  # a thread's own
    assert [message.partition(":")[0] for message in messages] == [
        "counts of search hits are not written yet; the next write will retry"
    ]
    assert things.usage(["a"])["a"] == NO_USAGE
    things.write_retrievals()
    assert things.usage(["a"])["a"].n_retrieved == 1
    assert things.usage(["r7"])["r7"].n_retrieved == 1


@of_files
def test_writing_what_was_retrieved_leaves_the_event_loop_free(open_store):
    opened = open_store(busy_timeout_seconds=1.0)
    ids = [f"r{i}" for i in range(FLUSH_RECORDS)]
    opened.add(*ids)
    things = opened.store.collection(THINGS)

    async def count_ticks():
        noting = asyncio.ensure_future(in_thread(things.count_retrievals, ids))
        n_ticks = 0
        while not noting.done():
            await asyncio.sleep(0.01)
            n_ticks += 1
        return n_ticks

    with locked(opened.store.path):
        assert asyncio.run(count_ticks()) > 3  # a loop that is held up counts one


def test_a_half_written_file_of_a_crashed_process_does_no_harm(marked, open_store):
    (marked.store.path / f".{THINGS}_meta.json.4711").write_text('{"marks": {"a":')
    again = open_store()
    again.mark(a=Marks(note="new"))
    assert again.marks("a") == Marks(note="new")
    assert again.marks("b").pinned


def test_threads_that_mark_through_two_stores_at_once_lose_nothing(open_store):
    ids = [f"r{i}" for i in range(40)]
    stores = [open_store(), open_store()]
    stores[0].add(*ids)

    def work(opened, mine):
        for record_id in mine:
            opened.mark(**{record_id: Marks(note=record_id), "r0": Marks(note=record_id)})

    threads = [threading.Thread(target=work, args=(stores[i % 2], ids[1 + i :: 4])) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    last = stores[0].store.history(1)[0]
    for opened in (*stores, open_store()):
        assert {record_id: opened.marks(record_id).note for record_id in ids[1:]} == {i: i for i in ids[1:]}
    with stores[0].store.ledger.database.read() as connection:
        (newest,) = connection.execute(
            "SELECT record_id FROM changes WHERE operation = ? AND record_id <> 'r0'", (last.id,)
        ).fetchone()
    assert open_store().marks("r0").note == newest


@pytest.mark.parametrize("marks", [Marks(note="\ud800"), Marks(note="a\x00b"), Marks(tags=("\udfff",))])
def test_marks_that_a_file_cannot_hold_are_refused(marked, marks):
    with pytest.raises(InvalidInput, match=r"marks\.(note|tags).* contains a (lone surrogate|NUL)"):
        marked.mark(a=marks)
    assert marked.marks("a").note == "first"
