"""How the list of experiences is read, and why one of them is in it."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from atlas import MemorySystem
from atlas.views.experience.finding import Found, experience_card, found_page, search
from atlas.views.experience.list import Query, listed_page
from atlas.views.lists.hits import HitCard
from atlas.views.shared.kinds import EXPERIENCE
from atlas.views.shared.state import StoreState
from pages.components.lists.hits import hit_card
from pages.components.lists.listing import Lister, cards_of


def _card(memory: MemorySystem, query: Query, found: Found, experience_id: str) -> HitCard | None:
    return experience_card(memory, query.scope.text, found.hits.get(experience_id), experience_id)


LISTER = Lister(kind=EXPERIENCE, search=search, found=found_page, listed=listed_page, card=_card)


def draw_why(memory: MemorySystem, query: Query, found: Found | None, state: StoreState, opened: str) -> None:
    """Why what is open was found, where there is a question."""
    if found is None:
        return
    st.caption("Why it is here" if opened in found else "Not among what this search lists.")
    for card in cards_of(LISTER, memory, query, found, [opened] if opened in found else [], state):
        hit_card(replace(card, title=""), key=f"experience_why_{card.id}")  # what it is called stands right below
