"""The queries that were judged, as a list."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from atlas.memory.system import MemorySystem
from atlas.storage.marks.judgements import Forgotten as Forgotten
from atlas.storage.marks.judgements import Judgement, group_by_query
from atlas.views.shared.kinds import kind_of
from atlas.views.shared.wording import counted, in_words


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRow:
    """A query with its judgements."""

    query: str
    """Untrusted text."""

    right: str
    """`1 experience and 2 strategies`, or empty if there are no right ones."""

    wrong: str
    judged_at: datetime
    """When it was judged last."""


def judged_rows(memory: MemorySystem) -> list[JudgedRow]:
    """Return the judged queries, the latest first. Hits that were deleted since are counted too."""
    rows = [
        JudgedRow(
            query=query,
            right=_nouns(memory, [judgement for judgement in of_it if judgement.is_right]),
            wrong=_nouns(memory, [judgement for judgement in of_it if not judgement.is_right]),
            judged_at=of_it[-1].judged_at,
        )
        for query, of_it in group_by_query(memory.judgements()).items()
    ]
    return sorted(rows, key=lambda row: (row.judged_at, row.query), reverse=True)


def forgotten_sentence(n_queries: int) -> str:
    """Return `Deleted the judgements of 2 queries`."""
    return f"Deleted the judgements of {counted(n_queries, 'query')}"


def _nouns(memory: MemorySystem, judgements: list[Judgement]) -> str:
    nouns = [kind_of(memory, judgement.collection).noun for judgement in judgements]
    return in_words([counted(nouns.count(noun), noun) for noun in dict.fromkeys(nouns)])
