"""Map: experiences arranged by meaning, and their domains with success rates."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.map.colours import COLOURED_BY
from atlas.views.map.page import MIN_EXPERIENCES
from atlas.views.map.sheet import Colours, Sheet, colours_of, map_fingerprint, sheet_of
from atlas.views.map.spread import Places, move_map, spread_places
from atlas.views.shared.results import MemoryMap
from atlas.views.shared.state import StoreState
from atlas.views.shared.wording import counted
from pages.components.experience.kind_page import PAGE
from pages.components.importing.box import draw_refused_files
from pages.components.lists.empty import draw_empty
from pages.components.lists.kind_page import draw_opened
from pages.components.lists.record_table import opened_id
from pages.components.map.beside import draw_difference, draw_hits
from pages.components.map.domains import draw_domains, draw_verdict
from pages.components.map.interaction import OPEN_DOMAIN, draw_map
from pages.components.map.refit import draw_refit
from pages.components.shared.live import refreshing
from pages.components.shared.memory_map import live_columns
from pages.components.shared.snapshot import page_map, page_memory, store_state

ABOUT = "Experiences that are about the same thing lie close together. Groups of them become domains by themselves."


def draw(memory: MemorySystem, sheet: Sheet) -> None:
    """Draw the map, and beside it the hits, the selection and the domains, or the open experience."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="map_head"):
        st.title("Map", anchor=False, width="content", help=ABOUT)
        draw_verdict(sheet)
        with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
            st.caption("Colour by", width="content")
            by = st.selectbox("Colour by", COLOURED_BY, label_visibility="collapsed", key="map_colour_by",
                              persist_state="session", width=140)  # fmt: skip
    beside, panel = st.columns([7, 3], gap=None)
    with beside, st.container(key="map_stage"):
        marks = draw_map(memory, sheet, coloured(memory, sheet, by))
    with panel:
        opened = opened_id()
        if opened is None:
            has_domain = sheet.domain(st.session_state.get(OPEN_DOMAIN)) is not None
            if has_domain:  # the most recent click comes first
                draw_domains(memory, sheet)
            draw_hits(memory, sheet, marks.hits)
            draw_difference(memory, sheet)
            if not has_domain:
                draw_domains(memory, sheet)
        else:
            draw_opened(PAGE, memory, opened)
        draw_refit(memory, sheet)


def draw_nothing(memory: MemorySystem) -> None:
    """Draw why there is no map, and what to do."""
    n = memory.experience.count()
    if not n:
        draw_empty(memory)
        return
    sentence = f"A map needs at least {MIN_EXPERIENCES} experiences; this store has {counted(n, 'experience')}."
    st.info(sentence, icon=":material/scatter_plot:")


def _draw_sheet(memory: MemorySystem) -> Sheet | None:
    """Draw the current map. Returns None if there are too few experiences."""
    with st.spinner("Laying out the map …"):
        memory_map = page_map(memory, is_awaited=True)
        if memory_map is None or len(memory_map.ids) < MIN_EXPERIENCES:
            return None
        return _sheet(store_state(memory), map_fingerprint(memory_map), _memory=memory, _map=memory_map)


def coloured(memory: MemorySystem, sheet: Sheet, by: str) -> Colours:
    """Return the current colours of the map."""
    name = map_fingerprint(sheet.map)
    return _colours(store_state(memory), name, by, _memory=memory, _sheet=sheet)


@st.cache_resource(max_entries=4, show_spinner=False)
def _sheet(state: StoreState, fingerprint: str, *, _memory: MemorySystem, _map: MemoryMap) -> Sheet:
    return sheet_of(live_columns(_memory).read, move_map(_map, _places(fingerprint, _map=_map)))


@st.cache_resource(max_entries=4, show_spinner=False)
def _places(fingerprint: str, *, _map: MemoryMap) -> Places:
    return spread_places(_map)


@st.cache_resource(max_entries=8, show_spinner=False)
def _colours(state: StoreState, fingerprint: str, by: str, *, _memory: MemorySystem, _sheet: Sheet) -> Colours:
    return colours_of(live_columns(_memory).read, _sheet, by)


memory = page_memory()
if opened_id() is None and st.session_state.get(OPEN_DOMAIN) is None:  # otherwise the user may be typing beside the map
    refreshing(memory)
draw_refused_files()
sheet = _draw_sheet(memory)
if sheet is not None:
    draw(memory, sheet)
else:
    st.title("Map", anchor=False)
    st.caption(ABOUT)
    draw_nothing(memory)
