"""Hits of a search as cards, each of which can be opened, and selected as a row of the table can."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from atlas.views.lists.hits import HitCard
from atlas.views.shared.kinds import EXPERIENCE, Kind
from pages.components.lists.filters import URL
from pages.components.lists.hits import hit_card
from pages.components.lists.record_table import open_experience, opened_id, origin_of
from pages.components.lists.selection import current_selection, select, unselect

TABLE, CARDS = "Table", "Cards"


def is_as_cards(found: object | None, kind: Kind = EXPERIENCE) -> bool:
    """Say whether the person wants what was found as cards. Nobody is asked where nothing was looked for."""
    if found is None:
        return False
    form = st.segmented_control(
        "Shown as", (TABLE, CARDS), default=TABLE, required=True, key=f"{kind.page}_form", label_visibility="collapsed",
        width="content", bind=URL,
    )  # fmt: skip
    return form == CARDS


def draw_cards(cards: Sequence[HitCard], *, revision: int, kind: Kind = EXPERIENCE) -> None:
    """Draw cards under each other.

    Args:
        revision: The store's, at the time that they were found.
    """
    chosen, opened = {*current_selection(kind).ids}, opened_id()
    for card in cards:
        key = f"{kind.page}_card_{card.id}"
        box = f"{key}_select"
        st.session_state[box] = card.id in chosen  # it may have been selected in the table, on the map, or in the tray
        acts = hit_card(card, key=key, on_open=open_experience if card.id != opened else None)
        acts.checkbox("Select", key=box, on_change=_take, args=(card.id, box, revision, kind))


def _take(record_id: str, box: str, revision: int, kind: Kind) -> None:
    if st.session_state[box]:
        select([*current_selection(kind).ids, record_id], origin=origin_of(kind), revision=revision, kind=kind)
    else:
        unselect([record_id])
