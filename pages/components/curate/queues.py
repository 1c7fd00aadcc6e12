"""The queues of Curate, with their actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import streamlit as st

from atlas import MemorySystem
from atlas.views.curate.health import BURIED, Health
from atlas.views.curate.queues import (
    MAX_GROUPS,
    TITLES,
    DuplicatesResult,
    GroupLine,
    group_lines,
    queue_page,
    why_outdated,
)
from atlas.views.experience.list import place_and_mark
from atlas.views.experience.proposals import MergeRequest, PruneRequest, criteria_of
from atlas.views.kinds.experience import QUEUED
from atlas.views.lists.queries import n_pages
from atlas.views.shared.rates import LIKELY_MEANS
from atlas.views.shared.scope import Scope
from atlas.views.shared.state import StoreState
from atlas.views.shared.wording import counted
from pages.components.curate.duplicates import live_duplicates
from pages.components.lists.editing import READ_ONLY, change_marks
from pages.components.lists.filters import digest
from pages.components.lists.record_table import open_clicked, selectable_table, table_height
from pages.components.lists.selection import select
from pages.components.shared.narrowing import go_to, narrow_to
from pages.components.shared.plans import propose
from pages.components.shared.scope import n_experiences
from pages.components.shared.snapshot import page_map, store_state
from pages.components.shared.undo_toast import set_problem

ROWS = "rows on Curate"
"""The tray's label for a selection made here."""

LIMIT_PIXELS = 205
"""Width of the box of a criterion. All stand on one line."""

MEMBERS = {
    "task": st.column_config.TextColumn("Task, compared with the first", width=430),
    "solution": st.column_config.TextColumn("Solution, compared with the first", width=310),
    "agent": st.column_config.TextColumn("Agent", width=100),
    "created_at": st.column_config.DatetimeColumn("When (UTC)", format="D MMM YYYY, HH:mm", timezone="UTC", width=140),
}


def draw_groups(
    memory: MemorySystem,
    duplicates: DuplicatesResult,
    groups: Sequence[tuple[str, ...]],
) -> None:
    """Draw groups of near-duplicates with a button to merge all."""
    _draw_search(memory, duplicates)
    if groups:
        _draw_all_acts(memory, groups)
        _draw_page(memory, groups, key="curate_groups_page", first=0)
    elif duplicates.is_known:
        st.info("No two experiences here are attempts at the same task with the same outcome, solution and actions.",
                icon=":material/check:")  # fmt: skip


def draw_repeated(memory: MemorySystem, duplicates: DuplicatesResult, groups: Sequence[tuple[str, ...]]) -> None:
    """Draw groups of repeated attempts, which no one button merges."""
    _draw_search(memory, duplicates)
    _draw_page(memory, groups, key="curate_repeated_page", first=MAX_GROUPS)


def _draw_all_acts(memory: MemorySystem, groups: Sequence[tuple[str, ...]]) -> None:
    n_ids = sum(map(len, groups))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            f"Merge all {counted(len(groups), 'group')} …",
            key="curate_merge_all",
            icon=":material/merge:",
            on_click=propose,
            args=(memory, MergeRequest(groups=tuple(groups))),
            disabled=memory.storage.read_only,
            help=_why_not(memory),
        )
        st.button(
            f"Select all {n_ids:,}",
            key="curate_select_groups",
            icon=":material/select_all:",
            on_click=_select,
            args=(memory, [i for group in groups for i in group], "near-duplicates"),
        )


