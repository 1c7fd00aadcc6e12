"""What a search found as cards, each of which can be opened, and selected as a row of the table can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from atlas import MemorySystem
from atlas.views.experiences import Query
from atlas.views.finding import Found
from atlas.views.hits import HitCard
from atlas.views.kinds import EXPERIENCE, Kind
from atlas.views.state import StoreState
from pages.components.hits import hit_card
from pages.components.listing import cards_of
from pages.components.scope import URL
from pages.components.selection import current_selection, select, unselect
from pages.components.tables import ROWS, open_experience, opened_id

TABLE, CARDS = "Table", "Cards"


def is_as_cards(found: object | None, kind: Kind = EXPERIENCE) -> bool:
    """Whether the person wants what was found as cards; nobody is asked where nothing was looked for."""
    if found is None:
        return False
    form = st.segmented_control(
        "Shown as", (TABLE, CARDS), default=TABLE, required=True, key=f"{kind.page}_form", label_visibility="collapsed",
        width="content", bind=URL,
    )  # fmt: skip
    return form == CARDS


def draw_cards(cards: Sequence[HitCard], *, revision: int, kind: Kind = EXPERIENCE, origin: str = ROWS) -> None:
    """Cards under each other.

    Args:
        origin: What the tray calls a selection that is made here.
        revision: The store's, at the time that they were found.
    """
    chosen, opened = {*current_selection(kind).ids}, opened_id()
    for card in cards:
        key = f"{kind.page}_card_{card.id}"
        box = f"{key}_select"
        st.session_state[box] = card.id in chosen  # it may have been selected in the table, on the map, or in the tray
        acts = hit_card(card, key=key, on_open=open_experience if card.id != opened else None)
        acts.checkbox("Select", key=box, on_change=_take, args=(card.id, box, revision, kind, origin))


def draw_why(memory: MemorySystem, query: Query, found: Found | None, state: StoreState, opened: str) -> None:
    """Why what is open was found, where there is a question."""
    if found is None:
        return
    st.caption("Why it is here" if opened in found else "Not among what this search lists.")
    for card in cards_of(memory, query, found, [opened] if opened in found else [], state):
        hit_card(replace(card, title=""), key=f"experience_why_{card.id}")  # what it is called stands right below


def _take(record_id: str, box: str, revision: int, kind: Kind, origin: str) -> None:
    if st.session_state[box]:
        select([*current_selection(kind).ids, record_id], origin=origin, revision=revision, kind=kind)
    else:
        unselect([record_id])
