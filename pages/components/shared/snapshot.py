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
    """The snapshot at the beginning of a run, from which everything in the run is drawn."""

    opened: OpenedMemory
    state: StoreState
    is_hurried: bool = False
    """True for a page that is drawn immediately, even if there is no map yet."""

    _maps: dict[int, MemoryMap | None] = field(default_factory=dict)
    """Maps by minimum domain size, loaded on demand."""

    @property
    def memory(self) -> MemorySystem:
        """The memory of this run."""
        return self.opened.memory

    def map(self, *, is_awaited: bool) -> MemoryMap | None:
        """Return the map with the chosen domains, optionally waiting for it."""
        size: int = st.session_state.get(MIN_SIZE, 0)
        if is_awaited or size not in self._maps:
            live = live_map(self.memory)
            is_without = self.is_hurried and not is_awaited and not live.has_map()
            self._maps[size] = None if is_without else live.latest(size, is_awaited=is_awaited)
        return self._maps[size]

    def make_map(self) -> None:
        """Start making the map if the page was drawn without one. The page is redrawn when it is ready."""
        if self.is_hurried:
            live_map(self.memory).begin(st.session_state.get(MIN_SIZE, 0))


def take_snapshot(*, is_hurried: bool = False) -> Snapshot:
    """Return a snapshot of the configured memory.

    Args:
        is_hurried: Whether the page is drawn without a map until there is one.

    Raises:
        AtlasError: It cannot be opened; the message names the remedy. The next run retries.
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
    """Return the memory.

    A page calls this first. Before the router's first run, Streamlit runs a page that is named in the URL directly. In
    that case the router is run here, which draws the page, and this run ends.
    """
    snapshot = _snapshot.get()
    if snapshot is None:
        from app import main

        main()
        st.stop()
    return snapshot.memory


def opened_memory() -> OpenedMemory:
    """Return the open memory of this run, or the current one in a fragment."""
    snapshot = _snapshot.get()
    return snapshot.opened if snapshot is not None else opened_now()


def opening_model() -> LanguageModel:
    """Return the memory's language model, or a note that there is none."""
    return opened_memory().model


def store_state(memory: MemorySystem) -> StoreState:
    """Return the state that this run draws, or the current one in a fragment."""
    snapshot = _of(memory)
    return snapshot.state if snapshot is not None else state.store_state(memory)


def page_map(memory: MemorySystem, *, is_awaited: bool = False) -> MemoryMap | None:
    """Return the map with the chosen domains, or None if there is no map yet.

    Args:
        memory: The memory of the page.
        is_awaited: Whether to wait some seconds until a large store's map is up to date. Otherwise the previous map is
            returned and updated in the background; `draw_live` then redraws the page.
    """
    snapshot = _of(memory)
    if snapshot is None:
        return live_map(memory).latest(st.session_state.get(MIN_SIZE, 0), is_awaited=is_awaited)
    return snapshot.map(is_awaited=is_awaited)


def _of(memory: MemorySystem) -> Snapshot | None:
    snapshot = _snapshot.get()
    return snapshot if snapshot is not None and snapshot.memory is memory else None
