"""Beside the map: the domains, worst first, or one of them with its tasks."""

from __future__ import annotations

from functools import partial

import streamlit as st

from atlas import AtlasError, MemorySystem
from atlas.views.curate.health import DOMAIN_ORDER
from atlas.views.map.domains import (
    DOMAIN_COLUMNS,
    NAMES_HELP,
    TASK_COLUMNS,
    DomainRow,
    domain_sentence,
    domain_tasks,
    members_to_show,
    no_domains_sentence,
    sizes_offered,
    weak_sentence,
)
from atlas.views.map.page import members_text
from atlas.views.map.sheet import Sheet
from atlas.views.shared.scope import Scope, scope_with
from pages.components.lists.record_table import experience_table, plain_table
from pages.components.lists.selection import select
from pages.components.map.interaction import OPEN_DOMAIN, focus_on, open_domain
from pages.components.map.suggesting import draw_suggesting
from pages.components.shared.memory_map import MIN_SIZE, live_map
from pages.components.shared.narrowing import go_to, narrow_to
from pages.components.shared.undo_toast import announce_problem


def draw_verdict(sheet: Sheet) -> None:
    """Draw how many domains are weak, and a button that lists their failures."""
    if not sheet.domains:
        return
    st.markdown(f"**{weak_sentence(sheet.domains, sheet.rate)}**", width="content")
    weak = [row.number for row in sheet.domains if row.is_weak]
    words = "See its failures" if len(weak) == 1 else "See their failures"
    scope = scope_with(domains=weak, outcomes=("failed",))
    if weak and st.button(words, key="map_failures", on_click=narrow_to, args=(scope,)):
        go_to("pages/experiences.py")


def draw_domains(memory: MemorySystem, sheet: Sheet) -> None:
    """Draw the chosen domain, or all domains with their success rates."""
    domain = sheet.domain(st.session_state.get(OPEN_DOMAIN))
    if domain is not None:
        _draw_domain(memory, sheet, domain)
        return
    st.markdown("**Domains, weakest first**", help=f"{DOMAIN_ORDER} {NAMES_HELP}")
    if not sheet.domains:
        st.caption(no_domains_sentence(sheet.map))
        return
    st.caption("Click one to see its tasks, or to rename it.")
    plain_table(
        [row.as_line() for row in sheet.domains],
        columns=DOMAIN_COLUMNS,
        label="Domains",
        key=f"map_domains_{sheet.points.key}",
        on_opened=partial(_look, sheet),
    )
    st.caption(members_text(sheet.map))
    draw_suggesting(memory, sheet)


def _look(sheet: Sheet, number: str) -> None:
    open_domain(sheet, int(number))
    focus_on(int(number))


def _draw_domain(memory: MemorySystem, sheet: Sheet, domain: DomainRow) -> None:
    st.button("All domains", key="map_domain_close", type="tertiary", icon=":material/arrow_back:",
              on_click=open_domain, args=(sheet, None))  # fmt: skip
    with st.container(key="map_domain_name"):
        st.text(domain.name)
    if domain.note:
        st.markdown(f"**:red[{domain.note}]**" if domain.is_weak else f"**{domain.note}**")
    st.caption(domain_sentence(domain, sheet.rate))
    with st.container(horizontal=True):
        st.button(f"Select all {domain.n:,}", key="map_domain_select", icon=":material/select_all:",
                  on_click=_select_all, args=(memory, sheet, domain))  # fmt: skip
        is_listed = st.button("List them", key="map_domain_list", icon=":material/list:", on_click=narrow_to,
                              args=(Scope(domains=(domain.number,)),))  # fmt: skip
        with st.popover("Rename", icon=":material/edit:", key="map_domain_rename"):
            _draw_name(memory, sheet, domain)
    if is_listed:
        go_to("pages/experiences.py")
    _draw_tasks(memory, sheet, domain)


def _draw_tasks(memory: MemorySystem, sheet: Sheet, domain: DomainRow) -> None:
    ids = members_to_show(sheet.map, domain)
    tasks = domain_tasks(ids, sheet.points, memory.experience.titles(ids))
    parts = {"What fails most": tasks.failing, "Other tasks" if tasks.failing else "Typical tasks": tasks.typical}
    for number, (title, lines) in enumerate(parts.items()):
        if lines:
            st.markdown(f"**{title}**")
            experience_table(lines, columns=TASK_COLUMNS, key=f"map_tasks_{number}_{domain.number}_{sheet.points.key}")


def _draw_name(memory: MemorySystem, sheet: Sheet, domain: DomainRow) -> None:
    key = f"map_name_{domain.number}"  # the box must keep its identity, as the user may be typing while points arrive

    def rename() -> None:
        try:
            live_map(memory).names.rename(sheet.map, domain.number, st.session_state[key])
        except AtlasError as error:
            announce_problem(error)

    is_fixed = memory.storage.read_only
    st.text_input(
        "Name", domain.name, key=key, on_change=rename, disabled=is_fixed, help="Leave empty for the generated name."
    )


def draw_size(sheet: Sheet) -> None:
    """Draw the slider for the smallest domain, where there is a choice."""
    sizes = sizes_offered(sheet.map)
    if len(sizes) > 1:
        now = sheet.map.recipe.min_domain_size
        st.select_slider(
            "Smallest domain", sizes, now if now in sizes else sizes[0], key="map_size_chosen", on_change=_resize
        )


def _resize() -> None:
    st.session_state[MIN_SIZE] = st.session_state["map_size_chosen"]
    st.session_state.pop(OPEN_DOMAIN, None)


def _select_all(memory: MemorySystem, sheet: Sheet, domain: DomainRow) -> None:
    select(sheet.map.members(domain.number), origin="domain on the map", revision=memory.revision())
