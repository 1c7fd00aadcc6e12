"""Tabs of a page."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.components.lists.filters import URL


def choose_part(parts: Sequence[str], *, key: str) -> str:
    """Return the selected tab, from the widget or the URL, by default the first."""
    part = st.segmented_control("Show", parts, default=parts[0], required=True, key=key, bind=URL,
                                 label_visibility="collapsed")  # fmt: skip
    return part or parts[0]
