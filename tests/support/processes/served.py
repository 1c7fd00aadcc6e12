"""Jobs of a memory that is served: the server, agents that ask it, and writers on its files: `served JOB …`.

Each says one line for each thing done, and has no end.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
from pathlib import Path

import atlas
from atlas.memory.system import MemorySystem
from tests.support.processes.workers import attempt, opened, say
from tests.support.serving import serving

PAUSE_SECONDS = 0.05
"""Time between two tries to reach a server that is being started."""


def memory_at(path: str, model: str) -> MemorySystem:
    """The store, with the bundled model or with a fake one."""
    if model == "bundled":
        return atlas.open_memory(Path(path), announce=lambda message: None)
    return opened(path, is_indexed=True)


def serve(path: str, model: str, port: str) -> None:
    """Serve a store on a port."""
    with memory_at(path, model) as memory, serving(memory, port=int(port)):
        say("ready")
        threading.Event().wait()


def agent(address: str, name: str, pause: str) -> None:
    """Store attempts over HTTP, each again until the server has acknowledged it."""
    with atlas.connect(address) as memory:
        for number in itertools.count():
            made = attempt(f"{name}-{number}")
            while (stored := _stored(memory, made)) is None:
                time.sleep(PAUSE_SECONDS)
            say(stored, made.task.id)
            time.sleep(float(pause))


def writer(path: str, model: str, name: str, pause: str) -> None:
    """Store attempts in the files, as a process beside the server."""
    with memory_at(path, model) as memory:
        for number in itertools.count():
            made = attempt(f"{name}-{number}")
            say(memory.store(made)["experience"], made.task.id)
            time.sleep(float(pause))


def _stored(memory: atlas.RemoteMemory, made: atlas.Trajectory) -> str | None:
    try:
        stored: str = memory.store(made)["experience"]
    except atlas.StoreUnavailable:
        return None
    return stored


JOBS = {job.__name__: job for job in (serve, agent, writer)}

if __name__ == "__main__":
    JOBS[sys.argv[1]](*sys.argv[2:])
