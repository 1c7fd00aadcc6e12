"""ARC's coloured grids as small inline SVG pictures."""

from __future__ import annotations

import streamlit as st

from atlas.views.concepts.grids import Grid


def draw_grid(grid: Grid) -> None:
    """Draw a grid, and its size below it."""
    with st.container(width="content", gap="xsmall"):
        st.image(grid.svg(), width=grid.pixels)
        st.caption(grid.size)


def draw_arrow() -> None:
    """Draw the arrow between an input and its output."""
    st.markdown(":material/arrow_forward:")
