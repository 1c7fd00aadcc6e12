"""People: sign-ins, roles, and ending a person's access."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import streamlit as st

from atlas import MemorySystem
from atlas.views.settings.keys import ABOUT_ROLES
from atlas.views.settings.people import (
    PersonRow,
    follow_groups,
    grants_of,
    person_rows,
    readmit_person,
    remove_person,
    set_role,
)
from atlas.views.settings.roles import may_administer
from pages.components.shared.undo_toast import announcing_problems

COLUMNS = {
    "name": st.column_config.TextColumn("Name", width=180),
    "role": st.column_config.TextColumn("Role", width=150),
    "state": st.column_config.TextColumn("State", width=160),
    "groups": st.column_config.TextColumn("Groups", width=220),
    "seen": st.column_config.TextColumn("Last sign-in", width=160),
}

_REVOKE_GRANTS = "settings_person_revoke_grants"


def draw_people(memory: MemorySystem) -> None:
    """Draw all people who have signed in, and the settings that an admin can change."""
    st.caption(
        "People sign in where `atlas serve` knows a provider. Their groups there give them a role, and a role given "
        "here overrules that. A change holds from their next click on."
    )
    if not may_administer():
        st.info("Only an admin sees the people of this store.", icon=":material/lock:")
        return
    rows = person_rows(memory)
    if not rows:
        st.text("Nobody has signed in yet.")
        return
    st.dataframe([asdict(row) for row in rows], column_config=COLUMNS, column_order=list(COLUMNS), hide_index=True,
                 alt="People of this store")  # fmt: skip
    _draw_changes(memory, {row.id: row for row in rows})


def _draw_changes(memory: MemorySystem, rows: dict[str, PersonRow]) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox("Person", list(rows), format_func=lambda person_id: rows[person_id].name, index=None,
                              placeholder="Choose one", key="settings_person", width=260)  # fmt: skip
        role = st.selectbox("Role", list(ABOUT_ROLES), key="settings_person_role", width=160)
        disabled = chosen is None
        st.button("Give this role", key="settings_person_give", icon=":material/badge:", disabled=disabled,
                  on_click=_act, args=(set_role, memory, chosen, role))  # fmt: skip
        st.button("Go by groups", key="settings_person_groups", icon=":material/group:", disabled=disabled,
                  on_click=_act, args=(follow_groups, memory, chosen),
                  help="Their groups decide again when they sign in next. Until then they are a viewer.")  # fmt: skip
        if chosen is not None and rows[chosen].is_removed:
            st.button("Let in again", key="settings_person_readmit", icon=":material/person_add:",
                      on_click=_act, args=(readmit_person, memory, chosen))  # fmt: skip
        else:
            st.button("Remove", key="settings_person_remove", icon=":material/person_remove:", disabled=disabled,
                      on_click=_remove, args=(memory, chosen),
                      help="They are let in no more. What they did stays.")  # fmt: skip
    if chosen is not None and (grants := grants_of(memory, chosen).sentence) and not rows[chosen].is_removed:
        st.text(grants)
        st.checkbox("Also revoke these when removing them", value=True, key=f"{_REVOKE_GRANTS}_{chosen}")


def _remove(memory: MemorySystem, person_id: str) -> None:
    revoke_grants = bool(st.session_state.get(f"{_REVOKE_GRANTS}_{person_id}"))  # only what was shown
    with announcing_problems():
        remove_person(memory, person_id, revoke_grants=revoke_grants)


def _act(act: Callable[..., Any], *arguments: Any) -> None:
    with announcing_problems():
        act(*arguments)
