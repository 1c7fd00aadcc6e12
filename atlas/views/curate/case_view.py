"""One case with its evidence: the reason, the texts of the records, and their differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from atlas.core.types import Experience, Step
from atlas.memory.effects.scan import join_reasons
from atlas.memory.system import MemorySystem
from atlas.storage.damage import stored_instant
from atlas.views.curate.cases import VIEWS, Case
from atlas.views.curate.health import FAILING, STALE, UNKNOWN, UNUSED_DAYS, DomainLine
from atlas.views.curate.queues import MAX_MEMBERS, REPEATED, TITLES, group_lines
from atlas.views.kinds.columns import Column
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.titles import task_title
from atlas.views.kinds.uses import ACTIVE
from atlas.views.lists.queries import Row
from atlas.views.lists.uses import use_rows
from atlas.views.lists.word_diff import SAME, word_diff
from atlas.views.shared.kinds import KINDS
from atlas.views.shared.texts import Text
from atlas.views.shared.wording import counted, day_text, outcome_with_sign, percent, plural, utc_time_text

MAX_USES = 10
"""Most uses of a strategy that are listed."""

LAST_STEPS = ("Step before it", "Last step")
"""Labels of the steps that are compared. The others are only in the conversation."""


EVIDENCE_COLUMNS = (
    Column("outcomes", "Outcome", 96, "outcomes"),
    Column("title", "Task", 260),
    Column("feedback", "Feedback", 210, is_optional=True),
    Column("at", "When (UTC)", 84, "day"),
    Column("agent", "Agent", 60, is_optional=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRow(Row):
    """An attempt that speaks for or against a record. Its id is the experience's, or a number if it is not stored."""

    title: str
    """Untrusted text."""

    outcomes: tuple[str, ...]
    """`✗ failed`, and `2 uses` after it if one attempt used a strategy twice."""

    at: datetime | None
    feedback: str = ""
    """Untrusted text, like the agent."""

    agent: str = ""
    is_stored: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseView:
    """A case as a page shows it. Texts and differences are untrusted."""

    case: Case
    title: Text
    reason: str
    """Trusted text, except for the name of a key, and the reason of a quarantine."""

    texts: tuple[tuple[str, Text], ...] = ()
    """Texts of the record, or of the first of a group, by our own words for them."""

    steps: tuple[Step, ...] = ()
    """The trajectory of the attempt, or of the first of a group."""

    attempts: tuple[EvidenceRow, ...] = ()
    """Attempts in a domain that failed, or uses of a strategy."""

    attempts_heading: str = ""
    """`All 7 uses, the latest first`, or empty without such lines."""

    differences: tuple[Mapping[str, str], ...] = ()
    """A line for each other record of a group, by the same words."""


def case_title(case: Case) -> str:
    """Return the title of the queue that a case is in."""
    return TITLES[case.queue]


def case_word(case: Case) -> str:
    """Return the word for what a case is about: `strategy`, or `domain`."""
    return case.noun if case.domain is None else "domain"


def case_view(memory: MemorySystem, case: Case) -> CaseView | None:
    """Return a case with its evidence, or None if its records were deleted."""
    if case.domain is not None:
        heading, rows = _failed_attempts(memory, case.domain)
        return CaseView(
            case=case, title=Text(case.domain.name), reason=_domain_reason(case), attempts=rows,
            attempts_heading=heading,
        )  # fmt: skip
    kind = next(kind for kind in KINDS.values() if kind.noun == case.noun)
    records: Any = kind.records(memory)
    shown_records = records.get_many(list(case.ids[:MAX_MEMBERS]))
    if not shown_records:
        return None
    texts = [_texts_of(memory, case, record) for record in shown_records]
    (_, title), *other_texts = texts[0].items()
    if isinstance(shown_records[0], Experience):
        task = title
        parts = task_title(task)
        title = parts.title
        if parts.rest:
            other_texts = [("Task", task), *other_texts]
    heading, rows = _uses(memory, case.ids[0]) if case.queue == FAILING else ("", ())
    return CaseView(
        case=case,
        title=Text(title),
        reason=case_reason(memory, case),
        texts=(
            *_attack_excerpts(case),
            *((name, Text(text)) for name, text in other_texts if text.strip() and name not in LAST_STEPS),
        ),
        steps=shown_records[0].steps if isinstance(shown_records[0], Experience) else (),
        attempts=rows,
        attempts_heading=heading,
        differences=_differences(shown_records, texts),
    )


