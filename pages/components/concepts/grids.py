"""ARC's coloured grids as small pictures, which the browser draws from the page itself."""

from __future__ import annotations

import streamlit as st

from atlas.views.concepts.grids import Grid


def draw_grid(grid: Grid) -> None:
    """A grid, and its size below it."""
    with st.container(width="content", gap="xsmall"):
        st.image(grid.svg(), width=grid.pixels)
        st.caption(grid.size)


def draw_arrow() -> None:
    """What stands between what is given and what is made of it."""
    st.markdown(":material/arrow_forward:")
