"""Demonstration links: creating one, which is shown once, and ending one."""

from __future__ import annotations

from dataclasses import asdict

import streamlit as st

from atlas import MemorySystem
from atlas.views.settings.links import ENDS, LinkRow, end_link, link_rows, make_link
from atlas.views.settings.roles import may_administer
from atlas.views.shared.state import has_visitor
from pages.components.shared.commands import server_address
from pages.components.shared.undo_toast import announcing_problems

COLUMNS = {
    "name": st.column_config.TextColumn("For", width=220),
    "state": st.column_config.TextColumn("State", width=300),
    "made": st.column_config.TextColumn("Made", width=300),
}
_SHOWN = "settings_link_shown"


def draw_links(memory: MemorySystem) -> None:
    """Draw the links, a form that makes one, and a button that ends one."""
    st.caption(
        "A link shows a copy of this memory, frozen when the link is made, to whoever has it. Nothing can be changed "
        "there, and nothing is seen of what comes after. It ends when you say, and a purge ends it too."
    )
    if not may_administer():
        st.info("Only an admin makes links to this store.", icon=":material/lock:")
        return
    if not has_visitor():
        st.info("Links need a server that asks who enters: start it with `atlas serve`.", icon=":material/link:")
        return
    _draw_new(memory)
    _draw_shown()
    rows = link_rows(memory)
    if not rows:
        st.text("No link has been made yet.")
        return
    st.dataframe([asdict(row) for row in rows], column_config=COLUMNS, column_order=list(COLUMNS), hide_index=True,
                 alt="Links to copies of this store")  # fmt: skip
    _draw_ending(memory, [row for row in rows if row.is_live])


def _draw_new(memory: MemorySystem) -> None:
    with st.form("settings_link_new", clear_on_submit=True):
        name_column, end_column = st.columns([3, 1], vertical_alignment="bottom")
        name = name_column.text_input("For whom or what", max_chars=64, placeholder="Board meeting in December")
        end = end_column.selectbox("Ends after", list(ENDS), index=1)
        st.caption(
            "Guests see the records and their history, with earlier versions and the names of those who made the "
            "changes. What was deleted and what waits for review is left out."
        )
        if st.form_submit_button("Make a link", icon=":material/link:"):
            with announcing_problems(), st.spinner("Freezing a copy …", show_time=True):
                st.session_state[_SHOWN] = (name.strip(), make_link(memory, name.strip(), ENDS[end])[1])
            st.rerun()


def _draw_shown() -> None:
    """Draw a new link until the user confirms that they copied it."""
    new_link = st.session_state.get(_SHOWN)
    if new_link is None:
        return
    name, path = new_link
    with st.container(border=True, key="settings_link_made"):
        st.markdown("**Copy this link now.** Nobody can be shown it again.")
        st.text(f"For {name}")
        st.code(f"{server_address()}{path}", language=None)
        st.button("I have copied it", key="settings_link_copied", on_click=st.session_state.pop, args=(_SHOWN,))


def _draw_ending(memory: MemorySystem, live: list[LinkRow]) -> None:
    if not live:
        return
    names = {row.id: row.name for row in live}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox("Link to end", list(names), format_func=names.__getitem__, index=None,
                              placeholder="Choose one", key="settings_link_end", width=260)  # fmt: skip
        st.button("End it", key="settings_link_end_now", icon=":material/link_off:", disabled=chosen is None,
                  on_click=_end, args=(memory, chosen))  # fmt: skip


def _end(memory: MemorySystem, link_id: str) -> None:
    with announcing_problems():
        end_link(memory, link_id)
