"""Promotion of journal entries: a crash and its fix become an experience, and a reflection becomes a strategy."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from atlas.core.errors import InvalidInput, NotFound, PlanOutdated
from atlas.core.exchange import ExportedExperience
from atlas.core.filters import shared_scope
from atlas.core.operations import NO_MARKS, NO_USAGE
from atlas.core.types import Experience, JournalEntry, Outcome, Step, Strategy, Task, Trajectory, VerificationSpec
from atlas.memory.base.marks import check_may_change, check_own_under_review
from atlas.memory.base.records import METADATA
from atlas.memory.experience.extraction import to_experience
from atlas.memory.experience.memory import ChromaExperienceMemory
from atlas.memory.journal import Journal, LinkGraph
from atlas.memory.journal.links import CRASH, REFLECTION
from atlas.memory.journal.neighbours import title_of
from atlas.memory.journal.records import promotions_of, sortable_time
from atlas.memory.journal.summaries import split_sentences
from atlas.memory.strategies.memory import ChromaStrategyBank

TASK = "task"

LOG = "protea_log"
"""Metadata key of the log from which an entry was imported. Other entries lack the key."""

N_SCANNED = 200
"""Number of latest tasks of a generation, from all logs, among which an entry's task is searched."""

SUBJECT_LINKS = ("refers_to", "caused_by")
"""Types of links from a reflection to its subject. They count if the reflection fixed no crash."""

SOURCE = "journal"
"""Source in the metadata of a promoted record."""

PROMOTED_FROM = "promoted_from"
"""Metadata key of a promoted record for the ids of its entries."""

