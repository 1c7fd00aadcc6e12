"""The list of a kind of memory, cached by the store's state and paginated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from atlas import MemorySystem
from atlas.views.kinds.experience import ATTEMPT
from atlas.views.kinds.filters import Filter, Options
from atlas.views.kinds.kind import Kind
from atlas.views.kinds.verdicts import VERDICTS_MEAN
from atlas.views.lists.hits import HitCard
from atlas.views.lists.kind_views import KindViews
from atlas.views.lists.listing import found_page, listed_ids, listed_page, page_with
from atlas.views.lists.queries import (
    PAGE_ROWS,
    Listing,
    Narrowing,
    Place,
    Query,
    SearchResult,
    n_pages,
    query_of,
    search,
)
from atlas.views.shared.rates import LIKELY_MEANS
from atlas.views.shared.scope import BEST_MATCH, BY
from atlas.views.shared.state import StoreState, uses_seen
from atlas.views.shared.wording import counted, plural
from pages.components.lists.cards import draw_cards, is_as_cards
from pages.components.lists.downloads import draw_downloads
from pages.components.lists.filters import (
    SEARCH_WIDTH,
    URL,
    digest,
    draw_filter,
    draw_irrelevant,
    draw_order,
    further_filters,
    turn_to_first_page,
)
from pages.components.lists.record_table import opened_id, origin_of, selectable_table
from pages.components.lists.selection import current_selection, select
from pages.components.shared.scope import filter_options
from pages.components.shared.snapshot import store_state

SEARCHING = "Searching. The first search loads the embedding model, which takes some seconds …"

Finish = Callable[[MemorySystem, Sequence[Any]], Sequence[Any]]
"""Function that completes rows with data that changes without the store's revision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A query of a list with its current result."""

    query: Query
    result: SearchResult | None
    """None for a list without a query."""

    store: StoreState
    state: object
    """Cache key for changes that the store's revision does not reflect."""


def ask(memory: MemorySystem, kind: Kind) -> Query:
    """Draw the widgets above a list and return the query. A new query starts at the first page.

    A button opens the filters that are not foremost, and the order if headings of columns sort the list too.
    """
    options, page = filter_options(memory, kind), kind.page
    foremost = [each for each in kind.filters if each.is_foremost]
    rest = [each for each in kind.filters if not each.is_foremost]
    has_more = not kind.shows_uses or any(options[each.name] for each in rest)
    text = st.text_input("Search", key=f"{page}_text", type="search", placeholder=kind.question, bind=URL,
                         width=SEARCH_WIDTH, label_visibility="collapsed")  # fmt: skip
    values = {each.name: _draw_filter(kind, each, options, is_named=False) for each in foremost}
    is_search, by = bool((text or "").strip()), BEST_MATCH
    if kind.shows_uses:
        order = draw_order(kind, is_search=is_search, is_named=False)
    with further_filters(_current(kind, each) for each in rest) if has_more else nullcontext():
        if kind.can_search_words:
            by = st.segmented_control("Search by", BY, default=BEST_MATCH, required=True, key=f"{page}_by", bind=URL)
        values |= {each.name: _draw_filter(kind, each, options) for each in rest}
        if not kind.shows_uses:
            order = draw_order(kind, is_search=is_search)
    with_irrelevant = is_search and by == BEST_MATCH and draw_irrelevant(page)
    fields = {"by": by, "order": order, "with_irrelevant": with_irrelevant}
    make = partial(query_of, memory, kind, text or "", values=values, **fields)
    query = _query(kind.noun, _states(memory, kind), digest(text or "", values, fields), _make=make)
    turn_to_first_page((query.text, by, query.values, order, with_irrelevant), page)
    return query


def _draw_filter(kind: Kind, asked: Filter, options: Mapping[str, Options], *, is_named: bool = True) -> Any:
    key = f"{kind.page}_{asked.name}"
    return draw_filter(asked, options[asked.name], key=key, is_in_address=True, is_named=is_named, width=asked.width)


def _current(kind: Kind, asked: Filter) -> Any:
    """Return the value of a filter before it is drawn, which is in the URL until its widget has been there."""
    key = f"{kind.page}_{asked.name}"
    return st.session_state[key] if key in st.session_state else st.query_params.get_all(key)


def find(views: KindViews[Any], memory: MemorySystem, query: Query) -> Answer:
    """Return the hits of the query, cached for all pages."""
    kind = views.kind
    store, state = _states(memory, kind)
    result: SearchResult | None = None
    if query.is_search:
        with st.spinner("Searching …" if query.is_by_words else SEARCHING):
            make = partial(search, memory, kind, query)
            result = _searched(kind.noun, (store, state), digest(query), _search=make)
    return Answer(query=query, result=result, store=store, state=state)


def _states(memory: MemorySystem, kind: Kind) -> tuple[StoreState, object]:
    """Return the state of the store, and that of the uses that a list shows, which is not part of the first."""
    return store_state(memory), uses_seen(memory, kind) if kind.shows_uses else 0


