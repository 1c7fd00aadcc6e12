"""Long jobs in a process of their own: how far one is, on a page that can be left meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from atlas.views.live_result import LiveResult

RUNNING = ("queued", "running")


def draw_job(find: Callable[[], LiveResult[Any]], doing: str, *, key: str) -> bool:
    """How far a job is while it runs, and why it failed where it did; whether it runs.

    Args:
        find: The result that the job makes.
        doing: Our own word for what goes on: `Measuring`.
    """
    status = find().status()
    if status is not None and status.state in RUNNING:
        _draw_progress(find, doing, key)
        return True
    if status is not None and status.state == "failed":
        st.warning(f"{doing} did not end well. Nothing in the memory changed.", icon=":material/error:")
        st.text(status.message)
    return False


@st.fragment(run_every=0.7)
def _draw_progress(find: Callable[[], LiveResult[Any]], doing: str, key: str) -> None:
    live = find()
    status = live.status()
    if status is None or status.state not in RUNNING:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        words = f"{doing}: {status.message or 'waiting'}. This page can be left."
        st.progress(min(1.0, status.done / status.total) if status.total else 0.0, text=words)
        st.button("Cancel", key=f"{key}_cancel", on_click=live.cancel)
