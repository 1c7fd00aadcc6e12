"""The memory that every page shows, opened once for all sessions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import streamlit as st

from atlas import MemorySystem, Settings, open_memory

_is_routed: ContextVar[bool] = ContextVar("is_routed", default=False)


def page_memory() -> MemorySystem:
    """The memory, for a page: it asks for it first of all.

    Until the router has run once, Streamlit runs a page that a URL names by itself. Then the router is run here, which
    draws that same page as it should be, and this run of it ends.
    """
    if not _is_routed.get():
        from app import main

        main()
        st.stop()
    return current_memory()


@contextmanager
def routed() -> Iterator[None]:
    """What the router draws a page in."""
    before = _is_routed.set(True)
    try:
        yield
    finally:
        _is_routed.reset(before)


def current_memory() -> MemorySystem:
    """The memory that ATLAS_STORE names, opened as the other ATLAS_* variables say.

    Raises:
        AtlasError: It cannot be opened; the message says what to do. The next run tries again.
    """
    return _current().memory


def opening_notices() -> tuple[str, ...]:
    """What was announced while the memory was opened, such as the choice of a new store's embedding model."""
    return _current().notices


@dataclass(frozen=True, slots=True)
class _Opened:
    memory: MemorySystem
    notices: tuple[str, ...]


def _current() -> _Opened:
    settings = Settings.from_environment()
    return _open(str(settings.store.expanduser().resolve()), settings.read_only, _settings=settings)


@st.cache_resource(show_spinner="Opening the memory …", on_release=lambda opened: opened.memory.close())
def _open(path: str, read_only: bool, *, _settings: Settings) -> _Opened:
    notices: list[str] = []
    memory = open_memory(path, read_only=read_only, settings=_settings, announce=notices.append)
    return _Opened(memory, tuple(notices))
