"""Near-duplicates of a large store, as a worker finds them."""

from __future__ import annotations

import pytest

import atlas
from atlas.jobs.artefact import CACHE
from atlas.jobs.duplicates import DuplicatesFile, DuplicatesJob, LiveDuplicates
from atlas.jobs.worker import JobStatus
from atlas.memory.experience.memory import COLLECTION
from atlas.storage.maintenance.backup import backup, restore
from atlas.testing import HashEmbedder
from tests.support.records import attempt


class Desk:
    """A worker that does a job when it is told to."""

    def __init__(self):
        self.submitted, self.said = [], None

    def submit(self, job: DuplicatesJob) -> JobStatus:
        self.submitted.append(job)
        self.said = JobStatus(state="queued")
        return self.said

    def status(self, key: str) -> JobStatus | None:
        return self.said

    def work(self):
        self.submitted[-1].run(lambda done, total, message: None)
        self.said = JobStatus(state="done")


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(16), settings=atlas.Settings()) as opened:
        opened.experience.store_many([attempt("Boil an egg", task_id=f"egg-{i}") for i in range(3)])
        yield opened


@pytest.fixture
def live(memory):
    return LiveDuplicates(memory, Desk(), max_synchronous=1)


def test_a_large_store_is_looked_through_once_by_the_worker(live):
    assert not live.latest().is_known
    assert live.latest().is_running
    live.worker.work()
    assert len(live.latest().groups[0]) == 3
    assert len(live.worker.submitted) == 1


def test_what_came_since_is_counted_and_what_is_gone_is_left_out(live, memory):
    live.latest()
    live.worker.work()
    memory.experience.store_many([attempt("Mend a shoe"), attempt("Mend a sock")])
    memory.experience.delete(live.latest().groups[0][:1])
    assert live.latest().n_changed == 2
    assert len(live.latest().groups[0]) == 2


def test_nothing_is_read_twice_for_the_same_state_of_the_store(live, monkeypatch):
    live.latest()
    live.worker.work()
    found = live.latest()
    monkeypatch.setattr(DuplicatesFile, "load", lambda file: pytest.fail("it was read again"))
    assert live.latest().groups is found.groups


def test_a_failed_search_is_told_beside_what_was_found_before(live):
    live.latest()
    live.worker.work()
    live.worker.said = JobStatus(state="failed", message="no memory left")
    assert (live.latest().problem, live.latest().is_known) == ("no memory left", True)


def test_a_store_that_was_put_back_is_looked_through_anew(live, memory, tmp_path):
    live.latest()
    live.worker.work()
    assert live.latest().is_known
    backup(memory.storage, tmp_path / "copy")
    restore(memory.storage, tmp_path / "copy")
    assert not live.latest().is_known
    assert live.latest().is_running
    live.worker.work()
    assert live.latest().is_known
    assert len(live.worker.submitted) == 2
    assert DuplicatesFile(memory.storage.path / CACHE, COLLECTION).load().ledger_id


def test_what_was_kept_elsewhere_for_a_read_only_store_goes_when_it_is_closed(memory):
    with atlas.open_memory(memory.storage.path, embedder=HashEmbedder(16), read_only=True) as reading:
        live = LiveDuplicates(reading, Desk(), max_synchronous=1)
        live.latest()
        kept = live._output_directory()
        assert kept.exists()
        live.close()
        assert not kept.exists()
