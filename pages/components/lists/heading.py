"""The heading of a page: title, purpose, and rows rejected by an import."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.components.importing.box import draw_refused_files


def draw_heading(title: str, about: str, *, is_one_line: bool = False) -> DeltaGenerator:
    """Draw the heading of a page, and return the row of its title, where a page can add more.

    Args:
        about: One sentence on what the page shows.
        is_one_line: Whether that stands beside the title, where there is room.
    """
    row = st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key="page_title"
    )
    if is_one_line:
        with row.container(horizontal=True, vertical_alignment="bottom", width="content", key="page_about"):
            st.title(title, anchor=False, width="content")
            st.caption(about, width="content")
    else:
        row.title(title, anchor=False, width="content")
        st.caption(about)
    draw_refused_files()
    return row
