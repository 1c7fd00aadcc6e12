"""The scope bar: in the sidebar, and on Experiences in a row above the list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from atlas import MemorySystem
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.filters import Filter, Options, known_tags, options_of
from atlas.views.kinds.kind import Kind
from atlas.views.shared.results import MemoryMap
from atlas.views.shared.scope import (
    AWAITED,
    BY,
    Scope,
    domain_titles,
    left_out_sentence,
    scope_sentence,
    scope_with,
)
from atlas.views.shared.state import StoreState
from pages.components.lists.filters import SEARCH_WIDTH, Width, digest, draw_filter, further_filters, visibility
from pages.components.shared.narrowing import box_key, current_scope, keep_scope, narrow_to, rename_box, take_address
from pages.components.shared.snapshot import page_map, store_state
from pages.frame.address import shared_by_pages

DOMAIN_WIDTH = 160
"""Width of the box of domains in a row, in pixels."""

_TITLES, _LEFT_OUT = "scope_titles", "scope_left_out"

T = TypeVar("T")


def current_where(memory: MemorySystem) -> dict[str, Any]:
    """Return the filter of the current scope in the store's format."""
    scope = current_scope()
    return scope.where(page_map(memory) if scope.domains else None)


def draw_awaited(memory: MemorySystem) -> bool:
    """Draw a note instead of bulk actions if the scope is not known yet, and return whether it is."""
    scope = current_scope()
    if not scope.domains or not scope.awaits(page_map(memory)):
        return False
    st.info(AWAITED, icon=":material/hourglass_empty:")
    st.page_link("pages/map.py", label="Open the map to create it", icon=":material/scatter_plot:")
    return True


def draw_scope(memory: MemorySystem) -> None:
    """Draw the scope bar, for the sidebar."""
    above = st.container()
    draw_scope_boxes(memory)
    with above:
        draw_scope_sentence(memory)


def draw_scope_boxes(memory: MemorySystem, *, is_row: bool = False) -> DeltaGenerator:
    """Draw the boxes of the scope, and return the popover of further filters, where a page can add to it.

    The boxes are the same widgets on all pages, so they keep their values.

    Args:
        is_row: Whether they share a row.
    """
    options, memory_map = filter_options(memory, EXPERIENCE), page_map(memory)
    n_left_out = take_address(options, memory_map)
    stored = current_scope()
    width: Width = SEARCH_WIDTH if is_row else "stretch"
    with shared_by_pages():
        key, first = _box("text", stored.text)
        text = st.text_input("Search", first, key=key, type="search", placeholder=EXPERIENCE.question, width=width,
                             label_visibility=visibility(not is_row))  # fmt: skip
        foremost = {
            each.name: _draw(each, options, stored, is_named=not is_row)
            for each in EXPERIENCE.filters
            if each.is_foremost
        }
        # a container, like each widget that may disappear, as otherwise the others would be recreated
        with st.container(width=DOMAIN_WIDTH if is_row else "stretch"):
            domains = _draw_domains(memory_map, stored.domains, is_named=not is_row)
        rest = [each for each in EXPERIENCE.filters if not each.is_foremost]
        more = further_filters(st.session_state.get(box_key(each.name), stored.values.get(each.name)) for each in rest)
        with more:
            key, first = _box("by", stored.by)
            by = st.segmented_control("Search by", BY, default=first, required=True, key=key)
            further = _draw_rest(rest, options, stored)
    keep_scope(scope_with(text or "", by or stored.by, domains, **foremost, **further))
    st.session_state[_LEFT_OUT] = left_out_sentence(n_left_out)
    return more


def draw_scope_sentence(memory: MemorySystem) -> None:
    """Draw how many experiences are in scope, and the button that clears it.

    frame.css hides it above a list that no filter narrows: the list has its own sentence, and the search box a cross.
    """
    scope = current_scope()
    is_empty = not (scope.is_narrow or scope.is_search)
    key = "scope_whole" if is_empty else "scope_narrow" if scope.is_narrow else "scope_search"
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=key), shared_by_pages():
        st.markdown(f"**{_sentence(memory, scope)}**", width="content")
        st.button("Clear", key="scope_clear", icon=":material/filter_alt_off:", type="tertiary", on_click=narrow_to,
                  disabled=is_empty)  # fmt: skip
    if left_out := st.session_state[_LEFT_OUT]:
        st.warning(left_out, icon=":material/link_off:")


