"""Experiences: what is in scope, sorted and paged. Open one and read it step by step, select several."""

from __future__ import annotations

from pages.components.experience.list import draw_experiences
from pages.components.lists.empty import draw_empty
from pages.components.lists.heading import draw_heading
from pages.components.shared.scope import n_experiences
from pages.components.shared.snapshot import page_memory

memory = page_memory()
draw_heading("Experiences", "Attempts at tasks: what the agent did, and how it ended.")
if n_experiences(memory):
    draw_experiences(memory)
else:
    draw_empty(memory, "Every attempt of your agents is listed here, with its steps and its outcome.")
