"""The memory that every page shows, opened once for all sessions."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from atlas import MemorySystem, Settings, open_memory

_notices: list[str] = []


def current_memory() -> MemorySystem:
    """The memory that ATLAS_STORE names, as the other ATLAS_* variables say.

    Raises:
        AtlasError: It cannot be opened; the message says what to do. The next run tries again.
    """
    settings = Settings.from_environment()
    return _opened(str(settings.store.expanduser().resolve()), settings.read_only, _settings=settings)


def opening_notices() -> list[str]:
    """What was announced while the memory was opened, such as the choice of a new store's embedding model."""
    return list(_notices)


def _close(memory: MemorySystem) -> None:
    memory.close()


@st.cache_resource(show_spinner="Opening the memory …", on_release=_close)
def _opened(path: str, read_only: bool, *, _settings: Settings) -> MemorySystem:
    announce: Callable[[str], None] = _notices.append
    return open_memory(path, read_only=read_only, settings=_settings, announce=announce)
