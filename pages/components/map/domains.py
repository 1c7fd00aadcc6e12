"""Beside the map: the domains, worst first, with actions."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

import streamlit as st

from atlas import AtlasError, MemorySystem
from atlas.views.curate.health import DOMAIN_ORDER
from atlas.views.lists.fitting import fitted
from atlas.views.map.domains import (
    DomainRow,
    domain_sentence,
    domains_caption,
    no_domains_sentence,
    sizes_offered,
    typical_lines,
)
from atlas.views.map.sheet import Sheet
from pages.components.lists.record_table import (
    PADDING_PIXELS,
    WRAPPED_ROW_PIXELS,
    clicked_row,
    open_clicked,
    table_height,
)
from pages.components.lists.selection import select
from pages.components.map.interaction import OPEN_DOMAIN, focus_on, open_domain
from pages.components.map.suggesting import draw_suggesting
from pages.components.shared.memory_map import MIN_SIZE, live_map
from pages.components.shared.undo_toast import announce_problem

NAME_PIXELS, MAX_DOMAINS = 180, 12
COLUMNS = {
    "name": st.column_config.TextColumn("Domain", width=NAME_PIXELS),
    "succeeded": st.column_config.TextColumn(
        "Succeeded", width=85, help="Of the attempts whose outcome is known. A click shows the 95 % interval"
    ),
}
TYPICAL = {
    "outcome": st.column_config.TextColumn("", width=30),
    "task": st.column_config.TextColumn("Typical of it", width=210),
}


def draw_domains(memory: MemorySystem, sheet: Sheet) -> None:
    """Draw the domains with their success rates, and details of the chosen one."""
    st.markdown("**Domains, weakest first**", help=DOMAIN_ORDER)
    if not sheet.domains:
        st.caption(no_domains_sentence(sheet.map))
    else:
        domain = sheet.domain(st.session_state.get(OPEN_DOMAIN))
        st.caption(f"{domains_caption(sheet.map)}. Click one to see what is typical of it.")
        if domain is not None:
            _draw_domain(memory, sheet, domain)
        _draw_table(sheet)
        draw_suggesting(memory, sheet)
    if not sheet.map.is_sketch:
        _draw_size(sheet)


def _draw_table(sheet: Sheet) -> None:
    key = f"map_domains_{sheet.points.key}_{hash(tuple((row.number, row.name) for row in sheet.domains))}"

    def look() -> None:
        clicked = clicked_row(key, len(sheet.domains))
        number = None if clicked is None else sheet.domains[clicked].number
        open_domain(sheet, number)
        if number is not None:
            focus_on(number)

    st.dataframe(
        [row.as_line() | {"name": fitted(row.name, NAME_PIXELS - PADDING_PIXELS)} for row in sheet.domains],
        column_config=COLUMNS,
        column_order=list(COLUMNS),
        hide_index=True,
        height=table_height(len(sheet.domains), MAX_DOMAINS),
        key=key,
        on_select=look,
        selection_mode="single-cell",
        alt="Domains and how well they go, worst first",
    )


def _draw_domain(memory: MemorySystem, sheet: Sheet, domain: DomainRow) -> None:
    with st.container(border=True):
        st.text(domain.name)
        st.caption(domain_sentence(domain))
        with st.container(horizontal=True):
            select_all, show = partial(_select_all, memory, sheet, domain), partial(focus_on, domain.number)
            st.button("Select all of it", key="map_domain_select", icon=":material/select_all:", on_click=select_all)
            st.button("Zoom to it", key="map_domain_focus", icon=":material/zoom_in:", on_click=show)
        _draw_typical(memory, sheet, domain)
        _draw_name(memory, sheet, domain)


def _draw_typical(memory: MemorySystem, sheet: Sheet, domain: DomainRow) -> None:
    lines = typical_lines(domain, sheet.points, memory.experience.titles(domain.typical))
    key = f"map_typical_{domain.number}_{sheet.points.key}"

    st.dataframe(
        [asdict(line) for line in lines],
        column_config=TYPICAL,
        column_order=("outcome", "task"),
        hide_index=True,
        row_height=WRAPPED_ROW_PIXELS,
        height="content",
        key=key,
        on_select=partial(open_clicked, tuple(line.id for line in lines), key),
        selection_mode="single-cell",
    )


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


def _draw_size(sheet: Sheet) -> None:
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
