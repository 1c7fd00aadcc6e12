"""One experience in full: the task, the attempt and the outcome."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Any

from atlas.core.operations import NO_MARKS, NO_USAGE, Marks, Usage, Use
from atlas.core.types import Experience, Step
from atlas.maps.map import MemoryMap
from atlas.memory.experience.extraction import SHOWN_RECORDS
from atlas.memory.system import MemorySystem
from atlas.storage.damage import stored_instant
from atlas.views.experience.list import ids_with_memory, outcome_of, took_text
from atlas.views.kinds.concept import CONCEPT
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.journal import JOURNAL
from atlas.views.kinds.kind import Kind
from atlas.views.kinds.metadata import SAMPLE_MARK
from atlas.views.kinds.strategy import STRATEGY
from atlas.views.lists.editable import EditableFields
from atlas.views.lists.facts import Fact, Part, RecordLink, facts_of, parts_of
from atlas.views.lists.uses import uses_of
from atlas.views.shared.rates import record_of
from atlas.views.shared.scope import domain_names
from atlas.views.shared.texts import Headline, Text, as_json, text_of
from atlas.views.shared.wording import (
    OUTCOMES,
    SIGNS,
    attempts_text,
    counted,
    day_text,
    outcome_with_sign,
    utc_time_text,
)
from atlas.views.trace.ending import verdict_of
from atlas.views.trace.terminal import readable

MAX_ATTEMPTS = 12
LONG_STEPS = 6
"""Steps beyond which the outcome is repeated below them, as the head is out of view."""

SHOWN_ELSEWHERE = ("source", SAMPLE_MARK)
"""Metadata that is shown elsewhere on the page, if at all."""

_SUCCESS = {"succeeded": True, "failed": False, "unknown": None}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One of the attempts at a task, as its place in a row of them shows it."""

    id: str
    outcome: str
    """`succeeded`, `failed` or `unknown`."""

    label: str
    """Its sign, its day and whether it used memory, as trusted text: `✓ 1 Mar 2026 with memory`."""

    short_label: str
    """`✓ 1 Mar`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Editable(EditableFields):
    """The editable fields of an experience."""

    task: str
    outcome: str
    """`succeeded`, `failed` or `unknown`."""

    feedback: str

    @classmethod
    def of(cls, experience: Experience) -> Editable:
        """Return the fields of an experience as they are now."""
        return cls(task=experience.task.description, outcome=experience.outcome.label, feedback=experience.feedback)

    def changes(self, begun: Editable, record: Experience) -> dict[str, Any]:
        """Return a person's changes to an experience, as arguments of `edit`."""
        changes = EditableFields.changes(self, begun, record)
        if "task" in changes:
            changes["task"] = replace(record.task, description=self.task)
        if "outcome" in changes:
            changes["outcome"] = replace(record.outcome, success=_SUCCESS[self.outcome])
        return changes


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperienceDetail:
    """Detail of an experience."""

    id: str
    task: Text
    headline: Headline
    """The title of the task as its latest attempt has it, and the text of this one."""

    outcome: str
    """`succeeded`, `failed` or `unknown`."""

    marks: Marks
    editable: Editable
    attempts: tuple[Attempt, ...]
    """All attempts at the same task in the order of time, with this one, empty if it is the only one."""

    n_more_attempts: int
    """Number of further attempts at the task, which are not listed."""

    ending: str
    """How it ended, in one line of untrusted text with its source, or empty if that is unknown."""

    facts: tuple[Fact, ...]
    """The facts that are shown first."""

    more_facts: tuple[Fact, ...]
    results: tuple[Part, ...]
    """Solution, feedback and error, as far as they exist."""

    background: tuple[Part, ...]
    """Texts given with the task, on how it was judged, and from its source."""

    steps: tuple[Step, ...]
    used: tuple[RecordLink, ...]
    """The records of the memories that it used, as far as they are stored."""

    uses: tuple[Use, ...]
    """The uses of this experience, oldest first."""

    @property
    def closing(self) -> str:
        """`Outcome: ✗ failed · Feedback: no expiry`, which stands below many steps, and is empty for few."""
        if len(self.steps) <= LONG_STEPS:
            return ""
        return " · ".join(filter(None, [f"Outcome: {outcome_with_sign(self.outcome)}", readable(self.ending)]))

    @property
    def counterpart(self) -> Attempt | None:
        """The latest of the listed attempts that succeeded where this one failed, or the reverse, if there is one."""
        opposite = {"failed": "succeeded", "succeeded": "failed"}.get(self.outcome)
        return next((attempt for attempt in reversed(self.attempts) if attempt.outcome == opposite), None)

    @property
    def place(self) -> str:
        """`Attempt 2 of 3`, or `Attempts at this task` if it is none of the listed ones."""
        ids = [attempt.id for attempt in self.attempts]
        if self.id not in ids:
            return "Attempts at this task"
        return f"Attempt {ids.index(self.id) + 1:,} of {len(self.attempts) + self.n_more_attempts:,}"


