"""Cases that need a decision, from all memories, worst first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from atlas.memory.effects.quarantine import QuarantinedRecord
from atlas.memory.effects.scan import Finding
from atlas.memory.kinds.table import searchable_kinds
from atlas.memory.system import MemorySystem
from atlas.storage.marks.decisions import decision_name
from atlas.views.concepts.kind import CONCEPTS
from atlas.views.curate.health import BURIED, DUPLICATES, FAILING, NEVER, STALE, UNKNOWN, DomainLine, Health
from atlas.views.curate.queues import (
    INBOX,
    QUARANTINE,
    REPEATED,
    REVIEW,
    SUSPICIOUS,
    DuplicatesResult,
    groups_within,
    queue_ids,
)
from atlas.views.curate.review import WaitingRow, review_queue
from atlas.views.experience.kind import EXPERIENCES
from atlas.views.journal.kind import ENTRIES
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.kind import Kind
from atlas.views.kinds.strategy import STRATEGY
from atlas.views.kinds.uses import worse_than
from atlas.views.lists.kind_views import KindViews
from atlas.views.shared.kinds import KINDS
from atlas.views.strategies.kind import STRATEGIES

VIEWS: Mapping[str, KindViews[Any]] = {views.kind.noun: views for views in (EXPERIENCES, CONCEPTS, STRATEGIES, ENTRIES)}
"""The views of each kind, by its noun."""

ORDER = (REVIEW, SUSPICIOUS, FAILING, DUPLICATES, REPEATED, UNKNOWN, STALE, NEVER)
"""The queues in the order of the inbox. Buried records, and those in quarantine, are left out, because they have been
decided."""

ALIKE = 20
"""Maximum number of similar cases that a person may decide together with one case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A record to decide on, or records that are judged together."""

    queue: str
    noun: str
    """The word for one record of its kind."""

    collection: str
    ids: tuple[str, ...]
    """The record, or the records that are judged together. Empty for a domain, which is judged as a whole."""

    domain: DomainLine | None = None
    waiting: WaitingRow | None = None
    finding: Finding | None = None
    """The signs of an attack, of a suspicious record, or of a pending one that has any."""

    quarantine: QuarantinedRecord | None = None

    @property
    def name(self) -> str:
        """The name under which a decision on the case is stored. It is the same in each queue."""
        subject = (f"domain {self.domain.number}",) if self.domain is not None else self.ids
        if self.finding is not None:  # to keep an old record is no decision on its text
            subject = (*subject, *(reason.rule for reason in self.finding.reasons))
        return decision_name(self.collection, subject)

    @property
    def is_group(self) -> bool:
        """True for records that are judged together."""
        return len(self.ids) > 1


@dataclass(frozen=True, slots=True)
class Cases:
    """The undecided cases, worst first."""

    by_queue: Mapping[str, tuple[Case, ...]]
    """The cases of each queue, by its name. A record may be in several."""

    inbox: tuple[Case, ...]
    """The cases of all queues, in which no record comes twice."""

    def in_queue(self, queue: str) -> tuple[Case, ...]:
        """Return the cases of the inbox or of one queue."""
        return self.inbox if queue == INBOX else self.by_queue.get(queue, ())

    def counts(self) -> dict[str, int]:
        """Return the number of cases of the inbox and of each queue."""
        return {queue: len(self.in_queue(queue)) for queue in (INBOX, *self.by_queue)}

    def groups(self, queue: str) -> tuple[tuple[str, ...], ...]:
        """Return the groups of near-duplicate or of repeated attempts."""
        return tuple(case.ids for case in self.by_queue[queue] if case.noun == EXPERIENCE.noun)


def find_cases(
    memory: MemorySystem,
    health: Health,
    duplicates: DuplicatesResult,
    *,
    inside: AbstractSet[str] | None = None,
    kept_names: AbstractSet[str] = frozenset(),
    findings: Sequence[Finding] = (),
) -> Cases:
    """Return the undecided cases.

    Args:
        findings: Suspicious records, worst first. Those that are in quarantine or deleted are left out.
        inside: The ids of experiences in scope; None for all.
        kept_names: Names of cases that were decided. Pending and buried records, and those in quarantine, are listed
            regardless.
    """
    ids_by_queue, quarantined = queue_ids(memory, health, inside), memory.quarantined()
    quarantined_ids = {record.id for record in quarantined}
    by_queue: dict[str, Iterable[Case]] = {
        REVIEW: _pending_cases(memory, findings),
        SUSPICIOUS: _suspicious_cases(memory, findings),
        QUARANTINE: _quarantined_cases(memory, quarantined),
        FAILING: [*failing_strategies(memory), *_failing_domains(memory, health)],
        DUPLICATES: _near_duplicates(memory, duplicates, inside),
        REPEATED: _repeated_attempts(memory, duplicates, inside, frozenset(ids_by_queue[BURIED])),
        UNKNOWN: _single_cases(memory, UNKNOWN, _most_retrieved_first(memory, ids_by_queue[UNKNOWN])),
        STALE: _single_cases(memory, STALE, ids_by_queue[STALE]),
        NEVER: _single_cases(memory, NEVER, ids_by_queue[NEVER]),
        BURIED: _single_cases(memory, BURIED, ids_by_queue[BURIED]),
    }

    def is_undecided(queue: str, case: Case) -> bool:
        if queue == QUARANTINE:
            return True
        if not quarantined_ids.isdisjoint(case.ids):
            return False
        return queue in (REVIEW, BURIED) or not kept_names or case.name not in kept_names

    undecided = {queue: tuple(case for case in cases if is_undecided(queue, case)) for queue, cases in by_queue.items()}
    inbox = _without_repetition(case for queue in ORDER for case in undecided[queue])
    return Cases(by_queue=undecided, inbox=tuple(inbox))


def similar_cases(case: Case, cases: Sequence[Case]) -> tuple[Case, ...]:
    """Return up to `ALIKE` other cases in the same queue that are about the same kind of records."""
    return tuple(
        candidate
        for candidate in cases
        if candidate is not case
        and (candidate.queue, candidate.noun, candidate.is_group, candidate.domain is None)
        == (case.queue, case.noun, case.is_group, case.domain is None)
    )[:ALIKE]


def _without_repetition(cases: Iterable[Case]) -> Iterator[Case]:
    """Yield the cases that contain no record of an earlier case."""
    seen_records: set[tuple[str, str]] = set()
    for case in cases:
        records = {(case.collection, record_id) for record_id in case.ids}
        if not records & seen_records:
            seen_records |= records
            yield case


def _single_cases(memory: MemorySystem, queue: str, ids: Iterable[str]) -> Iterator[Case]:
    collection = memory.experience.collection_name
    return (Case(queue=queue, noun=EXPERIENCE.noun, collection=collection, ids=(record_id,)) for record_id in ids)


def _pending_cases(memory: MemorySystem, findings: Sequence[Finding]) -> Iterator[Case]:
    """Yield the pending records with their signs of an attack, oldest first."""
    found = {finding.id: finding for finding in findings}
    collections = {kind.noun: kind.records(memory).collection_name for kind in KINDS.values()}
    for row in reversed(review_queue(memory).rows):
        yield Case(queue=REVIEW, noun=row.noun, collection=collections[row.noun], ids=(row.id,), waiting=row,
                   finding=found.get(row.id))  # fmt: skip


def _suspicious_cases(memory: MemorySystem, findings: Sequence[Finding]) -> Iterator[Case]:
    """Yield the suspicious records that still exist, worst first."""
    existing = {
        name: kind.records(memory).titles([finding.id for finding in findings if finding.memory == name])
        for name, kind in searchable_kinds().items()
    }
    for finding in findings:
        if finding.id in existing[finding.memory]:
            yield _case_of(memory, SUSPICIOUS, finding.memory, finding.id, finding=finding)


def _quarantined_cases(memory: MemorySystem, records: Sequence[QuarantinedRecord]) -> Iterator[Case]:
    return (_case_of(memory, QUARANTINE, record.memory, record.id, quarantine=record) for record in records)


def _case_of(memory: MemorySystem, queue: str, memory_name: str, record_id: str, **fields: Any) -> Case:
    kind = searchable_kinds()[memory_name]
    collection = kind.records(memory).collection_name
    return Case(queue=queue, noun=kind.noun, collection=collection, ids=(record_id,), **fields)


def failing_strategies(memory: MemorySystem) -> Iterator[Case]:
    """Yield the strategies with a clearly lower success rate than all strategies together, worst first."""
    collection = memory.strategies.collection_name
    for record_id in worse_than(memory.strategies, memory.strategies.retired()):
        yield Case(queue=FAILING, noun=STRATEGY.noun, collection=collection, ids=(record_id,))


def _failing_domains(memory: MemorySystem, health: Health) -> Iterator[Case]:
    collection = memory.experience.collection_name
    return (
        Case(queue=FAILING, noun=EXPERIENCE.noun, collection=collection, ids=(), domain=line) for line in health.failing
    )


def _near_duplicates(
    memory: MemorySystem, duplicates: DuplicatesResult, inside: AbstractSet[str] | None
) -> Iterator[Case]:
    """Yield groups of near-duplicates. Groups of experiences come first."""
    collection, noun = memory.experience.collection_name, EXPERIENCE.noun
    for ids in groups_within(duplicates.groups, inside):
        yield Case(queue=DUPLICATES, noun=noun, collection=collection, ids=ids)
    for kind in KINDS.values():
        if kind is not EXPERIENCE and kind.noun in VIEWS:
            yield from _equal_records(memory, kind)


def _repeated_attempts(
    memory: MemorySystem, duplicates: DuplicatesResult, inside: AbstractSet[str] | None, retired: AbstractSet[str]
) -> Iterator[Case]:
    """Yield groups of attempts that differ in their solutions or actions. Retired attempts are decided already."""
    collection, noun = memory.experience.collection_name, EXPERIENCE.noun
    for ids in groups_within(duplicates.repeated, inside, retired):
        yield Case(queue=REPEATED, noun=noun, collection=collection, ids=ids)


def _equal_records(memory: MemorySystem, kind: Kind) -> Iterator[Case]:
    """Yield groups of records of a kind with equal texts, oldest record first."""
    records: Any = kind.records(memory)
    ids = records.ids({"marks.buried": False})
    ids_by_title = ((" ".join(title.split()), record_id) for record_id, title in records.titles(ids).items())
    for same_title in _ids_with_equal_keys(ids_by_title):
        texts = ((_source_texts(memory, kind, record), record.id) for record in records.get_many(same_title))
        for group in _ids_with_equal_keys(texts):
            yield Case(queue=DUPLICATES, noun=kind.noun, collection=records.collection_name, ids=tuple(group))


def _source_texts(memory: MemorySystem, kind: Kind, record: Any) -> tuple[str, ...]:
    sources = VIEWS[kind.noun].card(memory, record, "").sources
    return tuple(" ".join(text.split()) for text in sources.values())


def _ids_with_equal_keys(keyed_ids: Iterable[tuple[Any, str]]) -> list[list[str]]:
    """Return the ids in groups of equal keys, without groups of only one id.

    Args:
        keyed_ids: Pairs of a key and an id.
    """
    groups: dict[Any, list[str]] = {}
    for key, record_id in keyed_ids:
        groups.setdefault(key, []).append(record_id)
    return [ids for ids in groups.values() if len(ids) > 1]


def _most_retrieved_first(memory: MemorySystem, ids: Sequence[str]) -> list[str]:
    """Return attempts of unknown outcome, those first that agents were shown most."""
    retrieved = memory.experience.column("usage.n_retrieved", {"outcome": "unknown"})
    return sorted(ids, key=lambda record_id: -retrieved.get(record_id, 0))