def _failed_attempts(memory: MemorySystem, domain: DomainLine) -> tuple[str, tuple[EvidenceRow, ...]]:
    """Return a heading and lines for attempts in a domain that failed."""
    rows = tuple(
        EvidenceRow(
            id=attempt.id,
            title=task_title(attempt.task.description).title,
            outcomes=(outcome_with_sign("failed"),),
            at=attempt.created_at,
            feedback=attempt.feedback,
            agent=attempt.agent_id,
        )
        for attempt in memory.experience.get_many(list(domain.failed))
    )
    n_failed = round(domain.n_known * (1 - (domain.percent_succeeded or 0.0) / 100))
    return "What failed" if len(rows) >= n_failed else f"{len(rows):,} of the {n_failed:,} that failed", rows


def _uses(memory: MemorySystem, strategy_id: str) -> tuple[str, tuple[EvidenceRow, ...]]:
    """Return a heading and lines for the uses of a strategy, as far as the tasks are stored."""
    uses = [use for use in use_rows(memory, memory.strategies.attempts(strategy_id), MAX_USES) if use.task]
    n_by_attempt = Counter(use.experience_id or use.id for use in uses)
    last_uses = {use.experience_id or use.id: use for use in reversed(uses)}
    stored = {attempt.id: attempt for attempt in memory.experience.get_many([use.experience_id for use in uses])}
    rows = tuple(
        EvidenceRow(
            id=attempt_id,
            title=last_uses[attempt_id].task,
            outcomes=(last_uses[attempt_id].outcome, *([counted(count, "use")] if count > 1 else ())),
            at=last_uses[attempt_id].at,
            feedback=stored[attempt_id].feedback if attempt_id in stored else "",
            agent=stored[attempt_id].agent_id if attempt_id in stored else last_uses[attempt_id].actor,
            is_stored=bool(last_uses[attempt_id].experience_id),
        )
        for attempt_id, count in n_by_attempt.items()
    )
    n_uses = memory.strategies.usage([strategy_id])[strategy_id].n_uses
    amount = f"All {n_uses:,}" if len(uses) == n_uses else f"{len(uses):,} of the {n_uses:,}"
    return f"{amount} uses, the latest first", rows


def preview_lines(memory: MemorySystem, cases: Sequence[Case]) -> list[str]:
    """Return the title of the first record of each case, or the name of its domain. Untrusted texts."""
    by_noun: dict[str, list[str]] = {}
    for case in cases:
        by_noun.setdefault(case.noun, []).extend(case.ids[:1])
    titles = {
        noun: next(kind for kind in KINDS.values() if kind.noun == noun).records(memory).titles(ids)
        for noun, ids in by_noun.items()
    }
    return [
        " ".join((case.domain.name if case.domain else titles[case.noun].get(case.ids[0], "")).split())
        for case in cases
    ]


def _texts_of(memory: MemorySystem, case: Case, record: Any) -> dict[str, str]:
    """Return the texts of a record, its title first."""
    if isinstance(record, Experience):
        return {"Task": record.task.description, **_attempt_texts(record)}
    card = VIEWS[case.noun].card(memory, record, "") if case.noun in VIEWS else None
    return {"Title": card.title, **card.sources} if card is not None else {"Title": str(record)}


def _attempt_texts(attempt: Experience) -> dict[str, str]:
    """Return the solution, the feedback and the last steps of an attempt, keyed by their labels."""
    texts = {"Solution": attempt.solution_output, "Feedback": attempt.feedback}
    for label, step in zip(reversed(LAST_STEPS), reversed(attempt.steps), strict=False):
        texts[label] = step.observation or step.action
    return texts


