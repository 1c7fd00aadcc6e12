"""Stable identities of Protea's logs, even after Protea's compaction deletes the first rows.

An entry's id is derived from its row and its log. In a file, a log is identified by its first row. In the journal, it
is identified by all its rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from atlas.core.types import JournalEntry
from atlas.memory.base.records import METADATA
from atlas.memory.journal import Journal
from atlas.memory.promotion import LOG

IDENTIFYING_COLUMNS = ("id", "generation", "entry_type", "timestamp", "content")
"""Columns that identify a row. Unlike importance and tier, Protea never changes them."""

ROW_DIGITS, LOG_DIGITS = 24, 8
"""Number of digits of the row's key and of the log's key in an entry's id."""

MIN_SHARED_FRACTION = 1 / 3
"""Minimum share of a batch of entries that a stored log must contain to count as the same log.

Distinct logs share hardly any.
"""


def row_key(raw: Mapping[str, Any]) -> str:
    """Return a stable key for a row, independent of its mutable columns."""
    parts = [raw.get(name) for name in IDENTIFYING_COLUMNS]
    values = [part.hex() if isinstance(part, bytes) else part for part in parts]
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:ROW_DIGITS]


def entry_id(key: str, log: str) -> str:
    """Return the journal id of an entry, derived from the key of its row and the name of its log."""
    return key + log[:LOG_DIGITS]


class LogNames:
    """The names under which the journal contains logs."""

    def __init__(self, journal: Journal) -> None:
        """Use a journal, which is read when names are needed."""
        self._journal = journal
        self._names_by_log: dict[str, str] = {}

    def with_known_names(self, entries: Sequence[JournalEntry]) -> list[JournalEntry]:
        """Return the entries, with their log renamed if the journal contains the log under another name."""
        for log in dict.fromkeys(entry.metadata[LOG] for entry in entries if LOG in entry.metadata):
            if log not in self._names_by_log:
                self._names_by_log[log] = self._find_name(
                    log, [entry for entry in entries if entry.metadata.get(LOG) == log]
                )
        return [_rename(entry, self._names_by_log.get(entry.metadata.get(LOG, ""), "")) for entry in entries]

    def _find_name(self, log: str, entries: Sequence[JournalEntry]) -> str:
        names = self._journal.values(f"{METADATA}{LOG}")
        if log in names:
            return log
        n_shared = {
            name: len(self._journal.titles([_id_in_log(entry.id, name) for entry in entries])) for name in names
        }
        nearest = max(n_shared, key=lambda other: n_shared[other], default=log)
        return nearest if n_shared.get(nearest, 0) >= MIN_SHARED_FRACTION * len(entries) else log


def _rename(entry: JournalEntry, log: str) -> JournalEntry:
    if not log or entry.metadata[LOG] == log:
        return entry
    return replace(
        entry,
        id=_id_in_log(entry.id, log),
        metadata={**entry.metadata, LOG: log},
        links=tuple(replace(link, target_id=_id_in_log(link.target_id, log)) for link in entry.links),
    )


def _id_in_log(key: str, log: str) -> str:
    return entry_id(key[:ROW_DIGITS], log)
