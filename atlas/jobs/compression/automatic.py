"""The program that looks for concepts by itself: it adds the proven ones, as one operation, and ends."""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path

from atlas.core.errors import AtlasError
from atlas.core.settings import Settings, directories
from atlas.core.types import CodeConcept
from atlas.jobs.compression import PROGRAM_PATH, add_found, compressed_now, strategy_of
from atlas.memory.concepts.automatic import RESULT, search_lock
from atlas.memory.concepts.records import normal_form
from atlas.memory.open import open_memory
from atlas.memory.system import MemorySystem

ACTOR = "automatic"
"""Name of who added the concepts, for the history."""

ADDED = "automatic_compression:added"
"""Note with the digests of the concepts that were ever added so."""

NICENESS = 15


def compress_store(directory: Path, path: str = "") -> str:
    """Look for concepts in a store and add the proven ones, unless another process is at it.

    Args:
        directory: The store, or the directory that a store in PostgreSQL has on this machine.
        path: Directories of modules that programs import, separated as in PATH.

    Returns:
        What was done, as the store's status has it. Empty where another process is at it.
    """
    chosen = Settings.from_environment()
    settings = replace(chosen, actor=ACTOR, embedding_model="", program_path=directories(PROGRAM_PATH, path))
    with search_lock(directory).held(0) as is_alone:
        if not is_alone:
            return ""
        with open_memory(directory, create=False, settings=settings, announce=lambda message: None) as memory:
            with _alone_on_all_machines(memory):
                result = _compress(memory)
            memory.storage.ledger.notes.write({RESULT: result})
            return result


def _compress(memory: MemorySystem) -> str:
    """Add the proven concepts, but none that was added so before: somebody has undone or deleted it since."""
    notes = memory.storage.ledger.notes
    found = compressed_now(memory, strategy=strategy_of(path=memory.storage.settings.program_path))
    before = notes.read(ADDED).get("", "").split()
    proven = [learned.concept for learned in found.learned if learned.is_proven and not learned.is_known]
    chosen = {concept.id: digest for concept in proven if (digest := _digest(concept)) not in before}
    operation_id = add_found(memory, found, list(chosen)) if chosen else None
    searched = f"The automatic search of {found.made_at} read {found.n_programs:,} programs"
    if operation_id is None:
        return f"{searched} and added nothing."
    notes.write({ADDED: " ".join(dict.fromkeys([*before, *chosen.values()]))})
    n_added = len(found.with_callees(list(chosen)))
    return (
        f"{searched} and added {n_added:,} {'concept' if n_added == 1 else 'concepts'} (operation {operation_id[:8]})."
    )


def _digest(concept: CodeConcept) -> str:
    """Return the same text for code that does the same in the same way."""
    return hashlib.blake2b(normal_form(concept).encode(), digest_size=16).hexdigest()


def _alone_on_all_machines(memory: MemorySystem) -> AbstractContextManager[object]:
    """Return a block in which no other machine looks for concepts of this store."""
    shared = memory.storage.ledger.shared
    return nullcontext() if shared is None else shared.locked("automatic compression")


def main() -> None:
    """Look for concepts in the store that the command line names."""
    with suppress(OSError):
        os.nice(NICENESS)
    try:
        compress_store(Path(sys.argv[1]), *sys.argv[2:3])
    except AtlasError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
