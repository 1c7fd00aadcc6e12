"""The sink of imports, which stores each item once, and all items as one operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID, uuid5

from atlas.core.exchange import ExportedConcept, ExportedExperience, ExportedStrategy
from atlas.core.json_values import dump
from atlas.core.types import JournalEntry, Trajectory, Turn
from atlas.importers.formats.protea_logs import LogNames
from atlas.importers.rows import Item
from atlas.importers.run import AddCount
from atlas.infra.actor import actor_name, actor_scope, assign_actor_scope
from atlas.infra.secrets import replace_secrets
from atlas.memory.experience.extraction import to_experience, to_metadata
from atlas.memory.kinds.kind import MemoryKind
from atlas.memory.kinds.table import kind_of_item, known_kinds
from atlas.memory.system import MemorySystem


class MemorySink:
    """A sink that stores items in the memories. Items that exist already, by content or by id, are skipped."""

    def __init__(self, memory: MemorySystem, reason: str) -> None:
        self._experience = memory.experience.as_operation("import", reason)
        self._memory, self._reason = memory, reason
        self._logs: LogNames | None = None

    @property
    def operation_id(self) -> str | None:
        """Id of the import's operation, or None until an item was added."""
        return self._experience.operation_id

    def add(self, items: list[Item], source: str) -> AddCount:
        """Store a batch."""
        known_ids = _known_attempt_ids(self._memory, items)
        new_items = [_move_into_scope(item) for item in items if _attempt_id(item) not in known_ids]
        added, n_purged = dict[str, int](), 0
        for kind, group in _group_by_kind(self._with_known_ids(new_items)):
            records = kind.records(self._memory)  # a system may lack a memory that no item needs
            scoped = records.as_operation("import", self._reason, operation_id=self.operation_id)
            added[kind.noun] = len(kind.add(scoped, group))
            n_purged += len(records.purged([kind.id_of(item) for item in group]))
        return AddCount(added=added, skipped=len(items) - sum(added.values()), purged=n_purged)

    def _with_known_ids(self, items: list[Item]) -> list[Item]:
        """Return the items. Log entries that the journal contains already keep their ids there."""
        entries = [item for item in items if isinstance(item, JournalEntry)]
        if not entries:
            return items
        if self._logs is None:
            self._logs = LogNames(self._memory.journal)
        records = [item for item in items if not isinstance(item, JournalEntry)]
        return [*records, *self._logs.with_known_names(entries)]


def _attempt_id(item: Item) -> str:
    """Return the id that an attempt has in its source, or an empty string for other records."""
    if isinstance(item, Trajectory):
        return item.id
    if isinstance(item, ExportedExperience) and item.experience.id == item.experience.trajectory_id:
        return item.experience.id  # from a log; an exported experience has an id of its own
    return ""


def _known_attempt_ids(memory: MemorySystem, items: list[Item]) -> set[str]:
    """Return the ids of attempts that are stored, or merged into stored ones, even if these were edited since.

    Pending attempts of other actors are not included.
    """
    ids = [attempt_id for attempt_id in map(_attempt_id, items) if attempt_id]
    if not ids:
        return set()
    stored = memory.experience.column("trajectory_id", {"trajectory_id": {"$in": ids}})
    merged = memory.experience.column("merged_trajectories", {"merged_trajectories": {"$in": ids}})
    marks = memory.experience.marks([*stored])
    readable_ids = {
        attempt_id for record_id, attempt_id in stored.items() if marks[record_id].held_for in ("", actor_name(""))
    }
    return readable_ids.union(*merged.values())


_SCOPE_NAMESPACE = UUID("0d0a3a5b-6c3e-4c55-9a4e-6a0d3f1b7c29")
"""Namespace of the ids of records that are imported into a scope."""


