"""Keyword search while the embedding model is loading."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.ask.answer import DEFAULT_K, TITLES
from atlas.views.ask.by_words import SENTENCE, cards_by_words
from atlas.views.lists.hits import HitCard
from atlas.views.shared.state import StoreState
from pages.components.lists.cards import hit_card
from pages.components.lists.filters import digest
from pages.components.shared.snapshot import opened_memory, store_state


def is_ready() -> bool:
    """Wait for the model, and return whether it is loaded. False at once if it must be exported first."""
    return opened_memory().warming.wait()


def draw_by_words(memory: MemorySystem, text: str) -> None:
    """Draw keyword hits and the progress of loading the model. The page is redrawn when it is ready."""
    _draw_progress()
    found = _cards(store_state(memory), digest(text), _memory=memory, _text=text)
    if not found:
        st.text("No memory shares enough words with the task.")
    for name, cards in found.items():
        st.subheader(TITLES[name], anchor=False)
        for card in cards:
            hit_card(card, key=f"ask_words_{name}_{card.id}")


@st.fragment(run_every=0.7)
def _draw_progress() -> None:
    warming = opened_memory().warming
    if warming.is_done:
        st.rerun()
    st.info(SENTENCE, icon=":material/hourglass_top:")
    st.caption(f"Now: {warming.step}.")


@st.cache_data(max_entries=8, show_spinner=False)
def _cards(state: StoreState, key: str, *, _memory: MemorySystem, _text: str) -> dict[str, tuple[HitCard, ...]]:
    return cards_by_words(_memory, _text, DEFAULT_K)
