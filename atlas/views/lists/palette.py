"""The command palette: pages, actions, and records found by keywords."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from atlas.memory.system import MemorySystem
from atlas.views.shared.kinds import KINDS
from atlas.views.shared.wording import plural, shortened

MAX_RECORDS = 5
"""Most records of each kind."""

TITLE_CHARACTERS = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of the palette."""

    group: str
    """The heading of its group."""

    label: str
    """Untrusted text for a record."""

    detail: str = ""
    page: str = ""
    """The target page, by its URL name, or empty for an action on the current page."""

    parameters: Mapping[str, str] = field(default_factory=dict)
    """Further parameters of that page's address."""

    act: str = ""
    """Name of the action, or empty if it opens a page."""

    def as_json(self) -> dict[str, Any]:
        """Return it as the browser reads it."""
        return asdict(self)


def found_records(memory: MemorySystem, words: str) -> tuple[Entry, ...]:
    """Return the records of every kind with any of these words. The last word may be a prefix."""
    entries = []
    for kind in KINDS.values():
        records = kind.records(memory)
        ids = [record.id for record in records.search_words(words, MAX_RECORDS, with_buried=True)]
        titles = records.titles(ids)
        entries += [
            Entry(
                group=plural(kind.noun).capitalize(),
                label=shortened(" ".join(titles[record_id].split()), TITLE_CHARACTERS),
                page=kind.page,
                parameters={"id": record_id},
            )
            for record_id in ids
            if record_id in titles
        ]
    return tuple(entries)
