"""Jobs for several processes on one store: `workers JOB STORE …`, one line of output for each thing done."""

from __future__ import annotations

import itertools
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import atlas
from atlas.core.errors import StoreUnavailable
from atlas.core.operations import Marks
from atlas.core.settings import Settings
from atlas.core.types import Outcome, Step, Task, Trajectory
from atlas.memory.experience.memory import COLLECTION
from atlas.memory.system import MemorySystem
from atlas.testing import HashEmbedder

T = TypeVar("T")

DIMENSION = 32
WINDOW_WORDS = 8


def embedder() -> HashEmbedder:
    """One that reads no more than a few words at once."""
    return HashEmbedder(DIMENSION, window_words=WINDOW_WORDS)


def opened(path: str | Path, *, is_indexed: bool = False) -> MemorySystem:
    """The store; with an index that is asked, and followed, from the first few records on."""
    few = {"exact_max_rows": 50, "index_lag_rows": 40} if is_indexed else {}
    return atlas.open_memory(path, embedder=embedder(), settings=Settings(**few))  # type: ignore[arg-type]


def attempt(name: str) -> Trajectory:
    """An attempt at a task that no other name shares; every third text is several times as long as a window."""
    text = " ".join([f"task {name}"] * (1 if sum(map(ord, name)) % 3 else 7))
    return Trajectory(task=Task(name, "", text), steps=(Step(action="go"),), outcome=Outcome(True))


def say(*words: object) -> None:
    """One line, at once: what was said was done."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def wait_for_word() -> None:
    """Until the test says go."""
    say("ready")
    sys.stdin.readline()


def write(path: str, worker: str, n_writes: str, is_indexed: str = "") -> None:
    """Store attempts, one at a time; each is said once it is acknowledged."""
    wait_for_word()
    with opened(path, is_indexed=bool(is_indexed)) as memory:
        for i in range(int(n_writes)):
            name = f"{worker}-{i}"
            say(memory.experience.store(attempt(name)), name)


def write_on(path: str, worker: str) -> None:
    """Store attempts without end, also where the server that has the store goes away and comes back."""
    memory = opened(path, is_indexed=True)
    wait_for_word()
    for i in range(10**9):
        name = f"{worker}-{i}"
        try:
            say("stored", memory.experience.store(attempt(name)), name)
        except StoreUnavailable:
            say("refused", name)
            time.sleep(0.05)


def write_and_mark(path: str, worker: str, seed: str) -> None:
    """Store, mark, edit, merge and delete at random, without end; each is said once it is acknowledged."""
    draw = random.Random(seed)
    memory = opened(path, is_indexed=True)
    say("ready")
    kept: list[str] = []
    for i in range(10**9):
        name = f"{worker}-{i}"
        kept.append(memory.experience.store(attempt(name)))
        say("stored", kept[-1], name)
        chosen = draw.choice(kept)
        what = draw.random()
        if what < 0.2:
            memory.experience.mark({chosen: Marks(note=name)})
            say("marked", chosen, name)
        elif what < 0.4:
            memory.experience.change_marks([chosen], note=name, buried=False)
            say("marked", chosen, name)
        elif what < 0.6:
            memory.experience.edit(chosen, feedback=name)
            say("edited", chosen, name)
        elif what < 0.7 and len(kept) > 1:
            kept.remove(chosen)
            say("deleting", chosen)
            memory.experience.delete([chosen])
            say("deleted", chosen)
        elif what < 0.8 and len(kept) > 1:
            older, newer = sorted(draw.sample(range(len(kept)), 2))
            say("deleting", kept[older])
            merged = memory.experience.merge([kept[older], kept[newer]])
            assert merged.id == kept[newer], "the newer of two successes stays"
            say("deleted", kept.pop(older))


def mark(path: str, worker: str, *ids: str) -> None:
    """Mark records one at a time: some of its own, and one that all workers share."""
    wait_for_word()
    with opened(path) as memory:
        for record_id in ids:
            memory.experience.mark({record_id: Marks(tags=(worker,), note=record_id)})
            say(record_id)


def tag(path: str, worker: str, n_tags: str, *ids: str) -> None:
    """Add tags of its own to records that all workers share, one after another."""
    wait_for_word()
    with opened(path) as memory:
        for i in range(int(n_tags)):
            memory.experience.change_marks(ids, add_tags=[f"{worker}-{i}"])
            say(i)


def ask(path: str, is_indexed: str = "") -> None:
    """Find each record that a line of input names, and say whether it was there: the nearest, and in the count."""
    memory = opened(path, is_indexed=bool(is_indexed))
    say("ready")
    for line in sys.stdin:
        record_id, name = line.split()
        hits = patiently(lambda name=name: memory.experience.search_hits(f"task {name}", 3, count_retrieval=False))
        say("found" if record_id in [hit.item.id for hit in hits] else f"missed {record_id} {name}")


def follow(path: str) -> None:
    """Say each record that another process adds, as the ledger's revisions tell of it."""
    ledger, seen = opened(path).storage.ledger, 0
    say("ready")
    while True:
        for entry in patiently(lambda since=seen: ledger.vector_changes(COLLECTION, since, 50)):
            seen = entry.revision
            say("told", entry.seq)
        time.sleep(0.02)


