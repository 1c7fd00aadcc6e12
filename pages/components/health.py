"""What of the memory could be curated, worked out once for each state of the store and for each day."""

from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st

from atlas import MemorySystem
from atlas.views.health import Health, health
from pages.components.mapping import page_map


def page_health(memory: MemorySystem) -> Health:
    """The figures as the store is now."""
    now = datetime.now(UTC)
    shown = page_map(memory)
    asked = (shown.revision, shown.recipe, len(shown.domains)) if shown is not None else None
    return _health(
        str(memory.storage.path),
        memory.revision(),
        f"{now:%Y-%m-%d}",
        repr(asked),
        _memory=memory,
        _map=shown,
        _now=now,
    )


@st.cache_data(max_entries=8, show_spinner=False)
def _health(
    path: str, revision: int, day: str, drawn: str, *, _memory: MemorySystem, _map: object, _now: datetime
) -> Health:
    return health(_memory, _map, _now)  # type: ignore[arg-type]
