"""The panel of a kind of memory: one record in full, what can be done with it, and what can be changed of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import streamlit as st

from atlas import Marks, MemorySystem
from atlas.views.lists.editable import EditableFields
from atlas.views.lists.listing import RecordList, similar_rows
from atlas.views.shared.kinds import Kind
from atlas.views.shared.versions import VersionView
from pages.components.lists.edit_forms import EditForm, draw_form
from pages.components.lists.editing import draw_note, draw_tags
from pages.components.lists.record_table import Columns, close_opened, experience_table
from pages.components.lists.versions import ChangesTo, draw_versions
from pages.components.shared.purging import draw_purging


class Detail(Protocol):
    """One record in full, as far as every panel shows it."""

    @property
    def id(self) -> str:
        """The record's id."""

    @property
    def marks(self) -> Marks:
        """The pin, the tags and the note that people gave it."""

    @property
    def editable(self) -> EditableFields:
        """The fields that a person can change."""


D = TypeVar("D", bound=Detail)

DrawTab = Callable[[MemorySystem, D, bool], None]
"""Function that draws what stands on a tab, told whether the tab is open: what takes long waits for that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel(Generic[D]):
    """The panel of one kind of memory, as its feature describes it."""

    kind: Kind
    home: str
    """The word for what holds all of the kind: `library`."""

    detail: Callable[[MemorySystem, str], D | None]
    """One record in full, or None if it is not there."""

    draw_acts: Callable[[MemorySystem, D], None]
    """Function that draws the buttons above the record, beside the one that closes it."""

    draw_removal: Callable[[MemorySystem, D], None]
    """Function that draws the button that deletes the record. It stands with the one that purges."""

    draw_head: Callable[[MemorySystem, D], None]
    """Function that draws what stands above the tags."""

    tabs: dict[str, DrawTab[D]]
    """The tabs before those that every panel has, by their names."""

    tabs_after: dict[str, DrawTab[D]]
    """The tabs between the similar records and the note."""

    similar: RecordList[Any]
    """The list whose lines show the records nearest to one."""

    similar_columns: Columns
    similar_caption: str = "The nearest in meaning. Click one to open it."
    form: EditForm


def draw_panel(
    panel: Panel[D], memory: MemorySystem, record_id: str, explain: Callable[[], None] = lambda: None
) -> None:
    """Draw a record in full.

    Args:
        explain: Draws why the record is here, if a search found it.
    """
    detail, kind = panel.detail(memory, record_id), panel.kind
    with st.container(key="opened"):  # a phone shows it above the list
        with st.container(horizontal=True, key=f"{kind.noun}_bar"):
            st.button("Close", key=f"{kind.noun}_close", icon=":material/close:", on_click=close_opened)
            if detail is not None:
                panel.draw_acts(memory, detail)
                with st.popover("Remove", icon=":material/delete:", key=f"{kind.noun}_remove"):
                    panel.draw_removal(memory, detail)
                    draw_purging(memory, kind, [detail.id], key=f"{kind.noun}_purge")
        if detail is None:
            said = f"This {kind.noun} is not in the {panel.home}. It may have been deleted since."
            st.warning(said, icon=":material/search_off:")
            return
        explain()
        panel.draw_head(memory, detail)
        draw_tags(memory, detail.id, detail.marks.tags, kind)
        _draw_tabs(panel, memory, detail)


def versions_tab(
    kind: Kind, versions: Callable[[D], Sequence[VersionView]], changes_to: ChangesTo
) -> dict[str, DrawTab[D]]:
    """Return the tab of what a record was before each edit."""

    def draw(memory: MemorySystem, detail: D, is_open: bool) -> None:
        draw_versions(memory, detail.id, versions(detail), kind, changes_to)

    return {"Versions": draw}


def _draw_tabs(panel: Panel[D], memory: MemorySystem, detail: D) -> None:
    similar: DrawTab[D] = partial(_draw_similar, panel)
    after: dict[str, DrawTab[D]] = {"Note": partial(_draw_note, panel), "Edit": partial(_draw_edit, panel)}
    tabs = {**panel.tabs, "Similar": similar, **panel.tabs_after, **after}
    drawn = st.tabs(list(tabs), key=f"{panel.kind.noun}_tabs", on_change="rerun")
    for tab, draw in zip(drawn, tabs.values(), strict=True):
        with tab:
            draw(memory, detail, bool(tab.open))


def _draw_similar(panel: Panel[D], memory: MemorySystem, detail: D, is_open: bool) -> None:
    if not is_open:  # the first search for similar records takes seconds
        return
    rows, noun = similar_rows(memory, panel.similar, detail.id), panel.kind.noun
    if not rows:
        st.caption(f"There is no other {noun} yet.")
        return
    st.caption(panel.similar_caption)
    key = f"{noun}_similar_{detail.id}_{memory.revision()}"
    experience_table(rows, columns=panel.similar_columns, key=key, kind=panel.kind)


def _draw_note(panel: Panel[D], memory: MemorySystem, detail: D, is_open: bool) -> None:
    draw_note(memory, detail.id, detail.marks.note, panel.kind)


def _draw_edit(panel: Panel[D], memory: MemorySystem, detail: D, is_open: bool) -> None:
    draw_form(memory, panel.form, detail.id, detail.editable)


def draw_sources(sources: Iterable[tuple[str, ...]], n_more: int) -> None:
    """Draw links to the experiences that something comes from.

    Args:
        sources: The id of each, empty if it is not in the store any more, and what is said of it, its title last.
        n_more: How many there are beyond these.
    """
    for experience_id, *said in sources:
        if not experience_id:
            st.caption("One that is no longer in the store")
            continue
        *facts, title = said
        with st.container(horizontal=True, gap="small"):
            st.page_link("pages/experiences.py", label="Open", icon=":material/open_in_new:",
                         query_params={"id": experience_id}, width="content")  # fmt: skip
            for fact in facts:
                st.text(fact, width="content")
            st.text(title)
    if n_more:
        st.caption(f"and {n_more:,} more")
