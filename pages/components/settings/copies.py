"""Copies of the store: an export for other programs, and a full backup."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from pathlib import Path

import streamlit as st

from atlas import InvalidInput, MemorySystem
from atlas.views.settings.copies import SOURCES, Export, backup_directory, backup_name, make_backup, recorded_backups
from atlas.views.settings.roles import may_administer
from atlas.views.shared.state import may_name_paths, on_behalf
from atlas.views.shared.wording import sortable_moment
from pages.components.shared.undo_toast import Act, announce_act, announcing_problems

_DIRECTORY, _MADE = "settings_backup_directory", "settings_backup_made"


def draw_copies(memory: MemorySystem) -> None:
    """Draw the forms for an export and for a backup."""
    exports, backups = st.columns(2, gap="large")
    with exports:
        _draw_export(memory)
    with backups:
        _draw_backup(memory)


def _draw_export(memory: MemorySystem) -> None:
    st.subheader("Export", anchor=False)
    st.caption("All experiences, strategies and concepts as lines of JSON, which ATLAS can import again.")
    vectors = st.checkbox("With the vectors of experiences", key="settings_export_vectors")
    without = st.multiselect("Leave out concepts from", SOURCES, key="settings_export_without", width=320)
    st.download_button("Download the export", on_behalf(partial(_exported, memory, vectors, tuple(without))),
                       f"{memory.storage.path.resolve().name.lstrip('.')}.jsonl", "application/jsonl",
                       key="settings_export", icon=":material/download:", on_click="ignore")  # fmt: skip


def _exported(memory: MemorySystem, with_vectors: bool, without: tuple[str, ...]) -> bytes:
    return "".join(Export(memory, with_vectors=with_vectors, without=without).lines()).encode()


def _draw_backup(memory: MemorySystem) -> None:
    st.subheader("Backup", anchor=False)
    st.caption("The whole store in one file, with the journal, marks and history. Agents can write meanwhile.")
    if not may_administer():
        st.info("Only an admin makes and restores backups of this store.", icon=":material/lock:")
        return
    if may_name_paths():
        st.text_input("Directory", str(backup_directory(memory)), key=_DIRECTORY)
    else:
        st.text(f"Into {backup_directory(memory)}")
    with st.container(horizontal=True):
        st.button("Make a backup", key="settings_backup", icon=":material/archive:", on_click=_back_up, args=(memory,))
        backup = st.session_state.get(_MADE)
        if backup is not None and Path(backup).is_file():
            st.download_button("Download it", on_behalf(Path(backup).read_bytes), Path(backup).name,
                               "application/zip", key="settings_backup_download", icon=":material/download:",
                               on_click="ignore")  # fmt: skip
    _draw_known(memory)


def _draw_known(memory: MemorySystem) -> None:
    rows = [
        {
            "File": path,
            "Made": sortable_moment(datetime.fromisoformat(made_at)),
            "Still there": "yes" if Path(path).is_file() else "no",
        }
        for path, made_at in recorded_backups(memory).items()
    ]
    if rows:
        st.caption("Backups of this store that were made so far")
        st.dataframe(rows, hide_index=True, alt="Backups of this store")


def _back_up(memory: MemorySystem) -> None:
    with announcing_problems(), st.spinner("Backing up …", show_time=True):
        own_directory = backup_directory(memory)
        typed = st.session_state[_DIRECTORY] if may_name_paths() else str(own_directory)
        directory = made_directory(own_directory) if typed == str(own_directory) else directory_of(typed)
        target = directory / backup_name(memory)
        sentence = make_backup(memory, target)
        st.session_state[_MADE] = str(target)
        announce_act(Act(sentence))


def made_directory(directory: Path) -> Path:
    """Create a private directory if it does not exist, and return it."""
    directory.mkdir(mode=0o700, exist_ok=True)
    return directory


def directory_of(typed: str) -> Path:
    """Return the entered directory.

    Raises:
        InvalidInput: It does not exist.
    """
    directory = Path(typed.strip()).expanduser()
    if not typed.strip() or not directory.is_dir():
        raise InvalidInput(f"a backup needs a directory that exists, but got {typed!r}; choose another one")
    return directory
