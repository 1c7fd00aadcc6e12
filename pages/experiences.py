"""Experiences: what is in scope, sorted and paged. Open one and read it step by step, select several."""

from __future__ import annotations

from pages.components.experience.kind_page import PAGE
from pages.components.lists.kind_page import draw_page

draw_page(PAGE)
