"""A writer that is killed at any instant loses nothing that it had acknowledged, and nobody has to repair anything."""

from __future__ import annotations

import random
import shutil

import pytest

from atlas.embedding.chunking import encode_documents
from atlas.memory.experience.memory import COLLECTION
from tests.support.processes.conversation import hear, kill_somewhere, start_together
from tests.support.processes.workers import attempt, embedder, opened

N_KILLS = 20
SEED = 20_260_501


class Acknowledged:
    """What a worker's lines say that the store must hold."""

    def __init__(self):
        self.records = {}
        self.notes = {}
        self.edits = {}
        self.in_doubt = set()
        """Records whose deletion had begun when the worker was killed."""

    def take(self, line):
        what, record_id, *name = line.split()
        if what == "stored":
            self.records[record_id] = name[0]
        elif what == "marked":
            self.notes[record_id] = name[0]
        elif what == "edited":
            self.edits[record_id] = name[0]
        elif what == "deleting":
            self.in_doubt.add(record_id)
        elif what == "deleted":
            self.in_doubt.discard(record_id)
            del self.records[record_id]


@pytest.mark.parametrize(
    "first_kill", [0, *(pytest.param(kill, marks=pytest.mark.slow) for kill in range(5, N_KILLS, 5))]
)
def test_a_killed_writer_loses_nothing_that_it_has_acknowledged(start, place, first_kill):
    path, acknowledged = place, Acknowledged()
    opened(path).close()
    for kill in range(first_kill, first_kill + 5):
        draw = random.Random(SEED + kill)
        worker = start("write_and_mark", path, f"w{kill}", SEED + kill)
        assert hear(worker) == "ready"
        kill_somewhere(worker, draw, acknowledged, 60)
        check(path, acknowledged)
    assert len(acknowledged.records) > 20


def test_others_that_come_and_go_cost_a_killed_writer_nothing(start, tmp_path):
    path, acknowledged = tmp_path / "store", Acknowledged()
    opened(path).close()
    worker = start("write_and_mark", path, "w0", SEED)
    assert hear(worker) == "ready"
    for _ in range(3):
        for _ in range(5):
            acknowledged.take(hear(worker))
        opened(path).close()
    kill_somewhere(worker, random.Random(SEED), acknowledged, 20)
    check(path, acknowledged)


def test_a_second_store_of_one_process_leaves_the_first_its_hold_on_the_journal(start, tmp_path):
    path, copy = tmp_path / "store", tmp_path / "as a kill leaves it"
    with opened(path) as first:
        first.experience.store(attempt("before"))
        with opened(path) as second:
            assert len(second.experience) == 1
        other = start("write", path, "w0", 1)
        start_together([other])
        other.wait()
        kept = first.experience.store(attempt("after"))
        shutil.copytree(path, copy)
    with opened(copy) as memory:
        assert memory.experience.get(kept) is not None


def check(path, acknowledged):
    memory = opened(path, is_indexed=True)
    texts = {row["id"]: row["document"] for row in memory.experience.browse()}
    held = set(texts)
    vectors = memory.storage.collection(COLLECTION).vectors()
    expected = encode_documents(embedder(), [*texts.values()])
    assert {i: len(own) for i, own in vectors.items()} == dict(zip(texts, map(len, expected), strict=True))
    assert set(acknowledged.records) - acknowledged.in_doubt <= held
    for record_id, name in acknowledged.records.items():
        if record_id in held:
            hits = memory.experience.search_hits(f"task {name}", 3, count_retrieval=False)
            assert record_id in [hit.item.id for hit in hits], name
    for record_id, name in acknowledged.edits.items():
        if record_id in held:
            assert number(memory.experience.get(record_id).feedback) >= number(name)
    marks = memory.experience.marks(list(acknowledged.notes))
    for record_id, name in acknowledged.notes.items():
        own, *_ = marks[record_id].note.split("\n")  # then those of records that were merged into it
        assert number(own) >= number(name)
    assert [problem for check in memory.storage.ledger.checks() if (problem := check.run())] == []
    memory.storage.ledger.close()  # without catching the index up: the next writer finds it as the killed one left it


def number(name):
    """Where in the order of writes a name of a record comes: the one that was being written may have got through."""
    worker, _, position = name.partition("-")
    return int(worker[1:]), int(position)
