"""The start of an empty page: the sample data and an import, each one click away."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from atlas import MemorySystem
from atlas.views.overview.sample import load_sample_data
from atlas.views.overview.uploads import Imported, import_uploads
from pages.components.shared.commands import import_command
from pages.components.shared.undo_toast import announce, announcing_problems

FORMATS = "Runs of τ-bench, Reflexion, SWE-agent, Inspect or Voyager, Protea memories, or ATLAS exports"
NOTHING = "Nothing is remembered yet."
SAMPLE = Path(__file__).resolve().parents[3] / "sample_data"
_REFUSED = "overview_refused"


def draw_empty(memory: MemorySystem, would_stand: str = "", *, title: str = NOTHING) -> None:
    """Draw how to fill an empty memory. The sample data are offered where no experience is stored.

    Args:
        would_stand: One sentence on what stands here once there is something.
        title: What is missing.
    """
    st.info(title, icon=":material/inbox:")
    if would_stand:
        st.text(would_stand)
    if memory.storage.read_only:
        st.text("This store is open for reading only, so nothing can be added from here.")
        return
    if memory.experience.count():
        with st.container(border=True):
            _draw_import(memory)
        return
    sample, own = st.columns(2, gap="medium")
    with sample, st.container(border=True, height="stretch"):
        _draw_sample(memory)
    with own, st.container(border=True, height="stretch"):
        _draw_import(memory)


def _draw_sample(memory: MemorySystem) -> None:
    st.subheader("Look around first", anchor=False)
    st.text(
        "The sample data shows what made-up agents at a made-up bike rental attempted, learned and noted. "
        "One click removes it again."
    )
    if not any(SAMPLE.glob("*.jsonl")):
        st.caption("This installation has no sample data. It is in the directory sample_data of the source code.")
    elif st.button("Load the sample data", key="overview_load_sample", type="primary", icon=":material/science:"):
        with st.spinner("Loading the sample data. This takes a few seconds …", show_time=True), announcing_problems():
            if done := load_sample_data(memory, SAMPLE):
                announce(done.operation_id, done.sentence)
        st.rerun()


def _draw_import(memory: MemorySystem) -> None:
    st.subheader("Import files of your agents", anchor=False)
    files = st.file_uploader(FORMATS, accept_multiple_files=True, key="overview_import_files")
    if st.button("Import", key="overview_import", icon=":material/upload:", disabled=not files):
        with st.spinner("Importing …", show_time=True):
            _import(memory, {file.name: file.getvalue() for file in files})
        st.rerun()
    st.page_link("pages/settings.py", label="Restore a backup in Settings", icon=":material/settings:",
                 query_params={"settings_tab": "Export and backup"})  # fmt: skip
    with st.expander("Import large files from a terminal"):
        st.text("Replace PATH by a file or a directory of files:")
        st.code(import_command(memory), language=None, wrap_lines=True)


def _import(memory: MemorySystem, files: dict[str, bytes]) -> None:
    _forget_refused()
    with announcing_problems():
        imported = import_uploads(memory, files)
        if imported.done:
            announce(imported.done.operation_id, imported.done.sentence)
        if imported.problems:
            st.session_state[_REFUSED] = imported


def draw_refused_files() -> None:
    """Draw what the last import refused, and why, until it is put away."""
    imported: Imported | None = st.session_state.get(_REFUSED)
    if imported is None:
        return
    with st.container(border=True):
        st.badge("Some rows or files were not imported", icon=":material/warning:", color="orange")
        for problem in imported.problems:
            st.text(problem)
        st.button("Close", key="overview_refused_close", on_click=_forget_refused)


def _forget_refused() -> None:
    st.session_state.pop(_REFUSED, None)
