"""What takes long: everybody sees how far it is, and whoever may write stops it."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from atlas.infra.actor import Actor, Role
from atlas.views.shared.results import JobStatus
from tests.support.dashboard import Dashboard, said
from tests.support.records import attempts
from tests.support.stores import make_store
from tests.support.visitors import visiting
from tests.support.waiting import GIVE_UP_SECONDS


class Endless:
    """A job that runs until somebody stops it."""

    def __init__(self) -> None:
        self.runs = True

    def status(self) -> JobStatus | None:
        return JobStatus(state="running", message="thinking") if self.runs else None

    def cancel(self) -> None:
        self.runs = False


def drawn(job: Endless, by: Role = Role.WRITER) -> AppTest:
    def page(job, by):  # it runs as a script of its own, which knows no names of this module
        from pages.components.shared.jobs import draw_progress
        from pages.components.shared.undo_toast import draw_act

        draw_act(None)
        draw_progress(job, "Measuring", key="job", cancelled_by=by)

    return AppTest.from_function(page, default_timeout=GIVE_UP_SECONDS, kwargs={"job": job, "by": by}).run()


@pytest.mark.parametrize("by", [Role.WRITER, Role.ADMIN])
def test_only_whoever_may_sees_a_button_that_stops_a_job(by: Role):
    for role in Role:
        job = Endless()
        with visiting(Actor("vera", role)):
            app = drawn(job, by)
            assert bool(app.button) == (role >= by)
            if role >= by:
                app.button(key="job_cancel").click().run()
            assert job.runs == (role < by)


def test_whoever_runs_the_process_stops_a_job():
    job = Endless()
    drawn(job).button(key="job_cancel").click().run()
    assert not job.runs


def test_a_button_that_was_drawn_for_a_writer_stops_nothing_for_a_viewer():
    job = Endless()
    with visiting(Actor("vera", Role.WRITER)) as become:
        app = drawn(job)
        become(Actor("vera", Role.VIEWER))
        app.button(key="job_cancel").click().run()
        assert job.runs
        assert "vera is a viewer and may not cancel" in said(app)
        assert "job_cancel" not in [button.key for button in app.button]


@pytest.mark.parametrize(
    ("page", "start", "query"),
    [("curate", "refine_run", {"curate_queue": "refine"}), ("map", "map_refit", {})],
)
def test_pages_give_viewers_no_such_button(dashboard: Dashboard, tmp_path, page, start, query):
    make_store(tmp_path, attempts(30))
    stop = "refine_cancel" if page == "curate" else "map_refit_cancel"
    with visiting(Actor("vera", Role.VIEWER)) as become:
        app = dashboard(tmp_path, page, **query)
        app.button(key=start).click().run()
        assert stop not in [button.key for button in app.button]
        assert start not in [button.key for button in app.button], "it runs"
        become(Actor("eve", Role.WRITER))
        app = dashboard(tmp_path, page, **query)
        app.button(key=start).click().run()
        assert stop in [button.key for button in app.button]
