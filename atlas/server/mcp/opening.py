"""Opening a memory in the background, because clients time out if a server is slow to list its tools."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from atlas.core.errors import AtlasError
from atlas.core.settings import Settings
from atlas.server.served import ServedMemory

if TYPE_CHECKING:
    from atlas.jobs.warming import WarmUp
    from atlas.memory.system import MemorySystem


class MemoryOpener:
    """Opens a memory in a background thread, and loads its embedding model."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._is_opened = threading.Event()
        self._opened: MemorySystem | None = None
        self._error: AtlasError | None = None
        self._warm_up: WarmUp | None = None

    @property
    def is_model_ready(self) -> bool:
        """True if the embedding model is ready for searches."""
        return self._warm_up is not None and self._warm_up.is_done

    def begin(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._open, name="atlas-opening", daemon=True).start()

    def wait_for_served(self) -> ServedMemory:
        """Wait until the memory is open. Return it, and whether its embedding model is ready."""
        return ServedMemory(self.wait_for_memory(), self.is_model_ready)

    def wait_for_memory(self) -> MemorySystem:
        """Wait until the memory is open, and return it.

        Raises:
            AtlasError: It could not be opened. The next call retries.
        """
        self._is_opened.wait()
        if self._opened is None:
            self._is_opened.clear()
            self._open()
        if self._opened is None:
            assert self._error is not None
            raise self._error
        return self._opened

    def close(self) -> None:
        """Close the store's files."""
        if self._opened is not None:
            self._opened.close()

    def _open(self) -> None:
        from atlas.jobs.warming import WarmUp  # these imports take most of the time
        from atlas.memory.open import open_memory

        try:
            self._opened = open_memory(settings=self._settings)
            self._warm_up = WarmUp(self._opened)
            self._warm_up.begin()
        except AtlasError as error:
            self._error = error
        finally:
            self._is_opened.set()


def recall_for_hook(opening: MemoryOpener, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the context block for a request with the fields of the HTTP API: `task`, `budget_tokens` and `where`."""
    from atlas.memory.context.block import query_task

    memory = opening.wait_for_memory()
    block = memory.build_context(
        query_task(str(request["task"]["description"])),
        int(request["budget_tokens"]),
        where=request["where"],
        by_words=not opening.is_model_ready,
    )
    return {"text": block.text}
