"""Lists of all kinds of memories: a question, a page of rows, and how many there are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from atlas.core.hits import Hit, Retrieval
from atlas.core.operations import Marks
from atlas.memory.base.memory import Memory
from atlas.memory.base.ranking import explain
from atlas.views.shared.wording import counted

NEWEST = "Newest first"
"""The order that lists can have in common."""

PAGE_ROWS = 25

SEARCH_ROWS = 200
"""Hits of a search that are shown. Lower ones no longer answer the question."""

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A person's question to a list."""

    text: str = ""
    with_irrelevant: bool = False
    """True if a search also lists records that have nothing to do with the question."""

    @property
    def is_search(self) -> bool:
        """True if there is a question."""
        return bool(self.text.strip())

    @property
    def is_by_words(self) -> bool:
        """True if only words count, so that no text is embedded."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a list. Texts from the store are untrusted."""

    id: str
    marks: str = ""
    """`pinned, buried`, and the tags."""

    relevance: float | None = None
    """Relevance to the question, in [0, 1], or None in a list that is not ranked by best match."""

    why: str = ""
    """The reason for its place, in one sentence that holds no text of a memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(Generic[R]):
    """A page of a list."""

    rows: tuple[R, ...]
    n: int
    """Of all pages."""

    caption: str
    """How many there are, and of how many. It holds no text of a memory."""


def n_pages(n_rows: int) -> int:
    """Return how many pages the rows take, at least one."""
    return max(1, math.ceil(n_rows / PAGE_ROWS))


def page_start(page: int, n_rows: int) -> int:
    """Return how many rows stand before a page, or before the nearest one if there is no such page."""
    return (min(max(page, 1), n_pages(n_rows)) - 1) * PAGE_ROWS


def on_page(items: Sequence[T], page: int) -> Sequence[T]:
    """Return the items of one page, counted from 1."""
    return items[page_start(page, len(items)) :][:PAGE_ROWS]


def best_matches(
    records: Memory[T],
    text: str,
    where: Mapping[str, Any],
    *,
    with_irrelevant: bool,
    distinct: bool = False,
) -> Retrieval[T]:
    """Return the answers to a question, best first, at most `SEARCH_ROWS`. Looking counts as no retrieval."""
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
    """Return the records that were found, each with its relevance and why it stands where it does."""
    return [(hit.item, hit.relevance, explain(hit)) for hit in hits]


def marks_text(marks: Marks) -> str:
    """Return `pinned, buried` and the tags, as one line."""
    said = {
        "waiting for review": bool(marks.held_for),
        "pinned": marks.pinned,
        "buried": marks.buried,
        "note": bool(marks.note),
    }
    return ", ".join([*(name for name, holds in said.items() if holds), *marks.tags])


def listed_caption(n: int, n_all: int, noun: str, *, is_narrow: bool) -> str:
    """Return `3 of 36 strategies`, or `36 strategies` if none is left out."""
    total = counted(n_all, noun)
    return f"{n:,} of {total}" if is_narrow else total