def experience_detail(
    memory: MemorySystem, experience_id: str, memory_map: MemoryMap | None = None
) -> ExperienceDetail | None:
    """Return an experience in full, or None if it is not in the store.

    Args:
        memory_map: Map that contains its domain, or None.
    """
    experience = memory.experience.get(experience_id)
    if experience is None:
        return None
    marks = memory.experience.marks([experience_id]).get(experience_id, NO_MARKS)
    usage = memory.experience.usage([experience_id]).get(experience_id, NO_USAGE)
    error = experience.outcome.error_info or ""
    domain = domain_names(memory_map, [experience_id]).get(experience_id, "")
    attempts, n_more = _attempts(memory, experience)
    task = Text(experience.task.description)
    return ExperienceDetail(
        id=experience.id,
        task=task,
        headline=_headline(task, _latest_title(memory, experience) if attempts else ""),
        outcome=experience.outcome.label,
        marks=marks,
        editable=Editable.of(experience),
        attempts=attempts,
        n_more_attempts=n_more,
        ending=verdict_of(experience),
        facts=_facts(experience, usage, domain),
        more_facts=_more_facts(experience, usage),
        results=parts_of(
            ("Solution", text_of(experience.solution_output)),
            ("Feedback", text_of(experience.feedback)),
            ("Error", text_of(error if error != experience.feedback else "")),
        ),
        background=parts_of(
            ("Given with the task", as_json(experience.task.context)),
            ("Judged by", as_json(_verification(experience))),
            ("From the source", as_json(_other_metadata(experience.metadata))),
        ),
        steps=experience.steps,
        used=tuple(_used_records(memory, experience.trajectory_id)),
        uses=uses_of(memory, EXPERIENCE, experience.id),
    )


def _used_records(memory: MemorySystem, attempt_id: str) -> Iterator[RecordLink]:
    used = memory.storage.ledger.usage.records_by_attempt([attempt_id]).get(attempt_id, ())
    for kind in (STRATEGY, CONCEPT, EXPERIENCE, JOURNAL):
        records = kind.records(memory)
        titles = records.titles([record_id for collection, record_id in used if collection == records.collection_name])
        results = _results_of(memory, kind, [*titles]) if titles else {}
        yield from (
            RecordLink(kind, record_id, title, results.get(record_id, "")) for record_id, title in titles.items()
        )


def _results_of(memory: MemorySystem, kind: Kind, ids: Sequence[str]) -> Mapping[str, str]:
    """Return the outcomes of experiences by id, or the number of successful uses of other records."""
    if kind is EXPERIENCE:
        outcomes = memory.experience.column("outcome", {"id": {"$in": list(ids)}})
        return {record_id: outcome_with_sign(outcome) for record_id, outcome in outcomes.items() if outcome in OUTCOMES}
    usage = kind.records(memory).usage(ids) if kind.shows_uses else {}
    return {
        record_id: f"{record_of(counts.n_successes, counts.n_uses).tries} succeeded"
        for record_id, counts in usage.items()
        if counts.n_uses
    }


def _attempts(memory: MemorySystem, experience: Experience) -> tuple[tuple[Attempt, ...], int]:
    """Return the attempts at an experience's task, oldest first, and how many more there are."""
    same_task = _same_task(experience)
    n_attempts = memory.experience.count(same_task) if experience.task.id else 0
    if n_attempts < 2:
        return (), 0
    rows = memory.experience.browse(same_task, order_by="created_at", descending=False, limit=MAX_ATTEMPTS)
    ids_using_memory = ids_with_memory(memory, rows)
    attempts = tuple(_attempt(row["id"], row["metadata"], row["id"] in ids_using_memory) for row in rows)
    return attempts, n_attempts - len(rows)


def _same_task(experience: Experience) -> dict[str, str]:
    """Return the filter for the attempts at an experience's task."""
    task = experience.task
    return {"task_id": task.id, **({"domain": task.domain} if task.domain else {})}


