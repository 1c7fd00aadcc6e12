"""Experiences: what is in scope, sorted and paged; open one and read it step by step, select several."""

from __future__ import annotations

import streamlit as st

from atlas.views.shared.wording import import_command
from pages.components.experience.list import draw_experiences
from pages.components.shared.memory import page_memory
from pages.components.shared.messages import show_empty
from pages.components.shared.scope import n_experiences

memory = page_memory()
st.title("Experiences", anchor=False)
if n_experiences(memory):
    draw_experiences(memory)
else:
    show_empty(import_command(memory))
