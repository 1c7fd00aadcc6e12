"""Progress and results of background jobs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar, cast

import streamlit as st

from atlas import MemorySystem
from atlas.views.shared.results import JobStatus, LiveResult, Worker, time_left
from atlas.views.shared.state import Role, check_role, has_role
from pages.components.shared.undo_toast import announcing_problems

RUNNING = ("queued", "running")

Live = TypeVar("Live", bound=LiveResult[Any])


class RunningJob(Protocol):
    """A job in another process."""

    def status(self) -> JobStatus | None:
        """Return the status of the job, or None if it was never started."""

    def cancel(self) -> None:
        """Stop the job."""


def live_result(memory: MemorySystem, kind: type[Live]) -> Live:
    """Return the live result of a kind for this memory, shared by all visitors."""
    storage = memory.storage
    live = _live(kind.__name__, str(storage.path), storage.read_only, id(memory), _kind=kind, _memory=memory)
    return cast("Live", live)


def is_running(job: RunningJob) -> bool:
    """Return whether a job waits or runs."""
    status = job.status()
    return status is not None and status.state in RUNNING


def draw_job(
    memory: MemorySystem, kind: type[LiveResult[Any]], doing: str, *, key: str, is_timed: bool = False
) -> bool:
    """Draw the progress or the failure of a job, and return whether it runs.

    Args:
        kind: Kind of the job.
        doing: Label of the activity: `Measuring`.
        is_timed: Whether the time left is estimated, which needs a progress of the whole job and not of its steps.
    """
    return draw_progress(live_result(memory, kind), doing, key=key, is_timed=is_timed)


def draw_progress(
    job: RunningJob, doing: str, *, key: str, cancelled_by: Role = Role.WRITER, is_timed: bool = False
) -> bool:
    """Draw the progress or the failure of a job, and return whether it runs.

    Args:
        cancelled_by: The lowest role that may stop it.
        is_timed: Whether the time left is estimated.
    """
    status = job.status()
    if status is not None and status.state in RUNNING:
        _draw_progress(job, doing, key, cancelled_by, is_timed)
        return True
    if status is not None and status.state == "failed":
        st.warning(f"{doing} failed. Nothing in the memory changed.", icon=":material/error:")
        st.text(status.message)
    return False


def draw_cancel(job: RunningJob, *, key: str, by: Role = Role.WRITER) -> None:
    """Draw a button that stops a job, for users with a sufficient role, as it affects others.

    Args:
        by: The lowest role that may stop it.
    """
    if has_role(by):
        st.button("Cancel", key=key, on_click=_cancel, args=(job, by))


def ask_model(label: str, titles: Mapping[bool, str], *, key: str, help: str) -> bool:
    """Draw the choice whether to use a language model for a job, and return it. False if there is no model.

    Args:
        titles: Titles of the choices, by whether each uses a model; the first is the default.
    """
    if len(titles) == 1:
        return False
    return bool(st.selectbox(label, list(titles), format_func=titles.__getitem__, key=key, width=220, help=help))


@st.fragment(run_every=0.7)
def _draw_progress(job: RunningJob, doing: str, key: str, cancelled_by: Role, is_timed: bool) -> None:
    status = job.status()
    if status is None or status.state not in RUNNING:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        left = time_left(status, time.monotonic()) if is_timed else ""
        words = " ".join(filter(None, [f"{doing}: {status.message or 'waiting'}.", left, "You can leave this page."]))
        st.progress(min(1.0, status.done / status.total) if status.total else 0.0, text=words)
        draw_cancel(job, key=f"{key}_cancel", by=cancelled_by)


def _cancel(job: RunningJob, by: Role) -> None:
    with announcing_problems():
        check_role(by, "cancel what is being made")
        job.cancel()


def _release(live: LiveResult[Any]) -> None:
    live.worker.close()
    live.close()


@st.cache_resource(show_spinner=False, max_entries=32, on_release=_release)
def _live(
    name: str, path: str, read_only: bool, opened: int, *, _kind: type[Live], _memory: MemorySystem
) -> LiveResult[Any]:
    return _kind(_memory, Worker(stays_warm=False))
