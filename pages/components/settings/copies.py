"""Copies of the store: an export for other programs, and a full backup."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path

import streamlit as st

from atlas import InvalidInput, MemorySystem
from atlas.views.settings.copies import (
    SAME_DISK,
    SOURCES,
    Export,
    backup_directory,
    backup_name,
    make_backup,
    recorded_backups,
)
from atlas.views.settings.roles import may_administer
from atlas.views.shared.state import bind_actor, may_name_paths
from atlas.views.shared.wording import sortable_utc_time
from pages.components.shared.undo_toast import Act, announce_act, announcing_problems

_DIRECTORY = "settings_backup_directory"

WARNING = f":orange[:material/warning:] {SAME_DISK}"


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
    vectors = st.checkbox("With the vectors of experiences", key="settings_export_vectors",
                          help="Larger, but imported faster by a store with the same embedding model.")  # fmt: skip
    without = st.multiselect("Leave out concepts from", SOURCES, key="settings_export_without", width=320)
    st.download_button("Download the export", bind_actor(partial(_exported, memory, vectors, tuple(without))),
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
    if is_on_same_disk(memory, _chosen_directory(memory)):
        st.caption(WARNING)
    with st.container(horizontal=True):
        st.button("Make a backup", key="settings_backup", icon=":material/archive:", on_click=_back_up, args=(memory,),
                  type="secondary" if recorded_backups(memory) else "primary")  # fmt: skip
        draw_download(memory, key="settings_backup_download")
    _draw_known(memory)


def draw_download(memory: MemorySystem, *, key: str) -> None:
    """Draw a button that downloads the last backup, if its file is still there."""
    if (backup := existing_backup(memory)) is not None:
        st.download_button("Download the last one", bind_actor(backup.read_bytes), backup.name, "application/zip",
                           key=key, icon=":material/download:", on_click="ignore")  # fmt: skip


def existing_backup(memory: MemorySystem) -> Path | None:
    """Return the newest backup whose file is still there and may be read, or None."""
    return next(filter(_is_file, map(Path, recorded_backups(memory))), None)


def is_on_same_disk(memory: MemorySystem, path: Path) -> bool:
    """Return whether a file or directory, which need not exist yet, is on the disk of the store."""
    if not memory.storage.ledger.is_file:  # the database is on another machine
        return False
    with suppress(OSError):  # a directory that may not be read
        existing = next(each for each in (path, *path.parents) if each.exists())
        return existing.stat().st_dev == memory.storage.path.stat().st_dev
    return False


def _is_file(path: Path) -> bool:
    with suppress(OSError):  # a directory that may not be read
        return path.is_file()
    return False


def _draw_known(memory: MemorySystem) -> None:
    rows = [
        {
            "File": path,
            "Made": sortable_utc_time(datetime.fromisoformat(made_at)),
            "Still there": "yes" if _is_file(Path(path)) else "no",
        }
        for path, made_at in recorded_backups(memory).items()
    ]
    if rows:
        st.caption("Backups of this store that were made so far")
        st.dataframe(rows, hide_index=True, alt="Backups of this store")


def back_up_beside(memory: MemorySystem) -> None:
    """Make a backup in the store's own directory for backups. Callback of a button."""
    with announcing_problems():
        _back_up_into(memory, made_directory(backup_directory(memory)))


def _back_up(memory: MemorySystem) -> None:
    with announcing_problems():
        chosen = _chosen_directory(memory)
        is_own = chosen == backup_directory(memory)
        _back_up_into(memory, made_directory(chosen) if is_own else directory_of(st.session_state[_DIRECTORY]))


def _back_up_into(memory: MemorySystem, directory: Path) -> None:
    with st.spinner("Backing up …", show_time=True):
        target = directory / backup_name(memory)
        announce_act(Act(make_backup(memory, target)))


def _chosen_directory(memory: MemorySystem) -> Path:
    """Return the entered directory, which need not exist, or that of the store."""
    own = backup_directory(memory)
    return _expanded(str(st.session_state.get(_DIRECTORY, own))).absolute() if may_name_paths() else own


def _expanded(typed: str) -> Path:
    """Return a path with the home directory for `~`. That of an unknown user stays as it is."""
    with suppress(RuntimeError):
        return Path(typed.strip()).expanduser()
    return Path(typed.strip())


def made_directory(directory: Path) -> Path:
    """Create a private directory if it does not exist, and return it."""
    directory.mkdir(mode=0o700, exist_ok=True)
    return directory


def directory_of(typed: str) -> Path:
    """Return the entered directory.

    Raises:
        InvalidInput: It does not exist.
    """
    directory = _expanded(typed)
    if not typed.strip() or not directory.is_dir():
        raise InvalidInput(f"a backup needs a directory that exists, but got {typed!r}; choose another one")
    return directory
