"""The process that does long work for another: how it tells, fails, and ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import atlas
from atlas.jobs.duplicates import DuplicatesFile, DuplicatesJob
from atlas.jobs.map import MapFile, MapJob
from atlas.jobs.worker import JobStatus, Worker
from atlas.llm.budget import TokenUsage
from atlas.memory.experience.memory import COLLECTION
from atlas.server.operations.metrics import Metrics, OpenedStore
from atlas.testing import HashEmbedder
from tests.support.waiting import GIVE_UP_SECONDS

WORDS = ("cancel the flight", "sort numbers", "rotate the grid", "mend the pipeline", "draw a chart")


def attempt(number):
    description = f"{WORDS[number % 5]} of customer {number // 10}"
    return atlas.Trajectory(
        task=atlas.Task(id=str(number), domain="", description=description), steps=(), outcome=atlas.Outcome(True)
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("worker") / "store"
    with atlas.open_memory(path, embedder=HashEmbedder(32), settings=atlas.Settings()) as memory:
        memory.experience.store_many([attempt(number) for number in range(120)])
    return path


@pytest.fixture
def worker():
    made = Worker()
    yield made
    made.close()


def wait_for(condition):
    deadline = time.monotonic() + GIVE_UP_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.01)


def finished(worker, job) -> JobStatus:
    wait_for(lambda: worker.status(job.key).state in ("done", "failed"))
    return worker.status(job.key)


def is_running(pid) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def map_job(store, out, **given):
    return MapJob(store=str(store), output=str(out), collection=COLLECTION, **given)


def short_job(store, out):
    """A job that no large library has to be imported for."""
    return DuplicatesJob(store=str(store), output=str(out), collection=COLLECTION)


def test_a_map_is_made_by_another_process_that_stays_for_the_next_job(worker, store, tmp_path):
    job = map_job(store, tmp_path)
    assert worker.status(job.key) is None
    assert worker.submit(job).state == "running"
    assert finished(worker, job) == JobStatus(state="done", done=100, total=100)
    made = MapFile(tmp_path, COLLECTION).load()
    assert len(made.ids) == 120
    pid = worker.pid
    duplicates = short_job(store, tmp_path)
    worker.submit(duplicates)
    assert finished(worker, duplicates).state == "done"
    assert len(DuplicatesFile(tmp_path, COLLECTION).load().groups) > 0
    assert worker.pid == pid


def test_a_worker_that_does_not_stay_warm_ends_its_child_after_the_last_job(store, tmp_path):
    worker = Worker(stays_warm=False)
    first, second = short_job(store, tmp_path / "a"), short_job(store, tmp_path / "b")
    worker.submit(first)
    worker.submit(second)
    pid = worker.pid
    assert finished(worker, second).state == "done"
    wait_for(lambda: worker.pid is None)
    assert not is_running(pid)
    assert finished(worker, first).state == "done"


def test_the_metrics_of_a_store_count_its_jobs(worker, store, tmp_path):
    failing = short_job(store, tmp_path / "a file" / "out")
    (tmp_path / "a file").write_text("not a directory")
    for job in (short_job(store, tmp_path), failing):
        worker.submit(job)
        finished(worker, job)
    worker.submit(short_job(tmp_path / "another store", tmp_path))
    with atlas.open_memory(store, embedder=HashEmbedder(32), settings=atlas.Settings(), read_only=True) as memory:
        text = Metrics({"main": lambda: OpenedStore(memory, TokenUsage(), True)}).text().decode()
    assert [line for line in text.splitlines() if line.startswith("atlas_jobs{")] == [
        'atlas_jobs{kind="duplicates",state="done",store="main"} 1.0',
        'atlas_jobs{kind="duplicates",state="failed",store="main"} 1.0',
    ]


def test_a_job_tells_how_far_it_is(worker, store, tmp_path):
    job, told = map_job(store, tmp_path), set()
    worker.submit(job)
    while (status := worker.status(job.key)).state == "running":
        told.add(status.message)
        assert 0 <= status.done <= max(status.total, 0)
        time.sleep(0.005)  # looking without a pause would take the processor from the job
    assert told & {"reading", "comparing", "laying out", "judging", "finding domains"}


def test_the_store_is_only_read(worker, store, tmp_path):
    before = sorted(path.name for path in store.iterdir())
    job = map_job(store, tmp_path)
    worker.submit(job)
    assert finished(worker, job).state == "done"
    assert sorted(path.name for path in store.iterdir()) == before


def test_jobs_wait_for_each_other_and_the_same_one_is_not_done_twice_at_once(worker, store, tmp_path):
    first, second = short_job(store, tmp_path / "a"), short_job(store, tmp_path / "b")
    worker.submit(first)
    assert worker.submit(second).state == "queued"
    assert worker.submit(second).state == "queued"
    assert finished(worker, second).state == "done"
    assert finished(worker, first).state == "done"


def test_an_error_is_a_sentence_and_the_next_job_is_done(worker, store, tmp_path):
    missing = short_job(tmp_path / "nowhere", tmp_path)
    worker.submit(missing)
    assert finished(worker, missing).state == "failed"
    assert "there is no store at" in worker.status(missing.key).message
    (tmp_path / "file").write_text("in the way")
    unwritable = short_job(store, tmp_path / "file")
    worker.submit(unwritable)
    assert "cannot be written" in finished(worker, unwritable).message
    job = short_job(store, tmp_path / "out")
    worker.submit(job)
    assert finished(worker, job).state == "done"


def test_a_child_that_dies_is_told_and_the_next_job_gets_a_new_one(worker, store, tmp_path):
    job = short_job(store, tmp_path)
    worker.submit(job)
    first = worker.pid
    os.kill(first, signal.SIGKILL)
    assert finished(worker, job).state == "failed"
    assert "ended by signal 9 before it was done" in worker.status(job.key).message
    worker.submit(job)
    assert worker.pid != first
    assert finished(worker, job).state == "done"


def test_a_child_that_died_while_it_had_nothing_to_do_fails_no_job(worker, store, tmp_path):
    job = short_job(store, tmp_path)
    for _ in range(2):
        worker.submit(job)
        assert finished(worker, job).state == "done"
        os.kill(worker.pid, signal.SIGKILL)
    worker.submit(job)
    assert finished(worker, job).state == "done"


def test_a_child_that_dies_before_it_begins_is_followed_by_another(worker, store, tmp_path):
    job = short_job(store, tmp_path)
    worker.submit(job)
    assert finished(worker, job).state == "done"
    first = worker.pid
    os.kill(first, signal.SIGSTOP)
    assert worker.submit(job).state == "running"
    os.kill(first, signal.SIGKILL)
    assert finished(worker, job).state == "done"
    assert worker.pid != first


def test_a_cancelled_job_is_forgotten_and_the_next_one_is_done(worker, store, tmp_path):
    running, queued, last = (short_job(store, tmp_path / name) for name in "abc")
    for job in (running, queued, last):
        worker.submit(job)
    worker.cancel(queued.key)
    worker.cancel(running.key)
    assert finished(worker, last).state == "done"
    assert worker.status(running.key) is None
    assert not (tmp_path / "b").exists()


def test_closing_ends_the_child(worker, store, tmp_path):
    worker.submit(short_job(store, tmp_path))
    pid = worker.pid
    worker.close()
    wait_for(lambda: not is_running(pid))
    assert worker.pid is None


PARENT = """
import sys, time
from atlas.jobs.map import MapJob
from atlas.jobs.worker import Worker
worker = Worker()
worker.submit(MapJob(store=sys.argv[1], output=sys.argv[2], collection="atlas_experiences"))
print(worker.pid, flush=True)
time.sleep(600)
"""


def test_the_child_ends_when_its_parent_is_killed(store, tmp_path):
    command = [sys.executable, "-c", PARENT, str(store), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        assert is_running(pid)
        parent.kill()
    wait_for(lambda: not is_running(pid))


def test_what_libraries_print_does_not_disturb_the_talk():
    talk = (
        "import atlas.jobs.worker as w, os\n"
        "class Noisy:\n"
        "    def run(self, say):\n"
        "        print('noise'); os.write(1, b'more noise\\n'); say(1, 2, 'working')\n"
        "w.decode_job = lambda encoded: Noisy()\n"
        "w.main()\n"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", talk], stdin=pipe, stdout=pipe, stderr=pipe, text=True) as child:
        assert child.stdin
        assert child.stdout
        child.stdin.write("{}\n")
        child.stdin.flush()
        said = [json.loads(child.stdout.readline()) for _ in range(2)]
    assert said == [{"done": 1, "total": 2, "message": "working"}, {"state": "done", "message": ""}]


def test_the_child_imports_nothing_from_the_working_directory(worker, store, tmp_path, monkeypatch):
    (tmp_path / "filelock.py").write_text("open('imported', 'w')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    job = short_job(store, tmp_path)
    worker.submit(job)
    assert finished(worker, job).state == "done"
    assert not (tmp_path / "imported").exists()
