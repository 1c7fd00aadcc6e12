"""The overview of an empty memory: the sample data and an import, each one click away."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.overview.sample import load_sample_data
from atlas.views.overview.uploads import Imported, import_uploads
from pages.components.overview.files import SAMPLE, has_sample
from pages.components.shared.commands import import_command
from pages.components.shared.undo_toast import announce, announcing_problems

FORMATS = "τ-bench, Reflexion, SWE-agent, Inspect and Voyager runs, Protea memories, and files of atlas export."
_REFUSED = "overview_refused"


def draw_empty(memory: MemorySystem) -> None:
    """Draw how to fill an empty memory."""
    st.info("Nothing is remembered yet.", icon=":material/inbox:")
    if memory.storage.read_only:
        st.text("This store is open for reading only, so nothing can be added from here.")
        return
    sample, own = st.columns(2, gap="medium")
    with sample, st.container(border=True, height="stretch"):
        _draw_sample(memory)
    with own, st.container(border=True, height="stretch"):
        _draw_import(memory)


def _draw_sample(memory: MemorySystem) -> None:
    st.subheader("Look around first", anchor=False)
    st.text(
        "The sample data are the attempts, strategies, code and journal of made-up agents at a made-up bike rental. "
        "One click removes them again."
    )
    if not has_sample():
        st.caption("This installation comes without them. They lie in sample_data of the source.")
    elif st.button("Load the sample data", key="overview_load_sample", type="primary", icon=":material/science:"):
        with st.spinner("Loading the sample data. This takes some seconds …", show_time=True), announcing_problems():
            if done := load_sample_data(memory, SAMPLE):
                announce(done.operation_id, done.sentence)
        st.rerun()


def _draw_import(memory: MemorySystem) -> None:
    st.subheader("Import your agents' runs", anchor=False)
    files = st.file_uploader(FORMATS, accept_multiple_files=True, key="overview_import_files")
    if st.button("Import", key="overview_import", icon=":material/upload:", disabled=not files):
        with st.spinner("Importing …", show_time=True):
            _import(memory, {file.name: file.getvalue() for file in files})
        st.rerun()
    with st.expander("Large files, or from a terminal"):
        st.text("PATH is a file, or a directory of them:")
        st.code(import_command(memory), language=None, wrap_lines=True)


def _import(memory: MemorySystem, files: dict[str, bytes]) -> None:
    _forget_refused()
    with announcing_problems():
        imported = import_uploads(memory, files)
        if imported.done:
            announce(imported.done.operation_id, imported.done.sentence)
        if imported.problems:
            st.session_state[_REFUSED] = imported


def draw_refused() -> None:
    """Draw what the last import refused, and why, until it is put away."""
    imported: Imported | None = st.session_state.get(_REFUSED)
    if imported is None:
        return
    with st.container(border=True):
        st.badge("Some of it was not imported", icon=":material/warning:", color="orange")
        for problem in imported.problems:
            st.text(problem)
        st.button("Close", key="overview_refused_close", on_click=_forget_refused)


def _forget_refused() -> None:
    st.session_state.pop(_REFUSED, None)
