"""The heading of a page: title, purpose, and rows rejected by an import."""

from __future__ import annotations

import streamlit as st

from pages.components.importing.box import draw_refused_files


def draw_heading(title: str, about: str) -> None:
    """Draw the heading of a page.

    Args:
        about: One sentence on what the page shows.
    """
    st.title(title, anchor=False)
    st.caption(about)
    draw_refused_files()
