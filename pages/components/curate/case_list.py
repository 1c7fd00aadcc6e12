"""The list of the cases beside the one that is shown, and the walk through them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

import streamlit as st

from atlas import MemorySystem
from atlas.views.curate.case_rows import CASE_COLUMNS, case_rows
from atlas.views.curate.cases import Case
from atlas.views.shared.texts import as_written
from pages.components.experience.chosen import is_looking
from pages.components.lists.record_table import opened_id, plain_table
from pages.components.shared.plans import is_planning
from pages.components.shared.purging import is_purging
from pages.components.shared.undo_toast import last_act, undo_last

_PLACES = "curate_places"
"""Key of the place that was gone to in each queue: the name of its case, and its index in case it is decided."""

MAX_LISTED = 50
"""Most cases that are listed at once. The walk goes on to the next ones."""


def current_index(cases: Sequence[Case], queue: str) -> int:
    """Return the index of the case that was gone to, or of the one after it if it is decided. 0 for no cases."""
    name, index = st.session_state.get(_PLACES, {}).get(queue, ("", 0))
    found = next((at for at, case in enumerate(cases) if case.name == name), index)
    return max(0, min(found, len(cases) - 1))


def draw_case_list(memory: MemorySystem, cases: Sequence[Case], at: int, queue: str) -> None:
    """Draw the place of the current case between the buttons of the walk, and the cases around it.

    Args:
        at: Index of the current case.
        queue: The open queue.
    """
    names = [case.name for case in cases]
    with st.container(key="curate_list", gap="xsmall"):
        _draw_walk(names, at, queue)
        first = at - at % MAX_LISTED
        go = None if is_planning() else partial(_go, names, queue)
        rows = case_rows(memory, cases[first : first + MAX_LISTED], Counter(case.queue for case in cases))
        plain_table(rows, columns=CASE_COLUMNS, key="curate_cases", label="Cases", on_opened=go, opened=names[at])
        if (n_more := len(cases) - first - MAX_LISTED) > 0:
            st.caption(f"{n_more:,} more follow.")


def draw_undo(memory: MemorySystem) -> None:
    """Draw the button that undoes the last act of this session, on whichever page it was done, if there is any."""
    if act := last_act():
        st.button("Undo", key="curate_undo", shortcut=unless_covered("u"), icon=":material/undo:", type="tertiary",
                  disabled=is_planning(), on_click=undo_last, args=(memory,),
                  help=f"Undoes: {as_written(act.sentence)}")  # fmt: skip


def is_covered() -> bool:
    """Return whether a dialog or an opened record covers the page."""
    return is_planning() or is_purging() or is_looking() or opened_id() is not None


def unless_covered(key: str) -> str | None:
    """Return the shortcut of a button of this page, or None while the page is covered."""
    return None if is_covered() else key


def _draw_walk(names: Sequence[str], at: int, queue: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap=None, key="curate_walk"):
        _draw_step("Previous", "k", names, at - 1, queue)
        st.caption(f"{at + 1:,} of {len(names):,}", width="content")
        _draw_step("Next", "j", names, at + 1, queue)


def _draw_step(label: str, key: str, names: Sequence[str], to: int, queue: str) -> None:
    """Draw a button to the case with an index, which may lie outside the list."""
    name = names[to] if 0 <= to < len(names) else ""
    st.button(label, key=f"curate_{label.lower()}", shortcut=unless_covered(key), help=f"{label} case",
              icon=f":material/keyboard_arrow_{'up' if label == 'Previous' else 'down'}:",
              disabled=not name or is_covered(), on_click=_go, args=(names, queue, name))  # fmt: skip


def _go(names: Sequence[str], queue: str, name: str) -> None:
    """Go to a case of the list as it was drawn."""
    if name in names:
        st.session_state[_PLACES] = {**st.session_state.get(_PLACES, {}), queue: (name, names.index(name))}
