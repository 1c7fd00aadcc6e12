"""Cases of curation as rows of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from atlas.memory.system import MemorySystem
from atlas.views.curate.attention import Severity
from atlas.views.curate.case_view import case_reason, case_title, case_word, preview_lines
from atlas.views.curate.cases import Case
from atlas.views.curate.health import FAILING
from atlas.views.curate.queues import REVIEW, SUSPICIOUS
from atlas.views.kinds.columns import Column
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.titles import task_title
from atlas.views.lists.queries import Row
from atlas.views.shared.wording import counted

CASE_COLUMNS = (Column("severity", "", 18, "severity"), Column("title", "Case", 420))
SUSPICIOUS_COLUMNS = (Column("title", "Title", 420), Column("why", "Why", 420), Column("size", "Kind", 130))


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRow(Row):
    """One case in the list of cases, by its name. The title is untrusted."""

    severity: Severity
    title: str
    size: str
    """`strategy`, `3 experiences` or `domain`, or empty for one experience."""

    @property
    def facts(self) -> tuple[str, ...]:
        """The subject of the case, unless it is one experience."""
        return (self.size,) if self.size else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspiciousRow(Row):
    """One suspicious record with its reason. Both texts are untrusted."""

    title: str
    size: str


SEVERITIES: Mapping[str, Severity] = {REVIEW: "urgent", SUSPICIOUS: "urgent", FAILING: "important"}
"""How much the cases of a queue matter, by the queue. Those of the others are routine."""


def case_rows(memory: MemorySystem, cases: Sequence[Case], counts: Mapping[str, int]) -> list[CaseRow]:
    """Return cases without their reasons, which take a while to find.

    Args:
        counts: Number of cases by queue. Several queues have headings.
    """
    attempts = [case.ids[0] for case in cases if case_word(case) == EXPERIENCE.noun]
    titles = {
        attempt.id: task_title(attempt.task.description).title for attempt in memory.experience.get_many(attempts)
    }
    return [
        CaseRow(
            id=case.name,
            severity=SEVERITIES.get(case.queue, "routine"),
            title=titles.get(next(iter(case.ids), ""), title),
            group=f"{case_title(case)} · {counts[case.queue]:,}" if len(counts) > 1 else "",
            size=_size(case),
        )
        for case, title in zip(cases, preview_lines(memory, cases), strict=True)
    ]


def _size(case: Case) -> str:
    word = case_word(case)
    return counted(len(case.ids), word) if case.is_group else "" if word == EXPERIENCE.noun else word


def suspicious_rows(memory: MemorySystem, cases: Sequence[Case]) -> list[SuspiciousRow]:
    """Return suspicious cases with their reasons."""
    return [
        SuspiciousRow(id=str(number), title=title, size=case.noun, why=case_reason(memory, case))
        for number, (case, title) in enumerate(zip(cases, preview_lines(memory, cases), strict=True))
    ]