def _draw_page(memory: MemorySystem, groups: Sequence[tuple[str, ...]], *, key: str, first: int) -> None:
    """Draw one page of groups.

    Args:
        key: Key of the choice of the page.
        first: Number of the first group on the page, from which its widgets' keys are derived.
    """
    pages, page_groups = -(-len(groups) // MAX_GROUPS), tuple(groups)
    page = st.pagination(pages, key=key) if pages > 1 else 1
    lines = _lines(store_state(memory), hash(page_groups), min(page, pages), _memory=memory, _groups=page_groups)
    for number, line in enumerate(lines, first):
        _draw_group(memory, line, number)


@st.cache_resource(max_entries=8, show_spinner=False)
def _lines(
    state: StoreState, key: int, page: int, *, _memory: MemorySystem, _groups: tuple[tuple[str, ...], ...]
) -> tuple[GroupLine, ...]:
    return group_lines(_memory, _groups, page)


def _draw_search(memory: MemorySystem, duplicates: DuplicatesResult) -> None:
    """Draw the progress of the search for near-duplicates, and a button to search again if the memory has changed."""
    if duplicates.is_running:
        _draw_progress(memory)
    if duplicates.problem:
        st.warning("The search for near-duplicates failed. Nothing in the memory changed.", icon=":material/error:")
        st.text(duplicates.problem)
    if duplicates.is_known and duplicates.n_changed and not duplicates.is_running:
        st.caption(why_outdated(duplicates))
    if not duplicates.is_running and (duplicates.problem or duplicates.n_changed):
        st.button(
            "Look again", key="curate_look", icon=":material/refresh:", on_click=live_duplicates(memory).search_again
        )


@st.fragment(run_every=1)
def _draw_progress(memory: MemorySystem) -> None:
    """Draw the progress. The page is redrawn when the search is done."""
    status = live_duplicates(memory).latest().status
    if status is None or status.state not in ("queued", "running"):
        st.rerun()
        return
    share = status.done / status.total if status.total else 0.0
    st.progress(min(share, 1.0), text="Looking for near-duplicates. You can leave this page meanwhile.")


def _draw_group(memory: MemorySystem, line: GroupLine, number: int) -> None:
    with st.container(border=True, gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.badge(line.label, color="blue")
            st.button(
                "Merge …",
                key=f"curate_merge_{number}",
                icon=":material/merge:",
                on_click=propose,
                args=(memory, MergeRequest(groups=(line.ids,))),
                disabled=memory.storage.read_only,
                help=_why_not(memory),
            )
            st.button(
                "Select",
                key=f"curate_select_{number}",
                icon=":material/select_all:",
                on_click=_select,
                args=(memory, line.ids, "a group of attempts"),
            )
        st.text(line.title)
        key = f"curate_members_{number}_{abs(hash(line.ids))}"
        ids, n_agents = tuple(member.id for member in line.members), len({member.agent for member in line.members})
        with st.expander(
            "What differs between them", expanded=True, key=f"curate_group_{number}_{abs(hash(line.ids))}"
        ):
            st.dataframe(
                [asdict(member) for member in line.members],
                column_config=MEMBERS,
                column_order=[name for name in MEMBERS if name != "agent" or n_agents > 1],
                hide_index=True,
                key=key,
                on_select=partial(open_clicked, ids, key),
                selection_mode=["single-row", "single-cell"],
                height=table_height(len(line.members)),
                alt="Members of the group",
            )


RATE_COLUMNS = {
    "percent_succeeded": st.column_config.ProgressColumn(
        "Succeeded", format="%.0f%%", min_value=0, max_value=100, width=100
    ),
    "interval": st.column_config.TextColumn("Likely", width=80, help=LIKELY_MEANS),
    "known": st.column_config.TextColumn("Known", width=80, help="Attempts whose outcome is known, of all"),
}


def draw_domains(memory: MemorySystem, health: Health) -> None:
    """Draw all domains, worst first. The chosen one can be selected or opened on the map."""
    if not health.domains:
        st.info("Domains emerge on the map. There is none yet.", icon=":material/scatter_plot:")
        st.page_link("pages/map.py", label="Open the map")
        return
    columns = {
        "name": st.column_config.TextColumn("Domain", width="medium"),
        **RATE_COLUMNS,
        "verdict": st.column_config.TextColumn("", width=160),
    }
    st.caption(
        "All domains of the map, the lowest success rate first. The likely range counts each attempt, so it is too "
        "narrow where many are at the same task."
    )
    numbers = tuple(row.number for row in health.domains)
    table = st.dataframe(
        [asdict(row) | {"known": f"{row.n_known:,} of {row.n:,}"} for row in health.domains],
        column_config=columns,
        column_order=list(columns),
        hide_index=True,
        key=f"curate_domains_{abs(hash(numbers))}_{memory.revision()}",
        on_select="rerun",
        selection_mode="single-row",
        selection_default={"selection": {"rows": [0]}},
        height=table_height(len(health.domains)),
        alt="Success by domain",
    )
    rows = [row for row in table["selection"]["rows"] if row < len(numbers)]
    _draw_domain_acts(memory, numbers[rows[0]] if rows else None)


def _draw_domain_acts(memory: MemorySystem, number: int | None) -> None:
    """Draw the actions for the ticked domain."""
    memory_map = page_map(memory)
    members = list(memory_map.members(number)) if memory_map is not None and number is not None else []
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            f"Select its {counted(len(members), 'experience')}",
            key="curate_select_domain",
            disabled=not members,
            icon=":material/select_all:",
            on_click=_select,
            args=(memory, members, "a domain"),
        )
        is_shown = st.button(
            "Show it on the map",
            key="curate_show_domain",
            icon=":material/scatter_plot:",
            disabled=not members,
            on_click=narrow_to,
            args=(Scope(domains=(number,) if number is not None else ()),),
        )
    if is_shown:
        go_to("pages/map.py")


def ids_in_scope(memory: MemorySystem, scope: Mapping[str, Any]) -> frozenset[str] | None:
    """Return the ids in scope, or None for all."""
    if not scope:
        return None
    return _inside(store_state(memory), digest(scope), _memory=memory, _scope=scope)


@st.cache_resource(max_entries=8, show_spinner=False)
def _inside(state: StoreState, key: str, *, _memory: MemorySystem, _scope: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(_memory.experience.ids(_scope))


def draw_queue(memory: MemorySystem, queue: str, ids: tuple[str, ...]) -> None:
    """Draw a queue of single experiences, oldest first, and actions on all of them."""
    if not ids:
        st.info("There is none here.", icon=":material/check:")
        return
    _draw_queue_acts(memory, queue, ids)
    pages, revision = n_pages(len(ids)), memory.revision()
    page = st.pagination(pages, key=f"curate_page_{queue}") if pages > 1 else 1
    rows = place_and_mark(memory, queue_page(memory, ids, min(page, pages)), page_map(memory))
    key = f"curate_table_{queue}_{page}_{revision}_{abs(hash(tuple(row.id for row in rows)))}"
    selectable_table(rows, columns=QUEUED, key=key, origin=ROWS, revision=revision)


def _draw_queue_acts(memory: MemorySystem, queue: str, ids: tuple[str, ...]) -> None:
    """Draw buttons that act on the shown records only, even if the queue changes meanwhile."""
    n_found = len(ids)
    disabled, why = memory.storage.read_only, _why_not(memory)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            f"Select all {n_found:,}",
            key="curate_select_all",
            icon=":material/select_all:",
            on_click=_select,
            args=(memory, ids, TITLES[queue].lower()),
        )
        if queue == BURIED:
            st.button(
                f"Bring all {n_found:,} back",
                key="curate_unbury",
                icon=":material/visibility:",
                disabled=disabled,
                help=why,
                on_click=change_marks,
                args=(memory, ids, f"Brought back {counted(n_found, 'experience')}"),
                kwargs={"buried": False},
            )
        st.button(
            f"Delete all {n_found:,} …",
            key="curate_delete_all",
            icon=":material/delete:",
            disabled=disabled,
            on_click=propose,
            args=(memory, PruneRequest(among=ids)),
            help=why or "You first see what would be deleted.",
        )


def draw_criteria(memory: MemorySystem, scope: Mapping[str, Any]) -> None:
    """Draw the form of criteria. Empty ones are ignored."""
    if scope:
        st.caption(f"Only the {counted(n_experiences(memory, scope), 'experience')} in scope can be deleted.")
    with st.form("curate_rule"):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            _draw_limits()
            st.form_submit_button(
                "Preview",
                type="primary",
                icon=":material/visibility:",
                on_click=_preview_rule,
                args=(memory, dict(scope)),
                disabled=memory.storage.read_only,
                help=_why_not(memory),
            )
        st.toggle(
            "Keep the best of each group of similar experiences",
            True,
            key="curate_diverse",
            help="If nothing similar would be left in the memory, the best of them is kept.",
        )


def _draw_limits() -> None:
    """Draw the boxes of numeric criteria."""
    draw = partial(st.number_input, placeholder="not used", width=LIMIT_PIXELS)
    draw("Success rate under (%)", 0.0, 100.0, None, 5.0, format="%.0f", key="curate_rate",
         help="Counts its own outcome and the tasks it was used for.")  # fmt: skip
    draw("Older than (days)", 0, None, None, 30, key="curate_age")
    draw("Not retrieved for (days)", 0, None, None, 30, key="curate_never")
    draw("All but the best (number)", 0, None, None, 100, key="curate_count",
         help="So many are kept: the most successful, and of equal ones the newest.")  # fmt: skip


def _preview_rule(memory: MemorySystem, scope: Mapping[str, Any]) -> None:
    state = st.session_state
    criteria = criteria_of(
        min_percent=state["curate_rate"],
        max_age_days=state["curate_age"],
        never_retrieved_days=state["curate_never"],
        max_count=state["curate_count"],
        keep_diverse=state["curate_diverse"],
    )
    if not criteria:
        set_problem("Fill in at least one rule: a success rate, an age, a time without retrieval, or a number to keep.")
        return
    propose(memory, PruneRequest(criteria=criteria, among=tuple(memory.experience.ids(scope)) if scope else None))


def _select(memory: MemorySystem, ids: Sequence[str], origin: str) -> None:
    select(ids, origin=origin, revision=memory.revision())


def _why_not(memory: MemorySystem) -> str | None:
    return READ_ONLY if memory.storage.read_only else None
