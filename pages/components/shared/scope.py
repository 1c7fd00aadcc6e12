"""The scope bar: beside every page, and the same on all of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, Literal, TypeVar

import streamlit as st

from atlas import MemorySystem
from atlas.views.shared.kinds import EXPERIENCE, Kind
from atlas.views.shared.results import MemoryMap
from atlas.views.shared.scope import (
    AWAITED,
    BY,
    Scope,
    ScopeOptions,
    domain_titles,
    known_tags,
    left_out_sentence,
    offered,
    scope_options,
    scope_sentence,
)
from atlas.views.shared.scope_address import FIRST_DAY, LAST_DAY
from atlas.views.shared.state import StoreState
from atlas.views.shared.wording import OUTCOMES
from pages.components.shared.narrowing import box_key, current_scope, hold, narrow_to, rename_box, take_address
from pages.components.shared.snapshot import page_map, store_state

URL: Literal["query-params"] = "query-params"

_TITLES = "scope_titles"

T = TypeVar("T")


def current_where(memory: MemorySystem) -> dict[str, Any]:
    """Return the filter of the current scope, as the store takes it."""
    scope = current_scope()
    return scope.where(page_map(memory) if scope.domains else None)


def draw_awaited(memory: MemorySystem) -> bool:
    """Say that nobody can tell yet what is in scope, where that is so, in place of acts on all of it.

    Return whether it is.
    """
    scope = current_scope()
    if not scope.domains or not scope.awaits(page_map(memory)):
        return False
    st.info(AWAITED, icon=":material/hourglass_empty:")
    st.page_link("pages/map.py", label="Open the map to create it", icon=":material/scatter_plot:")
    return True


def draw_scope(memory: MemorySystem) -> None:
    """Draw the scope bar, for the sidebar."""
    options, memory_map = _options(store_state(memory), _memory=memory), page_map(memory)
    n_left_out = take_address(options, memory_map)
    held, above = current_scope(), st.container()
    key, first = _box("text", held.text)
    text = st.text_input("Search", first, key=key, type="search", placeholder="Describe a task")
    key, first = _box("by", held.by)
    by = st.segmented_control("Search by", BY, default=first, required=True, key=key, label_visibility="collapsed")
    key, some = _box("outcomes", held.outcomes)
    outcomes = st.pills("Outcome", OUTCOMES, selection_mode="multi", default=some, key=key)
    with st.container():  # a place of its own, as each box has that may come or go: the others would be drawn again
        domains = _draw_domains(memory_map, held.domains)
    more = _draw_more(options, held)
    scope = Scope(text=text or "", by=by or held.by, outcomes=tuple(outcomes), domains=domains, **more)
    hold(scope)
    is_empty = not (scope.is_narrow or scope.is_search)
    st.button("Clear", key="scope_clear", icon=":material/filter_alt_off:", on_click=narrow_to, disabled=is_empty)
    with above:
        _draw_sentence(memory, scope, memory_map, left_out_sentence(n_left_out))


def n_experiences(memory: MemorySystem, where: Mapping[str, Any] | None = None) -> int:
    """Return how many experiences pass a filter. Counted once for each revision of the store."""
    return _count(store_state(memory), digest(where), _memory=memory, _where=where)


def page_tags(memory: MemorySystem, kind: Kind = EXPERIENCE) -> Mapping[Any, int]:
    """Return how many of a kind hold each tag, most frequent first. Counted once for each state of the store."""
    return _tags(store_state(memory), kind.noun, _memory=memory, _kind=kind)


def digest(*asked: object) -> str:
    """Return a short name for what was asked, to key caches and tables on."""
    return hashlib.sha256(repr(asked).encode("utf-8", "surrogatepass")).hexdigest()[:12]


@st.cache_data(max_entries=64, show_spinner=False)
def _count(state: StoreState, asked: str, *, _memory: MemorySystem, _where: Mapping[str, Any] | None) -> int:
    return _memory.experience.count(_where)


def _draw_sentence(memory: MemorySystem, scope: Scope, memory_map: MemoryMap | None, left_out: str) -> None:
    n_all = n_experiences(memory)
    n_inside: int | None = n_all
    if scope.awaits(memory_map):
        n_inside = None
    elif scope.is_narrow:
        n_inside = n_experiences(memory, scope.where(memory_map))
    st.markdown(f"**{scope_sentence(scope, n_inside, n_all)}**")
    if left_out:
        st.warning(left_out, icon=":material/link_off:")


def _draw_more(options: ScopeOptions, held: Scope) -> dict[str, Any]:
    """Draw the boxes that are asked for less often. Folded away, unless one of them says something at first."""
    says = bool(held.tags or held.sources or held.agents or held.since or held.until or held.is_pinned)
    is_open = st.session_state.setdefault(box_key("is_open"), says)
    with st.expander("More filters", expanded=is_open, key="scope_more"):
        tags = _choice("Tag", options.tags, "tags", held.tags)
        sources = _choice("Source", options.sources, "sources", held.sources)
        agents = _choice("Agent", options.agents, "agents", held.agents)
        left, right = st.columns(2, gap="small")
        with left:
            since = _day("From", "since", held.since)
        with right:
            until = _day("Until", "until", held.until)
        key, first = _box("pinned", held.is_pinned)
        pinned = st.toggle("Pinned only", first, key=key)
    return {
        "tags": tags,
        "sources": sources,
        "agents": agents,
        "since": since,
        "until": until,
        "is_pinned": pinned,
    }


def _box(name: str, held: T) -> tuple[str, T]:
    """Return the key of a box, and what it says at first: what is held when it comes up, as long as it stands there.

    Not by its key in the session: where a run is ended before the browser has heard of that, the box comes up empty.
    """
    key = box_key(name)
    if key not in st.session_state:
        st.session_state[f"{key}_at_first"] = held
    first: T = st.session_state[f"{key}_at_first"]
    return key, first


def _choice(label: str, known: Mapping[Any, int], name: str, held: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a choice of several values. None means all. Boxes for what no experience says are left out."""
    key, first = _box(name, held)
    options = offered(known, [*first, *st.session_state.get(key, ())])
    with st.container():
        return tuple(st.multiselect(label, options, first, key=key, placeholder="All")) if options else ()


