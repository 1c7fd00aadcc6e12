"""Conversion between journal entries and rows of a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.journal_codec import LINK_TYPES, decode_entry, encode_entry, validate_entry
from atlas.core.json_values import check_text, dump
from atlas.core.types import JournalEntry, Link
from atlas.memory.base.records import Entry, filterable_metadata
from atlas.memory.journal.importance import SCORE, score_of
from atlas.memory.journal.neighbours import indexed_text, title_of
from atlas.storage.damage import decode_content

_EARLIEST = datetime.min.replace(tzinfo=UTC)

REFUSED_LINKS = "refused_links"
"""Metadata key for links that a person refused, as `type:id`."""

SUMMARISED_AT = "summarised_at"
"""Metadata key of the time at which a summary was written. In the log, it comes right after its last source."""

PROMOTED_TO = "promoted_to"
"""Metadata key for an entry's promotions, as `experience:id` or `strategy:id`."""

PLACED_AT = "placed_at"
"""Metadata key of an entry's position in the log. Only set if the clock was set back before the entry."""

RESERVED_KEYS = (REFUSED_LINKS, PROMOTED_TO, SUMMARISED_AT, PLACED_AT)
"""Reserved metadata keys, which only the journal may set or remove."""


FIELDS = frozenset(["entry_type", "generation", "importance", "tier", SCORE, *LINK_TYPES, "content"])
"""Metadata keys that `to_entry` writes, in addition to those of every memory."""


def new_entry(
    entry_type: str,
    content: str,
    generation: int,
    importance: float,
    metadata: Mapping[str, Any],
    links: Sequence[Link | tuple[str, str]],
    *,
    now: datetime,
    sort_key: str,
) -> JournalEntry:
    """Return a validated new entry.

    Args:
        sort_key: Position of the entry in the log, from `sortable_time`. Later than `now` if the clock was set back.

    Raises:
        InvalidInput: A value is invalid.
    """
    own_metadata = with_reserved_keys(metadata, {})
    if sort_key > sortable_time(now):
        own_metadata = {**own_metadata, PLACED_AT: sort_key}
    entry = validate_entry(
        JournalEntry(
            entry_type=entry_type,
            content=content,
            generation=generation,
            created_at=now,
            importance=importance,
            metadata=own_metadata,
            links=tuple(dict.fromkeys(link if isinstance(link, Link) else Link(*link) for link in links)),
        )
    )
    to_entry(entry)
    return entry


def to_entry(entry: JournalEntry, beginnings: Sequence[str] = ()) -> Entry:
    """Return a journal entry in the form for a store: id, text to index, and metadata with the whole entry.

    Args:
        beginnings: Beginnings of the entry's predecessors at the time of writing, oldest first.
    """
    validate_entry(entry)
    if entry.created_at is None:
        raise InvalidInput(f"expected a time for the created_at of entry {entry.id!r}, got None; set it")
    check_text(entry.content, "the entry's content")
    encoded = encode_entry(entry)
    score = score_of(entry.content, entry.metadata)
    metadata = {
        "title": title_of(entry.content),
        "entry_type": entry.entry_type,
        "generation": entry.generation,
        "created_at": max(sortable_time(entry.created_at), _metadata_time(entry, PLACED_AT)),
        "importance": float(entry.importance),
        "tier": entry.tier,
        **({} if score is None else {SCORE: score}),
        **targets_by_type(entry.links),
        **filterable_metadata(entry.metadata),
        "content": dump(encoded),
    }
    return Entry(entry.id, indexed_text(entry.content, beginnings), metadata)


def with_reserved_keys(metadata: Mapping[str, Any], stored_metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return a caller's metadata with the reserved keys of the stored entry added.

    Raises:
        InvalidInput: A reserved key would change.
    """
    reserved = {key: stored_metadata[key] for key in RESERVED_KEYS if key in stored_metadata}
    for key in RESERVED_KEYS:
        if key in metadata and (key not in reserved or metadata[key] != reserved[key]):
            raise InvalidInput(
                f"metadata should not contain the key {key!r}, which the journal uses for {reserved.get(key)!r}, but "
                f"has {metadata[key]!r}; choose another key"
            )
    return {**metadata, **reserved}


def from_row(row: Mapping[str, Any]) -> JournalEntry:
    """Return the entry of a row."""
    return decode_content(decode_entry, row["metadata"])


def changed_row(row: Mapping[str, Any], entry: JournalEntry) -> dict[str, Any]:
    """Return a row with a changed entry. The content must be unchanged, so that text and vectors stay."""
    return {**row, "metadata": to_entry(entry).metadata}


def as_protea(entry: JournalEntry) -> dict[str, Any]:
    """Return an entry as a row of Protea's table, but with ATLAS's id."""
    written_at = entry.created_at.astimezone(UTC) if entry.created_at else None
    return {
        "id": entry.id,
        "generation": entry.generation,
        "entry_type": entry.entry_type,
        "content": entry.content,
        "metadata": dict(entry.metadata),
        "timestamp": f"{written_at:%Y-%m-%d %H:%M:%S}" if written_at else "",
        "importance": entry.importance,
        "tier": entry.tier,
    }


def promotions_of(entry: JournalEntry) -> list[str]:
    """Return the records that an entry was promoted to, as `experience:id` or `strategy:id`, also deleted ones."""
    return _string_list(entry, PROMOTED_TO)


def refusals_of(entry: JournalEntry) -> list[str]:
    """Return the links from an entry that a person refused, as `type:id`."""
    return _string_list(entry, REFUSED_LINKS)


def targets_by_type(links: Sequence[Link]) -> dict[str, list[str]]:
    """Return the target ids of links, keyed by the type of link."""
    target_ids = {name: [link.target_id for link in links if link.type == name] for name in LINK_TYPES}
    return {name: targets for name, targets in target_ids.items() if targets}


def sortable_time(time: datetime) -> str:
    """Return a time as a sortable string."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def with_created_at(entry: JournalEntry, now: datetime) -> JournalEntry:
    """Return an entry with `created_at` set to now if it is None."""
    return entry if entry.created_at else replace(entry, created_at=now)


def age_of(entry: JournalEntry, now: datetime) -> timedelta:
    """Return the time since an entry was written."""
    return now - time_written(entry)


def time_written(entry: JournalEntry) -> datetime:
    """Return the time at which an entry was written. For a summary, this is later than its position in the log."""
    return max(log_time(entry), _summary_time(entry))


def log_time(entry: JournalEntry) -> datetime:
    """Return the position of an entry in the log, as a time. Entries without a time come first."""
    return entry.created_at or _EARLIEST


def _summary_time(entry: JournalEntry) -> datetime:
    """Return the time at which a summary was written, or the earliest time if none is recorded."""
    at = _metadata_time(entry, SUMMARISED_AT)
    return datetime.fromisoformat(at) if at else _EARLIEST


def _metadata_time(entry: JournalEntry, name: str) -> str:
    """Return a time in an entry's metadata as a sortable string, or an empty string if malformed."""
    try:
        return sortable_time(datetime.fromisoformat(entry.metadata[name]))
    except (KeyError, TypeError, ValueError, OverflowError):
        return ""


def _string_list(entry: JournalEntry, name: str) -> list[str]:
    texts = entry.metadata.get(name)
    if isinstance(texts, list | tuple):
        return [text for text in texts if isinstance(text, str)]
    return []
