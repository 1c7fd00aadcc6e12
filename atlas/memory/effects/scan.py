"""Scan of the records for signs of an attack on the agents that read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from atlas.core.errors import InvalidInput, NotFound
from atlas.core.tables import TableRow, Tabular
from atlas.core.types import CodeConcept, Experience, JournalEntry, Strategy
from atlas.infra.actor import Role, check_role
from atlas.memory.base.records import parse_ids
from atlas.memory.effects.quarantine import quarantined
from atlas.memory.effects.store_signs import STORE_SIGNS, signs_of_store
from atlas.memory.kinds.table import searchable_kinds
from atlas.scanning.text import SUSPICIOUS, Reason, attack_confidence, scan_text, strongest_per_rule

BATCH = 200
"""Number of records that are read at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One text of a record, with its name."""

    name: str
    text: str
    is_action: bool = False
    """True for code, and for the thoughts and actions of an agent, in which tool calls are usual."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A record with signs of an attack."""

    memory: str
    """Name of the memory with the record, such as `strategies`."""

    id: str
    title: str
    """Untrusted text."""

    score: float
    """Confidence that the text is an attack, in [0, 1)."""

    reasons: tuple[Reason, ...]
    """Signs of an attack, the strongest first."""

    is_quarantined: bool = False
    """True if the record is in quarantine already."""

    @property
    def is_in_text(self) -> bool:
        """True if the record's own text looks like an attack.

        Rules do not quarantine a record that is suspect only in comparison with others, such as in a burst.
        """
        return any(reason.attack not in STORE_SIGNS for reason in self.reasons)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan(Tabular):
    """The findings of a scan, and the number of scanned records."""

    findings: tuple[Finding, ...]
    """The records that reach the minimum, worst first."""

    n_scanned: int
    minimum: float
    """Minimum score of a finding."""

    def _caption(self) -> str:
        return f"{len(self.findings):,} of {self.n_scanned:,} records have signs of an attack"

    def _rows(self) -> Iterator[TableRow]:
        for finding in self.findings:
            score = f"{finding.score:.2f}"
            yield {"record": finding.title, "memory": finding.memory, "score": score, "why": join_reasons(finding)}


def scan(system: Any, ids: Sequence[str] | None = None, *, minimum: float = SUSPICIOUS) -> Scan:
    """Return the records with signs of an attack, worst first.

    Args:
        system: A memory system of ATLAS.
        ids: Ids of records in any memory, or None for all records and the signs of the whole store.
        minimum: Minimum score of a finding, in [0, 1].

    Raises:
        InvalidInput: The minimum is not in [0, 1].
        NotFound: A record does not exist.
        NotAllowed: All records are to be scanned, and the actor is not a curator.
    """
    if ids is None:
        check_role(Role.CURATOR, "scan all records")
    if not 0 <= minimum <= 1:
        raise InvalidInput(f"expected a number from 0 to 1 for the minimum score, got {minimum!r}")
    requested_ids = None if ids is None else parse_ids(ids)
    scanned_ids = set[str]()
    quarantined_ids = {record.id for record in quarantined(system)}
    signs = signs_of_store(system) if requested_ids is None else {}
    findings: list[Finding] = []
    for memory, record in _iterate_records(system, requested_ids):
        scanned_ids.add(record.id)
        finding = with_signs(scan_record(memory, record), signs.get((memory, record.id), ()))
        if finding.reasons and finding.score >= minimum:
            findings.append(replace(finding, is_quarantined=record.id in quarantined_ids))
    missing_ids = [record_id for record_id in requested_ids or () if record_id not in scanned_ids]
    if missing_ids:
        raise NotFound(f"no memory has a record {missing_ids[0]!r}; it may have been deleted")
    return Scan(findings=tuple(sort_worst_first(findings)), n_scanned=len(scanned_ids), minimum=minimum)


