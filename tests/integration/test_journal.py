"""Journal and conversations across processes: what one has acknowledged, all see, and a kill takes nothing of it."""

from __future__ import annotations

import random

import pytest

from tests.support.processes.conversation import hear, kill_somewhere, listen, start_together
from tests.support.processes.workers import opened

N_WRITES = 25
N_KILLS = 4
SEED = 20_261_121


class Said:
    """What workers say that the store must hold."""

    def __init__(self):
        self.entries = {}
        self.links = {}
        self.turns = {}

    def take(self, line):
        what, one, other = line.split()
        {"entry": self.entries, "linked": self.links, "turn": self.turns}[what][one] = other


def missing(memory, said):
    """What was acknowledged, but cannot be read or found."""
    entries = {entry.id: entry for entry in memory.journal.get_many(list(said.entries))}
    lost = [entry_id for entry_id in said.entries if entry_id not in entries]
    for crash, fix in said.links.items():
        if fix not in [link.target_id for link in entries[crash].links if link.type == "fixed_by"]:
            lost.append(f"{crash} fixed_by {fix}")
    turns = {turn.id: turn for turn in memory.conversations.get_many(list(said.turns))}
    return lost + [turn_id for turn_id in said.turns if turn_id not in turns]


def not_found(memory, line):
    """Why a search of this process does not find what another one has just said."""
    what, record_id, name = line.split()
    if what == "entry":
        found = memory.journal.search_words(name, 8)
        return [] if record_id in [entry.id for entry in found] else [line]
    if what == "turn":
        found = memory.conversations.search(f"ask {name}", 3)
        return [] if record_id in [turn.id for turn in found] else [line]
    [entry] = memory.journal.get_many([record_id])
    return [] if any(link.target_id == name for link in entry.links) else [line]


def test_what_two_processes_write_a_third_one_sees_at_once(start, tmp_path):
    path, said = tmp_path / "store", Said()
    opened(path).close()
    writers = [start("note", path, f"w{i}", N_WRITES) for i in range(2)]
    with opened(path) as memory:
        start_together(writers)
        missed = []
        for line in listen(writers):
            said.take(line)
            missed += not_found(memory, line)
        assert [writer.wait() for writer in writers] == [0, 0]
        assert missed == []
        assert missing(memory, said) == []
        assert len(memory.journal) == len(said.entries) == 2 * 2 * N_WRITES
        assert memory.conversations.names() == {"w0": N_WRITES, "w1": N_WRITES}
        assert len(said.links) == 2 * N_WRITES


@pytest.mark.parametrize("kill", range(N_KILLS))
def test_a_killed_writer_of_the_journal_loses_nothing_that_it_has_acknowledged(start, tmp_path, kill):
    path, said, draw = tmp_path / "store", Said(), random.Random(SEED + kill)
    opened(path).close()
    for turn in range(2):
        worker = start("note", path, f"w{kill}-{turn}")
        start_together([worker])
        kill_somewhere(worker, draw, said, 30)
    with opened(path) as memory:
        assert missing(memory, said) == []
        assert len(memory.journal) - len(said.entries) in (0, 1, 2), "what was written, but not said, by two workers"
        latest = list(said.entries)[-1]
        assert latest in [entry.id for entry in memory.journal.recent(3)]
        with memory.storage.ledger.database.session() as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        memory.journal.add("directive", "go on from here", generation=1)
        assert memory.journal.recent(1)[0].content == "go on from here"


def test_what_two_processes_delete_of_one_log_stays_in_the_text_of_no_other_entry(start, tmp_path):
    path = tmp_path / "store"
    with opened(path) as memory:
        ids = [memory.journal.add("task", f"word{number}word of it", generation=1) for number in range(60)]
    parts = [[one for place, one in enumerate(ids) if place % 6 in places] for places in ((0, 2), (1, 4))]
    workers = [start("forget", path, *part) for part in parts]
    start_together(workers)
    said = [line.split() for worker in workers for line in iter(lambda worker=worker: hear(worker), "")]
    assert [worker.wait() for worker in workers] == [0, 0]
    assert said == [[entry_id, "1"] for part in parts for entry_id in part]
    with opened(path) as memory:
        kept = [f"word{number}word of it" for number in range(60) if number % 6 in (3, 5)]
        rows = memory.journal.browse(descending=False)
        assert [row["document"].split("\n\n") for row in rows] == [
            [content, *kept[max(0, place - 2) : place]] for place, content in enumerate(kept)
        ]
