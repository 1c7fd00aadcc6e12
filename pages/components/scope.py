"""The scope bar: beside every page, in the address, and the same on all of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, Literal

import streamlit as st

from atlas import MemorySystem
from atlas.views.kinds import EXPERIENCE, Kind
from atlas.views.scope import (
    BEST_MATCH,
    WORDS,
    Scope,
    ScopeOptions,
    domain_titles,
    known_tags,
    left_out_sentence,
    offered,
    scope_options,
    scope_sentence,
)
from atlas.views.state import StoreState, store_state
from atlas.views.wording import OUTCOMES
from pages.components.mapping import page_map

URL: Literal["query-params"] = "query-params"
BY = (BEST_MATCH, WORDS)
FIRST_DAY, LAST_DAY = date(1970, 1, 1), date(2199, 12, 31)

_SCOPE, _DOMAINS, _DOMAINS_WRITTEN, _PAGE = "scope", "scope_domains", "scope_domains_written", "scope_page"

EMPTY: Mapping[str, Any] = {
    "scope_text": "",
    "scope_by": BEST_MATCH,
    "scope_outcomes": [],
    _DOMAINS: [],
    "scope_tags": [],
    "scope_sources": [],
    "scope_agents": [],
    "scope_since": None,
    "scope_until": None,
    "scope_pinned": False,
}
"""The keys of the boxes, and what they hold where nothing is asked for."""


def current_scope() -> Scope:
    """What the person has narrowed the memory to, as the scope bar of this run says."""
    scope: Scope = st.session_state.get(_SCOPE, Scope())
    return scope


def current_where(memory: MemorySystem) -> dict[str, Any]:
    """The filter of the current scope, as the store takes it."""
    scope = current_scope()
    return scope.where(page_map(memory) if scope.domains else None)


def narrow_to(**chosen: Any) -> None:
    """Set the scope from a button's callback; what is not named is cleared.

    Args:
        chosen: Values by the names of `Scope`'s fields: `outcomes=["failed"]`, `domains=[3]`, `text="…"`.
    """
    for key, empty in EMPTY.items():
        st.session_state[key] = chosen.get(key.removeprefix("scope_"), empty)


def draw_scope(memory: MemorySystem, page: str) -> None:
    """The scope bar, for the sidebar.

    Args:
        page: The page that it stands beside.
    """
    asked = _asked_first()
    options = _options(store_state(memory), _memory=memory)
    above = st.container()
    text = st.text_input("Search", key="scope_text", type="search", placeholder="Describe a task", bind=URL)
    by = st.segmented_control(
        "Search by", BY, default=BEST_MATCH, required=True, key="scope_by", label_visibility="collapsed", bind=URL
    )
    outcomes = st.pills("Outcome", OUTCOMES, selection_mode="multi", key="scope_outcomes", bind=URL)
    domains = _draw_domains(memory, page)
    more = _draw_more(options)
    scope = Scope(text=text or "", by=by or BEST_MATCH, outcomes=tuple(outcomes), domains=domains, **more)
    st.session_state[_SCOPE] = scope
    is_empty = not (scope.is_narrow or scope.is_search)
    st.button("Clear", key="scope_clear", icon=":material/filter_alt_off:", on_click=narrow_to, disabled=is_empty)
    with above:
        _draw_sentence(memory, scope, left_out_sentence(_left_out(asked)))


def n_experiences(memory: MemorySystem, where: Mapping[str, Any] | None = None) -> int:
    """How many experiences pass a filter; counted once for each revision of the store."""
    return _count(store_state(memory), digest(where), _memory=memory, _where=where)


def page_tags(memory: MemorySystem, kind: Kind = EXPERIENCE) -> Mapping[Any, int]:
    """How many of a kind hold each tag, most frequent first; counted once for each state of the store."""
    return _tags(store_state(memory), kind.noun, _memory=memory, _kind=kind)


def digest(*asked: object) -> str:
    """A short name for what was asked, to key caches and tables on."""
    return hashlib.sha256(repr(asked).encode("utf-8", "surrogatepass")).hexdigest()[:12]


@st.cache_data(max_entries=64, show_spinner=False)
def _count(state: StoreState, asked: str, *, _memory: MemorySystem, _where: Mapping[str, Any] | None) -> int:
    return _memory.experience.count(_where)


def _draw_sentence(memory: MemorySystem, scope: Scope, left_out: str) -> None:
    n_all = n_experiences(memory)
    n_inside = n_experiences(memory, current_where(memory)) if scope.is_narrow else n_all
    st.markdown(f"**{scope_sentence(scope, n_inside, n_all)}**")
    if left_out:
        st.warning(left_out, icon=":material/link_off:")


def _draw_more(options: ScopeOptions) -> dict[str, Any]:
    """The boxes that are asked for less often; folded away, unless one of them says something."""
    keys = ("scope_tags", "scope_sources", "scope_agents", "scope_since", "scope_until", "scope_pinned")
    is_open = any(st.session_state.get(key) or st.query_params.get(key) for key in keys)
    with st.expander("More filters", expanded=is_open, key="scope_more"):
        tags = _choice("Tag", options.tags, key="scope_tags")
        sources = _choice("Source", options.sources, key="scope_sources")
        agents = _choice("Agent", options.agents, key="scope_agents")
        first, last = st.columns(2, gap="small")
        since = first.date_input("From", None, FIRST_DAY, LAST_DAY, key="scope_since", format="YYYY-MM-DD", bind=URL)
        until = last.date_input("Until", None, FIRST_DAY, LAST_DAY, key="scope_until", format="YYYY-MM-DD", bind=URL)
        pinned = st.toggle("Pinned only", key="scope_pinned", bind=URL)
    return {
        "tags": tags,
        "sources": sources,
        "agents": agents,
        "since": since,
        "until": until,
        "is_pinned": pinned,
    }


def _choice(label: str, held: Mapping[Any, int], *, key: str) -> tuple[Any, ...]:
    """A choice of several values; none means all. Boxes for what no experience says are left out."""
    asked = [value for value in held if str(value) in st.query_params.get_all(key)] if _is_first() else []
    options = offered(held, [*st.session_state.get(key, []), *asked])
    if not options:
        return ()
    return tuple(st.multiselect(label, options, key=key, placeholder="All", bind=URL))


def _draw_domains(memory: MemorySystem, page: str) -> tuple[int, ...]:
    """The choice of domains. The address holds their numbers, so that a link outlives a domain's name.

    A bound box would write the names. What Streamlit does for those is done by hand here: an address that says
    something else than what was last written there wins, except on the way to another page, where it loses them.
    """
    memory_map = page_map(memory)
    asked, written = st.query_params.get_all(_DOMAINS), st.session_state.get(_DOMAINS_WRITTEN, [])
    is_new_page = st.session_state.get(_PAGE, page) != page
    st.session_state[_PAGE] = page
    titles = domain_titles(memory_map)
    if asked != written and not (is_new_page and not asked):
        st.session_state[_DOMAINS] = [number for number in titles if str(number) in asked]
    chosen: Sequence[int] = st.session_state.get(_DOMAINS, [])
    titles = domain_titles(memory_map, chosen)
    if not titles:
        return ()
    name: Callable[[int], str] = lambda number: titles.get(number, "")  # noqa: E731
    chosen = st.multiselect(
        "Domain", list(titles), format_func=name, key=_DOMAINS, placeholder="All", persist_state="session"
    )
    _write_domains([str(number) for number in chosen])
    return tuple(chosen)


def _write_domains(numbers: list[str]) -> None:
    st.session_state[_DOMAINS_WRITTEN] = numbers
    if numbers and st.query_params.get_all(_DOMAINS) != numbers:
        st.query_params[_DOMAINS] = numbers
    elif not numbers:
        st.query_params.pop(_DOMAINS, None)


@st.cache_data(max_entries=8, show_spinner=False)
def _tags(state: StoreState, noun: str, *, _memory: MemorySystem, _kind: Kind) -> Mapping[Any, int]:
    return known_tags(_kind.records(_memory))


@st.cache_data(max_entries=8, show_spinner=False)
def _options(state: StoreState, *, _memory: MemorySystem) -> ScopeOptions:
    return scope_options(_memory)


def _is_first() -> bool:
    """Whether no scope bar was drawn yet in this session, so that the address alone says what is asked for."""
    return _SCOPE not in st.session_state


def _asked_first() -> dict[str, list[str]]:
    """What the address asks for, on the session's first run."""
    return {key: st.query_params.get_all(key) for key in EMPTY} if _is_first() else {}


def _left_out(asked: Mapping[str, list[str]]) -> dict[str, int]:
    """How many of the values that an address asked for were not taken, by what they are."""
    nouns = {
        "scope_by": "way of searching",
        "scope_outcomes": "outcome",
        _DOMAINS: "domain",
        "scope_tags": "tag",
        "scope_sources": "source",
        "scope_agents": "agent",
        "scope_since": "date",
        "scope_until": "date",
    }
    n_left_out: dict[str, int] = {}
    for key, noun in nouns.items():
        taken = {str(value) for value in _as_list(st.session_state.get(key))}
        missing = [value for value in asked.get(key, []) if value and value not in taken]
        n_left_out[noun] = n_left_out.get(noun, 0) + len(missing)
    return n_left_out


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