def _differences(records: Sequence[Any], texts: Sequence[Mapping[str, str]]) -> tuple[dict[str, str], ...]:
    """Return the differences of each other record from the first one, by label, and its origin.

    Texts that are the same in all records are left out, and so is the agent if all have the same.
    """
    first = texts[0]
    n_agents = len({getattr(record, "agent_id", "") for record in records})
    differences = [
        {label: word_diff(first.get(label, ""), record_texts.get(label, "")) for label in {**first, **record_texts}}
        for record_texts in texts[1:]
    ]
    labels = dict.fromkeys(label for by_label in differences for label in by_label)
    differing = [label for label in labels if any(by_label.get(label, SAME) != SAME for by_label in differences)]
    return tuple(
        {**{label: by_label.get(label, SAME) for label in differing}, **_origin(record, with_agent=n_agents > 1)}
        for record, by_label in zip(records[1:], differences, strict=True)
    )


def _origin(record: Any, *, with_agent: bool) -> dict[str, str]:
    """Return the agent and the time of a record by label, as far as its kind stores them."""
    agent, created_at = getattr(record, "agent_id", ""), getattr(record, "created_at", None)
    return {
        **({"Agent": agent} if agent and with_agent else {}),
        **({"Written": utc_time_text(created_at)} if created_at else {}),
    }


def _attack_excerpts(case: Case) -> tuple[tuple[str, Text], ...]:
    """Return the excerpts of a suspicious record that are signs of an attack, each after the name of the attack."""
    reasons = case.finding.reasons if case.finding is not None else ()
    return tuple(
        (f"{reason.attack.capitalize()}, in its {reason.part}", Text(reason.excerpt))
        for reason in reasons
        if reason.excerpt
    )


def case_reason(memory: MemorySystem, case: Case) -> str:
    """Return why a case is in its queue."""
    signs = f"Score {case.finding.score:.2f}. {join_reasons(case.finding)}" if case.finding is not None else ""
    if case.quarantine is not None:
        return case.quarantine.reason
    if case.waiting is not None:
        waits = f"The key {case.waiting.writer} wrote it under review. Only that key finds it until it is accepted."
        return f"{waits} {signs}".rstrip()
    if signs:
        return signs
    if case.is_group:
        return _group_reason(memory, case)
    (record_id,) = case.ids
    if case.queue == FAILING:
        return _strategy_reason(memory, record_id)
    return _attempt_reason(memory, case.queue, record_id)


def _domain_reason(case: Case) -> str:
    domain = case.domain
    assert domain is not None
    succeeded = percent((domain.percent_succeeded or 0.0) / 100)
    return (
        f"A domain of the map: {succeeded} of its {counted(domain.n_known, 'attempt')} "
        f"at {counted(domain.n_tasks, 'task')} succeeded (likely {domain.interval}), {domain.verdict}."
    )


def _group_reason(memory: MemorySystem, case: Case) -> str:
    if case.noun != EXPERIENCE.noun:
        return f"{len(case.ids):,} {plural(case.noun)} say the same, word for word."
    (group,) = group_lines(memory, [case.ids])
    if case.queue == REPEATED:
        return f"{group.label}, by different solutions or actions. Merging keeps one solution."
    return f"{group.label}, with the same solution and the same actions."


def _strategy_reason(memory: MemorySystem, record_id: str) -> str:
    usage = memory.strategies.usage([record_id])[record_id]
    uses, successes = (memory.strategies.column(f"usage.{name}", ACTIVE) for name in ("n_uses", "n_successes"))
    n_others, n_good = sum(uses.values()) - usage.n_uses, sum(successes.values()) - usage.n_successes
    return (
        f"Agents are given it, but {usage.n_successes:,} of its {counted(usage.n_uses, 'use')} succeeded, clearly "
        f"fewer than with the other active strategies ({n_good:,} of {n_others:,})."
    )


def _attempt_reason(memory: MemorySystem, queue: str, record_id: str) -> str:
    where = {"id": record_id}
    if queue == UNKNOWN:
        n_retrieved = memory.experience.column("usage.n_retrieved", where).get(record_id, 0)
        sentence = (
            f"Agents were shown it {counted(n_retrieved, 'time')}." if n_retrieved else "Agents were not shown it yet."
        )
        return f"Its outcome is not known, so it counts in no success rate. {sentence}"
    time_column, verb = ("created_at", "Attempted") if queue == STALE else ("stored_at", "Stored")
    day = day_text(stored_instant(memory.experience.column(time_column, where), record_id))
    disuse = f"and unused for {UNUSED_DAYS} days" if queue == STALE else "and returned by no search since"
    return f"{verb} on {day}, {disuse}."
