"""Restoring a backup: the file, a preview, and a backup of the present store."""

from __future__ import annotations

import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from atlas import MemorySystem
from atlas.views.settings.copies import (
    RestorePreview,
    backup_directory,
    backup_name,
    check_place,
    preview_restore,
    recorded_backups,
    restore_from,
)
from atlas.views.shared.state import may_name_paths
from pages.components.lists.editing import READ_ONLY
from pages.components.settings.copies import made_directory
from pages.components.shared.memory import reopen
from pages.components.shared.undo_toast import Act, Turn, announce_act, announcing_problems

_UPLOADED, _CHOSEN, _STAGED = "settings_restore_upload", "settings_restore_path", "settings_restore_staged"

COLUMNS = {
    "kind": st.column_config.TextColumn("Kind", width="medium"),
    "now": st.column_config.NumberColumn("Now", format="localized"),
    "after": st.column_config.NumberColumn("After the restore", format="localized"),
}


@dataclass(frozen=True, slots=True)
class _StagedBackup:
    """A backup that is previewed before it is restored."""

    preview: RestorePreview
    directory: tempfile.TemporaryDirectory[str] | None
    """Temporary directory of an uploaded file, deleted with this object."""


def draw_restoring(memory: MemorySystem) -> None:
    """Draw the choice of a backup, and the preview of a restore."""
    st.subheader("Restore", anchor=False)
    st.caption("Brings the store back to the state of a backup. You first see what would change.")
    disabled = memory.storage.read_only
    help_text = READ_ONLY if disabled else None
    left, right = st.columns(2, gap="large")
    with left:
        uploaded = st.file_uploader("Upload a backup", key=_UPLOADED, disabled=disabled, help=help_text)
    with right:
        there = [path for path in recorded_backups(memory) if Path(path).is_file()]
        is_free = may_name_paths()
        chosen = st.selectbox("Or a backup on this machine", there, None, key=_CHOSEN, accept_new_options=is_free,
                              placeholder="Choose one, or type its path" if is_free else "Choose one",
                              disabled=disabled, help=help_text)  # fmt: skip
    st.button(
        "Preview the restore",
        key="settings_restore_preview",
        icon=":material/preview:",
        on_click=_stage,
        args=(memory, uploaded, chosen),
        disabled=disabled or not (uploaded or chosen),
        help=help_text,
    )
    staged: _StagedBackup | None = st.session_state.get(_STAGED)
    if staged is not None and not disabled:
        _draw_preview(memory, staged.preview)


def _draw_preview(memory: MemorySystem, preview: RestorePreview) -> None:
    with st.container(border=True):
        st.markdown("**What restoring this backup does**")
        st.text(preview.name)
        st.dataframe([asdict(row) for row in preview.rows], column_config=COLUMNS, hide_index=True,
                     alt="Records of each kind, now and after the restore")  # fmt: skip
        for note in preview.notes:
            st.text(note)
        with st.container(horizontal=True):
            st.button("Restore", key="settings_restore_apply", type="primary",
                      icon=":material/settings_backup_restore:", on_click=_restore,
                      args=(memory, preview))  # fmt: skip
            st.button("Cancel", key="settings_restore_cancel", on_click=_forget)


def _stage(memory: MemorySystem, uploaded: UploadedFile | None, chosen: str | None) -> None:
    _forget()
    with announcing_problems(), st.spinner("Reading the backup …"):
        if uploaded is None:
            path = Path(str(chosen)).expanduser()
            check_place(memory, path)
            st.session_state[_STAGED] = _StagedBackup(preview_restore(memory, path, str(path)), None)
        else:
            st.session_state[_STAGED] = _staged(memory, uploaded)


def _staged(memory: MemorySystem, uploaded: UploadedFile) -> _StagedBackup:
    directory = tempfile.TemporaryDirectory(prefix="atlas-upload-")
    path = Path(directory.name) / "backup.zip"
    try:
        path.write_bytes(uploaded.getbuffer())
        return _StagedBackup(preview_restore(memory, path, uploaded.name), directory)
    except BaseException:
        directory.cleanup()
        raise


def _restore(memory: MemorySystem, preview: RestorePreview) -> None:
    keep = made_directory(backup_directory(memory)) / backup_name(memory, "before-restore")
    with announcing_problems(), st.spinner("Restoring …", show_time=True):
        sentence = f"{restore_from(memory, preview.source, keep=keep)} of {preview.name}. Before: {keep}"
        announce_act(Act(sentence, _bringing_back(keep)))
        _forget()
    reopen()


def _bringing_back(backup: Path) -> Turn:
    """Return a function that restores a backup. The current state is backed up first, for undo."""

    def turn(memory: MemorySystem, /) -> Turn:
        keep = made_directory(backup_directory(memory)) / backup_name(memory, "before-undo")
        with st.spinner("Restoring …", show_time=True):
            restore_from(memory, backup, keep=keep)
        reopen()
        return _bringing_back(keep)

    return turn


def _forget() -> None:
    staged: _StagedBackup | None = st.session_state.pop(_STAGED, None)
    if staged is not None and staged.directory is not None:
        staged.directory.cleanup()
