"""The panel of a kind of memory: one record in full, with its actions and editable fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import streamlit as st

from atlas import MemorySystem
from atlas.views.kinds.kind import Kind
from atlas.views.lists.facts import Head, marks_facts
from atlas.views.lists.kind_views import KindViews
from atlas.views.lists.listing import similar_rows
from atlas.views.lists.queries import Place
from pages.components.lists.edit_forms import draw_form
from pages.components.lists.editing import draw_mark_acts, draw_note, draw_tags
from pages.components.lists.facts import draw_facts, draw_title
from pages.components.lists.record_table import close_opened, experience_table, open_experience
from pages.components.lists.versions import draw_versions
from pages.components.shared.plans import draw_act
from pages.components.shared.purging import draw_purging

Draw = Callable[[MemorySystem, Any], None]
"""Function that draws a part of the panel of a record, given its detail."""

Finish = Callable[[], None]
"""Function that completes what was drawn, once the rest of the panel can be read."""


DrawTab = Callable[[MemorySystem, Any, bool], None]
"""Function that draws a tab, given whether it is open, so that slow content is only computed when needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Parts of a panel that are specific to one kind of memory."""

    head: Callable[[Any], Head]
    """Function that returns the head of a record, given its detail."""

    draw_story: Callable[[MemorySystem, Any], Finish | None] = lambda memory, detail: None
    """Draws how well it worked, between the title and the facts, and returns what takes longer."""

    draw_links: Draw = lambda memory, detail: None
    """Draws where it leads, between the facts and the tabs."""

    tabs: Mapping[str, DrawTab] = field(default_factory=dict)
    """Tabs before the common ones, by name."""

    lacks: Callable[[Any, str], bool] = lambda detail, tab: False
    """Function that returns whether a record has nothing for one of these tabs. Such a tab is left out."""

    tabs_after: Mapping[str, DrawTab] = field(default_factory=dict)
    """Tabs between the similar records and the note."""

    draw_acts: Draw = lambda memory, detail: None
    """Draws further buttons above the record."""

    draw_removal: Draw | None = None
    """Draws the delete button, instead of the common one."""


def draw_panel(
    views: KindViews[Any],
    panel: Panel,
    memory: MemorySystem,
    record_id: str,
    explain: Callable[[], None] = lambda: None,
    draw_walk: Callable[[], None] = lambda: None,
) -> None:
    """Draw a record in full.

    Args:
        explain: Draws the explanation of a hit.
        draw_walk: Draws the place of the record in the list beside it.
    """
    detail, kind = views.detail(memory, record_id), views.kind
    with st.container(key="opened"):  # on a phone it is above the list
        with st.container(horizontal=True, key="opened_bar", gap="xsmall"):
            if detail is not None:
                draw_mark_acts(memory, detail.id, detail.marks, kind)
                panel.draw_acts(memory, detail)
                with st.popover("Delete", icon=":material/delete:", key=f"{kind.noun}_remove"):
                    _draw_removal(views, panel, memory, detail)
                    draw_purging(memory, kind, [detail.id], key=f"{kind.noun}_purge")
            with st.container(horizontal=True, gap=None, width="content", key="opened_end"):
                draw_walk()
                st.button("Close", key=f"{kind.noun}_close", icon=":material/close:", on_click=close_opened)
        if detail is None:
            problem = f"This {kind.noun} is not in the {kind.home}. It may have been deleted since."
            st.warning(problem, icon=":material/search_off:")
            return
        if detail.marks.quarantine:
            st.text(f"In quarantine, so agents do not find it: {detail.marks.quarantine}")
        explain()
        head, key = panel.head(detail), f"{kind.noun}_{detail.id}"
        draw_title(head, key=key)
        finish_story = panel.draw_story(memory, detail)
        draw_facts([*head.facts, *marks_facts(detail.marks)], key=key)
        panel.draw_links(memory, detail)
        _draw_tabs(views, panel, memory, detail)
        if finish_story is not None:
            finish_story()


def draw_walk(kind: Kind, place: Place | None) -> None:
    """Draw the place of a record in the list beside it, between the buttons that open the rows above and below."""
    with st.container(horizontal=True, vertical_alignment="center", gap=None, width="content", key="opened_walk"):
        if place is None:
            st.caption("Not in this list", width="content")
            return
        st.button("Previous", key=f"{kind.noun}_previous", icon=":material/keyboard_arrow_up:", shortcut="k",
                  disabled=place.previous is None, on_click=open_experience, args=(place.previous,),
                  help="Previous (K)")  # fmt: skip
        st.caption(f"Row {place.number:,} of {place.n:,}", width="content")
        st.button("Next", key=f"{kind.noun}_next", icon=":material/keyboard_arrow_down:", shortcut="j",
                  disabled=place.next is None, on_click=open_experience, args=(place.next,),
                  help="Next (J)")  # fmt: skip


def _draw_removal(views: KindViews[Any], panel: Panel, memory: MemorySystem, detail: Any) -> None:
    if panel.draw_removal is not None:
        panel.draw_removal(memory, detail)
    else:
        draw_act(memory, views.act("delete"), (detail.id,), key=f"{views.kind.noun}_delete", pronoun="it")


def _draw_tabs(views: KindViews[Any], panel: Panel, memory: MemorySystem, detail: Any) -> None:
    versions = {"Versions": partial(draw_versions, views)} if views.versioned and detail.versions else {}
    tabs: dict[str, DrawTab] = {
        **{name: draw for name, draw in panel.tabs.items() if not panel.lacks(detail, name)},
        "Similar": partial(_draw_similar, views),
        **panel.tabs_after,
        **versions,
        "Tags and note": partial(_draw_marks, views),
        "Edit": partial(_draw_edit, views),
    }
    containers = st.tabs(list(tabs), key=f"{views.kind.noun}_tabs", on_change="rerun")
    for tab, draw in zip(containers, tabs.values(), strict=True):
        with tab:
            draw(memory, detail, bool(tab.open))


def _draw_similar(views: KindViews[Any], memory: MemorySystem, detail: Any, is_open: bool) -> None:
    if not is_open:  # the first search for similar records takes seconds
        return
    rows, kind = similar_rows(memory, views, detail.id), views.kind
    if not rows:
        st.caption(f"There is no other {kind.noun} yet.")
        return
    st.caption(kind.similar_caption)
    key = f"{kind.noun}_similar_{detail.id}_{memory.revision()}"
    experience_table(rows, columns=kind.tables.similar, key=key, kind=kind)


def _draw_marks(views: KindViews[Any], memory: MemorySystem, detail: Any, is_open: bool) -> None:
    draw_tags(memory, detail.id, detail.marks.tags, views.kind)
    draw_note(memory, detail.id, detail.marks.note, views.kind)


def _draw_edit(views: KindViews[Any], memory: MemorySystem, detail: Any, is_open: bool) -> None:
    draw_form(memory, views, detail.id, detail.editable)


def draw_sources(sources: Iterable[tuple[str, ...]], n_more: int) -> None:
    """Draw links to the source experiences of a record.

    Args:
        sources: The id of each, empty if it is no longer in the store, and its facts, the title last.
        n_more: Number of further sources.
    """
    for number, (experience_id, *texts) in enumerate(sources):
        if not experience_id:
            st.caption("One that is no longer in the store")
            continue
        *facts, title = texts
        with st.container(horizontal=True, gap="small", key=f"opened_link_{number}"):
            st.page_link("pages/experiences.py", label="Open", icon=":material/open_in_new:",
                         query_params={"id": experience_id}, width="content")  # fmt: skip
            for fact in facts:
                st.text(fact, width="content")
            st.text(title)
    if n_more:
        st.caption(f"and {n_more:,} more")
