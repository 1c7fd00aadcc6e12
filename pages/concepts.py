"""Concepts: the library of reusable code, searched and filtered. Open one, edit it, merge several."""

from __future__ import annotations

from functools import partial

from atlas import MemorySystem
from atlas.views.shared.kinds import CONCEPT
from pages.components.concepts.list import draw_empty, draw_list
from pages.components.concepts.panel import concept_panel
from pages.components.lists.heading import draw_heading
from pages.components.lists.listing import ask, draw_beside
from pages.components.shared.snapshot import page_memory


def draw(memory: MemorySystem) -> None:
    """Draw the list, and beside it the concept that is open."""
    draw_beside(partial(draw_list, memory, ask(memory, CONCEPT)), partial(concept_panel, memory))


memory = page_memory()
draw_heading(
    "Concepts", "Reusable code: found in programs that succeeded, composed of other concepts, or written by people."
)
if memory.concepts.count():
    draw(memory)
else:
    draw_empty(memory)
