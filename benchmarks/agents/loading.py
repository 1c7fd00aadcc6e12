"""Requests of several clients at once to `atlas serve` on this machine: three searches to one stored attempt."""

from __future__ import annotations

import http.client
import json
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from benchmarks.agents.serving import PATIENCE_SECONDS, filled_memory, serve
from benchmarks.measuring import Figure, task_texts

CLIENTS = (1, 10, 50)
SECONDS = 15.0
"""Time for each number of clients."""

N_TEXTS = 5_000
QUERY_WORDS = 8
SEARCHES_TO_A_WRITE = 3


@dataclass
class Answers:
    """What the clients of one round received."""

    searches: list[float] = field(default_factory=list)
    """Seconds of each search."""

    writes: list[float] = field(default_factory=list)
    n_refused: int = 0
    """Answers that were no success."""

    n_writes_refused: int = 0


def figures() -> Iterator[Figure]:
    """Yield throughput, latencies, memory and processor time by the number of clients.

    Latencies and throughput depend on what else the machine does; processor time much less.
    """
    yield _figure("load average of the machine before the measurement", os.getloadavg()[0], "", "0")
    with tempfile.TemporaryDirectory() as scratch:
        filled_memory(Path(scratch)).close()
        with serve(Path(scratch)) as (address, process):
            for n_clients in CLIENTS:
                yield from _round(address, process, n_clients)
            peak = _status(process, "VmHWM") / 1_024
            yield _figure("memory of the server at its peak", peak, "MB", "at most 600")


def _round(address: str, process: int, n_clients: int) -> Iterator[Figure]:
    """Yield the figures of one number of clients."""
    answers, n_before = Answers(), _n_attempts(address)
    processor, own = _processor_seconds(process), time.process_time()
    start = time.monotonic()
    clients = [
        threading.Thread(target=_ask, args=(address, number, n_clients, start + SECONDS, answers))
        for number in range(n_clients)
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    seconds, n_answers = time.monotonic() - start, len(answers.searches) + len(answers.writes)
    used = {"server": _processor_seconds(process) - processor, "clients": time.process_time() - own}
    n_lost = n_before + len(answers.writes) - answers.n_writes_refused - _n_attempts(address)
    what, is_most = f"{n_clients} clients at once", n_clients == max(CLIENTS)
    yield _figure(f"{what}: requests a second", n_answers / seconds, "1/s", "at least 120" if is_most else "")
    for name, times in (("search", answers.searches), ("write", answers.writes)):
        for part, share in (("p50", 50), ("p95", 95)):
            aim = "at most 700" if (name, part) == ("search", "p95") and is_most else ""
            yield _figure(f"{what}: {name} {part}", 1_000 * statistics.quantiles(times, n=100)[share - 1], "ms", aim)
    for who, spent in used.items():
        yield _figure(f"{what}: processor time of the {who} for each request", 1_000 * spent / n_answers, "ms", "")
    yield _figure(f"{what}: memory of the server", _status(process, "VmRSS") / 1_024, "MB", "")
    yield _figure(f"{what}: requests without success", answers.n_refused, "", "0")
    yield _figure(f"{what}: acknowledged attempts that the store lacks", n_lost, "", "0")


def _ask(address: str, number: int, n_clients: int, until: float, answers: Answers) -> None:
    """Send requests over one connection, one after the other."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=PATIENCE_SECONDS)
    texts = task_texts(N_TEXTS // n_clients, seed=100 + number)
    for turn, text in enumerate(texts * n_clients):
        if time.monotonic() > until:
            break
        is_write = turn % (SEARCHES_TO_A_WRITE + 1) == SEARCHES_TO_A_WRITE
        begun = time.perf_counter()
        if is_write:
            attempt = {"task": {"description": text}, "steps": [{"action": "print(1)"}], "outcome": {"success": True}}
            status = _post(connection, "/api/v1/attempts", attempt)
        else:
            query = " ".join(text.split()[1 : 1 + QUERY_WORDS])
            status = _post(connection, "/api/v1/experience/search", {"query": query})
        if status != 200:
            answers.n_refused += 1
            answers.n_writes_refused += is_write
        (answers.writes if is_write else answers.searches).append(time.perf_counter() - begun)
    connection.close()


def _post(connection: http.client.HTTPConnection, path: str, body: object) -> int:
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    return answer.status


def _n_attempts(address: str) -> int:
    page = httpx.get(f"{address}/api/v1/experience", params={"limit": 1}, timeout=PATIENCE_SECONDS)
    return int(page.json()["n_records"])


def _status(process: int, name: str) -> int:
    """Return a number of the kernel's status of a process, such as `VmHWM` in kB."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def _processor_seconds(process: int) -> float:
    """Return the processor time that a process has used."""
    user, system = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _figure(what: str, value: float, unit: str, aim: str) -> Figure:
    return Figure(what=what, ours=value, baseline=None, unit=unit, aim=aim)
