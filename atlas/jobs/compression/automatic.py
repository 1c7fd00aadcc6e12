"""Program for automatic compression: it adds proven concepts as one operation, and exits."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path

from atlas.core.errors import AtlasError
from atlas.core.settings import Settings
from atlas.core.types import CodeConcept
from atlas.infra.clock import SystemClock
from atlas.infra.durable_files import replace_durably
from atlas.jobs.compression import add_concepts, choose_strategy, compress_now
from atlas.jobs.compression_file import CompressionResult
from atlas.memory.concepts.automatic import RESULT_NOTE, problem_file, search_lock
from atlas.memory.concepts.records import normal_form
from atlas.memory.open import open_memory
from atlas.memory.system import MemorySystem

ACTOR = "automatic"
"""Actor of the operation in the history."""

ADDED_NOTE = "automatic_compression:added"
"""Note with the digests of all concepts that were ever added automatically."""

NICENESS = 15
PROBE_SECONDS = 5.0
"""Timeout for the lock of the search, which status checks hold briefly."""


def compress_store(directory: Path) -> str:
    """Search a store for concepts and add the proven ones, unless another process is searching.

    Args:
        directory: The store's directory, or the local directory of a store in PostgreSQL.

    Returns:
        The result or the failure, for the store's status. Empty if another process is searching.
    """
    settings = replace(Settings.from_environment(), actor=ACTOR, embedding_model="")
    with search_lock(directory).locked(PROBE_SECONDS) as is_alone:
        if not is_alone:
            return ""
        with open_memory(directory, create=False, settings=settings, announce=lambda message: None) as memory:
            problem_file(directory).unlink(missing_ok=True)
            with _lock_all_machines(memory):
                result = _compress_or_report(memory)
            memory.storage.ledger.notes.write({RESULT_NOTE: result})
            return result


def _compress_or_report(memory: MemorySystem) -> str:
    try:
        return _compress(memory)
    except Exception as error:  # noqa: BLE001 - the output of this process is not shown, so the error is stored
        return _failure_sentence(error)


def _failure_sentence(error: Exception) -> str:
    now = SystemClock().now().isoformat(timespec="seconds")
    reason = str(error) if isinstance(error, AtlasError) else f"{type(error).__name__}: {error}"
    return f"The automatic search of {now} failed ({' '.join(reason.split())})."


def _compress(memory: MemorySystem) -> str:
    """Add the proven concepts, except those that were added before and removed since. Return a report."""
    notes = memory.storage.ledger.notes
    settings = memory.storage.settings
    strategy = choose_strategy(path=settings.program_path, seconds=settings.compress_seconds)
    result = compress_now(memory, strategy=strategy)
    earlier_digests = notes.read(ADDED_NOTE).get("", "").split()
    new_digests = select_additions(result, earlier_digests)
    operation_id = add_concepts(memory, result, list(new_digests)) if new_digests else None
    summary = f"The automatic search of {result.made_at} read {result.n_programs:,} programs"
    if operation_id is None:
        return f"{summary} and added nothing."
    notes.write({ADDED_NOTE: " ".join(dict.fromkeys([*earlier_digests, *new_digests.values()]))})
    n_added = len(new_digests)
    return (
        f"{summary} and added {n_added:,} {'concept' if n_added == 1 else 'concepts'} (operation {operation_id[:8]})."
    )


def select_additions(result: CompressionResult, earlier_digests: Collection[str]) -> dict[str, str]:
    """Return the digests of new proven concepts and of the concepts they call, keyed by id.

    A concept is left out if it was added before, or if it calls one that was added before and has been removed since.
    """
    additions: dict[str, str] = {}
    for learned in result.learned:
        if learned.is_proven and not learned.is_known:
            digests = {concept.id: _digest(concept) for concept in result.with_callees([learned.concept.id])}
            if not set(earlier_digests).intersection(digests.values()):
                additions |= digests
    return additions


def _digest(concept: CodeConcept) -> str:
    """Return a digest of a concept's normalised code."""
    return hashlib.blake2b(normal_form(concept).encode(), digest_size=16).hexdigest()


def _lock_all_machines(memory: MemorySystem) -> AbstractContextManager[object]:
    """Return a context manager in which no other machine compresses this store automatically."""
    shared = memory.storage.ledger.shared
    return nullcontext() if shared is None else shared.locked("automatic compression")


def main() -> None:
    """Search for concepts in the store given on the command line."""
    directory = Path(sys.argv[1])
    with suppress(OSError):
        os.nice(NICENESS)
    try:
        compress_store(directory)
    except Exception as error:  # noqa: BLE001 - as above
        file = problem_file(directory)
        file.parent.mkdir(exist_ok=True)
        replace_durably(file, _failure_sentence(error))
        sys.exit(str(error))


if __name__ == "__main__":
    main()
