"""Explanations why a named record is not among the hits."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.ask.missing import Question, explained, named_records
from pages.components.ask.answer import draw_open
from pages.components.lists.cards import hit_card
from pages.components.lists.filters import URL

ANCHOR = "why-was-it-not-found"


def draw_missing(memory: MemorySystem, question: Question) -> None:
    """Draw the box for a record, and why it is or is not among the hits."""
    with st.container(key="ask_missing"):
        st.subheader("Why was it not found?", anchor=ANCHOR)
        words = st.text_input(
            "A memory that you expected: its id, or words of it", key="ask_expected", type="search", bind=URL,
            placeholder="f33bb09e, or: rebuild in batches",
        )  # fmt: skip
        if not (words or "").strip():
            return
        records = named_records(memory, words or "")
        if not records:
            st.text("No memory has this id or these words.")
            return
        record = records[0]
        if len(records) > 1:
            record = st.selectbox("Which of these?", records, format_func=lambda each: each.label,
                                  key="ask_expected_record")  # fmt: skip
        explanation = explained(memory, record, question)
        st.info(explanation.sentence, icon=":material/manage_search:")
        if explanation.card is not None:
            acts = hit_card(explanation.card, key=f"ask_expected_{record.memory}_{record.id}", is_open=True)
            draw_open(acts, record.memory, record.id)
