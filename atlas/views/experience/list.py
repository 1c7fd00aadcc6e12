"""The lines of the list of experiences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from atlas.core.hits import Hit
from atlas.core.operations import NO_MARKS
from atlas.core.statistics import SuccessRate
from atlas.core.types import Experience
from atlas.maps.map import MemoryMap
from atlas.memory.experience.extraction import SHOWN_RECORDS
from atlas.memory.system import MemorySystem
from atlas.storage.damage import stored_instant
from atlas.views.experience.profiles import profile_problems
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.lists.listing import order_text
from atlas.views.lists.queries import Count, Query, Row, SearchResult, marks_text, ranking, row_state
from atlas.views.shared.rates import likely, rate_text
from atlas.views.shared.scope import domain_names
from atlas.views.shared.wording import NO_BREAK, OUTCOMES, outcome_labels
from atlas.views.trace.cost import Cost, duration_text
from atlas.views.trace.ending import ending_of

TASK_CHARACTERS = 400
"""The part of a task's description that is listed."""

MIXED = "mixed"
"""The domain of a task whose attempts are in several."""

STANDS_IN = "ranked with the built-in weights, because the chosen profile cannot be used (see Evaluation)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperienceRow(Row):
    """One line of a list. Texts from the store are untrusted."""

    outcomes: tuple[str, ...]
    """Its outcome or, of a hit that stands for several attempts, their outcomes, as `outcome_labels` returns them."""

    history: str = ""
    """Outcomes of the other attempts at its task, as `history_text` returns them."""

    task: str
    """The beginning of its description."""

    ending: str = ""
    """How it ended, in one line, or empty if nothing tells it."""

    memory: str = ""
    """Its use of memory, as `memory_text` returns it."""

    domain: str = ""
    """The domain of its attempts on the map, `mixed` if these differ in it, or empty for outliers."""

    agent: str = ""
    """Who made it, or empty where one agent made all attempts of the store."""

    other_agents: tuple[str, ...] = ()
    """Who else made attempts at its task."""

    source: str = ""
    n_steps: int = 0
    took: str = ""
    """How long it took, as `75 s`, or empty if that is not known."""

    created_at: datetime
    """Time in UTC."""

    attempt_ids: tuple[str, ...] = ()
    """Ids of the attempts at the task, oldest first, in a list by task, empty for one attempt."""

    @property
    def agents(self) -> str:
        """`tern-3`, or `tern-3 +2` if two other agents tried the task as well."""
        return f"{self.agent} +{len(self.other_agents):,}" if self.other_agents else self.agent

    @property
    def hints(self) -> Mapping[str, str]:
        """The names of the other agents, for their number."""
        return {"agents": f"Also {', '.join(self.other_agents)}"} if self.other_agents else {}

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the experiences in this row."""
        return self.attempt_ids or (self.id,)


def place_and_mark(
    memory: MemorySystem, rows: Sequence[ExperienceRow], memory_map: MemoryMap | None
) -> tuple[ExperienceRow, ...]:
    """Return the rows with their domains and marks."""
    marks = memory.experience.marks([row.id for row in rows])
    domains = domain_names(memory_map, [record_id for row in rows for record_id in row.ids])
    return tuple(
        replace(
            row,
            domain=domain_text(domains.get(record_id, "") for record_id in row.ids),
            marks=marks_text(marks.get(row.id, NO_MARKS)),
            state=row_state(marks.get(row.id, NO_MARKS)),
        )
        for row in rows
    )


def ids_with_memory(memory: MemorySystem, rows: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Return the ids of the attempts that were given records of the memories, or used some.

    Args:
        rows: Attempts as the store lists them.
    """
    attempts = {row["id"]: row["metadata"] for row in rows}
    attempt_ids = [metadata.get("trajectory_id", "") for metadata in attempts.values()]
    used_by_attempt = memory.storage.ledger.usage.records_by_attempt(attempt_ids)
    return frozenset(
        record_id
        for record_id, metadata in attempts.items()
        if metadata.get(SHOWN_RECORDS) or metadata.get("trajectory_id") in used_by_attempt
    )


