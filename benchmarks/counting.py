"""How many files, functions, transactions and threads a call goes through, and which memories it makes objects of.

Counted on the second call in a process of its own, with a profile function in every thread. `python -m
benchmarks.counting` prints the table alone, with `--files` the functions of each call too.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import atlas
from atlas.cli import main as command_line
from atlas.embedding.sentence_transformers import BUNDLED
from benchmarks.measuring import Figure, task_texts

PACKAGE = Path(atlas.__file__).parent
N_ATTEMPTS = 40
MEMORIES = ("experience", "concepts", "strategies", "journal", "conversations")
PRUNING = "atlas prune --dry-run"
AIMS = {
    ("memory.experience.retrieve", "files"): "at most 30",
    ("memory.experience.retrieve", "functions"): "at most 210",
    ("memory.experience.retrieve", "changes of file"): "at most 286",
    ("memory.experience.retrieve", "read transactions"): "1",
    ("memory.experience.change_marks", "files"): "at most 16",
    ("memory.experience.change_marks", "functions"): "at most 94",
    ("memory.experience.change_marks", "changes of file"): "at most 199",
}


@dataclass(slots=True, kw_only=True)
class Count:
    """Counts of one call."""

    what: str
    files: set[str] = field(default_factory=set)
    """Of the package, with a call in any thread, relative to it."""

    functions: set[str] = field(default_factory=set)
    """Of the package, with a call in any thread, after their file. Comprehensions and lambdas count too."""

    made: set[str] = field(default_factory=set)
    """Memories of which an object was made during the call, by their names."""

    n_reads: int = 0
    """Read transactions: those that were begun as such, and queries outside of any."""

    n_writes: int = 0
    """Write transactions."""

    n_switches: int = 0
    """Calls into the package from another thread than the call before."""

    n_jumps: int = 0
    """Calls into another file of the package than the call before."""


class Counter:
    """A counter of what calls go through. Make it before any thread that is to be counted."""

    def __init__(self) -> None:
        self.classes: Mapping[type, str] = {}
        """Classes of memories, with their names."""

        self._count: Count | None = None
        self._thread = 0
        self._file = ""
        self._connecting: dict[int, sqlite3.Connection] = {}
        """By their threads, connections that are being made."""

        sys.addaudithook(self._note_connection)
        threading.setprofile(self._note_call)
        sys.setprofile(self._note_call)

    @contextlib.contextmanager
    def counting(self, what: str) -> Iterator[Count]:
        """Count what the block goes through."""
        self._count, self._thread, self._file = Count(what=what), threading.get_ident(), ""
        try:
            yield self._count
        finally:
            self._count = None

    def _note_call(self, frame: FrameType, event: str, _: object) -> None:
        if self._connecting and event == "c_return" and (made := self._connecting.pop(threading.get_ident(), None)):
            self._trace(made)
        count = self._count
        if count is None or event != "call":
            return
        if frame.f_code.co_name == "__init__" and (name := self.classes.get(type(frame.f_locals.get("self")))):
            count.made.add(name)
        path = Path(frame.f_code.co_filename)
        if not path.is_relative_to(PACKAGE):
            return
        file = path.relative_to(PACKAGE).as_posix()
        count.files.add(file)
        count.functions.add(f"{file} {frame.f_code.co_qualname}")
        count.n_jumps += self._file not in ("", file)
        self._file = file
        if (thread := threading.get_ident()) != self._thread:
            count.n_switches += 1
            self._thread = thread

    def _note_connection(self, event: str, given: tuple[Any, ...]) -> None:
        if event == "sqlite3.connect/handle":  # it may be traced only when it is complete, and only in its thread
            self._connecting[threading.get_ident()] = given[0]

    def _trace(self, connection: sqlite3.Connection) -> None:
        is_inside = False

        def note(statement: str) -> None:
            nonlocal is_inside
            word, *rest = statement.upper().split(maxsplit=2)
            if self._count is not None and (word == "BEGIN" or (word in ("SELECT", "WITH") and not is_inside)):
                is_write = rest[:1] in (["IMMEDIATE"], ["EXCLUSIVE"])
                self._count.n_writes += is_write
                self._count.n_reads += not is_write
            is_inside = word == "BEGIN" or (is_inside and word not in ("COMMIT", "END", "ROLLBACK"))

        connection.set_trace_callback(note)


def figures() -> Iterator[Figure]:
    command = [sys.executable, "-m", "benchmarks.counting", "--json"]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    for count in json.loads(run.stdout):
        what, made = count["what"], count["made"]
        yield _figure(what, "files", len(count["files"]))
        yield _figure(what, "functions", len(count["functions"]))
        yield _figure(what, "changes of file", count["n_jumps"])
        yield _figure(what, "read transactions", count["n_reads"])
        yield _figure(what, "changes of thread", count["n_switches"])
        if what == PRUNING:
            yield _figure(what, f"memories made ({', '.join(made)})", len(made))


def _figure(what: str, noun: str, n: int) -> Figure:
    return Figure(what=f"{what}: {noun}", ours=n, baseline=None, unit="", aim=AIMS.get((what, noun.split(" (")[0]), ""))


def counted() -> list[Count]:
    """Return the files, functions and switches of each call, counted on its second run."""
    counter = Counter()
    try:
        with tempfile.TemporaryDirectory() as scratch, contextlib.redirect_stdout(io.StringIO()):
            return [*_of_library(counter, Path(scratch)), *_of_commands(counter, Path(scratch))]
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _of_library(counter: Counter, path: Path) -> Iterator[Count]:
    texts = task_texts(N_ATTEMPTS + 2)
    question = atlas.Task(id="question", domain="", description=texts[0])
    with atlas.open_memory(path, settings=atlas.Settings(store=path, embedding_model=BUNDLED)) as memory:
        counter.classes = {type(getattr(memory, name)): name for name in MEMORIES}
        _fill(memory, texts[:N_ATTEMPTS])
        successes, failures = ([_attempt(text, success) for text in texts[-2:]] for success in (True, False))
        yield _second(counter, "memory.experience.retrieve", lambda _: memory.experience.retrieve(texts[0]))
        ids = memory.experience.ids()
        yield _second(
            counter,
            "memory.experience.change_marks",
            lambda i: memory.experience.change_marks(ids[2 * i : 2 * i + 2], add_tags=["seen"]),
        )
        yield _second(counter, "memory.store", lambda i: memory.store(successes[i]))
        yield _second(counter, "memory.store of a failure", lambda i: memory.store(failures[i]))
        yield _second(counter, "memory.query_sync", lambda _: memory.query_sync(question))
        yield asyncio.run(_second_query(counter, memory, question))


def _of_commands(counter: Counter, path: Path) -> Iterator[Count]:
    prune = ["--store", str(path), "prune", "--min-success-rate", "0.5", "--dry-run"]
    yield _second(counter, PRUNING, lambda _: command_line(prune))


def _second(counter: Counter, what: str, call: Callable[[int], object]) -> Count:
    """Return the counts of the second of two equal calls."""
    call(0)
    with counter.counting(what) as count:
        call(1)
    return count


async def _second_query(counter: Counter, memory: atlas.MemorySystem, task: atlas.Task) -> Count:
    await memory.query(task)
    with counter.counting("await memory.query") as count:
        await memory.query(task)
    return count


def _fill(memory: atlas.MemorySystem, texts: Sequence[str]) -> None:
    """Put something into each of the memories that a query asks."""
    memory.experience.store_many([_attempt(text, number % 3 > 0) for number, text in enumerate(texts)])
    memory.concepts.add(
        atlas.CodeConcept(name="cut", description=texts[0], code="def cut(rows):\n    return rows[1:]\n")
    )
    memory.strategies.add(atlas.Strategy(situation=texts[0], suggestion="look at the rows first"))
    memory.journal.add_entries([atlas.JournalEntry(entry_type="observation", content=texts[1], generation=1)])


def _attempt(text: str, success: bool) -> atlas.Trajectory:
    steps = tuple(atlas.Step(action=f"{verb}(table)", observation="ok") for verb in ("read", "group", "write"))
    return atlas.Trajectory(
        task=atlas.Task(id=text.partition(":")[0], domain="", description=text),
        steps=steps,
        outcome=atlas.Outcome(success=success),
    )


def _table(counts: Sequence[Count], with_files: bool) -> Iterator[str]:
    headings = ("files", "functions", "jumps", "reads", "writes", "switches")
    yield f"{'second call':30} {' '.join(headings)}  memories made"
    for count in counts:
        numbers = (
            len(count.files),
            len(count.functions),
            count.n_jumps,
            count.n_reads,
            count.n_writes,
            count.n_switches,
        )
        columns = (f"{number:{len(heading)}}" for heading, number in zip(headings, numbers, strict=True))
        yield f"{count.what:30} {' '.join(columns)}  {', '.join(sorted(count.made))}".rstrip()
    if with_files:
        yield from (
            name for count in counts for name in ("", count.what, *map("    {}".format, sorted(count.functions)))
        )


def _print_counts() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", action="store_true", help="list the functions of each call, by file")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    options = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    counts = counted()
    if options.json:
        print(json.dumps([asdict(one) for one in counts], default=sorted))
    else:
        print("\n".join(_table(counts, options.files)))


if __name__ == "__main__":
    _print_counts()
