"""What a person has selected: shared by all pages, and shown in the tray."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st

_KEY = "selection"


@dataclass(frozen=True, slots=True)
class Selection:
    """Experiences that were chosen together."""

    ids: tuple[str, ...] = ()
    origin: str = ""
    """Where it was made, in our own words: `lasso on the map`."""

    revision: int = 0
    """The store's revision at that moment."""


def current_selection() -> Selection:
    """What is selected now; nothing at first."""
    selection: Selection = st.session_state.get(_KEY, Selection())
    return selection


def select(ids: Sequence[str], *, origin: str, revision: int) -> None:
    """Select these, in place of what was selected."""
    st.session_state[_KEY] = Selection(tuple(dict.fromkeys(ids)), origin, revision)


def unselect(ids: Sequence[str]) -> None:
    """Leave these out of what is selected."""
    gone, now = set(ids), current_selection()
    if gone & {*now.ids}:
        st.session_state[_KEY] = replace(now, ids=tuple(record_id for record_id in now.ids if record_id not in gone))


def clear_selection() -> None:
    """Select nothing."""
    st.session_state.pop(_KEY, None)
