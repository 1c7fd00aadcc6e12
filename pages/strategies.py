"""Strategies: which ones work, on how many tries, how sure that is, and exactly which attempts say so."""

from __future__ import annotations

from functools import partial

from atlas import MemorySystem
from atlas.views.shared.kinds import STRATEGY
from pages.components.lists.heading import draw_heading
from pages.components.lists.listing import ask, draw_beside
from pages.components.shared.snapshot import page_memory
from pages.components.strategies.list import draw_empty, draw_list
from pages.components.strategies.panel import strategy_panel
from pages.components.strategies.writing import draw_writing_dialogs


def draw(memory: MemorySystem) -> None:
    """Draw the list, and beside it the strategy that is open."""
    draw_beside(partial(draw_list, memory, ask(memory, STRATEGY)), partial(strategy_panel, memory))


memory = page_memory()
draw_heading("Strategies", "What to do in which situation, and how often that worked.")
if memory.strategies.count():
    draw(memory)
else:
    draw_empty(memory)
draw_writing_dialogs(memory)
