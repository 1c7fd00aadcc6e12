"""The user's selection of each kind of memory, shared by all pages and shown in the tray."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st

from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.kind import Kind
from atlas.views.shared.kinds import KINDS


@dataclass(frozen=True, slots=True)
class Selection:
    """Records of one kind that were chosen together."""

    ids: tuple[str, ...] = ()
    origin: str = ""
    """Origin as trusted text: `lasso on the map`."""

    revision: int = 0
    """The store's revision at that moment."""


def current_selection(kind: Kind = EXPERIENCE) -> Selection:
    """Return the current selection, which is empty at first."""
    selection: Selection = st.session_state.get(_key(kind), Selection())
    return selection


def select(ids: Sequence[str], *, origin: str, revision: int, kind: Kind = EXPERIENCE) -> None:
    """Replace the selection."""
    st.session_state[_key(kind)] = Selection(tuple(dict.fromkeys(ids)), origin, revision)


def unselect(ids: Sequence[str]) -> None:
    """Remove records of any kind from the selection."""
    gone = set(ids)
    for kind in KINDS.values():
        now = current_selection(kind)
        if gone & {*now.ids}:
            left = tuple(record_id for record_id in now.ids if record_id not in gone)
            st.session_state[_key(kind)] = replace(now, ids=left)


def clear_selection(kind: Kind = EXPERIENCE) -> None:
    """Empty the selection."""
    st.session_state.pop(_key(kind), None)


def _key(kind: Kind) -> str:
    return "selection" if kind is EXPERIENCE else f"selection_{kind.page}"
