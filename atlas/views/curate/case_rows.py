"""Cases of curation as rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from atlas.memory.system import MemorySystem
from atlas.views.curate.case_view import case_reason, case_title, case_word, preview_lines
from atlas.views.curate.cases import Case
from atlas.views.kinds.columns import Column
from atlas.views.lists.queries import Row
from atlas.views.shared.wording import counted

WAITING_COLUMNS = (Column("title", "Title", 420), Column("queue", "Queue", 150), Column("size", "Kind", 130))
SUSPICIOUS_COLUMNS = (Column("title", "Title", 420), Column("why", "Why", 420), Column("size", "Kind", 130))


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRow(Row):
    """One case. The title is untrusted."""

    title: str
    queue: str
    """Title of its queue."""

    size: str
    """`3 experiences`, or `domain`."""


def waiting_rows(memory: MemorySystem, cases: Sequence[Case]) -> list[CaseRow]:
    """Return cases without their reasons, which take a while to find."""
    return [
        CaseRow(
            id=str(number),
            title=title,
            queue=case_title(case),
            size=counted(len(case.ids), case.noun) if case.ids else case_word(case),
        )
        for number, (case, title) in enumerate(zip(cases, preview_lines(memory, cases), strict=True))
    ]


def suspicious_rows(memory: MemorySystem, cases: Sequence[Case]) -> list[CaseRow]:
    """Return suspicious cases with their reasons."""
    return [
        CaseRow(id=str(number), title=title, queue=case_title(case), size=case.noun, why=case_reason(memory, case))
        for number, (case, title) in enumerate(zip(cases, preview_lines(memory, cases), strict=True))
    ]
