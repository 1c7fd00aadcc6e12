"""Identity of Protea's logs, which survives that Protea's compaction summarises and deletes the first rows.

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

TELLING = ("id", "generation", "entry_type", "timestamp", "content")
"""Columns that identify a row. Unlike importance and tier, Protea never changes them."""

ROW_DIGITS, LOG_DIGITS = 24, 8
"""Digits of an entry's id."""

SHARED = 1 / 3
"""Number of the file's first rows that a stored log must contain to count as the same log.

Distinct logs share hardly any.
"""


def row_key(raw: Mapping[str, Any]) -> str:
    """Return a stable key for a row, independent of its mutable columns."""
    parts = [raw.get(name) for name in TELLING]
    values = [part.hex() if isinstance(part, bytes) else part for part in parts]
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:ROW_DIGITS]


def entry_id(key: str, log: str) -> str:
    """Return the id of an entry in the journal, made from its row and its log."""
    return key + log[:LOG_DIGITS]


class LogNames:
    """The names of logs in the journal."""

    def __init__(self, journal: Journal) -> None:
        """Keep a reference to the journal, which is read later."""
        self._journal = journal
        self._known_as: dict[str, str] = {}

    def with_known_names(self, entries: Sequence[JournalEntry]) -> list[JournalEntry]:
        """Return the entries, renamed to the log's existing name if the journal contains that log already."""
        for log in dict.fromkeys(entry.metadata[LOG] for entry in entries if LOG in entry.metadata):
            if log not in self._known_as:
                self._known_as[log] = self._name_of(log, [e for e in entries if e.metadata.get(LOG) == log])
        return [_rename(entry, self._known_as.get(entry.metadata.get(LOG, ""), "")) for entry in entries]

    def _name_of(self, log: str, entries: Sequence[JournalEntry]) -> str:
        names = self._journal.values(f"{METADATA}{LOG}")
        if log in names:
            return log
        n_shared = {name: len(self._journal.titles([_in_log(e.id, name) for e in entries])) for name in names}
        nearest = max(n_shared, key=lambda other: n_shared[other], default=log)
        return nearest if n_shared.get(nearest, 0) >= SHARED * len(entries) else log


def _rename(entry: JournalEntry, log: str) -> JournalEntry:
    if not log or entry.metadata[LOG] == log:
        return entry
    return replace(
        entry,
        id=_in_log(entry.id, log),
        metadata={**entry.metadata, LOG: log},
        links=tuple(replace(link, target_id=_in_log(link.target_id, log)) for link in entry.links),
    )


def _in_log(key: str, log: str) -> str:
    return entry_id(key[:ROW_DIGITS], log)
