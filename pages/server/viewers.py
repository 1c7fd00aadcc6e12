"""The user of a page, read from the browser's cookie."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from atlas import NotAllowed, StoreUnavailable
from atlas.infra.actor import Actor
from atlas.server.login import ENTER
from atlas.server.sessions import Sessions
from pages.components.shared.memory import STORE


def page_choices(sessions: Sessions) -> Mapping[str, Actor]:
    """Return the result of `_page_actors`, or nothing if it cannot be read, which `page_actor` reports."""
    try:
        return _page_actors(sessions)
    except StoreUnavailable:
        return {}


def _page_actors(sessions: Sessions) -> Mapping[str, Actor]:
    """Return the actors of this thread's page by store."""
    if get_script_run_ctx(suppress_warning=True) is None:
        return {}
    return sessions.actors_of(st.context.cookies.get(sessions.cookie, ""))


def page_actor(sessions: Sessions) -> Actor | None:
    """Return the actor of this thread's page, or None in any other thread.

    Raises:
        NotAllowed: Their access has ended, or does not include the requested store.
    """
    if get_script_run_ctx(suppress_warning=True) is None:
        return None
    choices = _page_actors(sessions)
    if not choices:
        raise NotAllowed(f"your access was revoked or has expired; open {ENTER} to sign in again")
    wanted = st.session_state.get(STORE) or next(iter(choices))
    if wanted not in choices:
        raise NotAllowed(
            f"you have no access to a store named {wanted!r:.80} here; open / for the stores that you may see"
        )
    return choices[wanted]
