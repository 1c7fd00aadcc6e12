"""One run of a page is drawn from one state of the store, which is asked for once."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from atlas.jobs.live_map import LiveMap
from atlas.jobs.warming import WarmUp
from atlas.views.shared import state
from atlas.views.shared.language_model import LanguageModel
from pages.components.shared.memory import OpenedMemory, opened_now
from pages.components.shared.snapshot import Snapshot, drawn_from, store_state
from tests.support.dashboard import Dashboard, assert_no_problem
from tests.support.records import attempts
from tests.support.stores import make_store

NO_MODEL = LanguageModel(client=None, badge="none", sentences=())


def test_what_comes_while_a_run_draws_belongs_to_the_next_run(memory):
    memory.experience.store_many(attempts(2))
    now = state.store_state(memory)
    snapshot = Snapshot(OpenedMemory(memory=memory, notices=(), model=NO_MODEL, warming=WarmUp(memory), file=None), now)
    with drawn_from(snapshot):
        memory.experience.store_many(attempts(3))
        assert store_state(memory) == now
    assert store_state(memory).revision > now.revision


@pytest.mark.parametrize("page", ["overview", "experiences", "curate", "ask", "history"])
def test_a_run_asks_once_for_the_memory_and_once_for_the_map(dashboard: Dashboard, tmp_path, page):
    make_store(tmp_path, attempts(6))
    dashboard(tmp_path, "map")  # makes the first map, which Overview would be drawn without
    app = dashboard(tmp_path, page)
    with count_calls(opened_now, LiveMap.latest, state.store_state) as n:
        app.run()
    assert (n["opened_now"], n["latest"]) == (1, 1)
    assert n["store_state"] == 2  # by the router, and by the line that says what has come since
    assert_no_problem(app)


@contextmanager
def count_calls(*functions: Callable[..., object]) -> Iterator[Counter[str]]:
    """Count the calls of functions in any thread that is started meanwhile."""
    codes, n = {function.__code__ for function in functions}, Counter()

    def note(frame, event, arg) -> None:
        if event == "call" and frame.f_code in codes:
            n[frame.f_code.co_name] += 1

    before = sys.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield n
    finally:
        threading.setprofile(None)
        sys.setprofile(before)