CANDIDATE = "candidate"
"""Metadata key of a promoted strategy that marks it as untested by any attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """A plan to promote a journal entry. Applying it makes exactly these changes, or fails if an entry has changed."""

    entries: tuple[JournalEntry, ...]
    """Sources of the new record, the promoted entry first. Each will refer to the new record in its metadata."""

    becomes: Experience | Strategy

    task: JournalEntry | None = None
    """The task of the entry, whose words go into the record, or None."""

    @property
    def target(self) -> str:
        """Kind of the new record: `experience` or `strategy`."""
        return "experience" if isinstance(self.becomes, Experience) else "strategy"

    @property
    def title(self) -> str:
        """The title of the new record, on one line."""
        return title_of(self.becomes.task.description if isinstance(self.becomes, Experience) else self.becomes.title)

    @property
    def reason(self) -> str:
        """The reason shown in the history."""
        entry = self.entries[0]
        return f"{entry.entry_type} of generation {entry.generation} to {self.target}"


class Promoter:
    """A planner and writer of promotions from one journal."""

    def __init__(
        self, journal: Journal, experience: ChromaExperienceMemory | None, strategies: ChromaStrategyBank | None
    ) -> None:
        self._journal = journal
        self._experience = experience
        self._strategies = strategies

    def plan(self, entry_id: str) -> Promotion:
        """Return a plan to promote an entry. The store is not changed.

        Raises:
            NotFound: The entry does not exist, or the system lacks the target memory.
            InvalidInput: The entry is neither a crash with a fix nor a reflection, or it was promoted already.
        """
        with self._journal.collection.reading():
            return self._plan_promotion(entry_id)

    def apply(self, promotion: Promotion) -> str | None:
        """Apply a plan as one operation, and return the operation's id.

        Raises:
            PlanOutdated: An entry or the target has changed since; the store was not changed.
            NotAllowed: An entry is by another actor, and the actor is not a curator.
        """
        ids = [entry.id for entry in promotion.entries]
        entries = promotion.entries
        if promotion.task and ids:
            entries = (*entries, promotion.task)
        is_current = entries and tuple(self._journal.get_many([entry.id for entry in entries])) == entries
        if not is_current or self.plan(ids[0]) != promotion:
            raise PlanOutdated("an entry has changed since the plan was made; nothing was done. Plan again")
        check_own_under_review(self._journal.marks(ids), "promote entries")
        check_may_change(self._journal.collection, ids)
        journal = self._journal.as_operation("promote", promotion.reason)
        self._write(promotion, journal.operation_id)
        journal.note_promotion(ids, _record_name(promotion))
        return journal.operation_id

    def _plan_promotion(self, entry_id: str) -> Promotion:
        """Return a plan to promote an entry, by its type. See `plan` for the errors."""
        graph = self._journal.linked(entry_id)
        [entry] = self._journal.get_many([entry_id])
        crashes, reflections = (self._journal.types.types_sharing_quota(name) for name in (CRASH, REFLECTION))
        if entry.entry_type in crashes:
            promotion = self._promote_crash(entry, graph)
        elif entry.entry_type in reflections:
            promotion = self._promote_reflection(entry, graph)
        else:
            raise InvalidInput(
                f"expected a {CRASH} with a linked fix or a {REFLECTION} to promote, got entry {entry_id!r} of type "
                f"{entry.entry_type}"
            )
        if self._is_written(promotion) and _record_name(promotion) in promotions_of(entry):
            raise InvalidInput(
                f"entry {entry_id!r} was already promoted to {promotion.target} {promotion.becomes.id!r}; "
                f"edit that {promotion.target}, or delete it first"
            )
        return promotion

    def _promote_crash(self, crash: JournalEntry, graph: LinkGraph) -> Promotion:
        """Return a plan to promote a crash with all of its linked fixes, or raise `InvalidInput` without a fix."""
        fix_ids = {edge.target_id for edge in graph.edges if edge.source_id == crash.id and edge.type == "fixed_by"}
        fixes = _sort_by_time([entry for entry in graph.entries if entry.id in fix_ids])
        if not fixes:
            raise InvalidInput(
                f"crash {crash.id!r} has no linked fix; add a link of type 'fixed_by', or accept a suggested link"
            )
        task = self._find_task(crash, graph)
        return Promotion(entries=(crash, *fixes), becomes=_make_experience(crash, fixes, task), task=task)

    def _promote_reflection(self, reflection: JournalEntry, graph: LinkGraph) -> Promotion:
        """Return a plan to promote a reflection.

        Its subjects are the crashes that it fixed, or else the entries that it links to, or else its task.
        """
        fixed_crash_ids = {
            edge.source_id for edge in graph.edges if edge.target_id == reflection.id and edge.type == "fixed_by"
        }
        subject_ids = {
            edge.target_id for edge in graph.edges if edge.source_id == reflection.id and edge.type in SUBJECT_LINKS
        }
        subjects = _sort_by_time([entry for entry in graph.entries if entry.id in (fixed_crash_ids or subject_ids)])
        task = None if subjects else self._find_task(reflection, graph)
        strategy = _make_strategy(reflection, [task] if task else subjects)
        return Promotion(entries=(reflection,), becomes=strategy, task=task)

    def _find_task(self, entry: JournalEntry, graph: LinkGraph) -> JournalEntry | None:
        """Return the last earlier task linked to an entry, or else the last task of its generation, or None."""
        task_types = self._journal.types.types_sharing_quota(TASK)
        linked_tasks = [
            neighbour
            for neighbour in graph.entries
            if neighbour.entry_type in task_types and _written_at(neighbour) <= _written_at(entry)
        ]
        if linked_tasks:
            return max(linked_tasks, key=_written_at)
        log = entry.metadata.get(LOG)
        where = {
            "generation": entry.generation,
            "entry_type": {"$in": task_types},
            "created_at": {"$lte": sortable_time(_written_at(entry))},
        }
        if log:
            where[f"{METADATA}{LOG}"] = log
        rows = self._journal.browse(where, limit=N_SCANNED)
        entry_ids = [row["id"] for row in rows if row["metadata"].get(f"{METADATA}{LOG}") == log]
        return next(iter(self._journal.get_many(entry_ids[:1])), None)

    def _is_written(self, promotion: Promotion) -> bool:
        memory = self._strategies if isinstance(promotion.becomes, Strategy) else self._experience
        if memory is None:
            raise NotFound(f"this memory system has no memory for a {promotion.target}; use atlas.open_memory")
        return memory.get(promotion.becomes.id) is not None

    def _write(self, promotion: Promotion, operation_id: str | None) -> None:
        """Add the new record, unless an earlier promotion that was interrupted has already added it."""
        if self._is_written(promotion):
            return
        record = promotion.becomes
        if isinstance(record, Strategy) and self._strategies is not None:
            self._strategies.as_operation("promote", promotion.reason, operation_id=operation_id).add(record)
        elif isinstance(record, Experience) and self._experience is not None:
            experience = self._experience.as_operation("promote", promotion.reason, operation_id=operation_id)
            experience.restore_many([ExportedExperience(experience=record, marks=NO_MARKS, usage=NO_USAGE)])


def _make_experience(crash: JournalEntry, fixes: Sequence[JournalEntry], task: JournalEntry | None) -> Experience:
    """Return a crash as an attempt, with its fixes as the solution.

    The outcome is unknown, because no run has confirmed the fix.
    """
    solution = "\n\n".join(fix.content for fix in fixes)
    description = f"{task.content}\n\n{crash.content}" if task else crash.content
    attempt = Trajectory(
        id=crash.id,
        task=Task(
            id=task.id if task else crash.id,
            domain="",
            description=description,
            verification=VerificationSpec(SOURCE),
        ),
        steps=(Step(observation=crash.content), *(Step(thought=fix.content) for fix in fixes)),
        outcome=Outcome(None, verification_details={"link": "fixed_by"}),
        timestamp=fixes[-1].created_at or crash.created_at,
        metadata={"source": SOURCE, **_origin_metadata([crash, *fixes]), "solution": solution},
    )
    now = attempt.timestamp or datetime.now(UTC)
    return to_experience(attempt, experience_id=_promotion_id(crash), embedding_text="", now=now)


def _make_strategy(reflection: JournalEntry, subjects: Sequence[JournalEntry]) -> Strategy:
    """Return a reflection as a strategy. Its situation is the text of the entries that the reflection is about."""
    situation = "\n\n".join(entry.content for entry in subjects) or split_sentences(reflection.content)[0]
    return Strategy(
        id=_promotion_id(reflection),
        title=title_of(reflection.content),
        situation=situation,
        suggestion=reflection.content,
        rationale=f"A reflection of an agent in generation {reflection.generation}; no attempt has confirmed it yet.",
        metadata={"derived_by": SOURCE, CANDIDATE: True, **_origin_metadata([reflection])},
    )


def _origin_metadata(entries: Sequence[JournalEntry]) -> dict[str, Any]:
    return {
        PROMOTED_FROM: [entry.id for entry in entries],
        "generation": entries[0].generation,
        **shared_scope(entry.metadata for entry in entries),
    }


def _promotion_id(entry: JournalEntry) -> str:
    """Return an id derived from the entry, so that concurrent promotions write the same record only once."""
    return hashlib.sha256(f"promoted {entry.id}".encode()).hexdigest()[:32]


def _record_name(promotion: Promotion) -> str:
    """Return the name of the promoted record for the entries' metadata, such as `experience:id`."""
    return f"{promotion.target}:{promotion.becomes.id}"


def _written_at(entry: JournalEntry) -> datetime:
    return entry.created_at or datetime.min.replace(tzinfo=UTC)


def _sort_by_time(entries: Sequence[JournalEntry]) -> list[JournalEntry]:
    return sorted(entries, key=lambda entry: (entry.generation, str(entry.created_at or "")))