def memory_text(n_with: int, n_attempts: int) -> str:
    """Return `used` for one attempt with it, `used in 2 of 4` for several attempts, or empty without any."""
    return (
        "" if not n_with else "used" if n_attempts == 1 else f"used in {n_with:,}{NO_BREAK}of{NO_BREAK}{n_attempts:,}"
    )


def domain_text(domains: Iterable[str]) -> str:
    """Return the domain of attempts, of which some may be in none, or `mixed` for different ones."""
    names = {*filter(None, domains)}
    return MIXED if len(names) > 1 else next(iter(names), "")


def took_text(metadata: Mapping[str, Any]) -> str:
    """Return `12 min`, how long an attempt took if its source recorded it, or an empty string."""
    seconds = Cost.of(metadata).seconds
    return "" if seconds is None else duration_text(seconds)


def _stored_row(
    stored_row: Mapping[str, Any], experience: Experience | None, has_memory: bool, has_agents: bool
) -> ExperienceRow:
    metadata = stored_row["metadata"]
    return ExperienceRow(
        id=stored_row["id"],
        outcomes=outcome_labels([outcome_of(metadata)]),
        task=experience.task.description[:TASK_CHARACTERS] if experience else str(metadata.get("title", "")),
        ending=ending_of(experience) if experience else "",
        took=took_text(experience.metadata) if experience else "",
        memory=memory_text(has_memory, 1),
        agent=metadata.get("agent_id", "") if has_agents else "",
        source=str(metadata.get("source", "")),
        n_steps=int(metadata.get("n_steps", 0)),
        created_at=stored_instant(metadata).astimezone(UTC),
    )


def experience_rows(
    memory: MemorySystem, experiences: Sequence[Experience], hits: Mapping[str, Hit[str]]
) -> tuple[ExperienceRow, ...]:
    """Return lines of experiences, given the hits that found them by id."""
    return tuple(
        ExperienceRow(
            id=experience.id,
            outcomes=outcome_labels(_outcomes(experience, hits.get(experience.id))),
            task=experience.task.description[:TASK_CHARACTERS],
            ending=ending_of(experience),
            took=took_text(experience.metadata),
            source=str(experience.metadata.get("source", "")),
            n_steps=len(experience.steps),
            created_at=experience.created_at.astimezone(UTC),
            **ranking(hits, experience.id),
        )
        for experience in experiences
    )


def _outcomes(experience: Experience, hit: Hit[str] | None) -> list[str]:
    """Return the outcomes of the attempts in a row: its own, and the outcomes that a search grouped with it."""
    grouped = Counter(hit.outcomes).elements() if hit is not None else ()
    return [*grouped] or [experience.outcome.label]


def outcome_of(metadata: Mapping[str, Any]) -> str:
    """Return the outcome of an experience from its stored metadata. An outcome that ATLAS does not have is unknown."""
    return metadata["outcome"] if metadata.get("outcome") in OUTCOMES else "unknown"


def stored_rows(memory: MemorySystem, rows: Sequence[Mapping[str, Any]]) -> tuple[ExperienceRow, ...]:
    """Return a row of the list for each row of the store, with the attempt's ending, agent and use of memory."""
    ids_using_memory = ids_with_memory(memory, rows)
    experiences = {experience.id: experience for experience in memory.experience.get_many([row["id"] for row in rows])}
    has_agents = len(memory.experience.values("agent_id")) > 1
    return tuple(
        _stored_row(row, experiences.get(row["id"]), row["id"] in ids_using_memory, has_agents) for row in rows
    )


def count_with_rate(memory: MemorySystem, query: Query) -> Count:
    """Return the number of experiences, with a note on their order and, if outcomes are known, their success rate."""
    rate, order = SuccessRate.of(memory.experience.values("outcome", query.where)), order_text(EXPERIENCE, query)
    if rate.interval is None:
        return Count(rate.n, order)
    return Count(rate.n, f"{rate_text(rate)} of {rate.n_known:,} succeeded ({likely(rate.interval)}) · {order}")


def profile_note(memory: MemorySystem, result: SearchResult) -> str:
    """Return a note if a search ranked with other weights than the chosen ones, or an empty string."""
    return STANDS_IN if result.hits and profile_problems(memory) else ""