def scan_record(memory: str, record: Any) -> Finding:
    """Return the finding of a scan of one record. Without signs of an attack it has no reasons.

    Args:
        memory: Name of the record's memory.
    """
    reasons = strongest_per_rule(
        replace(reason, part=part.name)
        for part in readable_parts(memory, record)
        for reason in scan_text(part.text, is_action=part.is_action)
    )
    kind = searchable_kinds()[memory]
    title = " ".join(kind.summary(record).split())
    return Finding(memory=memory, id=record.id, title=title, score=attack_confidence(reasons), reasons=reasons)


def with_signs(finding: Finding, signs: Sequence[Reason]) -> Finding:
    """Return a finding with further signs added. The score never becomes lower."""
    reasons = strongest_per_rule([*finding.reasons, *signs])
    return replace(finding, reasons=reasons, score=max(finding.score, *(sign.weight for sign in signs), 0.0))


def sort_worst_first(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings sorted by score, the highest first."""
    return sorted(findings, key=lambda finding: (-finding.score, finding.memory, finding.id))


def join_reasons(finding: Finding) -> str:
    """Return the reasons for a finding as one line, without text of the record."""
    return " ".join(dict.fromkeys(reason.why for reason in finding.reasons))


def readable_parts(memory: str, record: Any) -> list[Part]:
    """Return the texts of a record that agents may read. Empty texts are left out."""
    parts_of = next((parts_of for kind, parts_of in _PARTS_BY_TYPE.items() if isinstance(record, kind)), None)
    if parts_of is not None:
        return [part for part in parts_of(record) if part.text.strip()]
    summary = searchable_kinds()[memory].summary(record)
    return [Part(name="text", text=summary)] if summary.strip() else []


def _experience_parts(experience: Experience) -> list[Part]:
    actions = {step.action for step in experience.steps}
    parts = [
        Part(name="task", text=experience.task.description),
        Part(name="summary", text=experience.trajectory_summary),
        Part(name="solution", text=experience.solution_output, is_action=experience.solution_output in actions),
        Part(name="feedback", text=experience.feedback),
        Part(name="error", text=experience.outcome.error_info or ""),
    ]
    for number, step in enumerate(experience.steps, 1):
        parts += [
            Part(name=f"thought of step {number}", text=step.thought, is_action=True),
            Part(name=f"action of step {number}", text=step.action, is_action=True),
            Part(name=f"observation of step {number}", text=step.observation),
        ]
    return parts


def _concept_parts(concept: CodeConcept) -> list[Part]:
    return [
        Part(name="name", text=concept.name),
        Part(name="description", text=concept.description),
        Part(name="guidance", text=concept.guidance),
        Part(name="code", text=concept.code, is_action=True),
        *(Part(name="example", text="\n".join(example), is_action=True) for example in concept.examples),
    ]


def _strategy_parts(strategy: Strategy) -> list[Part]:
    return [
        Part(name="title", text=strategy.title),
        Part(name="situation", text=strategy.situation),
        Part(name="suggestion", text=strategy.suggestion),
        Part(name="rationale", text=strategy.rationale),
    ]


def _entry_parts(entry: JournalEntry) -> list[Part]:
    return [Part(name="content", text=entry.content)]


_PARTS_BY_TYPE: Mapping[type, Callable[[Any], list[Part]]] = {
    Experience: _experience_parts,
    CodeConcept: _concept_parts,
    Strategy: _strategy_parts,
    JournalEntry: _entry_parts,
}
"""Functions that return the texts of a record, keyed by its type. Other types are scanned by their summary."""


def _iterate_records(system: Any, ids: Sequence[str] | None) -> Iterator[tuple[str, Any]]:
    """Yield pairs of a memory's name and a record, for the records with these ids or, with None, for all."""
    for memory, kind in searchable_kinds().items():
        if (records := kind.records(system)) is None:
            continue
        record_ids = records.ids() if ids is None else list(ids)
        for start in range(0, len(record_ids), BATCH):
            for record in records.get_many(record_ids[start : start + BATCH]):
                yield memory, record
