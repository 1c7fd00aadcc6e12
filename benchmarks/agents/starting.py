"""Starting: the CPU time of imports and commands, and how soon a client of `atlas mcp` lists tools and searches."""

from __future__ import annotations

import asyncio
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcp import Client
from mcp.client.stdio import StdioServerParameters

import atlas
from atlas.embedding.sentence_transformers import BUNDLED, SentenceTransformerEmbedder
from atlas.server.mcp.reading import NOT_READY
from benchmarks.measuring import Figure, solved, task_texts

N_STORED = 1_000
N_RUNS = 5
QUESTION = {"query": "a flight was cancelled"}
EMPTY = ("-c", "pass")
COMMANDS = {
    "`import atlas`": ("-c", "import atlas"),
    "`atlas --help`": ("-m", "atlas", "--help"),
    "`atlas search --words`": ("-m", "atlas", "--store", "{store}", "search", "--words", QUESTION["query"]),
}
"""Arguments of Python by what they start."""

BUSY = "while True: pass"
"""What keeps a core busy."""


def figures() -> Iterator[Figure]:
    """Yield medians of several starts, with every core busy and with the machine free."""
    with tempfile.TemporaryDirectory() as store:
        with atlas.open_memory(store, embedder=SentenceTransformerEmbedder(BUNDLED)) as memory:
            memory.experience.store_many(map(solved, task_texts(N_STORED)))
        for what, command in COMMANDS.items():
            ours, empty = (_cpu_seconds([part.format(store=store) for part in parts]) for parts in (command, EMPTY))
            yield Figure(
                what=f"CPU time of {what}, beside `python -c pass`", ours=ours, baseline=empty, unit="s", aim=""
            )
        for where, n_busy in (("every core busy", os.cpu_count() or 1), ("machine free", 0)):
            with _busy(n_busy):
                listed, searched, megabytes = zip(*(asyncio.run(_start(store)) for _ in range(N_RUNS)), strict=True)
            yield _figure(f"`atlas mcp`, {where}: tools listed", statistics.median(listed), "s", "≤ 2 s")
            yield _figure(f"`atlas mcp`, {where}: first search answered", statistics.median(searched), "s")
            yield _figure(f"`atlas mcp`, {where}: memory, the model loaded", statistics.median(megabytes), "MB")


async def _start(store: str) -> tuple[float, float, float]:
    """Return after how many seconds a new command has listed its tools and answered a search, and its memory then."""
    command = [*("-m", "atlas", "--store", store), "mcp"]
    begin = time.perf_counter()
    async with Client(StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))) as client:
        await client.list_tools()
        listed = time.perf_counter() - begin
        answer = await client.call_tool("search", QUESTION)
        first_search = time.perf_counter() - begin
        while NOT_READY in str(answer.content):
            await asyncio.sleep(0.2)
            answer = await client.call_tool("search", QUESTION)
        return listed, first_search, _megabytes()


def _megabytes() -> float:
    """Return the memory at its highest of the largest process that this one has started."""
    children = " ".join(path.read_text() for path in Path("/proc/self/task").glob("*/children")).split()
    states = [Path(f"/proc/{child}/status").read_text() for child in children]
    return max(int(kilobytes) for state in states for kilobytes in re.findall(r"VmHWM:\s+(\d+)", state)) * 1_024 / 1e6


def _cpu_seconds(arguments: list[str]) -> float:
    """Return the median of the CPU seconds that several runs take, after one that fills the file cache."""
    spent = []
    for _ in range(N_RUNS + 1):
        process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
        _, _, usage = os.wait4(process.pid, 0)
        spent.append(usage.ru_utime + usage.ru_stime)
    return statistics.median(spent[1:])


@contextmanager
def _busy(n: int) -> Iterator[None]:
    processes = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(n)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _figure(what: str, value: float, unit: str, aim: str = "") -> Figure:
    return Figure(what=what, ours=value, baseline=None, unit=unit, aim=aim)
