"""Types of journal entries: their initial importance, its decay, and whether gates apply."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType

from atlas.core.errors import InvalidInput
from atlas.core.journal_codec import check_importance
from atlas.core.json_values import check_text, dump
from atlas.storage.collection import Collection

logger = logging.getLogger(__name__)

NOTE_PREFIX = "entry_type:"
"""Prefix of the store's notes for registered types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryType:
    """A type of journal entries, with the rules for its entries."""

    name: str
    importance: float
    """Base importance of an entry, in [0, 1], before its content is considered."""

    half_life_days: float | None
    """Half-life of an unused entry's value, or None if entries of the type are never forgotten."""

    is_gated: bool = True
    """True if gates refuse noise and near-duplicates of this type. Other types are never refused."""

    counts_as: str = ""
    """Type whose quota in contexts this type shares, or empty for a quota of its own."""


BUILT_IN = (
    EntryType(name="observation", importance=0.3, half_life_days=30.0),
    EntryType(name="crash_log", importance=0.75, half_life_days=60.0),
    EntryType(name="reflection", importance=0.65, half_life_days=120.0),
    EntryType(name="directive", importance=0.9, half_life_days=None, is_gated=False),
    EntryType(name="task", importance=0.6, half_life_days=120.0, is_gated=False),
    EntryType(name="summary", importance=0.6, half_life_days=365.0, is_gated=False),
    EntryType(name="reflection_finding", importance=0.65, half_life_days=120.0, counts_as="reflection"),
)
"""The types of all versions of Protea, and the type of summaries that compaction writes."""


class EntryTypes:
    """The entry types of a journal, keyed by name."""

    def __init__(self, notes: Mapping[str, str] = MappingProxyType({})) -> None:
        self._types = {entry_type.name: entry_type for entry_type in BUILT_IN}
        self.load(notes)

    def register(self, entry_type: EntryType) -> None:
        """Add a type, or replace the type with the same name.

        Raises:
            InvalidInput: The name is empty, the importance or half-life is out of range, or `counts_as` is unknown.
        """
        _check_entry_type(entry_type)
        if entry_type.counts_as and entry_type.counts_as not in self._types:
            raise InvalidInput(f"expected one of {', '.join(self._types)} for counts_as, got {entry_type.counts_as!r}")
        self._types[entry_type.name] = entry_type

    def save(self, store: Collection, entry_type: EntryType) -> None:
        """Register a type, and save it in the store for all processes."""
        self.register(entry_type)
        name, text = NOTE_PREFIX + entry_type.name, dump(asdict(entry_type))
        if store.notes().get(name) != text:
            store.write_note(name, text)

    def load(self, notes: Mapping[str, str]) -> None:
        """Add the types in the notes of a store. Unreadable types are logged and skipped.

        Args:
            notes: All notes of the store, keyed by name.
        """
        for name, text in notes.items():
            if name.startswith(NOTE_PREFIX):
                try:
                    entry_type = EntryType(**json.loads(text))
                    _check_entry_type(entry_type)
                except (InvalidInput, TypeError, ValueError) as error:
                    logger.warning("the entry type %r cannot be read, so register it again: %s", name, error)
                else:
                    self._types[entry_type.name] = entry_type

    def __getitem__(self, name: str) -> EntryType:
        """Return the type with a name, or raise `InvalidInput` if the name is unknown."""
        if name not in self._types:
            raise InvalidInput(
                f"expected one of {', '.join(self._types)} for entry_type, got {name!r}; add it with register_type"
            )
        return self._types[name]

    def of(self, name: str) -> EntryType:
        """Return the type with a name.

        For an unknown name, for example from an import, return a default type.
        """
        return self._types.get(name) or EntryType(name=name, importance=0.5, half_life_days=60.0)

    def types_sharing_quota(self, name: str) -> list[str]:
        """Return the names of a type and of all types that share its quota in contexts."""
        return [name, *(entry_type.name for entry_type in self._types.values() if entry_type.counts_as == name)]

    def __iter__(self) -> Iterator[EntryType]:
        return iter(tuple(self._types.values()))


def _check_entry_type(entry_type: EntryType) -> None:
    check_text(entry_type.name, "the type's name")
    check_importance(entry_type.importance)
    if not entry_type.name.strip():
        raise InvalidInput(f"expected a name that is not blank for the entry type, got {entry_type.name!r}")
    if entry_type.half_life_days is not None and not entry_type.half_life_days > 0:
        raise InvalidInput(f"expected None or a positive number for half_life_days, got {entry_type.half_life_days!r}")
