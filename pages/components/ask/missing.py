"""Explanations why a named record is not among the hits."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.ask.answer import Part
from atlas.views.ask.hidden import CLOSEST_COLUMNS, closest_rows, hidden_hits
from atlas.views.ask.missing import Question, explained, named_records
from pages.components.ask.answer import draw_absence, draw_open
from pages.components.ask.profiles import Name
from pages.components.lists.cards import hit_card
from pages.components.lists.filters import URL
from pages.components.lists.record_table import plain_table

ANCHOR = "why-was-it-not-found"


def draw_missing(memory: MemorySystem, question: Question) -> None:
    """Draw the box for a record, and why it is or is not among the hits."""
    with st.container(key="ask_missing"):
        st.subheader("Why was it not found?", anchor=ANCHOR)
        words = st.text_input(
            "A memory that you expected: its id, or words of it", key="ask_expected", type="search", bind=URL,
            placeholder="f33bb09e, or: rebuild in batches",
        )  # fmt: skip
        draw_hidden(memory, question, "left")
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


def draw_closest(memory: MemorySystem, question: Question) -> None:
    """Draw the closest record of each memory, if none is close enough to be a hit, or else why it has no hits."""
    with st.container(gap="xxsmall", key="ask_closest"):
        rows = closest_rows(memory, question.text, question.answer, question.configuration)
        if rows:
            st.markdown("##### The closest that memory has")
            st.caption("None reaches the stroke, the level that a hit needs.")
            plain_table(rows, columns=CLOSEST_COLUMNS, key="ask_closest_table", label="Closest records")
        for part in question.answer.parts:
            if part.name not in {row.id for row in rows}:
                draw_absence(part)


def draw_hidden(memory: MemorySystem, question: Question, side: Name) -> None:
    """Draw a button for each memory that hides hits, which lists these."""
    with st.container(horizontal=True):
        for part in question.answer.parts:
            if part.hidden:
                _draw_hidden_part(memory, question, part, side)


def _draw_hidden_part(memory: MemorySystem, question: Question, part: Part, side: Name) -> None:
    """Draw the records of a memory that are less relevant than its level, once they are asked for."""
    box = st.popover(f"{part.title}: {part.hidden}", type="tertiary", key=f"ask_hidden_{side}_{part.name}",
                     on_change="rerun", width="content")  # fmt: skip
    if not box.open:
        return
    with box, st.container(gap="xsmall"):
        st.caption(f"{part.title} are shown from a relevance of {part.level:.2f} for this task. These are below it:")
        for hit in hidden_hits(memory, question.text, part, question.configuration):
            st.text(f"{hit.relevance:.2f}  {hit.title}")
