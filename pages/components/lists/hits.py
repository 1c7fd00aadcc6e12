"""A hit as a card, the same on every page: what matched, how it went, its signals in one bar, and why it is here."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from atlas.views.lists.hits import HitCard, card_script, card_stylesheet

_card = st.components.v2.component("hit_card", css=card_stylesheet(), js=card_script())


def hit_card(card: HitCard, *, key: str, on_open: Callable[[str], None] | None = None) -> DeltaGenerator:
    """Draw a card.

    Args:
        key: No other card on the page has it.
        on_open: Called with the id of what was found, when the person wants to see all of it.

    Returns:
        The row of what can be done with it, where a page can add more.
    """
    with st.container(border=True, gap="xsmall", key=key):
        _card(key=f"{key}_drawn", data=card.as_json())
        acts = st.container(horizontal=True, vertical_alignment="center")
        if on_open is not None:
            acts.button("Open", key=f"{key}_open", icon=":material/open_in_full:", type="tertiary", on_click=on_open,
                        args=(card.id,))  # fmt: skip
    return acts
