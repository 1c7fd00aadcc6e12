"""Keys for a served store. A new key is shown once."""

from __future__ import annotations

from dataclasses import asdict

import streamlit as st

from atlas import MemorySystem
from atlas.views.settings.keys import (
    ABOUT_ROLES,
    ENDS,
    KeyRow,
    key_rows,
    make_key,
    revoke_key,
)
from atlas.views.settings.roles import may_administer
from pages.components.shared.undo_toast import announcing_problems

COLUMNS = {
    "name": st.column_config.TextColumn("Name", width=160),
    "role": st.column_config.TextColumn("Role", width=120),
    "state": st.column_config.TextColumn("State", width=200),
    "made": st.column_config.TextColumn("Made", width=220),
}
ABOUT_REVIEW = (
    "For a writer's key. What is written with it is found with it alone until a curator accepts it on Curate."
)
_SHOWN = "settings_key_shown"


def draw_keys(memory: MemorySystem) -> None:
    """Draw the keys, a form that makes one, and a button that revokes one."""
    st.caption(
        "Agents and people enter with a key where `atlas serve` runs. A key has a role, and a name that History shows. "
        "On the server's own machine the token that `atlas serve` prints does as well."
    )
    if not may_administer():
        st.info("Only an admin sees the keys of this store. Ask one for a key.", icon=":material/lock:")
        return
    _draw_new(memory)
    _draw_shown()
    rows = key_rows(memory)
    if not rows:
        st.text("No key has been made yet.")
        return
    st.dataframe([asdict(row) for row in rows], column_config=COLUMNS, column_order=list(COLUMNS), hide_index=True,
                 alt="Keys of this store")  # fmt: skip
    _draw_revoking(memory, [row for row in rows if row.is_live])


def _draw_new(memory: MemorySystem) -> None:
    with st.form("settings_key_new", clear_on_submit=True):
        name_column, role_column, end_column = st.columns([2, 2, 1], vertical_alignment="bottom")
        name = name_column.text_input("Name", max_chars=64, placeholder="nightly-crawler")
        role = role_column.selectbox("Role", list(ABOUT_ROLES), index=1, format_func=_described)
        end = end_column.selectbox("Valid for", list(ENDS), index=1)
        is_reviewed = st.checkbox("Hold what it writes for review", help=ABOUT_REVIEW)
        if st.form_submit_button("Make a key", icon=":material/key:"):
            with announcing_problems():
                secret = make_key(memory, name.strip(), role, ENDS[end], is_reviewed=is_reviewed)
                st.session_state[_SHOWN] = (name.strip(), secret)
            st.rerun()


def _draw_shown() -> None:
    """Draw a new key until the user confirms that they copied it."""
    new_key = st.session_state.get(_SHOWN)
    if new_key is None:
        return
    name, secret = new_key
    with st.container(border=True, key="settings_key_made"):
        st.markdown("**Copy this key now.** It cannot be shown again.")
        st.code(secret, language=None)
        st.text(f"It is the key of {name}.")
        st.button("I have copied it", key="settings_key_copied", on_click=_forget)


def _draw_revoking(memory: MemorySystem, live: list[KeyRow]) -> None:
    if not live:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        names = {row.id: row.name for row in live}
        chosen = st.selectbox("Key to revoke", list(names), format_func=names.__getitem__, index=None,
                              placeholder="Choose one", key="settings_key_revoked", width=260)  # fmt: skip
        st.button("Revoke", key="settings_key_revoke", icon=":material/block:", disabled=chosen is None,
                  on_click=_revoke, args=(memory, chosen),
                  help="Whoever uses it is refused from the next request on. This cannot be undone.")  # fmt: skip


def _revoke(memory: MemorySystem, key_id: str) -> None:
    with announcing_problems():
        revoke_key(memory, key_id)


def _forget() -> None:
    st.session_state.pop(_SHOWN, None)


def _described(role: str) -> str:
    return f"{role}: {ABOUT_ROLES[role]}"
