"""The command palette (Ctrl-K), which finds pages, records and actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from atlas import AtlasError, MemorySystem
from atlas.views.curate.queues import TITLES
from atlas.views.lists.palette import Entry, found_records
from atlas.views.settings.parts import settings_parts
from atlas.views.shared.browser import asset
from pages.components.shared.narrowing import go_to
from pages.components.shared.undo_toast import last_act, undo_last

_KEY, _ASKED, _CHOSEN = "palette", "palette_asked", "palette_chosen"
UNDO = "undo"

_palette = st.components.v2.component("palette", css=asset("palette.css"), js=asset("palette.js"))


def palette_entries(pages: Sequence[tuple[str, str]]) -> list[Entry]:
    """Return the entries for pages and their tabs.

    Args:
        pages: URL name and title of each page.
    """
    entries = [Entry(group="Pages", label=title, page=name) for name, title in pages]
    entries += [
        Entry(group="Acts", label=title, detail="Curate", page="curate", parameters={"curate_queue": queue})
        for queue, title in TITLES.items()
    ]
    entries += [
        Entry(group="Acts", label=part, detail="Settings", page="settings", parameters={"settings_tab": part})
        for part in settings_parts()
    ]
    entries.append(Entry(group="Acts", label="Measure how well searches work", detail="Evaluation", page="evaluation"))
    entries.append(
        Entry(group="Acts", label="Trash", detail="History", page="history", parameters={"history_tab": "Trash"})
    )
    return entries


@st.fragment
def draw_palette(memory: MemorySystem, entries: Sequence[Entry]) -> None:
    """Draw the palette, which is opened by its key or button."""
    _follow(memory)
    asked: str = st.session_state.get(_ASKED, "")
    act = last_act()
    undo = [Entry(group="Acts", label="Undo what was done last", detail=act.sentence, act=UNDO)] if act else []
    data = {
        "entries": [entry.as_json() for entry in (*entries, *undo)],
        "asked": asked,
        "found": [entry.as_json() for entry in _found(memory, asked)],
    }
    _palette(key=_KEY, data=data, on_asked_change=_take_asked, on_chosen_change=_take_chosen, height="content")


def _found(memory: MemorySystem, asked: str) -> tuple[Entry, ...]:
    try:
        return found_records(memory, asked) if asked else ()
    except AtlasError:  # the next run of the page reports it
        return ()


def _take_asked() -> None:
    st.session_state[_ASKED] = str(st.session_state[_KEY].get("asked") or "")


def _take_chosen() -> None:
    st.session_state[_CHOSEN] = st.session_state[_KEY].get("chosen")


def _follow(memory: MemorySystem) -> None:
    """Open the chosen page, or run the chosen action."""
    chosen: dict[str, Any] | None = st.session_state.pop(_CHOSEN, None)
    if not chosen:
        return
    st.session_state.pop(_ASKED, None)
    if chosen.get("act") == UNDO:
        undo_last(memory)
        st.rerun()
    go_to(f"pages/{chosen['page']}.py", **chosen.get("parameters", {}))
