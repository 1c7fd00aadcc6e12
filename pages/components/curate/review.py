"""The queue of pending records: accept or reject a single one, all of a key, or all since a time."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime

import streamlit as st

from atlas import MemorySystem
from atlas.views.curate.review import (
    RejectRequest,
    ReviewQueue,
    WaitingRow,
    accept,
    may_review,
    review_queue,
    words_of,
)
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.shared.kinds import KINDS
from pages.components.lists.editing import READ_ONLY
from pages.components.lists.record_table import open_experience
from pages.components.shared.narrowing import go_from_click
from pages.components.shared.plans import propose
from pages.components.shared.undo_toast import announce, announcing_problems

EVERY_KEY = "Every key"
MAX_ROWS = 500
NOT_ALLOWED = "Only a curator accepts and rejects."

COLUMNS = {
    "noun": st.column_config.TextColumn("Kind", width=90),
    "title": st.column_config.TextColumn("What", width="large"),
    "writer": st.column_config.TextColumn("Key", width=140),
    "stored_at": st.column_config.DatetimeColumn("Stored (UTC)", format="D MMM YYYY, HH:mm", width=130, timezone="UTC"),
}


def draw_review(memory: MemorySystem) -> None:
    """Draw the pending records with filters by key and time, and the buttons that accept and reject them."""
    writer, since = _draw_filters(review_queue(memory))
    found = review_queue(memory, writer, since)
    if not found.rows:
        st.info("Nothing of this key, or since this time, waits for review.", icon=":material/check:")
        return
    acts = st.container(horizontal=True, vertical_alignment="center")
    ticked = _draw_table(found.rows)
    with acts:
        _draw_acts(memory, ticked or found.rows, is_ticked=bool(ticked))


def _draw_filters(every: ReviewQueue) -> tuple[str, datetime | None]:
    """Draw the filters of the queue, and return the selected key and time."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        names = {EVERY_KEY: sum(every.n_by_writer.values()), **every.n_by_writer}
        writer = st.selectbox("Written with the key", list(names), key="curate_review_writer", width=280,
                              format_func=lambda name: f"{name} ({names.get(name, 0):,})")  # fmt: skip
        since = st.datetime_input("Stored since (UTC)", None, key="curate_review_since", width=280)
    return ("" if writer == EVERY_KEY else writer), (since.replace(tzinfo=UTC) if since else None)


def _draw_table(rows: tuple[WaitingRow, ...]) -> tuple[WaitingRow, ...]:
    """Draw the records, which a click opens, and return the selected ones."""
    listed = rows[:MAX_ROWS]
    key = f"curate_review_{abs(hash(listed))}"
    table = st.dataframe(
        [asdict(row) for row in listed], column_config=COLUMNS, column_order=list(COLUMNS), hide_index=True, key=key,
        on_select=lambda: _open_clicked(listed, key), selection_mode=["multi-row", "single-cell"],
        alt="Records that wait for review",
    )  # fmt: skip
    if len(rows) > len(listed):
        st.caption(f"The latest {len(listed):,} of {len(rows):,} are listed. The buttons act on all of them.")
    return tuple(listed[row] for row in table["selection"]["rows"] if row < len(listed))


def _draw_acts(memory: MemorySystem, rows: tuple[WaitingRow, ...], *, is_ticked: bool) -> None:
    disabled = memory.storage.read_only or not may_review()
    why = READ_ONLY if memory.storage.read_only else None if may_review() else NOT_ALLOWED
    what = words_of(rows) if is_ticked else f"all {len(rows):,}"
    st.button(f"Accept {what}", key="curate_review_accept", icon=":material/check:", disabled=disabled, type="primary",
              on_click=_accept, args=(memory, rows), help=why or "Everybody finds them from now on.")  # fmt: skip
    st.button(f"Reject {what} …", key="curate_review_reject", icon=":material/delete:", disabled=disabled,
              on_click=propose, args=(memory, RejectRequest(rows=rows)),
              help=why or "You first see what would be deleted.")  # fmt: skip


def _accept(memory: MemorySystem, rows: tuple[WaitingRow, ...]) -> None:
    with announcing_problems():
        announce(accept(memory, rows), f"Accepted {words_of(rows)}")


def _open_clicked(rows: tuple[WaitingRow, ...], key: str) -> None:
    """Open the record whose cell was clicked: an experience beside the queue, another on the page of its kind."""
    cells = st.session_state[key]["selection"]["cells"]
    row = next((rows[row] for row, _ in cells if row < len(rows)), None)
    if row is None:
        return
    if row.noun == EXPERIENCE.noun:
        open_experience(row.id)
    else:
        page = next(kind.page for kind in KINDS.values() if kind.noun == row.noun)
        go_from_click(f"pages/{page}.py", id=row.id)
