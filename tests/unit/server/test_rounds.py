"""Work that a server repeats beside its answers."""

from __future__ import annotations

import threading

from atlas.server.rounds import run_repeatedly


def test_rounds_go_on_after_one_that_fails_and_tell_each_reason_once(caplog):
    reasons = iter([OSError("the file is damaged")] * 3 + [None, OSError("the file is damaged"), ValueError("another")])
    is_done = threading.Event()

    def work() -> None:
        reason = next(reasons, StopIteration)
        if reason is StopIteration:
            is_done.set()
        elif reason is not None:
            raise reason

    with run_repeatedly(work, pause_seconds=0.001, name="sweeping"):
        assert is_done.wait(10), "the rounds ended before their time"
    told = [str(record.exc_info[1]) for record in caplog.records]
    assert told == ["the file is damaged", "the file is damaged", "another"]
