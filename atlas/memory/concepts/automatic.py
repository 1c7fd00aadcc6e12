"""Automatic compression: a search for concepts that starts after enough new successes with programs.

The search runs in a process of its own, which outlives this one. Concepts are added by an operation that can be undone.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path

from atlas.core.errors import PlanOutdated, StoreError
from atlas.core.settings import as_variables
from atlas.core.types import Experience, Trajectory
from atlas.infra.actor import Role, actor_scope, has_role, is_under_review
from atlas.infra.fork_safety import InterProcessLock
from atlas.memory.base.memory import Memory
from atlas.storage.erasing import CACHE
from atlas.storage.records import IS_NOT_TRUSTED
from atlas.storage.store import Store

logger = logging.getLogger(__name__)

COUNT_NOTE = "automatic_compression:counted"
"""Key of a store note with two numbers: all successes, and successes with programs since the last search."""

RESULT_NOTE = "automatic_compression:result"
"""Key of a store note with a sentence on the result of the last search."""

MODULE = "atlas.jobs.compression.automatic"
"""Module that the search process runs."""


PASSED_OPTIONS = (
    *("index", "index_timeout_seconds", "exact_max_rows", "index_lag_rows", "busy_timeout_seconds"),
    *("device", "cache", "batch_size", "query_prompt", "document_prompt", "late_interaction"),
    *("scrub_secrets", "program_path"),
)
"""Options of the store that are passed on to the search process."""

MAX_READ = 300
"""Number of newest successes to read."""

_IS_SUCCESS = {"outcome": "succeeded"}


def search_lock(directory: Path) -> InterProcessLock:
    """Return the lock that a process holds while it searches a store for reusable functions."""
    return InterProcessLock(directory / "compression.lock")


def _may_compress() -> bool:
    """Return whether attempts that the current actor stores may start a search."""
    return has_role(Role.CURATOR) and not is_under_review() and not actor_scope()


def problem_file(directory: Path) -> Path:
    """Return the path of the file with the error, if the last search for concepts could not open the store."""
    return directory / CACHE / "compression.problem"


def search_environment(storage: Store) -> dict[str, str]:
    """Return the environment variables of a store's search process.

    The variables contain the options with which the store was opened, and the store's address with the password.
    """
    from atlas.infra.child_process import import_environment  # late: opening starts no search

    inherited = {
        name: text
        for name, text in import_environment().items()
        if not name.startswith("ATLAS_") or name == "ATLAS_LOCAL"
    }
    return {
        **inherited,
        "ATLAS_STORE": storage.address_with_password or str(storage.path),
        **as_variables(storage.settings, PASSED_OPTIONS),
        "ATLAS_LLM_FORBIDDEN": "1",
    }


def begin_search(storage: Store) -> bool:
    """Start the search process of a store, and return whether it could be started."""
    import subprocess  # imported late, because few processes start a search

    from atlas.infra.child_process import module_command

    try:
        process = subprocess.Popen(
            module_command(MODULE, str(storage.path)),
            env=search_environment(storage),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        logger.warning("the search for concepts could not be started: %s", error)
        return False
    threading.Thread(target=process.wait, name="atlas-compression", daemon=True).start()
    return True


def _has_programs(attempt: Trajectory | Experience) -> bool:
    from atlas.learning.extraction import programs_of

    return bool(programs_of([attempt]).programs)


class AutomaticCompression:
    """A counter of a store's new successes that starts a search for reusable functions when enough were stored.

    Thread-safe. All processes share the count, which is a note in the store. Without a note, counting starts now, and
    existing attempts are not counted.
    """

    def __init__(
        self,
        storage: Store,
        attempts: Callable[[], Memory[Experience]],
        every: int,
        begin: Callable[[Store], bool] = begin_search,
    ) -> None:
        """Count the successes of a store.

        Args:
            attempts: Function that returns the experience memory. It is called lazily.
            every: Number of new successes with programs after which a search starts. 0 for never.
            begin: Function that starts the search, and returns whether it could be started.
        """
        self._storage = storage
        self._attempts = attempts
        self._every = every
        self._begin = begin
        self._n_before_count = 1
        """Number of programs that this process still stores before it reads the count of the whole store."""

        self._lock = threading.Lock()

    def count_stored(self, trajectory: Trajectory) -> bool:
        """Count a newly stored attempt, start a search if one is due, and return whether a search was started."""
        if not self._every or self._storage.read_only:
            return False
        if not _may_compress():
            with self._lock:  # the next actor who may compress starts the search
                self._n_before_count = max(1, self._n_before_count - 1)
            return False
        if not _has_programs(trajectory):
            return False
        with self._lock:
            self._n_before_count = max(0, self._n_before_count - 1)
            if self._n_before_count:
                return False
            try:
                return self._start_if_due()
            except (StoreError, PlanOutdated, OSError) as error:  # the next attempt is counted again
                logger.debug("could not determine whether a search for concepts is due: %s", error)
                self._n_before_count = self._every
                return False

    def status(self) -> str:
        """Return sentences on the last search, and on the successes until the next one."""
        if not self._every:
            return "The automatic search for concepts is off (ATLAS_COMPRESS_EVERY=0)."
        if not self._storage.read_only and self._is_searching():
            return "A search for concepts is running in the background."
        n_programs = self._count_successes(self._note(COUNT_NOTE), default=0)[1]
        next_search = (
            f"{n_programs:,} of {self._every:,} new successes with programs until the next search for concepts."
        )
        return " ".join(part for part in (self._read_problem(), self._note(RESULT_NOTE), next_search) if part)

    def _start_if_due(self) -> bool:
        """Count the successes of the store, start a search if enough are new, and return whether one was started."""
        note = self._note(COUNT_NOTE)
        n_successes, n_programs = self._count_successes(note, default=1)
        is_due = n_programs >= self._every and not self._is_searching()
        self._n_before_count = self._every - n_programs if n_programs < self._every else self._every
        new_note = f"{n_successes} {0 if is_due else n_programs}"
        if new_note != note:
            self._storage.ledger.notes.write({COUNT_NOTE: new_note}, expected={COUNT_NOTE: note or None})
        return is_due and self._begin(self._storage)

    def _count_successes(self, note: str, *, default: int) -> tuple[int, int]:
        """Return the number of all successes, and the number of those with programs since the last search.

        Args:
            note: The note at `COUNT_NOTE`, or empty.
            default: The second number if there is no note.
        """
        attempts = self._attempts()
        untrusted_ids = set(attempts.ids({"$and": [_IS_SUCCESS, IS_NOT_TRUSTED]}))
        n_successes = attempts.count(_IS_SUCCESS) - len(untrusted_ids)
        if not note:
            return n_successes, default
        n_before, n_programs = map(int, note.split())
        n_new = min(max(0, n_successes - n_before), MAX_READ)
        latest_attempts = attempts.browse(_IS_SUCCESS, order_by="", limit=n_new + len(untrusted_ids)) if n_new else []
        ids = [row["id"] for row in latest_attempts if row["id"] not in untrusted_ids][:n_new]
        return n_successes, n_programs + sum(map(_has_programs, attempts.get_many(ids)))

    def _is_searching(self) -> bool:
        with search_lock(self._storage.path).locked(0) as is_free:
            return not is_free

    def _read_problem(self) -> str:
        try:
            return problem_file(self._storage.path).read_text(encoding="utf-8")
        except OSError:
            return ""

    def _note(self, name: str) -> str:
        return self._storage.ledger.notes.read(name).get("", "")