def n_experiences(memory: MemorySystem, where: Mapping[str, Any] | None = None) -> int:
    """Return the number of experiences that pass a filter, cached by revision."""
    return n_records(memory, EXPERIENCE, where)


def n_records(memory: MemorySystem, kind: Kind, where: Mapping[str, Any] | None = None) -> int:
    """Return the number of a kind's records that pass a filter, cached by revision."""
    return _count(store_state(memory), kind.noun, digest(where), _memory=memory, _kind=kind, _where=where)


def page_tags(memory: MemorySystem, kind: Kind = EXPERIENCE) -> Mapping[Any, int]:
    """Return the number of a kind's records for each tag, most frequent first, cached by state."""
    return _tags(store_state(memory), kind.noun, _memory=memory, _kind=kind)


def filter_options(memory: MemorySystem, kind: Kind) -> Mapping[str, Options]:
    """Return the options of each filter of a kind by name, cached by the store's state."""
    return _options(store_state(memory), kind.noun, _memory=memory, _kind=kind)


@st.cache_data(max_entries=64, show_spinner=False)
def _count(
    state: StoreState, noun: str, key: str, *, _memory: MemorySystem, _kind: Kind, _where: Mapping[str, Any] | None
) -> int:
    return _kind.records(_memory).count(_where)


def _sentence(memory: MemorySystem, scope: Scope) -> str:
    memory_map, n_all = page_map(memory), n_experiences(memory)
    n_inside: int | None = n_all
    if scope.awaits(memory_map):
        n_inside = None
    elif scope.is_narrow:
        n_inside = n_experiences(memory, scope.where(memory_map))
    return scope_sentence(scope, n_inside, n_all)


def _draw_rest(rest: Sequence[Filter], options: Mapping[str, Options], stored: Scope) -> dict[str, Any]:
    """Draw the secondary filters. Filters of one field, such as first and last day, share a row."""
    values = {}
    for _, group in groupby(rest, key=lambda each: each.key):
        beside = list(group)
        columns = st.columns(len(beside), gap="small") if len(beside) > 1 else [st.container()]
        for column, each in zip(columns, beside, strict=True):
            with column:
                values[each.name] = _draw(each, options, stored)
    return values


def _draw(filter: Filter, options: Mapping[str, Options], stored: Scope, *, is_named: bool = True) -> Any:
    key, first = _box(filter.name, stored.values.get(filter.name))
    return draw_filter(filter, options[filter.name], key=key, first=first, is_named=is_named)


def _box(name: str, value: T) -> tuple[str, T]:
    """Return the key of a widget, and its initial value from the scope.

    The value is not set through the session state: if a run ends before the browser receives it, the widget would be
    empty.
    """
    key = box_key(name)
    if key not in st.session_state:
        st.session_state[f"{key}_at_first"] = value
    first: T = st.session_state[f"{key}_at_first"]
    return key, first


def _draw_domains(memory_map: MemoryMap | None, numbers: tuple[int, ...], *, is_named: bool) -> tuple[int, ...]:
    """Draw the choice of domains. Titles may change, so the choice is stored by number."""
    key, first = _box("domains", numbers)
    chosen: Sequence[int] = st.session_state.get(key, first)
    titles, last_titles = domain_titles(memory_map, [*first, *chosen]), st.session_state.get(_TITLES, {})
    if any(last_titles.get(number, title) != title for number, title in titles.items()):
        rename_box("domains")  # the browser reports the chosen option by title, and would report the previous title
        key, first = _box("domains", tuple(chosen))
    st.session_state[_TITLES] = titles
    if not titles:
        return ()
    name: Callable[[int], str] = lambda number: titles.get(number, "")  # noqa: E731
    placeholder = "All" if is_named else "Domain: all"
    return tuple(
        st.multiselect("Domain", [*titles], first, format_func=name, key=key, placeholder=placeholder,
                       label_visibility=visibility(is_named))
    )  # fmt: skip


@st.cache_data(max_entries=8, show_spinner=False)
def _tags(state: StoreState, noun: str, *, _memory: MemorySystem, _kind: Kind) -> Mapping[Any, int]:
    return known_tags(_kind.records(_memory))


@st.cache_data(max_entries=32, show_spinner=False)
def _options(state: StoreState, noun: str, *, _memory: MemorySystem, _kind: Kind) -> Mapping[str, Options]:
    return options_of(_kind.filters, _kind.records(_memory))
