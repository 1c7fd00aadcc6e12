"""Earlier versions of a record, with the button that restores one."""

from __future__ import annotations

from typing import Any

import streamlit as st

from atlas import MemorySystem
from atlas.views.lists.kind_views import KindViews
from atlas.views.shared.versions import VersionView
from pages.components.lists.editing import READ_ONLY
from pages.components.lists.forms import act
from pages.components.shared.texts import draw_code
from pages.components.shared.undo_toast import announcing_problems


def draw_versions(views: KindViews[Any], memory: MemorySystem, detail: Any, is_open: bool) -> None:
    """Draw all versions of a record, newest first, as a tab of its panel."""
    if not detail.versions:
        st.caption("It has not been edited. Each edit keeps the previous version here.")
    for version in detail.versions:
        with st.container(border=True):
            _draw_version(views, memory, detail.id, version)


def _draw_version(views: KindViews[Any], memory: MemorySystem, record_id: str, version: VersionView) -> None:
    disabled = memory.storage.read_only
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"Replaced {version.when} by")
        st.text(version.actor)
        st.button("Restore the version before this edit", key=f"{views.kind.noun}_restore_{version.number}",
                  icon=":material/history:", disabled=disabled or version.is_now, on_click=_restore,
                  args=(views, memory, record_id, version.number),
                  help=READ_ONLY if disabled else "This is how it is now." if version.is_now else "It can be undone.",
                  )  # fmt: skip
    draw_code(version.difference, key=f"{views.kind.noun}_difference_{version.number}")


def _restore(views: KindViews[Any], memory: MemorySystem, record_id: str, number: int) -> None:
    kind = views.kind
    with announcing_problems():
        changes = views.changes_to(memory, record_id, number)
        scoped: Any = kind.records(memory).as_operation("edit", "restored an earlier version")
        if changes:
            act(lambda: scoped.edit(record_id, **changes), scoped, f"Restored an earlier version of the {kind.noun}")
