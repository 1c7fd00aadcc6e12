"""The snapshot of a run: the memory, the store's state and the map, each read once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import streamlit as st

from atlas import MemorySystem
from atlas.views.shared import state
from atlas.views.shared.language_model import LanguageModel
from atlas.views.shared.results import MemoryMap
from atlas.views.shared.state import StoreState
from pages.components.shared.memory import OpenedMemory, opened_now
from pages.components.shared.memory_map import MIN_SIZE, live_map

_snapshot: ContextVar[Snapshot | None] = ContextVar("snapshot", default=None)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The memory as the router found it when a run began. All that the run draws is drawn from it."""

    opened: OpenedMemory
    state: StoreState
    is_hurried: bool = False
    """True for a page that is drawn at once, without a map if none was made yet."""

    _maps: dict[int, MemoryMap | None] = field(default_factory=dict)
    """By the fewest experiences of a domain. Only once a part of the page asks for one."""

    @property
    def memory(self) -> MemorySystem:
        """The memory that every part of the page is drawn from."""
        return self.opened.memory

    def map(self, *, is_awaited: bool) -> MemoryMap | None:
        """Return the map with the domains that the person has asked for. It is waited for where that is wanted."""
        size: int = st.session_state.get(MIN_SIZE, 0)
        if is_awaited or size not in self._maps:
            live = live_map(self.memory)
            is_without = self.is_hurried and not is_awaited and not live.is_made()
            self._maps[size] = None if is_without else live.shown(size, is_awaited=is_awaited)
        return self._maps[size]

    def make_map(self) -> None:
        """Begin to make the map that the page was drawn without, if it was. The page is drawn again once it is made."""
        if self.is_hurried:
            live_map(self.memory).begin(st.session_state.get(MIN_SIZE, 0))


def take_snapshot(*, is_hurried: bool = False) -> Snapshot:
    """Return the memory that the settings name, as it is now.

    Args:
        is_hurried: Whether the page does without a map until there is one.

    Raises:
        AtlasError: It cannot be opened; the message names the remedy. The next run tries again.
    """
    opened = opened_now()
    return Snapshot(opened, state.store_state(opened.memory), is_hurried)


@contextmanager
def drawn_from(snapshot: Snapshot) -> Iterator[None]:
    """Use one snapshot within the context."""
    before = _snapshot.set(snapshot)
    try:
        yield
    finally:
        _snapshot.reset(before)


def page_memory() -> MemorySystem:
    """Return the memory, for a page: it asks for it first of all.

    Until the router has run once, Streamlit runs a page that a URL names by itself. Then the router is run here, which
    draws that same page as it should be, and this run of it ends.
    """
    snapshot = _snapshot.get()
    if snapshot is None:
        from app import main

        main()
        st.stop()
    return snapshot.memory


def opened_memory() -> OpenedMemory:
    """Return the memory of this run with all that it was opened with. As it is now, where a part is drawn by itself."""
    snapshot = _snapshot.get()
    return snapshot.opened if snapshot is not None else opened_now()


def opening_model() -> LanguageModel:
    """Return the language model that the memory was opened with, or the note that there is none."""
    return opened_memory().model


def store_state(memory: MemorySystem) -> StoreState:
    """Return the state that this run draws. As it is now, where a part of the page is drawn again by itself."""
    snapshot = _of(memory)
    return snapshot.state if snapshot is not None else state.store_state(memory)


def page_map(memory: MemorySystem, *, is_awaited: bool = False) -> MemoryMap | None:
    """Return the map, with the domains that the person has chosen, or None before there is a map.

    Args:
        memory: The memory that the page shows.
        is_awaited: Whether to wait, for seconds, until a large store's map is as the store is now. Else it is as it
            was last, and follows in the background; `draw_live` draws the page again then.
    """
    snapshot = _of(memory)
    if snapshot is None:
        return live_map(memory).shown(st.session_state.get(MIN_SIZE, 0), is_awaited=is_awaited)
    return snapshot.map(is_awaited=is_awaited)


def _of(memory: MemorySystem) -> Snapshot | None:
    snapshot = _snapshot.get()
    return snapshot if snapshot is not None and snapshot.memory is memory else None
