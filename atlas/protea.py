"""Protea's `MemoryStore` on top of a journal: a drop-in replacement for Protea agents."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from atlas.core.errors import ImportFailed
from atlas.core.journal_codec import check_names
from atlas.core.settings import Settings
from atlas.core.types import JournalEntry
from atlas.importers.formats.protea import create_table
from atlas.importers.run import import_paths
from atlas.importers.sink import MemorySink
from atlas.infra.fork_safety import InterProcessLock
from atlas.memory.journal.records import RESERVED_KEYS, as_protea
from atlas.memory.open import open_memory
from atlas.protocols.infra import Clock, Embedder

logger = logging.getLogger(__name__)

ROW = "protea_row"
"""Metadata key for an entry's number in Protea's table, which imported entries have as well."""

CLEARED_NOTE = "protea_cleared"
"""Key of a note in a store that was cleared, so that Protea's file is not imported again."""

LAST_NUMBER_NOTE = "protea_last"
"""Key of a note with the last number before the store was cleared, because an undo may restore the entries."""

OVERFETCH = 10
"""Overfetch factor of a search, because not all results contain every keyword."""


class MemoryStore:
    """The memory of an agent with Protea's methods, argument order and integer ids.

    No gate rejects entries, because a Protea agent expects to find every entry that it adds. For the other methods of a
    journal use `memory.journal`.
    """

    def __init__(
        self,
        db_path: str | os.PathLike[str],
        *,
        embedder: Embedder | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Open a memory, creating it if it does not exist.

        Args:
            db_path: The store's directory, or a SQLite file of Protea. For a file, the store is in the same directory,
                with `.atlas` after the file's name, and an empty store first imports the entries of the file. The
                file gets the table `memory` if it has none, and is not changed otherwise.
            embedder: As for `atlas.open_memory`.
            settings: As for `atlas.open_memory`.
            clock: As for `atlas.open_memory`.

        Raises:
            ImportFailed: The file is not an SQLite file, or its content cannot be read.
            StoreError: The store cannot be opened. The message names the remedy.
        """
        location = Path(db_path)
        is_file = location.is_file()
        has_entries = is_file and create_table(location)
        path = location.with_name(f"{location.name}.atlas") if is_file else location
        settings = settings or Settings.from_environment()
        self.memory = open_memory(path, embedder=embedder, settings=settings, clock=clock)
        self._journal = self.memory.journal
        self._journal.keep_noise = self._journal.keep_repetitions = True
        self._numbering = InterProcessLock(path / "protea.lock")
        if has_entries and not len(self._journal) and CLEARED_NOTE not in self._journal.collection.notes():
            self._import_database(location, settings)

    def add(
        self,
        generation: int,
        entry_type: str,
        content: str,
        metadata: Mapping[str, Any] | None = None,
        importance: float | None = None,
    ) -> int:
        """Write an entry of any type and return its id, which is the last id plus one.

        Raises:
            InvalidInput: The entry has no text, or a value cannot be stored.
        """
        if entry_type not in [kind.name for kind in self._journal.types]:
            defaults = self._journal.types.of(entry_type)
            self._journal.register_type(entry_type, defaults.importance, defaults.half_life_days)
        with self._numbering.locked():
            number = self._last_number() + 1
            fields = {**(metadata or {}), ROW: number}
            self._journal.add(entry_type, content, generation=generation, importance=importance, metadata=fields)
        return number

    def get_recent(self, limit: int = 10) -> list[dict[str, Any]]:
        """Return the latest entries of all types, newest first."""
        return [_row(entry) for entry in self._journal.recent(limit)]

    def get_by_type(self, entry_type: str, limit: int = 10) -> list[dict[str, Any]]:
        """Return the latest entries of a type, newest first."""
        return [_row(entry) for entry in self._journal.recent(limit, [entry_type])]

    def search(self, keywords: Sequence[str], limit: int = 10) -> list[dict[str, Any]]:
        """Return the entries that contain all keywords, newest first.

        Case is ignored. The last keyword may be a prefix.

        Raises:
            InvalidInput: `keywords` is a string instead of a sequence.
        """
        check_names(keywords, "keywords", "heartbeat")
        words = " ".join(keywords)
        if not words.strip() or limit <= 0:
            return []
        matches = self._journal.search_words(words, OVERFETCH * limit)
        rows = [_row(entry) for entry in matches if all(word.lower() in entry.content.lower() for word in keywords)]
        return sorted(rows, key=lambda row: (row["timestamp"], row["id"]), reverse=True)[:limit]

    def get_context_for_evolution(self, limit: int = 10) -> list[dict[str, Any]]:
        """Return the context for an agent's self-modification: entries up to a maximum per type, most urgent first."""
        return [_row(entry) for entry in self._journal.context_for_evolution(limit)]

    def count(self) -> int:
        """Return the number of entries, including forgotten ones."""
        return len(self._journal)

    def clear(self) -> None:
        """Delete all entries as one operation, which `memory.undo` reverts.

        Later ids continue after the deleted ones. Protea's own file is not changed, and is not imported again.
        """
        with self._numbering.locked():
            self._journal.collection.write_note(CLEARED_NOTE, "yes")
            self._journal.collection.write_note(LAST_NUMBER_NOTE, str(self._last_number()))
            self._journal.as_operation("delete", "cleared").delete(self._journal.ids())

    def close(self) -> None:
        """Finish pending writes, and close the store."""
        self.memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _last_number(self) -> int:
        rows = self._journal.browse(order_by=f"meta.{ROW}", limit=1)
        latest = rows[0]["metadata"].get(f"meta.{ROW}") if rows else None
        last_cleared = int(self._journal.collection.notes().get(LAST_NUMBER_NOTE, "0"))
        return max(last_cleared, latest if isinstance(latest, int) else 0)

    def _import_database(self, file: Path, settings: Settings) -> None:
        try:
            sink = MemorySink(self.memory, f"imported {file.name}")
            report = import_paths(sink, [file], format="protea", settings=settings)
            if not report.read and report.rejections:
                raise ImportFailed(f"{report.rejections[0]}; give the path of a store, or of a file of Protea's")
        except BaseException:
            self.close()
            raise
        for rejection in report.rejections:
            logger.warning("left out: %s", rejection)


def _row(entry: JournalEntry) -> dict[str, Any]:
    """Return an entry as a dict in Protea's form. An entry without a number, such as a summary, has the id 0."""
    row = as_protea(entry)
    number = row["metadata"].get(ROW)
    metadata = {key: value for key, value in row["metadata"].items() if not _is_set_by_atlas(key)}
    return {**row, "id": number if isinstance(number, int) else 0, "metadata": metadata}


def _is_set_by_atlas(key: str) -> bool:
    return key in RESERVED_KEYS or key.startswith("protea_")
