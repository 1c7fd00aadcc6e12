"""Work in a thread of its own."""

from __future__ import annotations

import threading

from atlas.infra.background import Background
from tests.support.storage.forks import fork, went_through


def test_work_is_done_once_at_a_time_and_may_be_begun_again():
    begun, may_end, n_done = threading.Semaphore(0), threading.Semaphore(0), []

    def work():
        begun.release()
        may_end.acquire()
        n_done.append(1)

    background = Background("work", work)
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
    background = Background("work", lambda: (begun.release(), may_end.acquire(), n_done.append(1)))
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
