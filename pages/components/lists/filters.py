"""Boxes above a list that narrow it, and that an address can fill."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from atlas.views.shared.scope import offered
from pages.components.shared.scope import URL


def draw_choice(label: str, held: Mapping[Any, int], *, key: str, width: int = 160) -> tuple[Any, ...]:
    """Draw a choice of several values, of which none means all. There is no box if nothing has a value.

    Args:
        width: In pixels.
    """
    options = offered(held, [*st.session_state.get(key, []), *_asked(key, held)])
    if not options:
        return ()
    return tuple(st.multiselect(label, options, key=key, placeholder="All", bind=URL, width=width))


def draw_search(page: str, placeholder: str, *, width: int) -> str:
    """Draw the box for a question, and return it.

    Args:
        page: How the keys of the page's widgets begin: `concepts`. The same holds below.
        width: In pixels.
    """
    text = st.text_input("Search", key=f"{page}_text", type="search", placeholder=placeholder, bind=URL, width=width)
    return text or ""


def draw_irrelevant(page: str) -> bool:
    """Draw the switch for less relevant hits, and return whether it is on."""
    return st.toggle("Include less relevant", key=f"{page}_irrelevant", bind=URL,
                     help="Also lists hits of little or no relevance")  # fmt: skip


def turn_to_first_page(asked: object, page: str) -> None:
    """Begin a list at its first page where another question is asked than before."""
    if st.session_state.setdefault(f"{page}_asked", asked) != asked:
        st.session_state.update({f"{page}_asked": asked, f"{page}_page": 1})


def _asked(key: str, held: Mapping[Any, int]) -> list[Any]:
    """Return the values that the address asks for."""
    return [value for value in held if str(value) in st.query_params.get_all(key)]
