"""Explanations why a record is not among the hits: excluded, below the level, or ranked lower."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from atlas.core.hits import Hit
from atlas.core.unseen import SHORT_ID, shown_id
from atlas.memory.system import MemorySystem
from atlas.views.ask.answer import LEFT_OUT, TITLES, Answer, Configuration, Part, RankedHit
from atlas.views.ask.cards import VIEWS, hit_card_of
from atlas.views.lists.hits import HitCard
from atlas.views.shared.wording import shortened

EACH = 3
"""Maximum number of matching records per memory."""

N_RETRIEVED = 100
"""Maximum rank to search."""

TITLE_CHARACTERS = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRecord:
    """A candidate for the record that a person searched for."""

    memory: str
    id: str
    title: str
    """On one line. Untrusted."""

    @property
    def label(self) -> str:
        """`experience f33bb09e: Rebuild the index`."""
        return f"{VIEWS[self.memory].kind.noun} {shown_id(self.id)}: {self.title}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Explanation why a record is or is not among the hits."""

    sentence: str
    """Trusted text."""

    card: HitCard | None
    """Its relevance and signals, or None if it cannot be ranked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A task with its search options and answer."""

    text: str
    configuration: Configuration
    answer: Answer


def named_records(memory: MemorySystem, words: str) -> tuple[NamedRecord, ...]:
    """Return the records with this id prefix, or else the records that contain the words."""
    begin = re.sub(r"^\[\w+ (.+)\]$", r"\1", words.strip())
    found = [*_with_id(memory, begin)] if len(begin) >= SHORT_ID else []
    return tuple(found or _with_words(memory, words))


def explained(memory: MemorySystem, record: NamedRecord, question: Question) -> Explanation:
    """Return why a record is among the hits of a question, or is not."""
    weights = question.configuration.weights
    part = next(part for part in question.answer.parts if part.name == record.memory)
    shown = next((hit for hit in part.hits if hit.id == record.id), None)
    if shown is not None:
        card = hit_card_of(memory, record.memory, shown.hit, question.text, weights)
        return Explanation(sentence=_found_sentence(shown, part), card=card)
    if part.absence in ("left out", "failed"):
        why = "is left out here" if part.absence == "left out" else "failed"
        return Explanation(sentence=f"The memory that holds it ({part.title.lower()}) {why}.", card=None)
    marks = VIEWS[record.memory].kind.records(memory).marks([record.id])[record.id]
    if marks.quarantine:
        return Explanation(sentence=f"It is in quarantine, so no search finds it: {marks.quarantine}", card=None)
    hit = _own_hit(memory, record, question, with_buried=True)
    if hit is None:
        return Explanation(sentence="It cannot be ranked. It may have been deleted meanwhile.", card=None)
    card = hit_card_of(memory, record.memory, hit, question.text, weights)
    return Explanation(sentence=_missing_sentence(memory, record, question, part, hit), card=card)


def _with_id(memory: MemorySystem, begin: str) -> Iterator[NamedRecord]:
    for name, views in VIEWS.items():
        records = views.kind.records(memory)
        ids = [record_id for record_id in records.ids() if record_id.startswith(begin) or shown_id(record_id) == begin]
        yield from _named(memory, name, ids[:EACH])


def _with_words(memory: MemorySystem, words: str) -> Iterator[NamedRecord]:
    for name, views in VIEWS.items():
        found = views.kind.records(memory).search_words(words, EACH, with_buried=True)
        yield from _named(memory, name, [record.id for record in found])


def _named(memory: MemorySystem, name: str, ids: list[str]) -> Iterator[NamedRecord]:
    titles = VIEWS[name].kind.records(memory).titles(ids)
    for record_id in ids:
        title = shortened(" ".join(titles.get(record_id, "").split()), TITLE_CHARACTERS)
        yield NamedRecord(memory=name, id=record_id, title=title)


def _own_hit(memory: MemorySystem, record: NamedRecord, question: Question, *, with_buried: bool) -> Hit[Any] | None:
    """Return a record scored as a hit, or None if it is not searchable."""
    hits = (
        VIEWS[record.memory]
        .kind.records(memory)
        .ranked_with(question.configuration.weights)
        .retrieve(
            question.text,
            1,
            where={"id": {"$in": [record.id]}},
            threshold=0.0,
            count_retrieval=False,
            with_buried=with_buried,
        )
        .hits
    )
    return hits[0] if hits else None


def _found_sentence(hit: RankedHit, part: Part) -> str:
    where = f"at place {hit.place} of the block" if hit.is_shown else f"{LEFT_OUT}: {hit.reason}"
    return f"It was found: rank {hit.rank} of {len(part.hits)} in {part.title.lower()}, {where}."


def _missing_sentence(memory: MemorySystem, record: NamedRecord, question: Question, part: Part, hit: Hit[Any]) -> str:
    marks = VIEWS[record.memory].kind.records(memory).marks([record.id])[record.id]
    if marks.held_for:
        return "It waits for review, so searches leave it out."
    if marks.buried:
        return "It is retired, so searches leave it out. Its own page can bring it back."
    if _own_hit(memory, record, question, with_buried=False) is None:
        return "It is retired, because it failed too often, so searches leave it out."
    if hit.relevance < part.level:
        return f"Its relevance of {hit.relevance:.2f} does not reach the level of {part.level:.2f} of this search."
    return _rank_sentence(memory, record, question, part)


def _rank_sentence(memory: MemorySystem, record: NamedRecord, question: Question, part: Part) -> str:
    ranked = (
        VIEWS[record.memory]
        .kind.records(memory)
        .ranked_with(question.configuration.weights)
        .retrieve(question.text, N_RETRIEVED, count_retrieval=False)
        .hits
    )
    rank = next((rank for rank, hit in enumerate(ranked, start=1) if hit.item.id == record.id), None)
    twin = _representative(record, ranked, part) if question.configuration.is_diverse else None
    if twin is not None:
        return f"Hit {twin.rank} stands for it: both are attempts at one task and about equally relevant."
    if rank is None:
        return f"It is relevant enough, but not among the {N_RETRIEVED} best of {TITLES[record.memory].lower()}."
    if rank > question.configuration.k:
        return f"It is relevant enough and has rank {rank}, behind the {_hits(question.configuration.k)} asked for."
    return f"It has rank {rank}. It was moved behind the last hit because a hit above it says much the same."


def _representative(record: NamedRecord, ranked: list[Hit[Any]], part: Part) -> RankedHit | None:
    """Return the hit that groups an attempt, if any."""
    if record.memory != "experience":
        return None
    task_id = next((hit.item.task.id for hit in ranked if hit.item.id == record.id), "")
    return next(
        (
            hit
            for hit in part.hits
            if task_id and hit.hit.item.task.id == task_id and sum(hit.hit.outcomes.values()) > 1
        ),
        None,
    )


def _hits(n: int) -> str:
    return "hit" if n == 1 else f"{n} hits"