def _latest_title(memory: MemorySystem, experience: Experience) -> str:
    """Return the title of the latest other attempt at an experience's task. Empty if this one is the latest."""
    rows = memory.experience.browse(_same_task(experience), order_by="created_at", descending=True, limit=1)
    latest = memory.experience.get_many([row["id"] for row in rows if row["id"] != experience.id])
    return Text(latest[0].task.description).headline.title if latest else ""


def _headline(task: Text, title: str) -> Headline:
    """Return the headline of a task. With a different title, the whole text of the task stands below that title."""
    own_headline = task.headline
    return own_headline if title in ("", own_headline.title) else Headline(title=title, rest=task.whole.strip())


def _attempt(experience_id: str, metadata: Mapping[str, Any], has_memory: bool) -> Attempt:
    created_at, outcome = stored_instant(metadata).astimezone(UTC), outcome_of(metadata)
    label = f"{SIGNS[outcome]} {day_text(created_at)}{' with memory' if has_memory else ''}"
    return Attempt(experience_id, outcome, label, f"{SIGNS[outcome]} {created_at.day} {created_at:%b}")


def _other_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in metadata.items() if name not in SHOWN_ELSEWHERE}


def _facts(experience: Experience, usage: Usage, domain: str) -> tuple[Fact, ...]:
    return facts_of(
        {
            "When": utc_time_text(experience.created_at),
            "Agent": experience.agent_id,
            "Domain": domain,
            "Source": str(experience.metadata.get("source", "")),
            "Partial score": _partial_score(experience),
            "Stands for": _stands_for(experience.metadata),
            "Took": took_text(experience.metadata),
            "Tokens": _tokens(experience.metadata),
            "Cost": _price(experience.metadata),
            "Given": _given_text(experience.metadata),
            "Used": _uses_text(usage),
        }
    )


def _more_facts(experience: Experience, usage: Usage) -> tuple[Fact, ...]:
    return facts_of(
        {
            "Field": experience.task.domain,
            "Task id": experience.task.id,
            "Retrieved": _retrieval_text(usage),
        }
    )


def _given_text(metadata: Mapping[str, Any]) -> str:
    """Return `4 records of the memory` that the attempt was given, or an empty string."""
    n_given = metadata.get(SHOWN_RECORDS)
    return f"{counted(n_given, 'record')} of the memory" if isinstance(n_given, int) and n_given > 0 else ""


def _partial_score(experience: Experience) -> str:
    """Return `0.50 of 1, as reported`, or an empty string for a score that repeats the outcome."""
    score, success = experience.outcome.partial_score, experience.outcome.success
    return (
        "" if score is None or (success is not None and score == float(success)) else f"{score:.2f} of 1, as reported"
    )


def _stands_for(metadata: Mapping[str, Any]) -> str:
    """Return `4 attempts: 3 succeeded, 1 failed` if others were merged into this one, or an empty string."""
    merged = metadata.get("merged_outcomes")
    if not isinstance(merged, Mapping):
        return ""
    return attempts_text({name: merged[name] for name in OUTCOMES if isinstance(merged.get(name), int)})


def _tokens(metadata: Mapping[str, Any]) -> str:
    """Return `4,823 read, 177 written` if the attempt's source recorded it, or an empty string."""
    tokens = metadata.get("tokens")
    counts = tokens if isinstance(tokens, Mapping) else {}
    counts_by_name = {"read": counts.get("input"), "written": counts.get("output")}
    return ", ".join(f"{count:,} {name}" for name, count in counts_by_name.items() if isinstance(count, int) and count)


def _price(metadata: Mapping[str, Any]) -> str:
    dollars = metadata.get("cost_usd")
    return f"${dollars:,.4g}" if isinstance(dollars, int | float) else ""


def _retrieval_text(usage: Usage) -> str:
    last_time = f", last {utc_time_text(usage.last_retrieved_at)}" if usage.last_retrieved_at else ""
    return f"{counted(usage.n_retrieved, 'time')}{last_time}" if usage.n_retrieved else "never"


def _uses_text(usage: Usage) -> str:
    return f"for {counted(usage.n_uses, 'task')}, {usage.n_successes:,} of them succeeded" if usage.n_uses else ""


def _verification(experience: Experience) -> dict[str, object]:
    spec, details = experience.task.verification, experience.outcome.verification_details
    values = {"method": spec.method, "parameters": spec.parameters, "details": details}
    return {name: value for name, value in values.items() if value}
