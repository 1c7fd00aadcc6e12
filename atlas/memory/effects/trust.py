"""Trust: where a record comes from, read from the history and from its sources.

A derived record has no more trust than its least trusted source, even if that has been deleted since. An unknown source
counts as stored by an agent. The record's writer may lower its trust by metadata, such as
`{"trust": "untrusted"}` for text of a web page or a tool, but never raise it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any

from atlas.access.people import People
from atlas.core.errors import InvalidInput, NotFound
from atlas.memory.base.records import parse_ids
from atlas.memory.effects.withdrawal import derivations
from atlas.memory.kinds.table import searchable_kinds
from atlas.memory.plugged import PluggedMemory
from atlas.memory.query import AnyMemory, TrustedMemories
from atlas.storage.records import Origin

TRUST_COLUMNS = ("trust", "meta.trust")
"""Metadata keys under which a writer states the trust class of a record."""


class Trust(IntEnum):
    """Trust classes of records by their origin, the least trusted first."""

    UNTRUSTED = 0
    """Output of a tool, or text from elsewhere, according to the writer."""

    IMPORTED = 1
    """Imported from a file."""

    AGENT = 2
    """Stored by an agent, a script or a key."""

    REVIEWED = 3
    """Accepted in review, or edited by a person, and not edited by anybody else since."""

    PERSON = 4
    """Stored by a person who was signed in."""

    @property
    def label(self) -> str:
        """The name in lower case, such as `imported`."""
        return self.name.lower()


def parse_trust(name: str) -> Trust:
    """Return the trust class with a name, or raise `InvalidInput`."""
    try:
        return Trust[name.upper()]
    except KeyError as error:
        known_labels = ", ".join(level.label for level in Trust)
        raise InvalidInput(f"expected one of {known_labels} for min_trust, got {name!r:.80}") from error


def trust_of_all(system: Any) -> dict[str, dict[str, Trust]]:
    """Return the trust class of each record, keyed by the name of its memory, then by id."""
    people = People(system.storage.path, {}).names() if system.storage.ledger.is_file else set[str]()
    memories = {name: kind.records(system) for name, kind in searchable_kinds().items()}
    trust = {name: _own_trust(system, records, people) for name, records in memories.items()}
    sources = list(_derived_records(memories))
    is_changed = True
    while is_changed:  # a source may be derived itself
        is_changed = False
        for memory, record_id, source_memory, source_id in sources:
            source_trust = trust[source_memory].get(source_id, Trust.AGENT)
            if source_trust < trust[memory].get(record_id, Trust.UNTRUSTED):
                trust[memory][record_id], is_changed = source_trust, True
    return {
        name: {record_id: trust[name][record_id] for record_id in records.ids()} for name, records in memories.items()
    }


def trust_labels(system: Any, ids: Sequence[str]) -> dict[str, str]:
    """Return the label of each record's trust class, keyed by id. The records may be in any memory.

    Raises:
        NotFound: One of the ids does not exist.
    """
    trust_by_id = {
        record_id: trust
        for trust_of_memory in trust_of_all(system).values()
        for record_id, trust in trust_of_memory.items()
    }
    if missing_ids := [record_id for record_id in parse_ids(ids) if record_id not in trust_by_id]:
        raise NotFound(f"no memory has a record {missing_ids[0]!r}; it may have been deleted")
    return {record_id: trust_by_id[record_id].label for record_id in ids}


def trusted_memories(system: Any, memories: Mapping[str, AnyMemory], min_trust: str) -> TrustedMemories:
    """Return the memories restricted to records of at least a trust class, with the labels of these records.

    Plugged-in memories are left out, because the origin of their records is unknown.

    Raises:
        InvalidInput: There is no trust class with this name.
    """
    min_level = parse_trust(min_trust)
    levels = trust_of_all(system)
    trusted, origins = dict[str, AnyMemory](), dict[str, str]()
    for trust_of_memory in levels.values():
        origins |= {record_id: level.label for record_id, level in trust_of_memory.items() if level >= min_level}
    for name, memory in memories.items():
        if name in levels and not isinstance(memory, PluggedMemory):
            trusted[name] = memory.exclude(
                [record_id for record_id, level in levels[name].items() if level < min_level]
            )
    return TrustedMemories(memories=trusted, origins=origins)


def _own_trust(system: Any, records: Any, people: set[str]) -> dict[str, Trust]:
    """Return the trust class of each record by its own origin alone, keyed by id. Deleted records are included."""
    origins: dict[str, Origin] = system.storage.ledger.history.origins(records.collection_name)
    stated_labels: dict[str, Any] = {}
    for column in TRUST_COLUMNS:
        stated_labels |= records.column(column)
    levels = {level.label: level for level in Trust}
    trust = {}
    for record_id in {*records.ids(), *origins}:
        by_origin = _origin_trust(origins.get(record_id), people)
        stated = levels.get(str(stated_labels.get(record_id, "")), by_origin)
        trust[record_id] = min(by_origin, stated)
    return trust


def _origin_trust(origin: Origin | None, people: set[str]) -> Trust:
    """Return the trust class of a record by its origin in the history. Records without an origin count as imported."""
    if origin is None:
        return Trust.IMPORTED
    is_changed = origin.last_editor != "" and origin.last_editor not in people  # since it was stored or accepted
    if not is_changed and (origin.is_accepted or origin.last_editor):
        return Trust.REVIEWED
    if origin.kind == "import":
        return Trust.IMPORTED
    return Trust.PERSON if origin.actor in people and not is_changed else Trust.AGENT


def _derived_records(memories: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Yield, for each source of each derived record: memory and id of the record, memory and id of the source."""
    experience_ids_by_attempt = {
        attempt_id: record_id for record_id, attempt_id in memories["experience"].column("trajectory_id").items()
    }
    for derivation in derivations():
        for record_id, value in memories[derivation.memory].column(derivation.column).items():
            for source in value if isinstance(value, tuple | list) else (value,):
                source_id = experience_ids_by_attempt.get(source, source) if derivation.is_by_attempt else source
                yield derivation.memory, record_id, derivation.source_memory, str(source_id)
