"""The health of the memory, cached by the store's state and the day."""

from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st

from atlas import MemorySystem
from atlas.views.curate.health import DomainLine, Health, domain_lines, health
from atlas.views.map.sheet import map_fingerprint
from atlas.views.shared.results import MemoryMap
from atlas.views.shared.state import StoreState
from pages.components.shared.snapshot import page_map, store_state


def page_health(memory: MemorySystem) -> Health:
    """Return the figures as the store is now."""
    now, state, memory_map = datetime.now(UTC), store_state(memory), page_map(memory)
    fingerprint = map_fingerprint(memory_map) if memory_map is not None else ""
    return _health(state, f"{now:%Y-%m-%d}", fingerprint, _memory=memory, _map=memory_map, _now=now)


def page_domains(memory: MemorySystem) -> tuple[DomainLine, ...]:
    """Return the domains of the map as the store is now, the lowest success rate first. None while there is no map."""
    memory_map = page_map(memory)
    if memory_map is None:
        return ()
    return _domains(store_state(memory), map_fingerprint(memory_map), _memory=memory, _map=memory_map)


@st.cache_data(max_entries=8, show_spinner=False)
def _domains(state: StoreState, fingerprint: str, *, _memory: MemorySystem, _map: MemoryMap) -> tuple[DomainLine, ...]:
    return domain_lines(_memory, _map)


@st.cache_data(max_entries=8, show_spinner=False)
def _health(
    state: StoreState, day: str, fingerprint: str, *, _memory: MemorySystem, _map: MemoryMap | None, _now: datetime
) -> Health:
    return health(_memory, _map, _now)
