"""The start of an empty page: the sample data and an import, each one click away."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from atlas import MemorySystem
from atlas.views.kinds.kind import NOTHING
from atlas.views.overview.sample import load_sample_data
from atlas.views.shared.wording import READ_ONLY
from pages.components.importing.box import draw_import_box
from pages.components.shared.undo_toast import announce, announcing_problems

SAMPLE = Path(__file__).resolve().parents[3] / "sample_data"


def draw_empty(memory: MemorySystem, contents: str = "", *, title: str = NOTHING) -> None:
    """Draw how to fill an empty memory. The sample data are offered if no experience is stored.

    Args:
        contents: One sentence on the page's content once there is any.
        title: Title of the empty page.
    """
    st.info(title, icon=":material/inbox:")
    if contents:
        st.text(contents)
    if memory.storage.read_only:
        st.text(READ_ONLY)
        return
    if memory.experience.count():
        with st.container(border=True):
            _draw_import(memory)
        return
    with st.container(border=True):
        _draw_sample(memory)
    with st.container(border=True):
        _draw_import(memory)


def _draw_sample(memory: MemorySystem) -> None:
    st.subheader("Look around first", anchor=False)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.text(
            "The sample data shows what made-up agents at a made-up bike rental attempted, learned and noted. "
            "One click deletes it again."
        )
        if any(SAMPLE.glob("*.jsonl")):
            is_asked = st.button("Load the sample data", key="import_sample", type="primary", icon=":material/science:")
        else:
            is_asked = False
            st.caption("This installation has no sample data. It is in the directory sample_data of the source code.")
    if is_asked:
        with st.spinner("Loading the sample data. This takes a few seconds …", show_time=True), announcing_problems():
            if done := load_sample_data(memory, SAMPLE):
                announce(done.operation_id, done.sentence)
        st.rerun()


def _draw_import(memory: MemorySystem) -> None:
    st.subheader("Import files of your agents", anchor=False)
    draw_import_box(memory)
    st.page_link("pages/settings.py", label="Restore a backup in Settings", icon=":material/settings:",
                 query_params={"settings_tab": "Export and backup"})  # fmt: skip