def _day(label: str, name: str, held: date | None) -> date | None:
    key, first = _box(name, held)
    return st.date_input(label, first, FIRST_DAY, LAST_DAY, key=key, format="YYYY-MM-DD")


def _draw_domains(memory_map: MemoryMap | None, held: tuple[int, ...]) -> tuple[int, ...]:
    """Draw the choice of domains: by their titles, which change, while what is chosen is held by their numbers."""
    key, first = _box("domains", held)
    chosen: Sequence[int] = st.session_state.get(key, first)
    titles, drawn = domain_titles(memory_map, [*first, *chosen]), st.session_state.get(_TITLES, {})
    if any(drawn.get(number, title) != title for number, title in titles.items()):
        rename_box("domains")  # the browser tells what is chosen by its title, and would tell it by the earlier one
        key, first = _box("domains", tuple(chosen))
    st.session_state[_TITLES] = titles
    if not titles:
        return ()
    name: Callable[[int], str] = lambda number: titles.get(number, "")  # noqa: E731
    return tuple(st.multiselect("Domain", [*titles], first, format_func=name, key=key, placeholder="All"))


@st.cache_data(max_entries=8, show_spinner=False)
def _tags(state: StoreState, noun: str, *, _memory: MemorySystem, _kind: Kind) -> Mapping[Any, int]:
    return known_tags(_kind.records(_memory))


@st.cache_data(max_entries=8, show_spinner=False)
def _options(state: StoreState, *, _memory: MemorySystem) -> ScopeOptions:
    return scope_options(_memory)
