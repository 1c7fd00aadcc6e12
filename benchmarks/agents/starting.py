"""Starting: the CPU time of imports, commands and first calls, and how soon a client of `atlas mcp` is answered."""

from __future__ import annotations

import asyncio
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
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
RECALL = {"task": QUESTION["query"]}
EMPTY = ("-c", "pass")
ATLAS = ("-m", "atlas", "--store", "{store}")
COMMANDS = {
    "`import atlas`": (("-c", "import atlas"), ""),
    "`atlas --help`": (("-m", "atlas", "--help"), ""),
    "`atlas search --words`": ((*ATLAS, "search", "--words", QUESTION["query"]), "≤ 0.35 s"),
    "`atlas search`": ((*ATLAS, "search", QUESTION["query"]), "≤ 1.0 s"),
    "`atlas init --sample`": (("-m", "atlas", "--store", "{new}", "init", "--sample", "sample_data"), "≤ 8 s"),
}
"""Arguments of Python by what they start, each with its aim."""

WRITES = """
import sys, time, atlas
from benchmarks.measuring import solved, task_texts

with atlas.open_memory(sys.argv[1]) as memory:
    for text in task_texts(6):
        begin = time.process_time()
        memory.store(solved(text))
        print(time.process_time() - begin)
"""
"""A program that prints the CPU seconds of each of the first writes into a new store."""

BUSY = "while True: pass"
"""What keeps a core busy."""


def figures() -> Iterator[Figure]:
    """Yield the least CPU time of several starts, and medians of times with every core busy and the machine free."""
    os.environ["ATLAS_EMBEDDING_MODEL"] = BUNDLED
    with tempfile.TemporaryDirectory() as store:
        with atlas.open_memory(store, embedder=SentenceTransformerEmbedder(BUNDLED)) as memory:
            memory.experience.store_many(map(solved, task_texts(N_STORED)))
        for what, (command, aim) in COMMANDS.items():
            ours, empty = (_cpu_seconds(parts, store) for parts in (command, EMPTY))
            yield Figure(
                what=f"CPU time of {what}, beside `python -c pass`", ours=ours, baseline=empty, unit="s", aim=aim
            )
        first, later = _writes()
        yield Figure(
            what="CPU time of the first write into a new store, beside later ones",
            ours=first,
            baseline=later,
            unit="s",
            aim="≤ 0.5 s more",
        )
        yield from _cpu_of_mcp(store)
        for where, n_busy in (("every core busy", os.cpu_count() or 1), ("machine free", 0)):
            with _busy(n_busy):
                listed, searched, megabytes = zip(*(asyncio.run(_start(store)) for _ in range(N_RUNS)), strict=True)
            yield _figure(f"`atlas mcp`, {where}: tools listed", statistics.median(listed), "s", "≤ 2 s")
            yield _figure(f"`atlas mcp`, {where}: first search answered", statistics.median(searched), "s")
            yield _figure(f"`atlas mcp`, {where}: memory, the model loaded", statistics.median(megabytes), "MB")


async def _start(store: str) -> tuple[float, float, float]:
    """Return after how many seconds a new command has listed its tools and answered a search, and its memory then."""
    begin = time.perf_counter()
    async with Client(_server(store)) as client:
        await client.list_tools()
        listed = time.perf_counter() - begin
        answer = await client.call_tool("search", QUESTION)
        first_search = time.perf_counter() - begin
        while NOT_READY in str(answer.content):
            await asyncio.sleep(0.2)
            answer = await client.call_tool("search", QUESTION)
        return listed, first_search, _megabytes()


def _server(store: str) -> StdioServerParameters:
    command = [*("-m", "atlas", "--store", store), "mcp"]
    return StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))


def _megabytes() -> float:
    """Return the memory at its highest of the largest process that this one has started."""
    states = [Path(f"/proc/{child}/status").read_text() for child in _children()]
    return max(int(kilobytes) for state in states for kilobytes in re.findall(r"VmHWM:\s+(\d+)", state)) * 1_024 / 1e6


def _cpu_of_mcp(store: str) -> Iterator[Figure]:
    """Yield the CPU time of `atlas mcp` until a client is initialized, and from then to its first answer by meaning."""
    initialized, answered = map(min, zip(*(asyncio.run(_cpu_start(store)) for _ in range(N_RUNS)), strict=True))
    empty = _cpu_seconds(EMPTY, store)
    for what, ours, aim in (
        ("until `initialize` is answered", initialized, "≤ 0.6 s"),
        ("from then to the first recall by meaning", answered, "≤ 1.5 s"),
    ):
        yield Figure(
            what=f"CPU time of `atlas mcp` {what}, beside `python -c pass`",
            ours=ours,
            baseline=empty,
            unit="s",
            aim=aim,
        )


async def _cpu_start(store: str) -> tuple[float, float]:
    async with Client(_server(store)) as client:
        [initialized] = _cpu_of_children()
        answer = await client.call_tool("recall", RECALL)
        while NOT_READY in str(answer.content):
            await asyncio.sleep(0.05)
            answer = await client.call_tool("recall", RECALL)
        [answered] = _cpu_of_children()
    return initialized, answered - initialized


def _cpu_of_children() -> list[float]:
    """Return the CPU seconds of each process that this one has started and that still runs."""
    ticks = [Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[11:13] for child in _children()]
    return [sum(map(int, pair)) / os.sysconf("SC_CLK_TCK") for pair in ticks]


def _children() -> list[str]:
    return " ".join(path.read_text() for path in Path("/proc/self/task").glob("*/children")).split()


def _cpu_seconds(arguments: Sequence[str], store: str) -> float:
    """Return the least of the CPU seconds that several runs take, after one that fills the file cache."""
    spent = []
    for _ in range(N_RUNS + 1):
        with tempfile.TemporaryDirectory() as new:
            command = [part.format(store=store, new=f"{new}/store") for part in arguments]
            process = subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            if status:
                raise SystemExit(f"{command} ended with status {status}")
        spent.append(usage.ru_utime + usage.ru_stime)
    return min(spent[1:])


def _writes() -> tuple[float, float]:
    """Return the least CPU seconds of the first write into a new store, and of a later one."""
    firsts, laters = [], []
    for _ in range(N_RUNS):
        with tempfile.TemporaryDirectory() as store:
            command = [sys.executable, "-c", WRITES, f"{store}/store"]
            run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
        first, *later = map(float, run.stdout.split())
        firsts.append(first)
        laters += later
    return min(firsts), min(laters)


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
