"""Identity of Protea's logs: one is still the same once Protea has summed up and taken away its first rows.

An entry's id is made of its row and of its log. In a file a log is known by its first row alone. In the journal it is
known by all its rows.
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
"""Columns that identify a row. Protea never changes what they hold, as it does importance and tier."""

ROW_DIGITS, LOG_DIGITS = 24, 8
"""Digits of an entry's id."""

SHARED = 1 / 3
"""Rows that a log shares with the first ones of a file if it is taken for the same. Two logs share hardly one."""


def row_key(raw: Mapping[str, Any]) -> str:
    """Return a stable key for a row, which does not depend on its changing importance."""
    parts = [raw.get(name) for name in TELLING]
    values = [part.hex() if isinstance(part, bytes) else part for part in parts]
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:ROW_DIGITS]


def entry_id(key: str, log: str) -> str:
    """Return the id of an entry in the journal: that of its row, and of its log."""
    return key + log[:LOG_DIGITS]


class LogNames:
    """The names under which the journal has a log's entries."""

    def __init__(self, journal: Journal) -> None:
        """Keep the journal for later."""
        self._journal = journal
        self._known_as: dict[str, str] = {}

    def recognised(self, entries: Sequence[JournalEntry]) -> list[JournalEntry]:
        """Return the entries, those of a log that the journal has under another name under that."""
        for log in dict.fromkeys(entry.metadata[LOG] for entry in entries if LOG in entry.metadata):
            if log not in self._known_as:
                self._known_as[log] = self._name_of(log, [e for e in entries if e.metadata.get(LOG) == log])
        return [_renamed(entry, self._known_as.get(entry.metadata.get(LOG, ""), "")) for entry in entries]

    def _name_of(self, log: str, entries: Sequence[JournalEntry]) -> str:
        names = self._journal.values(f"{METADATA}{LOG}")
        if log in names:
            return log
        n_shared = {other: len(self._journal.titles([_in_log(e.id, other) for e in entries])) for other in names}
        nearest = max(n_shared, key=lambda other: n_shared[other], default=log)
        return nearest if n_shared.get(nearest, 0) >= SHARED * len(entries) else log


def _renamed(entry: JournalEntry, log: str) -> JournalEntry:
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
