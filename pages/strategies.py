"""Strategies: success rates with their intervals, numbers of uses, and the attempts."""

from __future__ import annotations

from pages.components.lists.kind_page import draw_page
from pages.components.shared.snapshot import page_memory
from pages.components.strategies.kind_page import PAGE
from pages.components.strategies.writing import draw_writing_dialogs

draw_page(PAGE)
draw_writing_dialogs(page_memory())
