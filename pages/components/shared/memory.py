"""The memory of all pages, opened once for all sessions."""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import streamlit as st

from atlas import AtlasError, MemorySystem, Settings, open_memory
from atlas.views.shared.language_model import NO_MODEL, LanguageModel, language_model
from atlas.views.shared.results import WarmUp
from atlas.views.shared.state import EmbeddingModel, is_frozen, ledger_file, store_choices, store_settings

STORE = "store"
"""Key of the current store, in the session and in URLs."""

_log = logging.getLogger("atlas.dashboard")


@dataclass(frozen=True, slots=True)
class OpenedMemory:
    """An open memory with its state at opening."""

    memory: MemorySystem
    notices: tuple[str, ...]
    """Announcements while it was opened, such as the choice of a new store's embedding model."""

    model: LanguageModel
    warming: WarmUp
    file: tuple[int, int] | None
    """Device and inode of the opened file, which change if the store was recreated."""

    embedding: EmbeddingModel | None = None
    """The model that the store's texts were embedded with when it was opened."""

    def close(self) -> None:
        """Close the store's files, and the connections to the language model."""
        try:
            self.memory.close()
        except AtlasError as error:  # for example after deletion: pending writes are dropped
            _log.warning("the memory could not be closed properly: %s", error)
        if self.model.client is not None:
            self.model.client.close()


def keep_store() -> None:
    """Keep the store in the first URL of a session, and add it to all later URLs.

    If there is only one store, URLs do not name it.
    """
    choices = store_choices()
    if choices or STORE in st.query_params:
        store = st.session_state.setdefault(STORE, st.query_params.get(STORE) or next(iter(choices), ""))
        if (len(choices) > 1 or STORE in st.query_params) and st.query_params.get(STORE) != store:
            st.query_params[STORE] = store


def opened_now() -> OpenedMemory:
    """Return the visitor's memory, or else the memory at ATLAS_STORE, opened with the ATLAS_* variables.

    Raises:
        AtlasError: It cannot be opened; the message names the remedy. The next run retries.
    """
    settings, copies = store_settings(), _copies()
    path, read_only = settings.directory.expanduser().resolve(), settings.read_only
    _release_removed(copies, settings)
    if is_frozen(path):
        copies.add((str(path), read_only))
    # By names, as Streamlit inspects the function's signature for each argument by position.
    opened = _open(path=str(path), read_only=read_only, _settings=settings)
    if _is_another(opened, path):  # if the store is gone, reading it raises
        reopen()
        opened = _open(path=str(path), read_only=read_only, _settings=settings)
    return opened


def _release_removed(copies: set[tuple[str, bool]], settings: Settings) -> None:
    """Close frozen copies that were removed, for example by a purge."""
    for path, read_only in [copy for copy in list(copies) if _file(Path(copy[0])) is None]:
        _open.clear(path, read_only, _settings=settings)
        copies.discard((path, read_only))


@st.cache_resource(show_spinner=False)
def _copies() -> set[tuple[str, bool]]:
    """Return the open frozen copies, each with its read-only flag."""
    return set()


@asynccontextmanager
async def warming_up(server: st.App) -> AsyncIterator[None]:
    """Start the warm-up in the background, on a server."""
    threading.Thread(target=_warm_up, name="atlas-opening", daemon=True).start()
    yield


def _warm_up() -> None:
    """Open the store and warm it up. A store that does not exist yet is created by the first page."""
    import_module("pandas")  # otherwise the first table imports it, which takes half of the first page's time
    try:
        if _file(Settings.from_environment().directory.expanduser().resolve()) is not None:
            opened_now().warming.begin()
    except AtlasError as error:  # the page reports it
        _log.warning("the store could not be opened before the first page: %s", error)


def reopen() -> None:
    """Close the memory, so that the next run opens it with the current settings and language model."""
    settings = store_settings()
    _open.clear(str(settings.directory.expanduser().resolve()), settings.read_only, _settings=settings)


def reopen_all() -> None:
    """Close all memories after a change that affects all of them, so that the next run reopens them."""
    _open.clear()


def _is_another(opened: OpenedMemory, path: Path) -> bool:
    """Return whether the store was recreated or re-embedded since it was opened."""
    file = _file(path)
    return file is not None and (file != opened.file or opened.memory.storage.model != opened.embedding)


def _file(path: Path) -> tuple[int, int] | None:
    try:
        status = ledger_file(path).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


@st.cache_resource(show_spinner="Opening the memory …", on_release=lambda opened: opened.close())
def _open(path: str, read_only: bool, *, _settings: Settings) -> OpenedMemory:
    notices: list[str] = []
    model = NO_MODEL if is_frozen(Path(path)) else language_model(_settings)
    memory = open_memory(path, llm=model.client, read_only=read_only, settings=_settings, announce=notices.append)
    file, embedding = _file(memory.storage.path), memory.storage.model
    return OpenedMemory(memory, tuple(notices), model, WarmUp(memory), file, embedding)
