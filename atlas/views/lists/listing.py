"""What the lists of all kinds of memories have in common: a question, a page of rows, and how many there are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from atlas.core.hits import Hit, Retrieval
from atlas.core.operations import Marks
from atlas.memory.base.ranking import explain
from atlas.memory.base.retrieval import RetrievalMemory
from atlas.views.shared.wording import counted

NEWEST = "Newest first"
"""The order that lists can have in common."""

PAGE_ROWS = 25

SEARCH_ROWS = 200
"""The best hits of a search; what ranks lower no longer answers the question."""

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a person asked a list for."""

    text: str = ""
    with_irrelevant: bool = False
    """Whether a search also lists what has nothing to do with the question."""

    @property
    def is_search(self) -> bool:
        """Whether there is a question."""
        return bool(self.text.strip())

    @property
    def is_by_words(self) -> bool:
        """Whether only words count, so that no model is asked what it means."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a list; what comes from the store is untrusted text."""

    id: str
    marks: str = ""
    """`pinned, buried`, and the tags."""

    relevance: float | None = None
    """How much it has to do with the question, in [0, 1]; None in a list that is not ranked by best match."""

    why: str = ""
    """Why it stands where it does, in one sentence; holds nothing that memories hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(Generic[R]):
    """A page of a list."""

    rows: tuple[R, ...]
    n: int
    """Of all pages."""

    caption: str
    """How many there are, and of how many; holds nothing that memories hold."""


def n_pages(n_rows: int) -> int:
    """How many pages rows take; at least one."""
    return max(1, math.ceil(n_rows / PAGE_ROWS))


def page_start(page: int, n_rows: int) -> int:
    """How many rows stand before a page, or before the nearest that there is, for an address may name any."""
    return (min(max(page, 1), n_pages(n_rows)) - 1) * PAGE_ROWS


def on_page(items: Sequence[T], page: int) -> Sequence[T]:
    """Those of one page; the first is 1."""
    return items[page_start(page, len(items)) :][:PAGE_ROWS]


def best_matches(
    records: RetrievalMemory[T],
    text: str,
    where: Mapping[str, Any],
    *,
    with_irrelevant: bool,
    distinct: bool = False,
) -> Retrieval[T]:
    """What answers a question, best first, at most `SEARCH_ROWS`; looking counts as no retrieval."""
    return records.retrieve(
        text,
        SEARCH_ROWS,
        where=where,
        threshold=0.0 if with_irrelevant else None,
        distinct=distinct,
        count_retrieval=False,
        with_buried=True,
    )


def explained(hits: Iterable[Hit[T]]) -> list[tuple[T, float, str]]:
    """What was found, how much each has to do with the question, and why it stands where it does."""
    return [(hit.item, hit.relevance, explain(hit)) for hit in hits]


def marks_text(marks: Marks) -> str:
    """Return `pinned, buried` and the tags, as one line."""
    said = {"pinned": marks.pinned, "buried": marks.buried, "note": bool(marks.note)}
    return ", ".join([*(name for name, holds in said.items() if holds), *marks.tags])


def listed_caption(n: int, n_all: int, noun: str, *, is_narrow: bool) -> str:
    """`3 of 36 strategies`; `36 strategies` where none is left out."""
    total = counted(n_all, noun)
    return f"{n:,} of {total}" if is_narrow else total
