"""Searching experiences: rows for a list, and cards that say why each stands where it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from atlas.core.hits import Hit
from atlas.core.settings import RankingWeights
from atlas.core.types import Experience
from atlas.memory.experience.memory import ChromaExperienceMemory
from atlas.memory.system import MemorySystem
from atlas.storage.profiles import problem_in_use
from atlas.views.experience.list import ExperienceRow, Query, row_of
from atlas.views.lists.highlighting import Source
from atlas.views.lists.hits import HitCard, hit_card
from atlas.views.lists.listing import SEARCH_ROWS, Listing, best_matches, on_page
from atlas.views.shared.wording import counted, hidden_text, signed

STANDS_IN = "ranked with the built-in weights, because the chosen profile cannot be used (see Evaluation)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Everything that answers a question, best first, at most `SEARCH_ROWS`."""

    rows: tuple[ExperienceRow, ...]
    hits: Mapping[str, Hit[str]] = field(default_factory=dict)
    """By id. Empty if the search ranked by words alone."""

    n_hidden: int = 0
    """Hits with too little to do with the question, no more than fill `SEARCH_ROWS`."""

    notes: tuple[str, ...] = ()
    """Sentences on the question itself, such as a field of the scope that no experience has."""

    def __contains__(self, experience_id: object) -> bool:
        """Return whether an experience is one of them."""
        return any(row.id == experience_id for row in self.rows)

    @property
    def n_attempts(self) -> int:
        """How many experiences the rows stand for."""
        return sum(sum(hit.outcomes.values()) for hit in self.hits.values()) if self.hits else len(self.rows)


def search(memory: MemorySystem, query: Query) -> Found:
    """Return the answers to a question. Looking counts as no retrieval."""
    ask = _by_words if query.is_by_words else _by_best_match
    return ask(memory, query)


def found_page(memory: MemorySystem, query: Query, found: Found, page: int = 1) -> Listing[ExperienceRow]:
    """Return one page of what a search found, counted from 1."""
    caption = _caption(memory, query, found)
    if found.hits and profile_problems(memory):
        caption += f" · {STANDS_IN}"
    caption = " · ".join([caption, *found.notes])
    return Listing(rows=tuple(on_page(found.rows, page)), n=len(found.rows), caption=caption)


def experience_card(memory: MemorySystem, text: str, hit: Hit[str] | None, experience_id: str) -> HitCard | None:
    """Return the card of an experience that a question found, or None if it is not in the store.

    Costs some milliseconds, more where the experience's text is longer than the model reads at once.

    Args:
        text: The question.
        hit: None where the search ranked by words alone: then no passage is looked for by meaning.
    """
    experience = memory.experience.get(experience_id)
    held = memory.experience
    return None if experience is None else card_of(held, text, hit, experience, held.weights)


def card_of(
    memory: ChromaExperienceMemory, text: str, hit: Hit[Any] | None, experience: Experience, weights: RankingWeights
) -> HitCard:
    """Return the card of an experience that is at hand.

    Args:
        memory: The one that found it.
        weights: What it was ranked with.
    """
    window = memory.passage(experience.id, text) if hit else None
    return hit_card(
        hit,
        id=experience.id,
        title=experience.task.description,
        outcome=signed(experience.outcome.label),
        sources=_sources(experience, window),
        query=text,
        weights=weights,
        met=memory.met_words(experience.id, text) if hit else (),
    )


def profile_problems(memory: MemorySystem) -> tuple[str, ...]:
    """Return a sentence on what is wrong with the profile in use. It holds its name, which is untrusted text."""
    if memory.storage.settings.ranking is not None:  # weights that were given in code win over any profile
        return ()
    problem = problem_in_use(memory.storage.profiles.in_use())
    return (f"{problem[0].upper()}{problem[1:]}.",) if problem else ()


def ids_found(memory: MemorySystem, query: Query, found: Found | None) -> list[str]:
    """Return the ids on all pages of a list.

    Args:
        found: What a search found; None for a list without a question.
    """
    return [row.id for row in found.rows] if found is not None else memory.experience.ids(query.where)


def _sources(experience: Experience, window: str | None) -> Sequence[Source]:
    """Return the texts that an experience is found by, the passage nearest in meaning first."""
    nearest = [Source("Nearest passage", window, is_part=True)] if window else []
    named = {"Task": experience.embedding_text, "Solution": experience.solution_output, "Feedback": experience.feedback}
    return [*nearest, *(Source(name, text) for name, text in named.items())]


def _by_best_match(memory: MemorySystem, query: Query) -> Found:
    found = best_matches(
        memory.experience,
        query.scope.text,
        query.where,
        with_irrelevant=query.with_irrelevant,
        distinct=query.distinct,
    )
    return Found(
        rows=tuple(row_of(hit.item, hit) for hit in found.hits),
        hits={hit.item.id: hit.of(hit.item.id) for hit in found.hits},
        n_hidden=found.n_hidden,
        notes=found.notes,
    )


def _by_words(memory: MemorySystem, query: Query) -> Found:
    found = memory.experience.search_words(query.scope.text, SEARCH_ROWS, where=query.where, with_buried=True)
    notes = memory.experience.filter_notes(query.where)
    return Found(rows=tuple(row_of(experience) for experience in found), notes=notes)


def _caption(memory: MemorySystem, query: Query, found: Found) -> str:
    among = counted(memory.experience.count(query.where), "experience")
    if query.where:
        among += " in scope"
    return _words_caption(found, among) if query.is_by_words else _best_match_caption(query, found, among)


def _words_caption(found: Found, among: str) -> str:
    n = len(found.rows)
    if not n:
        return f"Nothing found among {among}"
    return (
        f"{_the_best(n)}{n:,} that {'holds' if n == 1 else 'hold'} any of these words among {among}, best match first"
    )


def _best_match_caption(query: Query, found: Found, among: str) -> str:
    n, n_attempts = len(found.rows), found.n_attempts
    joined = f"shown as {n:,}, " if query.distinct and n < n_attempts else ""
    if query.with_irrelevant:
        return f"The {n_attempts:,} nearest among {among}, relevant or not, {joined}best first"
    hidden = hidden_text(found.n_hidden, n_shown=n, most=SEARCH_ROWS)
    if not n:
        return ", ".join(filter(None, [f"Nothing relevant among {among}", hidden]))
    are = "is" if n_attempts == 1 else "are"
    said = f"{_the_best(n)}{n_attempts:,} of {among} {are} relevant, {joined}best first"
    return " · ".join(filter(None, [said, hidden]))


def _the_best(n: int) -> str:
    return "The best " if n == SEARCH_ROWS else ""
