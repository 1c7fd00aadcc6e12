"""Sentences for a page that has nothing to show, or where something went wrong."""

from __future__ import annotations

import logging

import streamlit as st

from atlas import AtlasError

_log = logging.getLogger("atlas.dashboard")


def show_problem(error: AtlasError) -> None:
    """Draw a problem that a person can act on: what happened, and what to do, as the error says it."""
    st.error("This memory cannot be shown.", icon=":material/error:")
    st.code(str(error), language=None, wrap_lines=True)
    st.caption("Opening it changed nothing. Once it is repaired, reload this page.")


def show_failure(error: Exception) -> None:
    """Draw a fault of our own: one plain sentence here, the traceback on stderr."""
    _log.error("a page failed", exc_info=error)
    st.error("This page failed, which is a fault in ATLAS. The memory itself is unharmed.", icon=":material/error:")
    st.caption("The terminal that runs the dashboard shows the details. Reload this page to try again.")


def show_empty(import_command: str) -> None:
    """Draw an empty store: how to fill it."""
    st.info("Nothing is remembered yet.", icon=":material/inbox:")
    st.text("Import agent runs from a terminal; PATH is a file or a directory of them:")
    st.code(import_command, language=None, wrap_lines=True)
    st.text("τ-bench, Reflexion, SWE-agent, Inspect, Voyager and ATLAS's own files are recognised.")
    st.text("Reload this page afterwards.")
    st.page_link("pages/settings.py", label="Or restore a backup on the Settings page", icon=":material/settings:",
                 query_params={"settings_tab": "Export and backup"})  # fmt: skip
