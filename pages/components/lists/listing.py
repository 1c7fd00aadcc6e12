"""The list of a kind of memory: read once for each state of the store, and drawn a page at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from atlas import MemorySystem
from atlas.views.lists.hits import HitCard
from atlas.views.lists.listing import Listing, Row, n_pages
from atlas.views.shared.kinds import Kind
from atlas.views.shared.state import StoreState
from atlas.views.shared.wording import plural
from pages.components.lists.cards import draw_cards, is_as_cards
from pages.components.lists.downloads import draw_downloads
from pages.components.lists.filters import URL, digest
from pages.components.lists.record_table import Columns, opened_id, origin_of, selectable_table
from pages.components.lists.selection import select
from pages.components.shared.snapshot import store_state

SEARCHING = "Searching. The first search loads the embedding model, which takes some seconds …"


class Query(Protocol):
    """A person's question to a list, and what narrows it."""

    @property
    def is_search(self) -> bool:
        """True if there is a question."""

    @property
    def is_by_words(self) -> bool:
        """True if only words count."""


Q = TypeVar("Q", bound=Query)
F = TypeVar("F")
R = TypeVar("R", bound=Row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lister(Generic[Q, F, R]):
    """The list of one kind of memory, as its feature describes it."""

    kind: Kind
    search: Callable[[MemorySystem, Q], F]
    """Everything that answers a question."""

    found: Callable[[MemorySystem, Q, F, int], Listing[R]]
    """One page of that, counted from 1."""

    listed: Callable[[MemorySystem, Q, int], Listing[R]]
    """One page of the list without a question."""

    listed_columns: Columns
    found_columns: Columns
    """The columns of a list that a question found."""

    beside_columns: Columns
    """The columns if a record is open beside the list, so that there is less room."""

    card: Callable[[MemorySystem, Q, F, str], HitCard | None] | None = None
    """The card of a record that was found, by its id: None if it was deleted meanwhile. Without it, there are no
    cards."""

    all_ids: Callable[[MemorySystem, Q, F | None], list[str]] | None = None
    """The ids on all pages, so that all can be selected."""

    finish: Callable[[MemorySystem, Sequence[R]], Sequence[R]] = lambda memory, rows: rows
    """The rows with what changes without the store's revision."""

    state: Callable[[MemorySystem], object] = lambda memory: 0
    """Another value whenever the list can have changed though the store's revision has not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[Q, F]):
    """A question to a list, and its answer as the store is now."""

    query: Q
    found: F | None
    """None for a list without a question."""

    store: StoreState
    state: object
    """Another value whenever the answer can have changed though the store's revision has not."""


def find(lister: Lister[Q, F, R], memory: MemorySystem, query: Q) -> Answer[Q, F]:
    """Return what answers the question, asked once for all of its pages."""
    store, state = store_state(memory), lister.state(memory)
    found: F | None = None
    if query.is_search:
        key = (lister.kind.noun, (store, state), digest(query))
        with st.spinner("Searching …" if query.is_by_words else SEARCHING):
            found = _searched(*key, _search=partial(lister.search, memory, query))
    return Answer(query=query, found=found, store=store, state=state)


def cards_of(lister: Lister[Q, F, R], memory: MemorySystem, answer: Answer[Q, F], ids: Iterable[str]) -> list[HitCard]:
    """Return the cards of some records that were found, without those that were deleted meanwhile."""
    if lister.card is None or answer.found is None:
        return []
    key = (lister.kind.noun, (answer.store, answer.state), digest(answer.query))
    make = partial(lister.card, memory, answer.query, answer.found)
    made = (_card(*key, one, _make=make) for one in ids)
    return [card for card in made if card is not None]


def draw_list(
    lister: Lister[Q, F, R],
    memory: MemorySystem,
    answer: Answer[Q, F],
    *,
    is_beside: bool,
    bar: DeltaGenerator | None = None,
) -> None:
    """Draw how many there are, one page of them, and below it what turns the page.

    Args:
        is_beside: Whether a record is open beside the list.
        bar: Where controls of the whole list are added; between caption and rows without it.
    """
    above, key = st.container(), f"{lister.kind.page}_page"
    listing = _read(lister, memory, answer, int(st.session_state.get(key) or 1))
    if n_pages(listing.n) > 1:
        listing = _read(lister, memory, answer, st.pagination(n_pages(listing.n), key=key, bind=URL))
    with above:
        caption = st.container()
        with bar or st.container():
            as_cards = lister.card is not None and is_as_cards(answer.found, lister.kind)
            if lister.all_ids is not None and listing.rows:
                _draw_select_all(lister, memory, answer, listing.n)
            if listing.rows:
                draw_downloads(memory, lister.kind, partial(_all_ids, lister, memory, answer, listing.n))
        caption.caption(
            listing.caption if as_cards or not listing.rows else f"{listing.caption}. Click one to open it."
        )
        if as_cards:
            cards = cards_of(lister, memory, answer, [row.id for row in listing.rows])
            draw_cards(cards, revision=answer.store.revision, kind=lister.kind)
        elif listing.rows:
            _draw_table(lister, memory, answer, listing.rows, is_beside)


def split(opened: str | None, widths: tuple[int, int] = (1, 1)) -> tuple[DeltaGenerator, DeltaGenerator | None]:
    """Return the place of a list, and that of the record that is open beside it.

    The list is in a column whether or not a record is open. Boxes that moved elsewhere would be drawn again, and a
    click on one of them could be lost.
    """
    beside, *panel = st.columns(widths if opened else 1, gap="medium")
    return beside, panel[0] if panel else None


def draw_beside(draw: Callable[[bool], None], draw_panel: Callable[[str], None]) -> None:
    """Draw a list, and beside it the record that is open.

    Args:
        draw: Draws the list, told whether something is open beside it, so that there is less room.
        draw_panel: Draws what is open, given its id.
    """
    opened = opened_id()
    beside, panel = split(opened)
    with beside:
        draw(bool(opened))
    if opened and panel is not None:
        with panel:
            draw_panel(opened)


def draw_trash_link(memory: MemorySystem, kind: Kind) -> None:
    """Draw the way to the trash below an empty list, if some were deleted."""
    if kind.records(memory).count_trash():
        many = plural(kind.noun).capitalize()
        st.page_link("pages/history.py", label=f"{many} were deleted. They can be restored from the trash.",
                     icon=":material/delete:",
                     query_params={"history_tab": "Trash", "history_kind": many})  # fmt: skip


def _read(lister: Lister[Q, F, R], memory: MemorySystem, answer: Answer[Q, F], page: int) -> Listing[R]:
    """Return one page of the list, counted from 1."""
    if answer.found is not None:
        return lister.found(memory, answer.query, answer.found, page)
    key = (lister.kind.noun, (answer.store, answer.state), digest(answer.query))
    listing: Listing[R] = _listed(*key, page, _list=partial(lister.listed, memory, answer.query))
    return listing


def _draw_table(
    lister: Lister[Q, F, R], memory: MemorySystem, answer: Answer[Q, F], listed: Sequence[R], is_beside: bool
) -> None:
    found = lister.listed_columns if answer.found is None else lister.found_columns
    rows = lister.finish(memory, listed)
    key = f"{lister.kind.page}_table_{digest(answer.query, answer.state, [row.id for row in rows], answer.store)}"
    selectable_table(rows, columns=lister.beside_columns if is_beside else found, key=key, kind=lister.kind,
                     origin=origin_of(lister.kind), revision=answer.store.revision)  # fmt: skip


def _draw_select_all(lister: Lister[Q, F, R], memory: MemorySystem, answer: Answer[Q, F], n: int) -> None:
    st.button(f"Select all {n:,}", key=f"{lister.kind.page}_all", icon=":material/select_all:", on_click=_select_all,
              args=(lister, memory, answer))  # fmt: skip


def _select_all(lister: Lister[Q, F, R], memory: MemorySystem, answer: Answer[Q, F]) -> None:
    """Select the records on all pages of the list."""
    if lister.all_ids is not None:
        ids = lister.all_ids(memory, answer.query, answer.found)
        select(ids, origin=origin_of(lister.kind), revision=answer.store.revision, kind=lister.kind)


def _all_ids(lister: Lister[Q, F, R], memory: MemorySystem, answer: Answer[Q, F], n: int) -> list[str]:
    """Return the ids on all pages of a list of `n` rows."""
    if lister.all_ids is not None:
        return lister.all_ids(memory, answer.query, answer.found)
    make = lister.listed if answer.found is None else partial(_found_page, lister, answer.found)
    pages = (make(memory, answer.query, page) for page in range(1, n_pages(n) + 1))
    return [row.id for listing in pages for row in listing.rows]


def _found_page(lister: Lister[Q, F, R], found: F, memory: MemorySystem, query: Q, page: int) -> Listing[R]:
    return lister.found(memory, query, found, page)


@st.cache_data(max_entries=64, show_spinner=False)
def _searched(kind: str, state: object, asked: str, *, _search: Callable[[], Any]) -> Any:
    return _search()


@st.cache_data(max_entries=1024, show_spinner=False)
def _card(kind: str, state: object, asked: str, record_id: str, *, _make: Callable[[str], Any]) -> Any:
    return _make(record_id)


@st.cache_data(max_entries=256, show_spinner=False)
def _listed(kind: str, state: object, asked: str, page: int, *, _list: Callable[[int], Any]) -> Any:
    return _list(page)
