"""What a test and the workers that it has started say to each other."""

from __future__ import annotations

import queue
import signal
import subprocess
import threading
import time

Worker = subprocess.Popen[str]


def tell(worker: Worker, line: str = "go") -> None:
    assert worker.stdin
    worker.stdin.write(line + "\n")
    worker.stdin.flush()


def hear(worker: Worker) -> str:
    """The next line that a worker says; empty once it is done."""
    assert worker.stdout
    return worker.stdout.readline().strip()


def start_together(workers: list[Worker]) -> None:
    """Let workers go at the same moment, once all are ready."""
    for worker in workers:
        assert hear(worker) == "ready"
    for worker in workers:
        tell(worker)


def listen(workers):
    """What workers say, as they say it, until all are done."""
    said = queue.Queue()

    def follow(worker):
        while line := hear(worker):
            said.put(line)
        said.put(None)

    threads = [threading.Thread(target=follow, args=(worker,), daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    for _ in workers:
        yield from iter(said.get, None)


def kill_somewhere(worker, draw, acknowledged, most_writes):
    """Kill a worker after some acknowledged writes and a little more, then hear what else it had said."""
    for _ in range(draw.randint(1, most_writes)):
        acknowledged.take(hear(worker))
    time.sleep(draw.random() * 0.05)
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    *whole, _ = worker.stdout.read().split("\n")  # the last line may be cut off
    for line in whole:
        acknowledged.take(line)
