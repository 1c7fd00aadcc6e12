"""Ask: what the memories give for a task, why, and the block that an agent is shown of it."""

from __future__ import annotations

import streamlit as st

from pages.components.ask.boxes import draw_ask, held_by
from pages.components.shared.commands import import_command
from pages.components.shared.messages import show_empty
from pages.components.shared.snapshot import page_memory

memory = page_memory()
st.title("Ask", anchor=False)
if any(held_by(memory).values()):
    draw_ask(memory)
else:
    show_empty(import_command(memory))
