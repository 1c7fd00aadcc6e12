"""Messages on pages that are empty or have failed."""

from __future__ import annotations

import logging

import streamlit as st

from atlas import AtlasError

_log = logging.getLogger("atlas.dashboard")


def show_problem(error: AtlasError) -> None:
    """Draw an error that the user can act on, with the message on what to do."""
    st.error("This memory cannot be shown.", icon=":material/error:")
    st.code(str(error), language=None, wrap_lines=True)
    st.caption("Opening it changed nothing. Once it is repaired, reload this page.")


def show_failure(error: Exception) -> None:
    """Draw a short note on an internal error, and print the traceback to stderr."""
    _log.error("a page failed", exc_info=error)
    st.error("This page failed, which is a fault in ATLAS. The memory itself is unharmed.", icon=":material/error:")
    st.caption("The terminal that runs the dashboard shows the details. Reload this page to try again.")
