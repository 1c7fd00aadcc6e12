"""Experiences: what is in scope, sorted and paged. Open one and read it step by step, select several."""

from __future__ import annotations

import streamlit as st

from pages.components.experience.list import draw_experiences
from pages.components.shared.commands import import_command
from pages.components.shared.messages import show_empty
from pages.components.shared.scope import n_experiences
from pages.components.shared.snapshot import page_memory

memory = page_memory()
st.title("Experiences", anchor=False)
if n_experiences(memory):
    draw_experiences(memory)
else:
    show_empty(import_command(memory))
