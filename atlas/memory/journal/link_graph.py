"""How the entries of a journal hang together: what is linked to what, and what may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from atlas.core.types import JournalEntry, Vectors
from atlas.memory.journal.records import refusals_of

CRASH, REFLECTION = "crash_log", "reflection"

NEAR = 0.45
"""Cosine from which a later reflection may be about a crash."""

WITHIN_GENERATIONS = 20
"""How many generations later the reflection may be that solved a crash."""

MOST_PER_CRASH = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A link, as it stands in a graph."""

    source_id: str
    type: str
    target_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkGraph:
    """What can be reached from an entry by links, in either direction."""

    entries: tuple[JournalEntry, ...]
    """Nearest first, without the one that was asked about."""

    depths: Mapping[str, int]
    """How many links away each is, by id."""

    edges: tuple[Edge, ...]
    """The links among them and with the one that was asked about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSuggestion:
    """A link that somebody may want, for a person to accept or to refuse."""

    source_id: str
    type: str
    target_id: str
    similarity: float
    """Cosine of the two, in [-1, 1]."""

    reason: str


def suggest_fixes(
    crashes: Sequence[JournalEntry], reflections: Sequence[JournalEntry], crash_vectors: Vectors, others: Vectors
) -> list[LinkSuggestion]:
    """Which reflections may tell how which crashes were solved: written since, and about the same; nearest first.

    Args:
        crashes: Without those that are known to be solved.
        crash_vectors: One for each crash.
        others: One for each reflection.
    """
    similarities = crash_vectors @ others.T
    found = []
    for row, crash in enumerate(crashes):
        of_crash = [
            _suggestion(crash, reflection, float(similarities[row, column]))
            for column, reflection in enumerate(reflections)
            if similarities[row, column] >= NEAR and _may_solve(crash, reflection)
        ]
        found += sorted(of_crash, key=lambda suggestion: -suggestion.similarity)[:MOST_PER_CRASH]
    return sorted(found, key=lambda suggestion: -suggestion.similarity)


def _may_solve(crash: JournalEntry, reflection: JournalEntry) -> bool:
    if crash.created_at is None or reflection.created_at is None or reflection.created_at < crash.created_at:
        return False
    is_near = 0 <= reflection.generation - crash.generation <= WITHIN_GENERATIONS
    return is_near and f"fixed_by:{reflection.id}" not in refusals_of(crash)


def _suggestion(crash: JournalEntry, reflection: JournalEntry, similarity: float) -> LinkSuggestion:
    later = reflection.generation - crash.generation
    when = "in the same generation" if not later else f"{later} generation{'s' if later > 1 else ''} later"
    return LinkSuggestion(
        source_id=crash.id,
        type="fixed_by",
        target_id=reflection.id,
        similarity=similarity,
        reason=f"a reflection {when} is about the same (similarity {similarity:.2f})",
    )