def patiently(ask: Callable[[], T]) -> T:
    """What is answered, once the server that has the store is there again."""
    while True:
        try:
            return ask()
        except StoreUnavailable:
            time.sleep(0.05)


def note(path: str, worker: str, n_writes: str = "") -> None:
    """Write a crash, what fixed it with a link, and a turn of a conversation, again and again; each is said at once.

    Without a number it has no end.
    """
    wait_for_word()
    memory = opened(path)
    memory.journal.keep_repetitions = True  # numbers alone tell these apart
    for i in range(int(n_writes) if n_writes else 10**9):
        name = f"{worker}-{i}"
        crash = memory.journal.add("crash_log", f"crash {name} of {worker} at {i}", generation=i, metadata={"n": i})
        say("entry", crash, name)
        fix = memory.journal.add(
            "reflection", f"lesson {name} of {worker} at {i}", generation=i, links=[("refers_to", str(crash))]
        )
        say("entry", fix, name)
        memory.journal.link(str(crash), str(fix), "fixed_by")
        say("linked", crash, fix)
        say("turn", memory.conversations.add(f"ask {name}", f"answer {name}", worker), name)


def forget(path: str, *ids: str) -> None:
    """Delete entries of a journal, one after another."""
    wait_for_word()
    memory = opened(path)
    for entry_id in ids:
        say(entry_id, memory.journal.delete([entry_id]))


def create(path: str) -> None:
    """Open a store that is not there yet, at the same moment as others, and write into it."""
    wait_for_word()
    with opened(path) as memory:
        say(memory.experience.store(attempt(str(time.time_ns()))))


def read_on(path: str) -> None:
    """Hold one state of the store until told to let go of it."""
    with opened(path) as memory, memory.storage.ledger.database.read() as connection:
        connection.execute("SELECT count(*) FROM records").fetchone()
        wait_for_word()
    say("done")


def search(path: str, text: str) -> None:
    """Say what is nearest to a text, and once more when told to."""
    memory = opened(path, is_indexed=True)
    for _ in range(2):
        task = Task("", "", text)
        found, held = memory.experience.search(task, 1), memory.experience.search_words(text, 1)
        say(found[0].id if held in ([], found) else "its words were found")
        sys.stdin.readline()


def purge_and_die(path: str, record_id: str, n_steps: str) -> None:
    """Purge a record, and be killed at one of the statements and changes of files that it takes."""
    memory = opened(path)
    plan = memory.plan_purge([record_id])
    left = itertools.count(int(n_steps), -1)

    def step(*_: object) -> None:
        if next(left) == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    with memory.storage.ledger.database.session() as connection:
        connection.set_trace_callback(step)
    sys.addaudithook(lambda event, _: step() if event in STEPS else None)
    memory.apply_purge(plan)
    say("survived", int(n_steps) - next(left))


STEPS = ("open", "os.remove", "os.rename", "os.rmdir", "shutil.rmtree", "sqlite3.connect")
JOBS = {
    job.__name__: job
    for job in (
        *(write, write_on, write_and_mark, mark, tag, ask, follow),
        *(note, forget, create, read_on, search, purge_and_die),
    )
}

if __name__ == "__main__":
    JOBS[sys.argv[1]](*sys.argv[2:])
