"""Labelled texts of an experience: prose, or program output."""

from __future__ import annotations

import streamlit as st

from atlas.views.lists.facts import Part
from pages.components.shared.texts import draw_code, draw_prose

PROSE = ("Thought", "Feedback")


def draw_part(part: Part, *, key: str) -> None:
    """Draw a labelled text."""
    draw = draw_prose if part.name in PROSE else draw_code
    with st.container(gap="xsmall"):
        st.caption(part.name)
        draw(part.text, key=key)
