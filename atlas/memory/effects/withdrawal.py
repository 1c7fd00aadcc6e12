"""Withdrawal of records with all derived records, such as strategies learned from an attempt.

A record that turns out to be wrong or malicious may already have been used. A plan lists the records derived from it,
directly or indirectly, and the attempts that used any of them. Applying it deletes the records as one operation, which
can be undone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from atlas.core.errors import InvalidInput, NotFound, PlanOutdated
from atlas.core.operations import Use
from atlas.core.tables import TableRow, Tabular
from atlas.core.types import Experience
from atlas.memory.base.records import parse_ids
from atlas.memory.effects.reach import NO_REACH, Reach, measure_reach
from atlas.memory.experience.extraction import merged_attempts
from atlas.memory.journal.records import promotions_of
from atlas.memory.kinds.table import known_kinds

MAX_FILTERED = 2_000
"""Maximum number of values in a filter. For more, the whole column is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawnRecord:
    """A record that a withdrawal deletes, with the relation to its source."""

    memory: str
    """Name of the memory with the record, such as `strategies`."""

    id: str
    title: str
    relation: str = ""
    """Relation to its source, such as `learned from`. Empty for a requested record."""

    source: str = ""
    """Id of the record from which this one was derived. Empty for a requested record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedUse:
    """A use of a withdrawn record by an attempt. The attempt is not deleted."""

    memory: str
    record_id: str
    use: Use


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal(Tabular):
    """A plan to delete records with all records derived from them."""

    ids: tuple[str, ...]
    """Ids of the requested records."""

    keep: tuple[str, ...]
    """Ids of records to keep."""

    records: tuple[WithdrawnRecord, ...]
    """The requested records, then the derived records, each after its source."""

    uses: tuple[RecordedUse, ...]
    """Uses of these records by attempts, oldest first. The attempts are not deleted."""

    reach: Reach = field(default=NO_REACH, compare=False)
    """Number of past searches that returned the records, and tasks whose context blocks would contain them."""

    def ids_by_memory(self) -> dict[str, tuple[str, ...]]:
        """Return the ids of the withdrawn records, keyed by memory."""
        return _group_by_memory(self.records)

    def _caption(self) -> str:
        return (
            f"{len(self.records):,} records would be withdrawn; {len(self.uses):,} uses of them are recorded, "
            f"and the contexts of {len(self.reach.tasks):,} of {self.reach.n_tasks:,} replayed tasks contain them"
        )

    def _rows(self) -> Iterator[TableRow]:
        for record in self.records:
            yield {"record": record.title, "memory": record.memory, "came from": f"{record.relation} {record.source}"}


@dataclass(frozen=True, slots=True)
class _Relation:
    """A column with the sources of derived records, and the name of the relation for display."""

    memory: str
    column: str
    words: str


_RELATIONS: Mapping[str, tuple[_Relation, ...]] = {
    "experience": (
        _Relation("experience", "merged_from", "merged from"),
        _Relation("concepts", "found_in", "found in"),
    ),
    "concepts": (_Relation("concepts", "merged_from", "merged from"),),
    "strategies": (_Relation("strategies", "merged_from", "merged from"),),
    "journal": (_Relation("journal", "summarises", "summarises"),),
}
"""Relations whose column contains ids of sources, keyed by the memory of the sources."""

_LEARNING = _Relation("strategies", "sources", "learned from")
"""The relation of a strategy to its source attempts, by trajectory id or by record id."""


_COMPOSITION = tuple(_Relation("concepts", column, "built on") for column in ("calls", "composed_of"))
"""The relations of a concept to the concepts that it calls or was composed of."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """A column of one memory that names the sources of its records, and the memory of these sources."""

    memory: str
    column: str
    source_memory: str
    is_by_attempt: bool = False
    """True if the column may contain trajectory ids instead of record ids."""


def derivations() -> Iterator[Derivation]:
    """Yield a derivation for each column that names the sources of records."""
    for source_memory, relations in _RELATIONS.items():
        for relation in relations:
            yield Derivation(relation.memory, relation.column, source_memory)
    for relation in _COMPOSITION:
        yield Derivation(relation.memory, relation.column, relation.memory)
    yield Derivation(_LEARNING.memory, _LEARNING.column, "experience", is_by_attempt=True)


def count_learned(system: Any, ids: Sequence[str]) -> dict[str, int]:
    """Return the number of strategies and concepts derived directly from experiences, keyed by the name of the memory.

    Deleting the experiences leaves them as they are.
    """
    sources = [WithdrawnRecord(memory="experience", id=record_id, title="") for record_id in ids]
    derived = {(record.memory, record.id) for record in _find_derived(system, sources) if record.memory != "experience"}
    return Counter(memory for memory, _ in derived)


def plan_withdrawal(system: Any, ids: Sequence[str], keep: Sequence[str] = ()) -> Withdrawal:
    """Return a plan to delete records with all records derived from them.

    Args:
        system: A memory system of ATLAS.
        ids: Ids of records in any memory.
        keep: Ids of derived records to keep. Records derived only from these are kept too.

    Raises:
        InvalidInput: There are no ids.
        NotFound: One of the ids does not exist.
    """
    plan = _plan(system, ids, keep)
    return replace(plan, reach=measure_reach(system, plan.ids_by_memory()))


def _plan(system: Any, ids: Sequence[str], keep: Sequence[str]) -> Withdrawal:
    """Return a withdrawal plan without the measured reach of its records."""
    requested_ids, kept_ids = (tuple(dict.fromkeys(parse_ids(id_list))) for id_list in (ids, keep))
    if not requested_ids:
        raise InvalidInput("expected the id of at least one record to withdraw, got none")
    latest_records = records = [record for record_id in requested_ids for record in _find_records(system, record_id)]
    known_keys = {(record.memory, record.id) for record_id in kept_ids for record in _find_records(system, record_id)}
    known_keys |= {(record.memory, record.id) for record in records}
    while latest_records:
        derived_by_key = {(record.memory, record.id): record for record in _find_derived(system, latest_records)}
        latest_records = [derived_by_key[key] for key in sorted(derived_by_key.keys() - known_keys)]
        known_keys |= derived_by_key.keys()
        records = [*records, *latest_records]
    return Withdrawal(
        ids=requested_ids, keep=kept_ids, records=tuple(records), uses=tuple(_recorded_uses(system, records))
    )


def apply_withdrawal(system: Any, plan: Withdrawal, *, reason: str = "") -> str:
    """Delete the records of a plan as one operation, and return the operation's id.

    Each memory is changed in a transaction of its own, the requested records last. If one fails, the same request can
    be planned and applied again.

    Raises:
        PlanOutdated: A record has been derived, used, changed or deleted since.
    """
    moments = {memory: _find_memory(system, memory).collection.moment() for memory in plan.ids_by_memory()}
    try:
        current_plan = _plan(system, plan.ids, plan.keep)
    except NotFound as error:
        raise PlanOutdated(
            f"the store has changed since the plan was made ({error}); nothing was done. Plan again"
        ) from error
    if current_plan != plan:
        raise PlanOutdated(
            "the records have been used, or others derived from them, since the plan was made; nothing was done. "
            "Plan again"
        )
    operation_id: str | None = None
    for memory, ids in reversed(plan.ids_by_memory().items()):
        memory_in_operation = _find_memory(system, memory).as_operation("delete", reason, operation_id=operation_id)
        memory_in_operation.collection.delete_unchanged(ids, moments[memory])
        operation_id = memory_in_operation.operation_id
    return str(operation_id)


def _group_by_memory(records: Iterable[WithdrawnRecord]) -> dict[str, tuple[str, ...]]:
    ids_by_memory: dict[str, list[str]] = defaultdict(list)
    for record in records:
        ids_by_memory[record.memory].append(record.id)
    return {memory: tuple(ids) for memory, ids in ids_by_memory.items()}


def _find_memory(system: Any, memory: str) -> Any:
    return known_kinds()[memory].records(system)


def _find_records(system: Any, record_id: str) -> list[WithdrawnRecord]:
    """Return the records with an id. Several memories may have a record with this id."""
    titles = {memory: _find_memory(system, memory).titles([record_id]).get(record_id) for memory in known_kinds()}
    records = [
        WithdrawnRecord(memory=name, id=record_id, title=title) for name, title in titles.items() if title is not None
    ]
    if not records:
        raise NotFound(
            f"no memory has a record {record_id!r}; if it was deleted or merged, undo that first, then withdraw it"
        )
    return records


def _find_derived(system: Any, sources: Sequence[WithdrawnRecord]) -> Iterator[WithdrawnRecord]:
    """Yield the records that were derived directly from these records."""
    by_memory = _group_by_memory(sources)
    for memory, ids in by_memory.items():
        for relation in _RELATIONS.get(memory, ()):
            yield from _find_related(system, relation, {record_id: record_id for record_id in ids})
    yield from _find_related(system, _LEARNING, _experience_ids_by_name(system, by_memory.get("experience", ())))
    yield from _find_dependent_concepts(system, by_memory.get("concepts", ()))
    yield from _find_promoted(system, by_memory.get("journal", ()))


def _find_related(system: Any, relation: _Relation, sources: Mapping[str, str]) -> Iterator[WithdrawnRecord]:
    """Yield the records that a relation links to one of the sources.

    Args:
        sources: Id of each source, keyed by the value in the column that refers to it.
    """
    if not sources:
        return
    records = _find_memory(system, relation.memory)
    where = {relation.column: {"$in": sorted(sources)}} if len(sources) <= MAX_FILTERED else None
    values = records.column(relation.column, where)
    sources_by_id = {
        record_id: next((source for source in _as_tuple(value) if source in sources), None)
        for record_id, value in values.items()
    }
    titles = records.titles([record_id for record_id, value in sources_by_id.items() if value is not None])
    for record_id, title in titles.items():
        yield WithdrawnRecord(
            memory=relation.memory,
            id=record_id,
            title=title,
            relation=relation.words,
            source=sources[sources_by_id[record_id] or ""],
        )


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _experience_ids_by_name(system: Any, ids: Sequence[str]) -> dict[str, str]:
    """Return the ids of experiences, keyed by these ids and by the ids of their attempts, including merged ones.

    Strategies name attempts as their sources. Those that an earlier version made of workflows name experiences.
    """
    experiences: list[Experience] = system.experience.get_many(ids) if ids else []
    ids_by_name: dict[str, str] = {}
    for experience in experiences:
        merged_data = merged_attempts(experience.metadata).values()
        all_names = (
            experience.id,
            experience.trajectory_id,
            *(attempt.get("trajectory_id", "") for attempt in merged_data),
        )
        ids_by_name |= {name: experience.id for name in all_names if name}
    return ids_by_name


def _find_dependent_concepts(system: Any, ids: Sequence[str]) -> Iterator[WithdrawnRecord]:
    """Yield the concepts that call one of these concepts (by id or name), or were composed of one."""
    for record_id in ids:
        for concept in system.concepts.dependents([record_id]):
            yield WithdrawnRecord(
                memory="concepts", id=concept.id, title=concept.name, relation="built on", source=record_id
            )


def _find_promoted(system: Any, ids: Sequence[str]) -> Iterator[WithdrawnRecord]:
    """Yield the records that journal entries were promoted to."""
    if not ids:
        return
    for entry in system.journal.get_many(ids):
        for name in promotions_of(entry):
            with suppress(NotFound):  # the promoted record may be deleted
                for record in _find_records(system, name.partition(":")[2]):
                    yield replace(record, relation="promoted from", source=entry.id)


def _recorded_uses(system: Any, records: Iterable[WithdrawnRecord]) -> list[RecordedUse]:
    recorded_uses = list[RecordedUse]()
    for memory, ids in _group_by_memory(records).items():
        for record_id, uses in _find_memory(system, memory).collection.uses(ids).items():
            recorded_uses += [RecordedUse(memory=memory, record_id=record_id, use=use) for use in uses]
    return sorted(recorded_uses, key=lambda use: use.use.at)
