"""Concepts: the library of reusable code, searched and filtered. Open one, edit it, merge several."""

from __future__ import annotations

from pages.components.concepts.kind_page import PAGE
from pages.components.lists.kind_page import draw_page

draw_page(PAGE)
