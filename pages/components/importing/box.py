"""The import box: files or a path, a preview with counts and samples, and the import."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import streamlit as st

from atlas import MemorySystem
from atlas.views.importing.files import (
    AUTOMATIC,
    TITLES,
    ImportPreview,
    ImportResult,
    Sample,
    import_request,
    preview_import,
    request_of,
)
from atlas.views.shared.state import may_name_paths
from pages.components.lists.editing import READ_ONLY
from pages.components.lists.facts import draw_facts
from pages.components.shared.commands import import_command
from pages.components.shared.undo_toast import announce, announcing_problems

FORMATS = (
    "Sessions of Claude Code or Codex, ATIF, Langfuse exports, OpenTelemetry traces, runs of τ-bench, Reflexion, "
    "SWE-agent or Inspect, skills of Voyager, Protea memories, or ATLAS exports. You see what would be added before "
    "anything is stored."
)
MAX_PROBLEMS = 20
_PREVIEW, _REFUSED, _DONE = "import_preview", "import_refused", "import_done"


def draw_import_box(memory: MemorySystem) -> None:
    """Draw the choice of files, the preview of their import, and the button that imports them."""
    if memory.storage.read_only:
        st.text(READ_ONLY)
        return
    _draw_asking(memory)
    preview: ImportPreview | None = st.session_state.get(_PREVIEW)
    if preview is not None:
        _draw_preview(memory, preview)


def _draw_asking(memory: MemorySystem) -> None:
    """Draw the boxes for what to import, and the button that previews it."""
    key = f"import_files_{st.session_state.get(_DONE, 0)}"  # another box, and an empty one, after each import
    st.caption(FORMATS)
    files = st.file_uploader("Files of agents' runs", accept_multiple_files=True, key=key)
    path = ""
    if may_name_paths() and _is_near():
        path = st.text_input("Or a file or directory on this machine", key="import_path",
                             placeholder="~/.claude/projects") or ""  # fmt: skip
    with st.expander("How logs are read"):
        format = st.selectbox("Format", list(TITLES), format_func=TITLES.__getitem__, key="import_format")
        success = st.text_input("Score that means success", key="import_success", placeholder="correctness>=0.5",
                                help="For Langfuse and OpenTelemetry. Without one, outcomes stay unknown.")  # fmt: skip
        crashes = st.toggle("Note each tool call that failed in the journal", key="import_crashes")
    if st.button("Preview", key="import_preview_button", icon=":material/visibility:",
                 disabled=not files and not path.strip()):  # fmt: skip
        uploads = [(file.name, file.getvalue()) for file in files]
        _forget(_PREVIEW)
        with announcing_problems():
            request = request_of(uploads, path, format=format or AUTOMATIC, success=success or "", crashes=crashes)
            with _progress("Reading …") as show_progress:
                st.session_state[_PREVIEW] = preview_import(memory, request, show_progress)
        st.rerun()
    if may_name_paths():
        with st.expander("Import large files from a terminal"):
            st.text("Replace PATH by a file or a directory of files:")
            st.code(import_command(memory), language=None, wrap_lines=True)


def draw_refused_files() -> None:
    """Draw the files and rows refused by the last import, with reasons, until dismissed."""
    imported: ImportResult | None = st.session_state.get(_REFUSED)
    if imported is None:
        return
    with st.container(border=True):
        st.badge("Some rows or files were not imported", icon=":material/warning:", color="orange")
        _draw_problems(imported.problems)
        st.button("Close", key="import_refused_close", on_click=_forget, args=(_REFUSED,))


def _draw_preview(memory: MemorySystem, preview: ImportPreview) -> None:
    st.markdown("##### Preview")
    st.text(preview.headline)
    draw_facts(preview.facts, key="import_facts")
    for note in preview.notes:
        st.text(note)
    if preview.samples:
        st.caption("The first of them")
    for sample in preview.samples:
        _draw_sample(sample)
    if preview.problems:
        with st.expander(f"Refused ({preview.n_refused:,})", expanded=not preview.button):
            _draw_problems(preview.problems)
    with st.container(horizontal=True, vertical_alignment="center"):
        is_asked = bool(preview.button) and st.button(
            preview.button, key="import_apply", type="primary", icon=":material/upload:"
        )
        st.button("Cancel" if preview.button else "Close", key="import_cancel", on_click=_forget, args=(_PREVIEW,))
        if preview.button:
            st.caption("It can be undone.")
    if is_asked:
        _import(memory, preview)
        st.rerun()


def _draw_sample(sample: Sample) -> None:
    with st.container(border=True, gap="xsmall"):
        st.caption(f"{sample.kind} · {sample.about}" if sample.about else sample.kind)
        for text in (sample.title, sample.text):
            if text:
                st.text(text)


def _draw_problems(problems: tuple[str, ...]) -> None:
    for problem in problems[:MAX_PROBLEMS]:
        st.text(problem)
    if len(problems) > MAX_PROBLEMS:
        st.caption(f"and {len(problems) - MAX_PROBLEMS:,} more")


def _import(memory: MemorySystem, preview: ImportPreview) -> None:
    _forget(_REFUSED)
    with announcing_problems(), _progress("Importing …") as show_progress:
        imported = import_request(memory, preview.request, show_progress)
        if imported.done:
            announce(imported.done.operation_id, imported.done.sentence)
        if imported.problems != preview.problems:  # else the person has seen them
            st.session_state[_REFUSED] = imported
        _forget(_PREVIEW)
        st.session_state[_DONE] = st.session_state.get(_DONE, 0) + 1


def _is_near() -> bool:
    """Return whether the browser runs on this machine and connects without a proxy."""
    between = ("X-Forwarded-For", "X-Real-Ip", "Forwarded")
    return st.context.ip_address is None and not any(name in st.context.headers for name in between)


@contextmanager
def _progress(words: str) -> Iterator[Callable[[int, int], None]]:
    """Draw a progress bar for the files read so far, and yield the callback that moves it."""
    bar = st.progress(0.0, words)

    def tell(done: int, total: int) -> None:
        bar.progress(min(done / total, 1.0) if total else 1.0, words)

    yield tell
    bar.empty()


def _forget(key: str) -> None:
    value = st.session_state.pop(key, None)
    if isinstance(value, ImportPreview):
        value.request.sources.close()
