"""Another process that writes into a store while a page shows it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.repository import REPOSITORY

WRITER = """
import sys, atlas
from atlas.testing import HashEmbedder
from tests.support.stores import DIMENSION
from tests.support.stores import MODEL
from tests.support.records import attempt
embedder = HashEmbedder(DIMENSION, MODEL)
with atlas.open_memory(sys.argv[1], embedder=embedder, settings=atlas.Settings()) as memory:
    print("ready", flush=True)
    for line in sys.stdin:
        name, *words = line.split()
        if name == "add":
            memory.experience.store_many([attempt(f"Written elsewhere {word}") for word in words])
        elif name == "delete":
            memory.experience.delete(words)
        else:
            memory.experience.edit(words[0], feedback="said elsewhere")
        print("done", flush=True)
"""


class Writer:
    """Another process that has the store open."""

    def __init__(self, store: Path) -> None:
        command = [sys.executable, "-c", WRITER, str(store)]
        self._process = subprocess.Popen(
            command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._answer("ready")

    def write(self, *words: str) -> None:
        """Let it `add` something, or `edit` or `delete` what has an id; returns when that is done."""
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join(words) + "\n")
        self._answer("done")

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()

    def _answer(self, expected: str) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline().strip() == expected


@contextmanager
def writing(store: Path) -> Iterator[Writer]:
    """Keep a writer beside what is done meanwhile."""
    writer = Writer(store)
    yield writer
    writer.close()
