"""Names that people or language models have given to domains.

The names are user data in a file of the store or in a server's ledger, not a cache.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from atlas.core.errors import InvalidInput
from atlas.core.imports.distribution import extra
from atlas.infra.actor import Role, check_role, check_store, refuse_under_review
from atlas.maps.map import Domain, MemoryMap
from atlas.storage.maintenance.names import NAMES, NamesFile, NamesText, names_text
from atlas.storage.store import Store

FILE = NAMES
MAX_NAME_CHARACTERS = 80
MAX_MEMBER_IDS = 400
"""Number of member ids, spread over a named domain, that identify the domain."""

MIN_OVERLAP = 0.3
"""Smallest estimated overlap (Jaccard) at which a domain keeps the name of an earlier one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedDomain:
    """The name of a domain, and the records that the domain had when it was named."""

    name: str
    members: tuple[str, ...]
    """Ids of the members, at most `MAX_MEMBER_IDS`."""

    n: int
    """Number of records of the domain."""

    by: str = ""
    """The language model that suggested the name, with its prompt's version. Empty for a name by a person."""


class DomainNames:
    """The names of one collection's domains. A domain of a new map gets the name that fits most of its records."""

    def __init__(self, directory: Path, collection: str, text: NamesText | None = None) -> None:
        """Read and write the names of a collection's domains.

        Args:
            text: Storage of the names, or None for a file in the store's directory.
        """
        self.path = directory / FILE
        self._text = text or NamesFile(directory)
        self._collection = collection

    @classmethod
    def of(cls, store: Store, collection: str) -> DomainNames:
        """Return the domain names of a store's collection, which all processes and servers of the store share."""
        return cls(store.path, collection, names_text(store))

    def state(self) -> str:
        """Return a string that changes whenever a name changes, for use as a cache key."""
        return self._text.change_token()

    def load(self) -> tuple[NamedDomain, ...]:
        """Return the names that can be decoded, in the order in which they were given."""
        try:
            entries = json.loads(self._text.read() or b"{}")
            return _parse_entries(entries[self._collection])[0]
        except (OSError, ValueError, KeyError, TypeError):
            return ()

    def apply(self, memory_map: MemoryMap) -> MemoryMap:
        """Return the map with the stored names on the matching domains."""
        named_domains = self.load()
        matches = _match_names(memory_map, named_domains)
        domains = list[Domain]()
        for domain in memory_map.domains:
            index = matches.get(domain.number)
            domains.append(domain if index is None else _with_name(domain, named_domains[index]))
        return replace(memory_map, domains=tuple(domains))

    def rename(self, memory_map: MemoryMap, number: int, name: str) -> None:
        """Rename a domain. An empty name restores the automatic name.

        Raises:
            InvalidInput: The map has no such domain, or the name is too long or not one line.
            StoreUnavailable: The file cannot be written.
        """
        name = name.strip()
        if memory_map.domain(number) is None:
            raise InvalidInput(f"the map has no domain {number}; the map may have changed, so reload it")
        if len(name) > MAX_NAME_CHARACTERS:
            raise InvalidInput(
                f"expected at most {MAX_NAME_CHARACTERS} characters for a domain's name, got {len(name)}; shorten it"
            )
        if not name.isprintable():
            raise InvalidInput(
                f"expected one line of visible characters for a domain's name, got {name!r}; remove all others"
            )
        new_entry = _make_entry(memory_map, number, name)

        def with_name(named_domains: tuple[NamedDomain, ...]) -> list[NamedDomain]:
            current = _match_names(memory_map, named_domains).get(number)
            return [named_domain for index, named_domain in enumerate(named_domains) if index != current] + (
                [new_entry] if name else []
            )

        self._change_names(with_name)

    def add_suggestions(self, memory_map: MemoryMap, names: Mapping[int, str], by: str) -> None:
        """Store the names that a language model suggested for domains. Names that people gave are not replaced.

        Args:
            memory_map: The map with the domains.
            names: The suggested name of each domain, keyed by the domain's number.
            by: Name of the model.

        Raises:
            StoreUnavailable: The file cannot be written.
        """

        def with_suggestions(named_domains: tuple[NamedDomain, ...]) -> list[NamedDomain]:
            current = _match_names(memory_map, named_domains)
            numbers = [number for number in names if number not in current or named_domains[current[number]].by]
            replaced = {current[number] for number in numbers if number in current}
            remaining = [named_domain for index, named_domain in enumerate(named_domains) if index not in replaced]
            return remaining + [_make_entry(memory_map, number, names[number], by) for number in numbers]

        self._change_names(with_suggestions)

    def restore(self, named_domains: Sequence[NamedDomain]) -> None:
        """Restore the names that `load` returned earlier.

        Raises:
            StoreUnavailable: The file cannot be written.
        """
        self._change_names(lambda _: named_domains)

    def _change_names(self, change: Callable[[tuple[NamedDomain, ...]], Sequence[NamedDomain]]) -> None:
        """Replace the named domains of this collection in the file. Entries that cannot be read are kept."""
        check_role(Role.WRITER, "rename domains")
        check_store(self.path.parent)
        refuse_under_review("rename domains")

        def rewrite(text: bytes | None) -> bytes:
            entries_by_collection = self._names_by_collection(text)
            named_domains, unreadable = _parse_entries(entries_by_collection.get(self._collection, []))
            entries_by_collection[self._collection] = [*map(asdict, change(named_domains)), *unreadable]
            return f"{json.dumps(entries_by_collection, ensure_ascii=False, indent=1)}\n".encode()

        self._text.change(rewrite)

    def _names_by_collection(self, text: bytes | None) -> dict[str, Any]:
        """Return the encoded names in a file's text, keyed by collection. Move a damaged file away, and return none."""
        if text is None:
            return {}
        try:
            by_collection = json.loads(text)
        except ValueError:
            by_collection = None
        if not isinstance(by_collection, dict) or not isinstance(by_collection.get(self._collection, []), list):
            self._text.set_aside()
            return {}
        return by_collection