def cards_of(views: KindViews[Any], memory: MemorySystem, answer: Answer, ids: Iterable[str]) -> list[HitCard]:
    """Return the cards of hits, without records that were deleted in the meantime."""
    if answer.result is None:
        return []
    key = (views.kind.noun, (answer.store, answer.state), digest(answer.query))
    make = partial(views.found_card, memory, answer.query, answer.result)
    cards = (_card(*key, record_id, _make=make) for record_id in ids)
    return [card for card in cards if card is not None]


def draw_list(
    views: KindViews[Any],
    memory: MemorySystem,
    answer: Answer,
    *,
    is_beside: bool,
    head: DeltaGenerator,
    bar: DeltaGenerator,
    finish: Finish = lambda memory, rows: rows,
) -> Place | None:
    """Draw the finding, a page of rows, and the pagination. Return the place of the open record in the list, if any.

    Args:
        is_beside: Whether a record is open beside the list.
        head: Where the finding is drawn, in one line above the filters.
        bar: Where controls of the whole list are added.
    """
    above, key = st.container(), f"{views.kind.page}_page"
    _turn_to_opened(views, memory, answer, key)
    page = int(st.session_state.get(key) or 1)
    listing = _read(views, memory, answer, page)
    page = min(page, n_pages(listing.n))
    if n_pages(listing.n) > 1:
        page = st.pagination(n_pages(listing.n), key=key, bind=URL)
        listing = _read(views, memory, answer, page)
    with above:
        with bar:
            as_cards = is_as_cards(answer.result, views.kind)
            if listing.rows:
                draw_downloads(memory, views.kind, partial(_all_ids, views, memory, answer))
            if views.kind.is_scoped and listing.rows and current_selection(views.kind).ids:
                _draw_select_all(views, memory, answer, listing)
        with head:
            st.caption(listing.caption, width="content", help=_caption_help(views.kind, listing.caption))
            if listing.narrowing is not None:
                _draw_narrowing(views.kind, listing.narrowing)
        if as_cards:
            cards = cards_of(views, memory, answer, [row.id for row in listing.rows])
            draw_cards(cards, revision=answer.store.revision, kind=views.kind)
        elif listing.rows:
            _draw_table(views.kind, answer, finish(memory, listing.rows), is_beside)
    return _place(views, memory, answer, listing, page)


def _caption_help(kind: Kind, caption: str) -> str | None:
    """Return the meaning of the verdicts or of the range in the caption of a list, or None without either."""
    if kind.shows_uses:
        return VERDICTS_MEAN
    return f"The rate of the attempts with a known outcome. {LIKELY_MEANS}" if "(likely " in caption else None


def _turn_to_opened(views: KindViews[Any], memory: MemorySystem, answer: Answer, key: str) -> None:
    """Turn to the page of a record when it is opened. Later the user may turn to other pages."""
    opened, last = opened_id(), f"{views.kind.page}_turned_to"
    if opened and opened != st.session_state.get(last):
        page = _page_with(views, memory, answer, opened)
        if page is not None and page != (st.session_state.get(key) or 1):
            st.session_state[key] = page
    st.session_state[last] = opened


def _place(
    views: KindViews[Any], memory: MemorySystem, answer: Answer, listing: Listing[Any], page: int
) -> Place | None:
    """Return the place of the open record, which may be on another page than the listed one."""
    opened = opened_id()
    if opened is None:
        return None
    if _row_with(listing, opened) is None:
        page = _page_with(views, memory, answer, opened) or 0
        listing = _read(views, memory, answer, page)
    at = _row_with(listing, opened)
    if at is None:
        return None
    ids, number = [row.id for row in listing.rows], PAGE_ROWS * (page - 1) + at + 1
    before = ids[at - 1 : at] or ([row.id for row in _read(views, memory, answer, page - 1).rows] if page > 1 else [])
    after = ids[at + 1 :] or (
        [row.id for row in _read(views, memory, answer, page + 1).rows] if number < listing.n else []
    )
    return Place(number=number, n=listing.n, previous=next(iter(before[-1:]), None), next=next(iter(after), None))


def _row_with(listing: Listing[Any], record_id: str) -> int | None:
    return next((at for at, row in enumerate(listing.rows) if record_id == row.id or record_id in row.ids), None)


def split(opened: str | None, widths: tuple[int, int] = (1, 1)) -> tuple[DeltaGenerator, DeltaGenerator | None]:
    """Return the containers of a list and of the open record.

    The list is always in a column: widgets that move to another container are recreated, and a click could be lost.
    """
    beside, *panel = st.columns(widths if opened else 1, gap="medium")
    return beside, panel[0] if panel else None


