"""What the panels of all kinds of memories have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import streamlit as st

from atlas import MemorySystem
from atlas.views.shared.kinds import Kind
from pages.components.lists.record_table import TableRow, close_opened, experience_table

NEAREST = "The nearest in meaning; click one to open it."


@contextmanager
def panel_bar(kind: Kind) -> Iterator[None]:
    """The row of buttons above what is open, which begins with the one that closes it."""
    with st.container(horizontal=True, key=f"{kind.noun}_bar"):
        st.button("Close", key=f"{kind.noun}_close", icon=":material/close:", on_click=close_opened)
        yield


def draw_gone(kind: Kind, home: str) -> None:
    """That what should be open is not there.

    Args:
        home: What holds all of the kind: `library`.
    """
    said = f"This {kind.noun} is not in the {home}. It may have been deleted since."
    st.warning(said, icon=":material/search_off:")


def draw_similar(
    memory: MemorySystem,
    kind: Kind,
    record_id: str,
    rows: Sequence[TableRow],
    columns: Sequence[str],
    caption: str = NEAREST,
) -> None:
    """The others of a kind that are nearest to one."""
    if not rows:
        st.caption(f"There is no other {kind.noun} yet.")
        return
    st.caption(caption)
    key = f"{kind.noun}_similar_{record_id}_{memory.revision()}"
    experience_table(rows, columns=columns, key=key, kind=kind)


def draw_sources(sources: Iterable[tuple[str, ...]], n_more: int) -> None:
    """Links to the experiences that something comes from.

    Args:
        sources: Of each its id, empty where it is not in the store any more, and what is said of it, its title last.
        n_more: How many there are beyond these.
    """
    for experience_id, *said in sources:
        if not experience_id:
            st.caption("One that is not in the store any more")
            continue
        link, *places = st.columns([*[1] * len(said), 4])
        link.page_link("pages/experiences.py", label="Open", icon=":material/open_in_new:",
                       query_params={"id": experience_id})  # fmt: skip
        for place, text in zip(places, said, strict=True):
            place.text(text)
    if n_more:
        st.caption(f"and {n_more:,} more")
