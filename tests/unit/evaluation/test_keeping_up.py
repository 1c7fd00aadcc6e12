"""A store is measured in the background once it has grown enough, and no more often."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import atlas
from atlas.evaluation.job import MIN_EXPERIENCES, EvaluationJob, LiveEvaluation, evaluate_now
from atlas.jobs.worker import JobStatus
from atlas.testing import HashEmbedder
from tests.support.records import attempts


class Recorder:
    """A worker that does nothing, and keeps what it was asked for."""

    def __init__(self) -> None:
        self.jobs: list[EvaluationJob] = []
        self.state = "done"

    def submit(self, job: EvaluationJob) -> JobStatus:
        self.jobs.append(job)
        return JobStatus(state="queued")

    def status(self, key: str) -> JobStatus:
        return JobStatus(state=self.state)

    def cancel(self, key: str) -> None:
        """Nothing runs."""


@contextmanager
def opened(path, growth: float, **options) -> Iterator[tuple[atlas.MemorySystem, LiveEvaluation, Recorder]]:
    settings, worker = atlas.Settings(evaluate_growth=growth), Recorder()
    with atlas.open_memory(path, embedder=HashEmbedder(), settings=settings, **options) as memory:
        yield memory, LiveEvaluation(memory, worker), worker


def add(memory: atlas.MemorySystem, n: int) -> None:
    start = memory.experience.count()
    memory.experience.store_many(list(attempts(start + n))[start:])


def measure(memory: atlas.MemorySystem, live: LiveEvaluation) -> None:
    live._save(evaluate_now(memory, seed=0, on_progress=lambda done, total, what: None))


def test_it_measures_once_and_again_when_a_fifth_was_added(tmp_path):
    with opened(tmp_path, 0.2) as (memory, live, worker):
        add(memory, MIN_EXPERIENCES)
        live.keep_up()
        live.keep_up()
        assert [job.is_background for job in worker.jobs] == [True]
        measure(memory, live)
        add(memory, 3)
        live.keep_up()
        assert len(worker.jobs) == 1
        add(memory, 2)
        live.keep_up()
        assert len(worker.jobs) == 2


def test_one_that_was_cancelled_is_not_begun_again_at_once(tmp_path):
    with opened(tmp_path, 0.2) as (memory, live, worker):
        add(memory, MIN_EXPERIENCES)
        live.keep_up()
        live.cancel()
        live.keep_up()
        assert len(worker.jobs) == 1
        add(memory, MIN_EXPERIENCES)
        live.keep_up()
        assert len(worker.jobs) == 2


@pytest.mark.parametrize(("growth", "n"), [(0.0, MIN_EXPERIENCES), (0.2, MIN_EXPERIENCES - 1)])
def test_nothing_is_measured_where_it_is_switched_off_or_would_mean_little(tmp_path, growth, n):
    with opened(tmp_path, growth) as (memory, live, worker):
        add(memory, n)
        live.keep_up()
        assert worker.jobs == []


def test_nothing_is_measured_while_it_is_or_where_the_store_is_only_read(tmp_path):
    with opened(tmp_path, 0.2) as (memory, live, worker):
        add(memory, MIN_EXPERIENCES)
        live.ask()
        worker.state = "running"
        live.keep_up()
        assert len(worker.jobs) == 1
    with opened(tmp_path, 0.2, read_only=True) as (_, live, worker):
        live.keep_up()
        assert worker.jobs == []