def _move_into_scope(item: Item) -> Item:
    """Return an item with an id that is unique to the actor's scope, so that each scope can import the same log.

    Attempts get a new id when they are stored.
    """
    match item:
        case ExportedExperience(experience=experience) if actor_scope():
            scoped = assign_actor_scope(replace(experience, id=_scoped_id(experience.id)))
            return replace(item, experience=scoped, content_hash="")
        case ExportedStrategy(strategy=strategy) if actor_scope():
            return replace(item, strategy=replace(strategy, id=_scoped_id(strategy.id)))
        case ExportedConcept(concept=concept) if actor_scope():
            calls = tuple(map(_scoped_id, concept.calls))
            parts = tuple(map(_scoped_id, concept.composed_of))
            return replace(item, concept=replace(concept, id=_scoped_id(concept.id), calls=calls, composed_of=parts))
        case JournalEntry() if actor_scope():
            links = tuple(replace(link, target_id=_scoped_id(link.target_id)) for link in item.links)
            return replace(item, id=_scoped_id(item.id), links=links)
        case Turn() if actor_scope():
            return replace(item, id=_scoped_id(item.id))
    return item


def _scoped_id(record_id: str) -> str:
    return uuid5(_SCOPE_NAMESPACE, dump([actor_scope(), record_id])).hex


def _group_by_kind(items: list[Item]) -> list[tuple[MemoryKind, list[Item]]]:
    """Return each kind of memory with its items, in the order of the kinds."""
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(kind_of_item(item).noun, []).append(item)
    return [(kind, groups[kind.noun]) for kind in known_kinds().values() if kind.noun in groups]


MAX_SAMPLES = 3


class CountingSink:
    """A sink for previews, which counts the new records by id and by the content of attempts."""

    def __init__(self, memory: MemorySystem | None) -> None:
        """Use a memory for comparison. Without one, every item counts as new."""
        self._memory = memory
        self._scrubs_secrets = memory is None or memory.storage.settings.scrub_secrets
        self._seen: set[str] = set()
        """Ids and content hashes of the new records."""

        self.samples: list[Item] = []
        """The first few items that would be added."""

    def add(self, items: list[Item], source: str) -> AddCount:
        """Count a batch."""
        candidates = [(item, self._content_hashes(item)) for item in self._select_new(items)]
        known = self._known_hashes([content_hash for _, hashes in candidates for content_hash in hashes])
        unknown = [(item, hashes) for item, hashes in candidates if not known & {*hashes} and not self._has_id(item)]
        new_items = [item for item, hashes in unknown if self._is_new_in_import(item, hashes)]
        self.samples += new_items[: MAX_SAMPLES - len(self.samples)]
        added = Counter(kind_of_item(item).noun for item in new_items)
        return AddCount(added=added, skipped=len(items) - len(new_items))

    def _select_new(self, items: list[Item]) -> list[Item]:
        """Return the items, moved into the actor's scope, without attempts that the memory contains."""
        if self._memory is None:
            return items
        known = _known_attempt_ids(self._memory, items)
        return [_move_into_scope(item) for item in items if _attempt_id(item) not in known]

    def _known_hashes(self, hashes: list[str]) -> Set[str]:
        """Return the given content hashes that the memory contains."""
        return self._memory.experience.collection.ids_by_hash(hashes).keys() if self._memory else set()

    def _is_new_in_import(self, item: Item, hashes: list[str]) -> bool:
        """Return whether an item is new in this import, and remember a new item."""
        keys = {kind_of_item(item).id_of(item), *hashes}
        if keys & self._seen:
            return False
        self._seen |= keys
        return True

    def _content_hashes(self, item: Item) -> list[str]:
        """Return the content hash that the memory would store for an attempt, in a list. Empty for other records."""
        if isinstance(item, ExportedExperience):
            return [item.content_hash or to_metadata(item.experience)["content_hash"]]
        if isinstance(item, Trajectory):
            clean = assign_actor_scope(replace_secrets(item) if self._scrubs_secrets else item)
            experience = to_experience(clean, experience_id=item.id, embedding_text="", now=datetime.now(UTC))
            return [to_metadata(experience)["content_hash"]]
        return []

    def _has_id(self, item: Item) -> bool:
        """Return whether a record with the item's id exists or was purged."""
        if self._memory is None or isinstance(item, Trajectory):
            return False  # an attempt gets a new id
        kind = kind_of_item(item)
        records, ids = kind.records(self._memory), [kind.id_of(item)]
        return bool(records.titles(ids) or records.purged(ids))
