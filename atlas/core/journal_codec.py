"""Lossless conversion between journal entries and JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.json_values import Json, check_json
from atlas.core.schema import decode, encode
from atlas.core.types import JournalEntry, Link

TIERS = ("hot", "warm", "cold", "archived")
"""Tiers of retention, from prompts to the archive."""

MAX_GENERATIONS = 2**53
"""Largest generation, so that charts and filters represent it exactly."""

LINK_TYPES = ("caused_by", "fixed_by", "related", "summarises", "refers_to")


def encode_entry(entry: JournalEntry) -> Json:
    """Return an entry as JSON values, for `decode_entry`. A link is a type and an id."""
    encoded = {**encode(entry), "links": [[link.type, link.target_id] for link in entry.links]}
    check_json(encoded, "entry")
    return encoded


def decode_entry(encoded: Any) -> JournalEntry:
    """Return the entry that `encode_entry` encoded.

    Raises:
        InvalidInput: A field is missing or of the wrong type; the message names it.
    """
    if not isinstance(encoded, dict):
        raise InvalidInput(f"expected an object for entry, got type {type(encoded).__name__}")
    links = [{"type": link.type, "target_id": link.target_id} for link in map(_parse_link, encoded.get("links", ()))]
    return validate_entry(decode(JournalEntry, {**encoded, "links": links}, "entry"))


def validate_entry(entry: JournalEntry) -> JournalEntry:
    """Return the entry, or raise if it is invalid.

    Raises:
        InvalidInput: The text is blank, or the type, generation, importance, tier or a link is invalid.
    """
    check_entry_arguments(entry.entry_type, entry.content, entry.metadata, entry.links)
    _check_not_blank("id", entry.id)
    if isinstance(entry.generation, bool) or not isinstance(entry.generation, int):
        raise InvalidInput(
            f"expected a whole number for an entry's generation, got {entry.generation!r}; give the agent's own count"
        )
    if not -MAX_GENERATIONS <= entry.generation <= MAX_GENERATIONS:
        raise InvalidInput(
            f"expected a number from -{MAX_GENERATIONS:,} to {MAX_GENERATIONS:,} for an entry's generation, got "
            "a number out of range; give the agent's own count of its generations, not a time or a hash"
        )
    check_importance(entry.importance)
    if entry.tier not in TIERS:
        raise InvalidInput(f"expected one of {', '.join(TIERS)} for an entry's tier, got {entry.tier!r}")
    for link in entry.links:
        check_link_type(link.type)
        if link.target_id == entry.id:
            raise InvalidInput(f"entry {entry.id!r} is linked to itself; link it to another one")
    return entry


def check_entry_arguments(entry_type: Any, content: Any, metadata: Any, links: Any) -> None:
    """Raise `InvalidInput` unless the values have the types of an entry's fields.

    Args:
        entry_type: A text.
        links: Links, each a `Link` or a pair of type and id.
    """
    _check_not_blank("entry_type", entry_type)
    _check_not_blank("content", content)
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InvalidInput(
            f'expected an object such as {{"file": "a.py"}} for an entry\'s metadata, got {metadata!r}'[:300]
        )
    if isinstance(links, str) or not isinstance(links, Sequence):
        raise InvalidInput(f'expected links such as [("related", id)], got {links!r}'[:300])
    for link in links:
        if not isinstance(link, Link):
            _parse_link(link)


def check_names(names: Any, noun: str, example: str) -> None:
    """Raise `InvalidInput` unless `names` is a list of names, not a single string."""
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise InvalidInput(f"expected several names such as [{example!r}] for {noun}, got {names!r}"[:300])


def check_importance(importance: Any) -> None:
    """Raise `InvalidInput` for an importance that is not in [0, 1]."""
    is_number = isinstance(importance, int | float) and not isinstance(importance, bool)
    if not is_number or not math.isfinite(importance) or not 0 <= importance <= 1:
        raise InvalidInput(f"expected a number from 0 to 1 for an importance, got {importance!r}")


def check_link_type(link_type: str) -> None:
    """Raise `InvalidInput` for an unknown type of link."""
    if link_type not in LINK_TYPES:
        raise InvalidInput(f"expected one of {', '.join(LINK_TYPES)} for the type of a link, got {link_type!r}")


def _check_not_blank(name: str, text: Any) -> None:
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput(f"expected a string that is not blank for an entry's {name}, got {text!r}"[:300])


def _parse_link(value: Any) -> Link:
    if not isinstance(value, list | tuple) or len(value) != 2 or not all(isinstance(part, str) for part in value):
        raise InvalidInput(f"expected pairs of a type and an id for links, got {value!r}"[:300])
    return Link(*value)
