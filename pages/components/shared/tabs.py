"""The choice among the parts of a page."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.components.lists.filters import URL


def choose_part(parts: Sequence[str], *, key: str) -> str:
    """Return the part that a person, or the address, chose. The first until then."""
    part = st.segmented_control("Show", parts, default=parts[0], required=True, key=key, bind=URL,
                                 label_visibility="collapsed")  # fmt: skip
    return part or parts[0]
