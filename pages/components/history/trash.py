"""Deleted records of each kind of memory, with the offer to restore them."""

from __future__ import annotations

from dataclasses import asdict

import streamlit as st

from atlas import MemorySystem
from atlas.views.history.operations import n_trash_pages, trash_page
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.kind import Kind
from atlas.views.shared.kinds import KINDS
from atlas.views.shared.wording import counted, plural
from pages.components.history.operation import TIME
from pages.components.lists.editing import READ_ONLY
from pages.components.lists.filters import URL
from pages.components.shared.purging import draw_purging
from pages.components.shared.snapshot import store_state
from pages.components.shared.undo_toast import announce, announcing_problems

TRASH_COLUMNS = {
    "outcome": st.column_config.TextColumn("Outcome", width=110),
    "task": st.column_config.TextColumn("What", width="large"),
    "deleted_at": TIME("Deleted (UTC)"),
    "actor": st.column_config.TextColumn("Who", width=100),
    "reason": st.column_config.TextColumn("Why", width=200),
}


def draw_trash(memory: MemorySystem) -> None:
    """Draw the deleted records, with a button to restore them."""
    # taken before the rows are read, so that a concurrent write changes the table's key
    state = hash(store_state(memory))
    kind = draw_kinds(memory)
    page = draw_pages(n_trash_pages(memory, kind), key=f"history_trash_page_{kind.noun}")
    view = trash_page(memory, page, kind)
    st.caption(view.caption)
    if not view.rows:
        return
    table = st.dataframe(
        [asdict(row) for row in view.rows],
        column_order=[name for name in TRASH_COLUMNS if name != "outcome" or kind is EXPERIENCE],
        column_config=TRASH_COLUMNS,
        hide_index=True,
        key=f"history_trash_{kind.noun}_{page}_{state}",
        on_select="rerun",
        selection_mode="multi-row",
    )
    ids = tuple(view.rows[row].id for row in table["selection"]["rows"])
    with st.container(horizontal=True):
        _draw_acts(memory, ids, kind)


def _draw_acts(memory: MemorySystem, ids: tuple[str, ...], kind: Kind) -> None:
    """Draw the actions for the chosen records."""
    st.button(
        f"Restore {counted(len(ids), kind.noun)}" if ids else "Restore the chosen ones",
        key="history_restore",
        icon=":material/restore_from_trash:",
        disabled=not ids or memory.storage.read_only,
        help=READ_ONLY if memory.storage.read_only else None,
        on_click=restore,
        args=(memory, ids, kind),
    )
    draw_purging(memory, kind, ids, key="history_purge")


def draw_kinds(memory: MemorySystem) -> Kind:
    """Draw the choice of a kind, unless only experiences were deleted."""
    nouns = {
        plural(kind.noun).capitalize(): kind
        for kind in KINDS.values()
        if kind is EXPERIENCE or kind.records(memory).count_trash()
    }
    if len(nouns) == 1:
        return EXPERIENCE
    chosen = st.segmented_control(
        "Kind", list(nouns), default=plural(EXPERIENCE.noun).capitalize(), required=True, key="history_kind", bind=URL,
        label_visibility="collapsed",
    )  # fmt: skip
    return nouns.get(chosen or "", EXPERIENCE)


def restore(memory: MemorySystem, ids: tuple[str, ...], kind: Kind) -> None:
    """Restore records from the trash, as one operation."""
    scoped = kind.records(memory).as_operation("restore", "from the trash")
    with announcing_problems():
        n_restored = scoped.restore(ids)
        announce(str(scoped.operation_id), f"Restored {counted(n_restored, kind.noun)}")


def draw_pages(n_pages: int, *, key: str) -> int:
    """Draw the selected page."""
    return st.pagination(n_pages, key=key, bind=URL) if n_pages > 1 else 1
