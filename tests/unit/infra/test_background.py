"""Work in a thread of its own, and work of several threads together."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from atlas.infra.background import BackgroundTask, Batcher
from tests.support.storage.forks import fork, went_through


def test_work_is_done_once_at_a_time_and_may_be_begun_again():
    begun, may_end, n_done = threading.Semaphore(0), threading.Semaphore(0), []

    def work():
        begun.release()
        may_end.acquire()
        n_done.append(1)

    background = BackgroundTask("work", work)
    background.wait()  # nothing was begun
    background.begin()
    begun.acquire()
    background.begin()
    may_end.release()
    background.wait()
    assert n_done == [1]
    background.begin()
    may_end.release()
    background.wait()
    assert n_done == [1, 1]


def test_a_forked_child_begins_anew():
    begun, may_end, n_done = threading.Semaphore(0), threading.Semaphore(0), []
    background = BackgroundTask("work", lambda: (begun.release(), may_end.acquire(), n_done.append(1)))
    background.begin()
    begun.acquire()

    def in_child():
        may_end.release()
        background.begin()
        background.wait()
        assert n_done == [1]

    child = fork(in_child)
    assert went_through(child)
    may_end.release()
    background.wait()
    assert n_done == [1]


class Lengths:
    """A function of texts that notes its batches, and whose first call waits."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.begun, self.may_end = threading.Event(), threading.Event()

    def __call__(self, texts: list[str]) -> list[int]:
        self.batches.append(texts)
        if not self.begun.is_set():
            self.begun.set()
            self.may_end.wait()
        if "" in texts:
            raise ValueError("an empty text")
        return [*map(len, texts)]


def asked_in_turn(batcher: Batcher[int], pool: ThreadPoolExecutor, texts: list[str]) -> list[Future[int]]:
    """Ask for each text in a thread of its own, once the threads before it wait."""
    futures = []
    for text in texts:
        futures.append(pool.submit(batcher, text))
        while len(batcher._waiting) < len(futures):
            threading.Event().wait(0.001)
    return futures


@pytest.fixture
def pool():
    with ThreadPoolExecutor(8) as pool:
        yield pool


def test_texts_that_wait_during_a_run_are_the_next_run(pool):
    lengths = Lengths()
    batcher = Batcher(lengths, n_runs=1, n_texts=3)
    first = pool.submit(batcher, "a")
    lengths.begun.wait()
    others = asked_in_turn(batcher, pool, ["bb", "ccc", "dddd", "eeeee"])
    lengths.may_end.set()
    assert [each.result() for each in (first, *others)] == [1, 2, 3, 4, 5]
    assert lengths.batches == [["a"], ["bb", "ccc", "dddd"], ["eeeee"]]
    assert batcher("ffffff") == 6  # nothing is left of the runs before


def test_a_second_run_begins_beside_the_first_if_it_may(pool):
    lengths = Lengths()
    batcher = Batcher(lengths, n_runs=2, n_texts=3)
    first = pool.submit(batcher, "a")
    lengths.begun.wait()
    assert batcher("bb") == 2
    lengths.may_end.set()
    assert first.result() == 1


def test_an_error_is_raised_for_the_texts_of_its_run_alone(pool):
    lengths = Lengths()
    batcher = Batcher(lengths, n_runs=1, n_texts=2)
    first = pool.submit(batcher, "a")
    lengths.begun.wait()
    others = asked_in_turn(batcher, pool, ["bb", "", "dddd"])
    lengths.may_end.set()
    assert first.result() == 1
    for each in others[:2]:
        with pytest.raises(ValueError, match="an empty text"):
            each.result()
    assert others[2].result() == 4


def test_a_child_forked_during_a_run_does_not_wait_for_it(pool):
    lengths = Lengths()
    batcher = Batcher(lengths, n_runs=1, n_texts=2)
    first = pool.submit(batcher, "a")
    lengths.begun.wait()
    child = fork(lambda: batcher("bb"))
    assert went_through(child)
    lengths.may_end.set()
    assert first.result() == 1
