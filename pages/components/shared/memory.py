"""The memory that every page shows, opened once for all sessions."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from atlas import AtlasError, MemorySystem, Settings, open_memory
from atlas.views.shared.language_model import LanguageModel, language_model
from atlas.views.shared.state import ledger_file

_log = logging.getLogger("atlas.dashboard")
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


def opening_model() -> LanguageModel:
    """The language model that the memory was opened with, or that there is none."""
    return _current().model


@dataclass(frozen=True, slots=True)
class _Opened:
    memory: MemorySystem
    notices: tuple[str, ...]
    model: LanguageModel
    file: tuple[int, int] | None
    """The file that was opened, by its device and its number there; another one where the store was made anew."""

    def close(self) -> None:
        """Let go of the store's files, and of the connections to the language model."""
        try:
            self.memory.close()
        except AtlasError as error:  # it was deleted, say: what waited to be written has nowhere to go
            _log.warning("the memory could not be closed properly: %s", error)
        if self.model.client is not None:
            self.model.client.close()


def _current() -> _Opened:
    settings = Settings.from_environment()
    path, read_only = settings.store.expanduser().resolve(), settings.read_only
    opened = _open(str(path), read_only, _settings=settings)
    if _file(path) not in (opened.file, None):  # the store was made anew; where it is gone, what reads it says so
        _open.clear(str(path), read_only, _settings=settings)
        opened = _open(str(path), read_only, _settings=settings)
    return opened


def _file(path: Path) -> tuple[int, int] | None:
    try:
        held = ledger_file(path).stat()
    except OSError:
        return None
    return held.st_dev, held.st_ino


@st.cache_resource(show_spinner="Opening the memory …", on_release=lambda opened: opened.close())
def _open(path: str, read_only: bool, *, _settings: Settings) -> _Opened:
    notices: list[str] = []
    model = language_model(_settings)
    memory = open_memory(path, llm=model.client, read_only=read_only, settings=_settings, announce=notices.append)
    return _Opened(memory, tuple(notices), model, _file(memory.storage.path))
