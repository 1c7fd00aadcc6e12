"""Earlier versions of a record, with the button that restores one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from atlas import MemorySystem
from atlas.views.shared.kinds import Kind
from atlas.views.shared.versions import VersionView
from pages.components.lists.editing import READ_ONLY
from pages.components.lists.forms import act
from pages.components.shared.texts import draw_code
from pages.components.shared.undo_toast import announcing_problems

ChangesTo = Callable[[MemorySystem, str, int], dict[str, Any]]
"""Function that returns the changes, as `edit` takes them, that restore a version, by record and number."""


def draw_versions(
    memory: MemorySystem, record_id: str, versions: Sequence[VersionView], kind: Kind, changes_to: ChangesTo
) -> None:
    """Draw every version, the last replaced first."""
    if not versions:
        st.caption("It has not been edited. Each edit keeps the previous version here.")
    for version in versions:
        with st.container(border=True):
            _draw_version(memory, record_id, version, kind, changes_to)


def _draw_version(
    memory: MemorySystem, record_id: str, version: VersionView, kind: Kind, changes_to: ChangesTo
) -> None:
    is_off = memory.storage.read_only
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"Replaced {version.when} by")
        st.text(version.actor)
        st.button("Restore the version before this edit", key=f"{kind.noun}_restore_{version.number}",
                  icon=":material/history:", disabled=is_off or version.is_now, on_click=_restore,
                  args=(memory, record_id, version.number, kind, changes_to),
                  help=READ_ONLY if is_off else "This is how it is now." if version.is_now else "It can be undone.",
                  )  # fmt: skip
    draw_code(version.difference, key=f"{kind.noun}_difference_{version.number}")


def _restore(memory: MemorySystem, record_id: str, number: int, kind: Kind, changes_to: ChangesTo) -> None:
    with announcing_problems():
        changes = changes_to(memory, record_id, number)
        scoped: Any = kind.records(memory).within("edit", "restored an earlier version")
        if changes:
            act(lambda: scoped.edit(record_id, **changes), scoped, f"Restored an earlier version of the {kind.noun}")
