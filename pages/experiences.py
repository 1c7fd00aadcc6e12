"""Experiences: what is in scope, sorted and paged. Open one and read it step by step, select several."""

from __future__ import annotations

from pages.components.experience.room import ROOM
from pages.components.lists.room import draw_page

draw_page(ROOM)
