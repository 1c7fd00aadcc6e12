"""Tabs of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import streamlit as st

from pages.components.lists.filters import URL
from pages.frame.address import replace_linked


def choose_part(parts: Sequence[str], *, key: str, formerly: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the selected tab, from the widget or the URL, by default the first.

    Args:
        formerly: The present names of tabs, by those that older links have.
    """
    if formerly:
        replace_linked(key, [formerly.get(text, text) for text in st.query_params.get_all(key)])
    part = st.segmented_control("Show", parts, default=parts[0], required=True, key=key, bind=URL,
                                 label_visibility="collapsed")  # fmt: skip
    return part or parts[0]
