"""The list of a kind of memory: read once for each state of the store, and drawn a page at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import streamlit as st

from atlas import MemorySystem
from atlas.views.lists.hits import HitCard
from atlas.views.lists.listing import Listing, n_pages
from atlas.views.shared.kinds import Kind
from atlas.views.shared.state import StoreState
from atlas.views.shared.wording import plural
from pages.components.lists.record_table import TableRow, opened_id, origin_of, selectable_table
from pages.components.shared.scope import URL, digest

SEARCHING = "Searching. The first search loads the embedding model, which takes some seconds …"


class Asked(Protocol):
    """What a person asked a list for."""

    @property
    def is_search(self) -> bool:
        """Whether there is a question."""

    @property
    def is_by_words(self) -> bool:
        """Whether only words count."""


Q = TypeVar("Q", bound=Asked)
F = TypeVar("F")
R = TypeVar("R", bound=TableRow)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lister(Generic[Q, F, R]):
    """How the list of a kind is read."""

    kind: Kind
    search: Callable[[MemorySystem, Q], F]
    """Everything that answers a question."""

    found: Callable[[MemorySystem, Q, F, int], Listing[R]]
    """One page of that; the first is 1."""

    listed: Callable[[MemorySystem, Q, int], Listing[R]]
    """One page of the list without a question."""

    card: Callable[[MemorySystem, Q, F, str], HitCard | None] = lambda *asked: None
    """That of one of what was found, by its id; None where it was deleted meanwhile."""


def find(lister: Lister[Q, F, R], memory: MemorySystem, query: Q, state: object) -> F | None:
    """What answers the question, asked once for all of its pages; None for a list without a question.

    Args:
        state: Of the store, and of whatever else the answer depends on.
    """
    if not query.is_search:
        return None
    with st.spinner("Searching …" if query.is_by_words else SEARCHING):
        found: F = _searched(lister.kind.noun, state, digest(query), _search=partial(lister.search, memory, query))
    return found


def read(
    lister: Lister[Q, F, R], memory: MemorySystem, query: Q, found: F | None, page: int, state: object
) -> Listing[R]:
    """One page of the list; the first is 1."""
    if found is not None:
        return lister.found(memory, query, found, page)
    listing: Listing[R] = _listed(
        lister.kind.noun, state, digest(query), page, _list=partial(lister.listed, memory, query)
    )
    return listing


def cards_of(
    lister: Lister[Q, F, R], memory: MemorySystem, query: Q, found: F, ids: Iterable[str], state: object
) -> list[HitCard]:
    """The cards of some of what was found, without what was deleted meanwhile; ask only for those that are shown."""
    asked, make = digest(query), partial(lister.card, memory, query, found)
    made = (_card(lister.kind.noun, state, asked, one, _make=make) for one in ids)
    return [card for card in made if card is not None]


def draw_pages(
    lister: Lister[Q, F, R],
    memory: MemorySystem,
    query: Q,
    found: F | None,
    state: object,
    draw_rows: Callable[[Sequence[R]], None],
) -> None:
    """How many there are, one page of them, and below it what turns the page."""
    above, key = st.container(), f"{lister.kind.page}_page"
    listing = read(lister, memory, query, found, int(st.session_state.get(key) or 1), state)
    if n_pages(listing.n) > 1:
        listing = read(lister, memory, query, found, st.pagination(n_pages(listing.n), key=key, bind=URL), state)
    above.caption(f"{listing.caption}. Click one to open it." if listing.rows else listing.caption)
    if listing.rows:
        with above:
            draw_rows(listing.rows)


def draw_table(kind: Kind, rows: Sequence[TableRow], columns: Sequence[str], asked: object, store: StoreState) -> None:
    """A page of a list as a table.

    Args:
        asked: What the rows depend on beside the store.
    """
    key = f"{kind.page}_table_{digest(asked, [row.id for row in rows], store)}"
    selectable_table(rows, columns=columns, key=key, origin=origin_of(kind), revision=store.revision, kind=kind)


def draw_beside(draw_list: Callable[[bool], None], draw_panel: Callable[[str], None]) -> None:
    """A list, and beside it what is open of it.

    Args:
        draw_list: Told whether something is open beside it, so that there is less room.
        draw_panel: Given the id of what is open.
    """
    opened = opened_id()
    if opened is None:
        draw_list(False)
        return
    beside, panel = st.columns([1, 1], gap="medium")
    with beside:
        draw_list(True)
    with panel:
        draw_panel(opened)


def draw_trash_link(memory: MemorySystem, kind: Kind) -> None:
    """For a list that is empty, the way to what was deleted."""
    if kind.records(memory).count_trash():
        many = plural(kind.noun).capitalize()
        st.page_link("pages/history.py", label=f"{many} were deleted; the trash has them", icon=":material/delete:",
                     query_params={"history_tab": "Trash", "history_kind": many})  # fmt: skip


@st.cache_data(max_entries=64, show_spinner=False)
def _searched(kind: str, state: object, asked: str, *, _search: Callable[[], Any]) -> Any:
    return _search()


@st.cache_data(max_entries=1024, show_spinner=False)
def _card(kind: str, state: object, asked: str, record_id: str, *, _make: Callable[[str], Any]) -> Any:
    return _make(record_id)


@st.cache_data(max_entries=256, show_spinner=False)
def _listed(kind: str, state: object, asked: str, page: int, *, _list: Callable[[int], Any]) -> Any:
    return _list(page)
