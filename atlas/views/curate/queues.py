"""Curating: queues of records to check, narrowed to the scope."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime

from atlas.core.types import Experience
from atlas.jobs.duplicates import DuplicatesResult as DuplicatesResult
from atlas.jobs.duplicates import LiveDuplicates as LiveDuplicates
from atlas.jobs.scan import LiveScan as LiveScan
from atlas.jobs.scan import ScanState as ScanState
from atlas.memory.system import MemorySystem
from atlas.views.curate.health import (
    BURIED,
    DUPLICATES,
    FAILING,
    NEVER,
    NEVER_DAYS,
    QUEUES,
    STALE,
    STALE_DAYS,
    UNKNOWN,
    UNUSED_DAYS,
    Health,
)
from atlas.views.experience.kind import EXPERIENCES
from atlas.views.experience.list import ExperienceRow
from atlas.views.lists.listing import listed_page
from atlas.views.lists.queries import PAGE_ROWS, Query
from atlas.views.lists.word_diff import word_diff
from atlas.views.shared.wording import counted, outcome_with_sign, outcomes_text, shortened

INBOX = "inbox"
"""The cases of all queues."""

REVIEW = "review"
"""The pending records of keys under review, which is next if there are any."""

SUSPICIOUS = "suspicious"
"""The records with signs of an attack, which come next if there are any."""

QUARANTINE = "quarantine"
"""The records in quarantine, which come next if there are any."""

REPEATED = "repeated"
"""The attempts at one task with the same outcome but other solutions or actions, which follow near-duplicates if there
are any."""

RULE = "rule"
"""Pruning by criteria."""

REFINE = "refine"
"""Judging experiences in sets of similar ones."""

COMPRESS = "compress"
"""Finding functions that programs have in common."""

RULES = (RULE, REFINE, COMPRESS)
"""Ways to clean up many records at once, beside the queues."""

UNSCOPED = (INBOX, REVIEW, SUSPICIOUS, QUARANTINE, FAILING)
"""Queues of all kinds of records, where the scope of experiences is not offered."""

MAX_GROUPS = 10
MAX_MEMBERS = 100
TITLE_CHARACTERS = 300

TITLES = {
    INBOX: "All",
    REVIEW: "Waiting for review",
    SUSPICIOUS: "Suspicious",
    QUARANTINE: "In quarantine",
    DUPLICATES: "Near-duplicates",
    REPEATED: "Repeated attempts",
    FAILING: "Failing",
    NEVER: "Never retrieved",
    STALE: "Stale",
    UNKNOWN: "Outcome unknown",
    BURIED: "Retired",
    RULE: "Delete by rule",
    REFINE: "Merge similar ones",
    COMPRESS: "Find shared functions",
}

PHRASES = {
    RULE: "Delete the experiences that match a rule.",
    REFINE: "Judge similar experiences together: keep, merge or drop each.",
    COMPRESS: "Find functions that successful programs have in common.",
}
"""The effect of each rule, in a short phrase."""

MEANINGS = {
    INBOX: "Cases of all queues, worst first. A record of several queues is listed in the first of them.",
    REVIEW: (
        "Keys under review wrote these. Only the key that wrote a record finds it until it is accepted. "
        "Rejecting deletes it. Both can be undone."
    ),
    SUSPICIOUS: (
        "Records with signs of an attack on the agents that read them, worst first: orders to the reader, tool calls "
        "in prose, hidden or encoded text. A false statement in plain words has no such sign."
    ),
    QUARANTINE: "No search, context block or map contains these. They are kept with the reason, and can be released.",
    DUPLICATES: (
        "Attempts at the same task with the same outcome, the same solution and the same actions. "
        "Merging keeps one attempt of each group. A preview shows which, and merging can be undone."
    ),
    REPEATED: (
        "Attempts at the same task with the same outcome, but with different solutions or actions. "
        "Merging a group keeps one solution of it, so each is merged alone."
    ),
    FAILING: "Strategies and domains of the map that do clearly worse than the others.",
    NEVER: f"Stored at least {NEVER_DAYS} days ago, and returned by no search since.",
    STALE: f"Attempted more than {STALE_DAYS} days ago, and unused for {UNUSED_DAYS}.",
    UNKNOWN: "The outcome of these is not known. They count in no success rate, and pruning by rate keeps them.",
    BURIED: "Agents do not find these. They are kept, and can be brought back.",
    RULE: f"{PHRASES[RULE]} Any of its conditions is enough. You see exactly which before anything is deleted.",
    REFINE: f"{PHRASES[REFINE]} Each decision has a reason, and you see all of them before anything is done.",
    COMPRESS: (
        f"{PHRASES[COMPRESS]} Each is proven by running the programs' own tests. "
        "You choose those that become concepts. No experience is changed."
    ),
}

_COMMANDS = {RULE: "prune", REFINE: "refine", COMPRESS: "compress"}

RULES_HELP = "\n\n".join(f"**{TITLES[rule]}**: {PHRASES[rule]} As `atlas {_COMMANDS[rule]}`." for rule in RULES)
"""The effects of the rules, and the commands that do the same, as trusted Markdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLine:
    """A group of near-duplicates, or of repeated attempts."""

    ids: tuple[str, ...]
    label: str
    """Its size and how its attempts went, as trusted text."""

    title: str
    """Title of its first member: untrusted text."""

    members: tuple[MemberRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    """One member of a group."""

    outcome: str
    task: str
    """Untrusted text, like the solution. The beginning for the first member, the difference from it for the others."""

    solution: str
    agent: str
    """Untrusted text."""

    created_at: datetime
    id: str


def queue_ids(
    memory: MemorySystem, health: Health, inside: AbstractSet[str] | None = None
) -> dict[str, tuple[str, ...]]:
    """Return the ids in each queue of single experiences, longest kept first.

    Args:
        inside: The ids in scope. None for all records.
    """
    ids_by_queue: dict[str, Sequence[str]] = {
        NEVER: health.never_used,
        STALE: health.stale,
        UNKNOWN: memory.experience.ids({"outcome": "unknown"}),
        BURIED: memory.experience.ids({"marks.buried": True}),
    }
    return {
        queue: tuple(ids if inside is None else (record_id for record_id in ids if record_id in inside))
        for queue, ids in ids_by_queue.items()
    }


def queue_page(memory: MemorySystem, ids: Sequence[str], page: int = 1) -> tuple[ExperienceRow, ...]:
    """Return one page of a queue, counted from 1, in its order, without deleted records."""
    page_ids = ids[(page - 1) * PAGE_ROWS : page * PAGE_ROWS]
    rank_by_id = {record_id: rank for rank, record_id in enumerate(page_ids)}
    rows = listed_page(memory, EXPERIENCES, Query(where={"id": {"$in": list(page_ids)}})).rows
    return tuple(sorted(rows, key=lambda row: rank_by_id[row.id]))


def groups_within(
    groups: Sequence[tuple[str, ...]], inside: AbstractSet[str] | None, without: AbstractSet[str] = frozenset()
) -> tuple[tuple[str, ...], ...]:
    """Return the groups without the records outside the scope and without some others.

    Groups of which fewer than two records are left are dropped.

    Args:
        inside: The ids in scope. None for all records.
        without: The ids of the other records to leave out.
    """
    smaller = [
        tuple(record_id for record_id in group if (inside is None or record_id in inside) and record_id not in without)
        for group in groups
    ]
    return tuple(group for group in smaller if len(group) > 1)


def tabs(counts: Mapping[str, int], opened: str | None = None) -> dict[str, str]:
    """Return the titles of the inbox and of the queues, filled ones first, and of the other tabs.

    Args:
        counts: Number of cases in the inbox and in each queue. Empty queues are left out, except near-duplicates, which
            may have to be searched for, and the opened queue.
        opened: The open queue.
    """
    queues = [
        queue for queue in (DUPLICATES, REPEATED, *QUEUES[1:]) if counts.get(queue) or queue in (DUPLICATES, opened)
    ]
    order = sorted(queues, key=lambda queue: not counts.get(queue))
    filled = [queue for queue in (REVIEW, SUSPICIOUS, QUARANTINE) if counts.get(queue)]
    counted_titles = {queue: f"{TITLES[queue]} {counts.get(queue, 0):,}" for queue in (INBOX, *filled, *order)}
    return counted_titles | {tab: TITLES[tab] for tab in RULES}


def group_lines(memory: MemorySystem, groups: Sequence[tuple[str, ...]], page: int = 1) -> tuple[GroupLine, ...]:
    """Return one page of groups with their members, counted from 1."""
    page_groups = groups[(page - 1) * MAX_GROUPS : page * MAX_GROUPS]
    ids = [record_id for group in page_groups for record_id in group]
    where = {"id": {"$in": ids}}
    outcomes, task_ids = memory.experience.column("outcome", where), memory.experience.column("task_id", where)
    return tuple(_group_line(memory, group, outcomes, task_ids) for group in page_groups)


def _group_line(
    memory: MemorySystem, group: tuple[str, ...], outcomes: Mapping[str, str], task_ids: Mapping[str, str]
) -> GroupLine:
    existing = [record_id for record_id in group if record_id in outcomes]
    attempts = memory.experience.get_many(existing[:MAX_MEMBERS])
    counts = Counter(outcomes[record_id] for record_id in existing)
    return GroupLine(
        ids=tuple(existing),
        label=f"{_size_text(existing, task_ids)}: {outcomes_text(counts)}",
        title=shortened(" ".join(attempts[0].task.description.split()), TITLE_CHARACTERS) if attempts else "",
        members=tuple(_member_row(attempt, attempts[0]) for attempt in attempts),
    )


def _member_row(attempt: Experience, first_attempt: Experience) -> MemberRow:
    is_first = attempt is first_attempt
    task, solution = attempt.task.description, attempt.solution_output
    return MemberRow(
        outcome=outcome_with_sign(attempt.outcome.label),
        task=shortened(task, TITLE_CHARACTERS) if is_first else word_diff(first_attempt.task.description, task),
        solution=shortened(solution, TITLE_CHARACTERS)
        if is_first
        else word_diff(first_attempt.solution_output, solution),
        agent=attempt.agent_id,
        created_at=attempt.created_at,
        id=attempt.id,
    )


def _size_text(ids: Sequence[str], task_ids: Mapping[str, str]) -> str:
    """Return `3 attempts at one task`, or `10 experiences` if the tasks differ or have no id."""
    if len({task_ids.get(record_id) or record_id for record_id in ids}) == 1:
        return f"{counted(len(ids), 'attempt')} at one task"
    return counted(len(ids), "experience")


def why_outdated(duplicates: DuplicatesResult) -> str:
    """Return the note on records added since the last search for near-duplicates."""
    return f"{counted(duplicates.n_changed, 'experience')} added or changed since this search."
