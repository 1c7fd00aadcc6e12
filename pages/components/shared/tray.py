"""The tray: what is selected, on whichever page, and what can be done with it; it stays at the bottom of the view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

import streamlit as st

from atlas import MemorySystem
from atlas.views.concepts.proposals import ConceptDeleteRequest, ConceptMergeRequest
from atlas.views.experience.proposals import MergeRequest, PruneRequest
from atlas.views.journal.proposals import EntryDeleteRequest
from atlas.views.shared.kinds import CONCEPT, EXPERIENCE, JOURNAL, STRATEGY, Kind, kind_on
from atlas.views.shared.scope import offered
from atlas.views.shared.selection import (
    COMPARED,
    LISTED,
    Chosen,
    Compared,
    chosen,
    chosen_rows,
    chosen_used,
    compared,
    exported_lines,
)
from atlas.views.shared.state import uses_seen
from atlas.views.shared.wording import counted
from atlas.views.strategies.proposals import StrategyDeleteRequest, StrategyMergeRequest
from pages.components.concepts.composition import compose, draw_composition
from pages.components.lists.editing import READ_ONLY, change_marks, draw_bury, draw_pin
from pages.components.lists.selection import Selection, clear_selection, current_selection
from pages.components.shared.plans import Request, draw_deleting, draw_plan, draw_proposing
from pages.components.shared.purging import draw_purge
from pages.components.shared.scope import page_tags
from pages.components.shared.snapshot import store_state
from pages.components.shared.texts import draw_code, draw_prose
from pages.components.strategies.retirement import draw_retire, is_all_retired

_CHOSEN, _TAGS = "tray_chosen", "tray_tags"
_DELETE = "tray_delete"

LIST_COLUMNS = {
    "outcome": st.column_config.TextColumn("Outcome", width=110),
    "task": st.column_config.TextColumn("Task", width="large"),
}


def draw_tray(memory: MemorySystem, page: str) -> None:
    """What is selected, if anything is, and the plan that is looked at, if there is one; the router draws it last.

    Args:
        page: The page that it stands below: concepts are selected on their own, what is selected elsewhere stays so.
    """
    kind = kind_on(page)
    selection = current_selection(kind)
    is_planning = draw_plan(memory) or draw_purge(memory)
    draw_composition(memory)
    if selection.ids:
        with st.bottom, st.container(key="tray", gap="xsmall"):
            now = _now(memory, selection, kind)
            _draw_figures(now)
            with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
                if kind is EXPERIENCE:
                    _draw_looking(memory, now, is_planning)
                _draw_marking(memory, now, kind)
                _ACTS[kind](memory, now)
                st.button("Clear", key="tray_clear", icon=":material/close:", on_click=clear_selection, args=(kind,))


def _now(memory: MemorySystem, selection: Selection, kind: Kind) -> Chosen:
    """The selection as the store is now; worked out once for each state of the store."""
    uses = 0 if kind is EXPERIENCE else uses_seen(memory, kind)
    asked = (store_state(memory), uses, selection, kind.noun)
    held: tuple[object, Chosen] | None = st.session_state.get(_CHOSEN)
    if held is None or held[0] != asked:
        ids, origin = selection.ids, selection.origin
        held = (asked, chosen(memory, ids, origin) if kind is EXPERIENCE else chosen_used(memory, ids, origin, kind))
        st.session_state[_CHOSEN] = held
    return held[1]


def _draw_concepts(memory: MemorySystem, now: Chosen) -> None:
    _draw_merge(
        memory, now, ConceptMergeRequest(ids=now.ids), "Into the most used one. You see first what it would do."
    )
    st.button("Compose …", key="tray_compose", icon=":material/account_tree:", disabled=len(now.ids) < 2,
              on_click=compose, args=(memory, now.ids),
              help="Into one function, where the output of one fits the input of the next. You see it first.",
              )  # fmt: skip
    draw_deleting(
        memory, ConceptDeleteRequest(ids=now.ids), key=_DELETE, help_text="You see first what would lack them."
    )


def _draw_strategies(memory: MemorySystem, now: Chosen) -> None:
    draw_retire(memory, now.ids, key="tray_retire", is_retired=is_all_retired(memory, now.ids))
    _draw_merge(
        memory, now, StrategyMergeRequest(ids=now.ids), "Into the most tried one. You see first what it would do."
    )
    draw_deleting(memory, StrategyDeleteRequest(ids=now.ids), key=_DELETE, help_text="You see first what would go.")


def _draw_entries(memory: MemorySystem, now: Chosen) -> None:
    draw_deleting(memory, EntryDeleteRequest(ids=now.ids), key=_DELETE, help_text="You see first what links to them.")


def _draw_experiences(memory: MemorySystem, now: Chosen) -> None:
    _draw_merge(memory, now, MergeRequest(groups=(now.ids,)),
                "Into the best attempt, which then stands for all. You see first what it would do.")  # fmt: skip
    draw_proposing(memory, "Prune …", PruneRequest(among=now.ids), key="tray_prune", icon=":material/delete_sweep:",
                   help_text="You see first what would go.", is_possible=bool(now.ids))  # fmt: skip
    st.download_button(
        "Export",
        partial(exported_lines, memory, now.ids),
        "experiences.jsonl",
        "application/jsonl",
        key="tray_export",
        icon=":material/download:",
        on_click="ignore",
        disabled=not now.ids,
        help="As JSONL, which `atlas import` reads",
    )


_ACTS = {
    EXPERIENCE: _draw_experiences,
    CONCEPT: _draw_concepts,
    STRATEGY: _draw_strategies,
    JOURNAL: _draw_entries,
}
"""What can be done with a selection of each kind beside marking it."""


def _draw_merge(memory: MemorySystem, now: Chosen, request: Request, help_text: str) -> None:
    draw_proposing(memory, "Merge …", request, key="tray_merge", icon=":material/merge:", help_text=help_text,
                   is_possible=len(now.ids) > 1)  # fmt: skip


def _draw_figures(now: Chosen) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.badge(now.sentence, icon=":material/select_all:", color="blue")
        st.caption(now.figures)


def _draw_looking(memory: MemorySystem, now: Chosen, is_planning: bool) -> None:
    is_few = 1 < len(now.ids) <= COMPARED
    label, icon = ("Compare", ":material/compare:") if is_few else ("Show", ":material/list:")
    is_asked = st.button(
        label,
        key="tray_show",
        icon=icon,
        disabled=not now.ids,
        help=None if is_few else f"With two to {COMPARED}, side by side",
    )
    if is_asked and not is_planning:
        show = _compare if is_few else _list
        show(memory, now.ids)


def _draw_marking(memory: MemorySystem, now: Chosen, kind: Kind) -> None:
    is_off = memory.storage.read_only
    with st.popover("Tag", key="tray_tag", icon=":material/sell:", disabled=is_off or not now.ids,
                    help=READ_ONLY if is_off else None):  # fmt: skip
        _draw_tags(memory, now, counted(len(now.ids), kind.noun), kind)
    draw_pin(memory, now.ids, kind, key="tray_pin", is_pinned=now.is_all_pinned)
    if kind is not STRATEGY:  # strategies are retired
        draw_bury(memory, now.ids, kind, key="tray_bury", is_buried=now.is_all_buried)


def _draw_tags(memory: MemorySystem, now: Chosen, many: str, kind: Kind) -> None:
    st.multiselect(
        "Tags",
        offered(page_tags(memory, kind), now.tags),
        key=_TAGS,
        accept_new_options=True,
        placeholder="Choose or type a tag",
    )
    with st.container(horizontal=True):
        given = (memory, now.ids, many, kind)
        st.button("Add", key="tray_tag_add", type="primary", on_click=_retag, args=(*given, True))
        st.button("Take away", key="tray_tag_remove", on_click=_retag, args=(*given, False))


def _retag(memory: MemorySystem, ids: Sequence[str], many: str, kind: Kind, is_added: bool) -> None:
    tags = [tag for tag in (str(tag).strip() for tag in st.session_state.get(_TAGS, [])) if tag]
    if not tags:
        return
    st.session_state[_TAGS] = []
    if is_added:
        change_marks(memory, ids, f"Tagged {many}", kind, add_tags=tags)
    else:
        change_marks(memory, ids, f"Took {counted(len(tags), 'tag')} from {many}", kind, remove_tags=tags)


@st.dialog("Side by side", width="large")
def _compare(memory: MemorySystem, ids: Sequence[str]) -> None:
    shown = compared(memory, ids)
    for column, experience in zip(st.columns(len(shown) or 1), shown, strict=False):
        with column:
            _draw_compared(experience)


def _draw_compared(experience: Compared) -> None:
    st.markdown(f"**{experience.outcome}**")
    st.caption(experience.facts)
    st.page_link(
        "pages/experiences.py", label="Open", icon=":material/open_in_new:", query_params={"id": experience.id}
    )
    draw_prose(experience.task, key=f"tray_task_{experience.id}")
    st.caption("Feedback")
    if experience.feedback is None:
        st.caption("none")
    else:
        draw_prose(experience.feedback, key=f"tray_feedback_{experience.id}")
    st.caption("Solution")
    if experience.solution is None:
        st.caption("none")
    else:
        draw_code(experience.solution, key=f"tray_solution_{experience.id}")


@st.dialog("Selected", width="large")
def _list(memory: MemorySystem, ids: Sequence[str]) -> None:
    rows = chosen_rows(memory, ids)
    st.caption(f"The first {LISTED} of {len(ids):,}" if len(ids) > LISTED else counted(len(ids), "experience"))
    st.dataframe(
        [asdict(row) for row in rows],
        column_config=LIST_COLUMNS,
        column_order=list(LIST_COLUMNS),
        hide_index=True,
        alt="What is selected",
    )
    if len(ids) == 1:
        st.page_link("pages/experiences.py", label="Open", icon=":material/open_in_new:", query_params={"id": ids[0]})
