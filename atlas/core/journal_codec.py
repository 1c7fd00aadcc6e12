"""Entries of a journal as JSON and back, without loss."""

from __future__ import annotations

import math
from typing import Any

from atlas.core.codec import (
    Json,
    check_json,
    check_object,
    decode_instant,
    encode_instant,
    object_field,
    text_field,
)
from atlas.core.errors import InvalidInput
from atlas.core.types import JournalEntry, Link

TIERS = ("hot", "warm", "cold", "archived")
"""How far an entry is on the way to being forgotten, the first the nearest."""

LINK_TYPES = ("caused_by", "fixed_by", "related", "summarises", "refers_to")


def encode_entry(entry: JournalEntry) -> Json:
    """An entry as JSON values; `decode_entry` gives it back equal."""
    encoded: Json = {
        "id": entry.id,
        "entry_type": entry.entry_type,
        "content": entry.content,
        "generation": entry.generation,
        "created_at": encode_instant(entry.created_at),
        "importance": entry.importance,
        "metadata": dict(entry.metadata),
        "tier": entry.tier,
        "links": [[link.type, link.target_id] for link in entry.links],
    }
    check_json(encoded, "entry")
    return encoded


def decode_entry(encoded: Json) -> JournalEntry:
    """The entry that `encode_entry` encoded.

    Raises:
        InvalidInput: A field is missing or of the wrong type; the message names it.
    """
    check_object(encoded, "entry")
    return checked_entry(
        JournalEntry(
            id=text_field(encoded, "id"),
            entry_type=text_field(encoded, "entry_type"),
            content=text_field(encoded, "content"),
            generation=encoded.get("generation", 0),
            created_at=decode_instant(encoded.get("created_at"), "created_at"),
            importance=encoded.get("importance", 0.5),
            metadata=object_field(encoded, "metadata", {}),
            tier=text_field(encoded, "tier", TIERS[0]),
            links=tuple(_link(link) for link in encoded.get("links", ())),
        )
    )


def checked_entry(entry: JournalEntry) -> JournalEntry:
    """The entry, if it is one that can be kept and found.

    Raises:
        InvalidInput: It says nothing, or its type, generation, importance, tier or a link is none.
    """
    for name in ("id", "entry_type", "content"):
        text = getattr(entry, name)
        if not isinstance(text, str) or not text.strip():
            raise InvalidInput(f"an entry's {name} should say something, but is {text!r}; give it one")
    if isinstance(entry.generation, bool) or not isinstance(entry.generation, int):
        raise InvalidInput(f"an entry's generation should be a whole number, but is {entry.generation!r}")
    check_importance(entry.importance)
    if entry.tier not in TIERS:
        raise InvalidInput(f"an entry's tier should be one of {', '.join(TIERS)}, but is {entry.tier!r}")
    for link in entry.links:
        check_link_type(link.type)
        if link.target_id == entry.id:
            raise InvalidInput(f"entry {entry.id!r} is linked to itself; link it to another one")
    return entry


def check_importance(importance: Any) -> None:
    """Raise `InvalidInput` for an importance that is not in [0, 1]."""
    is_number = isinstance(importance, int | float) and not isinstance(importance, bool)
    if not is_number or not math.isfinite(importance) or not 0 <= importance <= 1:
        raise InvalidInput(f"an importance should be a number from 0 to 1, but is {importance!r}")


def check_link_type(link_type: str) -> None:
    """Raise `InvalidInput` for a type of link that there is not."""
    if link_type not in LINK_TYPES:
        raise InvalidInput(f"a link should be of type {', '.join(LINK_TYPES)}, but is of {link_type!r}")


def _link(value: Any) -> Link:
    if not isinstance(value, list | tuple) or len(value) != 2 or not all(isinstance(part, str) for part in value):
        raise InvalidInput(f"links should hold pairs of a type and an id, but one is {value!r}"[:300])
    return Link(*value)
