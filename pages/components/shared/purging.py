"""Purging: the plan, other records with the same text, and a confirmation box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import streamlit as st

from atlas import AtlasError, MemorySystem, PlanOutdated
from atlas.views.kinds.kind import Kind
from atlas.views.shared.purging import FINAL, PurgeProposal, PurgeRow, done_sentence, propose_purge
from pages.components.lists.editing import READ_ONLY
from pages.components.lists.record_table import close_opened, opened_id, table_height
from pages.components.lists.selection import unselect
from pages.components.shared.undo_toast import announce_final, announce_problem, announcing_problems

MAX_ROWS = 200
ROWS_AT_ONCE = 5

_PROPOSAL, _TYPED, _REASON, _OUTDATED = "purge_proposal", "purge_typed", "purge_reason", "purge_outdated"

COLUMNS = {
    "title": st.column_config.TextColumn("What", width="large"),
    "kind": st.column_config.TextColumn("Kind", width=110),
    "why": st.column_config.TextColumn("", width="medium"),
}


def draw_purging(memory: MemorySystem, kind: Kind, ids: Sequence[str], *, key: str) -> None:
    """Draw the button that previews a purge."""
    disabled = memory.storage.read_only
    st.button("Purge …", key=key, icon=":material/delete_forever:", disabled=disabled or not ids, on_click=_propose,
              args=(memory, tuple(ids), kind),
              help=READ_ONLY if disabled else "Erases for good, for example a leaked key. You see a preview first.",
              )  # fmt: skip


def draw_purge(memory: MemorySystem) -> bool:
    """Draw the open purge, and return whether there is one."""
    if not is_purging():
        return False
    st.dialog("Purge for good", width="large", on_dismiss=_close)(_draw)(memory)
    return True


def is_purging() -> bool:
    """Return whether the dialog of a purge is open."""
    return st.session_state.get(_PROPOSAL) is not None


def _propose(memory: MemorySystem, ids: tuple[str, ...], kind: Kind) -> None:
    _close()
    with announcing_problems():
        st.session_state[_PROPOSAL] = propose_purge(memory, ids, kind), ids, kind


def _close() -> None:
    for key in (_PROPOSAL, _TYPED, _REASON, _OUTDATED):
        st.session_state.pop(key, None)


def _draw(memory: MemorySystem) -> None:
    opened: tuple[PurgeProposal, tuple[str, ...], Kind] | None = st.session_state.get(_PROPOSAL)
    if opened is None:  # done or dismissed
        st.rerun()
        return
    proposal, ids, kind = opened
    view = proposal.view
    st.markdown(f"**{view.headline}**")
    _draw_rows(view.erased, "What is erased")
    if view.remaining:
        _draw_rows(view.remaining, "Records that hold the same text or name it, and stay unless purged too")
    if view.removed:
        st.caption("Older copies of the database and of marks, with what was marked by hand, that are erased too")
        st.code("\n".join(view.removed), language=None)
    if view.files:
        st.caption("These may hold it, and stay")
        st.code("\n".join(view.files), language=None)
    for note in view.notes:
        st.caption(note)
    if outdated := st.session_state.get(_OUTDATED):
        st.warning("The store has changed since this was planned. Nothing was done.", icon=":material/sync_problem:")
        st.text(outdated)
        st.button("Plan again", key="purge_anew", type="primary", on_click=_propose, args=(memory, ids, kind))
        return
    _draw_confirmation(memory, proposal)


def _draw_rows(rows: Sequence[PurgeRow], caption: str) -> None:
    n_more = len(rows) - MAX_ROWS
    st.caption(f"{caption}; the first {MAX_ROWS} of {len(rows):,} are shown" if n_more > 0 else caption)
    height = table_height(len(rows), ROWS_AT_ONCE)
    st.dataframe([asdict(row) for row in rows[:MAX_ROWS]], column_config=COLUMNS, column_order=list(COLUMNS),
                 hide_index=True, height=height, alt=caption)  # fmt: skip


def _draw_confirmation(memory: MemorySystem, proposal: PurgeProposal) -> None:
    words = proposal.view.words
    st.text_input("Reason, which the history keeps. Do not repeat what should be erased", key=_REASON)
    st.text_input(f"Type {' or '.join(words)} to confirm", key=_TYPED, live=True, placeholder=words[-1])
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Purge for good", key="purge_apply", type="primary", icon=":material/delete_forever:",
                  on_click=_apply, args=(memory, proposal),
                  disabled=not _is_typed(proposal) or memory.storage.read_only)  # fmt: skip
        st.button("Cancel", key="purge_cancel", on_click=_close)
        st.caption(FINAL)


def _is_typed(proposal: PurgeProposal) -> bool:
    return proposal.view.is_confirmed_by(str(st.session_state.get(_TYPED) or ""))


def _apply(memory: MemorySystem, proposal: PurgeProposal) -> None:
    """Apply the shown purge."""
    if not _is_typed(proposal):
        return
    try:
        done = proposal.apply(memory, str(st.session_state.get(_REASON) or ""))
    except PlanOutdated as error:
        st.session_state[_OUTDATED] = str(error)
        return
    except AtlasError as error:
        announce_problem(error)
        _close()
        return
    ids = [row.id for row in proposal.view.erased]
    unselect(ids)
    if opened_id() in ids:
        close_opened()
    announce_final(done_sentence(done), done.problem)
    _close()
