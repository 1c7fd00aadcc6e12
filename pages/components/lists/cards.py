"""Hits as cards: match, outcome and explanation. Cards of a list can be opened and selected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.kind import Kind
from atlas.views.lists.hits import HitCard, card_script, card_stylesheet
from pages.components.lists.filters import URL
from pages.components.lists.record_table import open_experience, opened_id, origin_of
from pages.components.lists.selection import current_selection, select, unselect

TABLE, CARDS = "Table", "Cards"

_card = st.components.v2.component("hit_card", css=card_stylesheet(), js=card_script())


def hit_card(
    card: HitCard,
    *,
    key: str,
    on_open: Callable[[str], None] | None = None,
    place: Mapping[str, Any] | None = None,
    is_open: bool = False,
) -> DeltaGenerator:
    """Draw a card.

    Args:
        key: Unique key on the page.
        on_open: Called with the id of a hit that is opened.
        place: Its position in the context block on the page, its strength and the least relevance of a hit, and how it
            looks, for the browser.
        is_open: Whether the signals of its rank are unfolded at first.

    Returns:
        The row of what can be done with it, where a page can add more.
    """
    with st.container(border=True, gap="xsmall", key=key):
        _card(key=f"{key}_drawn", data={**card.as_json(), "place": place, "open": is_open})
        acts = st.container(horizontal=True, vertical_alignment="center", key=f"acts_{key}")
        if on_open is not None:
            acts.button("Open", key=f"{key}_open", icon=":material/open_in_full:", type="tertiary", on_click=on_open,
                        args=(card.id,))  # fmt: skip
    return acts


def is_as_cards(found: object | None, kind: Kind = EXPERIENCE) -> bool:
    """Draw the choice between a table and cards, and return whether cards are chosen. Only for searches."""
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
