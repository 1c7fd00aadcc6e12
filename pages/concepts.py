"""Concepts: the library of reusable code, searched and filtered. Open one, edit it, merge several."""

from __future__ import annotations

from pages.components.concepts.room import ROOM
from pages.components.lists.room import draw_page

draw_page(ROOM)
