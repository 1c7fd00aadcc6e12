"""Experiences: what is in scope, sorted and paged. Open one and read it step by step, select several."""

from __future__ import annotations

import streamlit as st

from pages.components.experience.list import draw_experiences
from pages.components.lists.empty import draw_empty, draw_refused_files
from pages.components.shared.scope import n_experiences
from pages.components.shared.snapshot import page_memory

memory = page_memory()
st.title("Experiences", anchor=False)
draw_refused_files()
if n_experiences(memory):
    draw_experiences(memory)
else:
    draw_empty(memory, "Every attempt of your agents is listed here, with its steps and its outcome.")
