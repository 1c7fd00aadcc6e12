"""Loading the embedding model and calibrating the memories in the background."""

from __future__ import annotations

import logging
import threading

from atlas.core.errors import AtlasError
from atlas.memory.system import MemorySystem

_log = logging.getLogger("atlas.dashboard")


class WarmUp:
    """Loads the embedding model and calibrates the memories in a thread, so that the first query need not wait."""

    def __init__(self, memory: MemorySystem) -> None:
        self._memory = memory
        self._changed = threading.Condition()
        self._has_begun = False
        self._is_done = False
        self._step = ""

    @property
    def is_done(self) -> bool:
        """True once the work is done or has failed, so that queries no longer wait for it."""
        return self._is_done

    @property
    def step(self) -> str:
        """The current slow step of preparing the model, or empty."""
        return self._step

    def begin(self) -> None:
        """Start the work, unless it has started already."""
        with self._changed:
            if self._has_begun:
                return
            self._has_begun = True
        threading.Thread(target=self._warm_up, name="atlas-warming", daemon=True).start()

    def wait(self) -> bool:
        """Wait until the work is done, or until a slow step begins. Return whether the work is done."""
        self.begin()
        with self._changed:
            self._changed.wait_for(lambda: self._is_done or self._step)
            return self._is_done

    def finish(self) -> None:
        """Wait until the work is done, if it was started."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_done or not self._has_begun)

    def _warm_up(self) -> None:
        """Load the model and calibrate the memories, and mark the work as done even if it fails."""
        try:
            system = self._memory
            prepare = getattr(system.experience.embedder, "prepare", None)
            if prepare is not None:
                prepare(self._report)
            for memory in (system.experience, system.strategies, system.concepts, system.journal):
                memory.level()
        except Exception as error:  # noqa: BLE001 - the next query meets the same error, and its page reports it
            is_fault = not isinstance(error, AtlasError)
            _log.warning("the warm-up failed, so the first query will be slow: %s", error, exc_info=is_fault)
        with self._changed:
            self._is_done = True
            self._changed.notify_all()

    def _report(self, step: str) -> None:
        with self._changed:
            self._step = step
            self._changed.notify_all()