def draw_beside(draw: Callable[[bool], None], draw_panel: Callable[[str], None]) -> None:
    """Draw a list, and beside it the open record.

    Args:
        draw: Draws the list, given whether a record is open, which leaves less width.
        draw_panel: Draws the record with an id.
    """
    opened = opened_id()
    beside, panel = split(opened)
    with beside:
        draw(bool(opened))
    if opened and panel is not None:
        with panel:
            draw_panel(opened)


def draw_trash_link(memory: MemorySystem, kind: Kind) -> None:
    """Draw a link to the trash below an empty list, if records were deleted."""
    if kind.records(memory).count_trash():
        many = plural(kind.noun).capitalize()
        st.page_link("pages/history.py", label=f"{many} were deleted. They can be restored from the trash.",
                     icon=":material/delete:",
                     query_params={"history_tab": "Trash", "history_kind": many})  # fmt: skip


def _read(views: KindViews[Any], memory: MemorySystem, answer: Answer, page: int) -> Listing[Any]:
    """Return one page of the list, counted from 1."""
    make = partial(listed_page, memory, views, answer.query)
    if answer.result is not None:
        make = partial(found_page, memory, views, answer.query, answer.result)
    listing: Listing[Any] = _listed(*_key(views, answer), page, _list=make)
    return listing


def _page_with(views: KindViews[Any], memory: MemorySystem, answer: Answer, record_id: str) -> int | None:
    make = partial(page_with, memory, views, answer.query, answer.result, record_id)
    page: int | None = _found_page(*_key(views, answer), record_id, _find=make)
    return page


def _key(views: KindViews[Any], answer: Answer) -> tuple[str, object, str]:
    return (views.kind.noun, (answer.store, answer.state), digest(answer.query, answer.result is not None))


def _draw_table(kind: Kind, answer: Answer, rows: Sequence[Any], is_beside: bool) -> None:
    tables = kind.tables
    columns = tables.beside if is_beside else tables.listed if answer.result is None else tables.found
    order = "" if answer.query.is_search else answer.query.order or next(iter(kind.orders))
    selectable_table(rows, columns=columns, key=f"{kind.page}_table", kind=kind, origin=origin_of(kind),
                     revision=answer.store.revision, order=order)  # fmt: skip


def _draw_narrowing(kind: Kind, narrowing: Narrowing) -> None:
    """Draw a sentence on some rows as a button that lists only them."""
    draw_finding_button(narrowing.sentence, f"{kind.page}_narrowing", partial(_narrow, kind, narrowing))


def draw_finding_button(
    sentence: str, key: str, narrow: Callable[[], None], help_text: str = "Lists only these"
) -> None:
    """Draw a finding at the head of a list as a button that lists only the records it is about."""
    st.button(sentence, key=key, icon=":material/error:", on_click=narrow, help=help_text)


def _narrow(kind: Kind, narrowing: Narrowing) -> None:
    st.session_state[f"{kind.page}_{narrowing.filter}"] = narrowing.value


def _draw_select_all(views: KindViews[Any], memory: MemorySystem, answer: Answer, listing: Listing[Any]) -> None:
    noun = ATTEMPT if listing.n < listing.n_records else views.kind.noun
    st.button(f"Select all {counted(listing.n_records, noun)}", key=f"{views.kind.page}_all",
              icon=":material/select_all:", on_click=_select_all, args=(views, memory, answer))  # fmt: skip


def _select_all(views: KindViews[Any], memory: MemorySystem, answer: Answer) -> None:
    """Select the records on all pages of the list."""
    ids = _all_ids(views, memory, answer)
    select(ids, origin=origin_of(views.kind), revision=answer.store.revision, kind=views.kind)


def _all_ids(views: KindViews[Any], memory: MemorySystem, answer: Answer) -> list[str]:
    """Return the ids on all pages of a list, in its order, or in order of addition for a selection of all."""
    if answer.result is not None:
        return list(answer.result.ids)
    if views.kind.is_scoped:  # ids are fast to read, even for very many records
        return views.kind.records(memory).ids(answer.query.where)
    return listed_ids(memory, views.kind, answer.query)


@st.cache_data(max_entries=32, show_spinner=False)
def _query(noun: str, states: tuple[StoreState, object], key: str, *, _make: Callable[[], Query]) -> Query:
    """Return the query, whose filters may read the store."""
    return _make()


@st.cache_data(max_entries=64, show_spinner=False)
def _searched(kind: str, state: object, key: str, *, _search: Callable[[], Any]) -> Any:
    return _search()


@st.cache_data(max_entries=1024, show_spinner=False)
def _card(kind: str, state: object, key: str, record_id: str, *, _make: Callable[[str], Any]) -> Any:
    return _make(record_id)


@st.cache_data(max_entries=256, show_spinner=False)
def _listed(kind: str, state: object, key: str, page: int, *, _list: Callable[[int], Any]) -> Any:
    return _list(page)


@st.cache_data(max_entries=64, show_spinner=False)
def _found_page(kind: str, state: object, key: str, record_id: str, *, _find: Callable[[], Any]) -> Any:
    return _find()
