"""Going back to a page: it comes up as it was left, with what its own boxes said.

A box that is bound to the address has its value there under its key, which begins with the page's name. When a person
follows a link, Streamlit takes those values out of the address before the browser enters the next page into its
history, so the entry that Back leads to has lost them. The session still knows them.
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

_LEFT = "addresses_left"

Own = Mapping[str, list[str]]
"""The values of a page's own parameters."""


def return_to(page: str) -> None:
    """Note what a page's address says, or say it once more where the person has gone back to the page.

    Called before the page is drawn.

    Args:
        page: Its name, which its address and the keys of its boxes begin with.
    """
    left: dict[str, Own] = st.session_state.setdefault(_LEFT, {})
    own = {key: st.query_params.get_all(key) for key in st.query_params if key.startswith(f"{page}_")}
    if not own and left.get(page) and _is_back_or_on():
        st.query_params.update(left[page])
        st.rerun()  # the boxes take what the address says when a run begins
    left[page] = own


def _is_back_or_on() -> bool:
    run = get_script_run_ctx()
    return run is not None and run.is_history_navigation
