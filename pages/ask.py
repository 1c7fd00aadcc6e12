"""Ask: hits of all memories for a task, with explanations and the context block."""

from __future__ import annotations

import streamlit as st

from pages.components.ask.boxes import draw_ask, record_counts
from pages.components.lists.empty import draw_empty
from pages.components.lists.heading import draw_heading
from pages.components.shared.snapshot import page_memory

memory = page_memory()
with st.container(key="ask_heading"):
    row = draw_heading("Ask", "What an agent would be told for a task, and why.", is_one_line=True)
if any(record_counts(memory).values()):
    draw_ask(memory, row)
else:
    draw_empty(memory, "Once something is stored, you can ask here what an agent would be told for a task.")