def _make_entry(memory_map: MemoryMap, number: int, name: str, by: str = "") -> NamedDomain:
    members = memory_map.members(number)
    step = max(1, math.ceil(len(members) / MAX_MEMBER_IDS))
    return NamedDomain(name=name, members=members[::step], n=len(members), by=by)


def _with_name(domain: Domain, name: NamedDomain) -> Domain:
    return replace(domain, name=name.name, is_named_by_person=not name.by, suggested_by=name.by)


def _parse_entries(entries: Sequence[Any]) -> tuple[tuple[NamedDomain, ...], list[Any]]:
    """Return the decoded entries, and unchanged those that cannot be decoded, perhaps written by a later version."""
    named_domains, unreadable = [], []
    for entry in entries:
        try:
            name = NamedDomain(
                name=str(entry["name"]),
                members=tuple(map(str, entry["members"])),
                n=int(entry["n"]),
                by=str(entry.get("by", "")),
            )
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
            unreadable.append(entry)
        else:
            named_domains.append(name)
    return tuple(named_domains), unreadable


def _match_names(memory_map: MemoryMap, named_domains: Sequence[NamedDomain]) -> dict[int, int]:
    """Return the index in `named_domains` of each domain's name, keyed by the domain's number."""
    with extra("map", "the map"):
        from scipy.optimize import linear_sum_assignment

    labels = dict(zip(memory_map.ids, memory_map.labels.tolist(), strict=True)) if named_domains else {}
    overlaps = np.array(
        [[_estimate_overlap(name, domain, labels) for name in named_domains] for domain in memory_map.domains]
    )
    if not overlaps.size:
        return {}
    rows, columns = linear_sum_assignment(-overlaps)
    return {
        memory_map.domains[row].number: int(column)
        for row, column in zip(rows, columns, strict=True)
        if overlaps[row, column] >= MIN_OVERLAP
    }


def _estimate_overlap(named_domain: NamedDomain, domain: Domain, labels: dict[str, int]) -> float:
    """Return the Jaccard overlap of two domains, estimated from those members of `named_domain` that still exist."""
    existing_labels = [labels[record_id] for record_id in named_domain.members if record_id in labels]
    if not existing_labels:
        return 0.0
    n_remaining = named_domain.n * len(existing_labels) / len(named_domain.members)
    n_common = min(n_remaining * existing_labels.count(domain.number) / len(existing_labels), domain.n)
    return n_common / (n_remaining + domain.n - n_common)
