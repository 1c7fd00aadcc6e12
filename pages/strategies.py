"""Strategies: success rates with their intervals, numbers of uses, and the attempts."""

from __future__ import annotations

from pages.components.lists.room import draw_page
from pages.components.shared.snapshot import page_memory
from pages.components.strategies.room import ROOM
from pages.components.strategies.writing import draw_writing_dialogs

draw_page(ROOM)
draw_writing_dialogs(page_memory())
