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

MAX_RECORDS = 3
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
    """Return the records whose ids begin with the words, or without any, the records that contain the words."""
    id_prefix = re.sub(r"^\[\w+ (.+)\]$", r"\1", words.strip())
    records = [*_records_with_id(memory, id_prefix)] if len(id_prefix) >= SHORT_ID else []
    return tuple(records or _records_with_words(memory, words))


def explained(memory: MemorySystem, record: NamedRecord, question: Question) -> Explanation:
    """Return why a record is among the hits of a question, or is not."""
    weights = question.configuration.weights
    part = next(part for part in question.answer.parts if part.name == record.memory)
    ranked_hit = next((hit for hit in part.hits if hit.id == record.id), None)
    if ranked_hit is not None:
        card = hit_card_of(memory, record.memory, ranked_hit.hit, question.text, weights)
        return Explanation(sentence=_found_sentence(ranked_hit, part), card=card)
    if part.absence in ("left out", "failed"):
        predicate = "is left out here" if part.absence == "left out" else "failed"
        return Explanation(sentence=f"The memory that holds it ({part.title.lower()}) {predicate}.", card=None)
    marks = VIEWS[record.memory].kind.records(memory).marks([record.id])[record.id]
    if marks.quarantine:
        return Explanation(sentence=f"It is in quarantine, so no search finds it: {marks.quarantine}", card=None)
    hit = _scored_as_hit(memory, record, question, with_buried=True)
    if hit is None:
        return Explanation(sentence="It cannot be ranked. It may have been deleted meanwhile.", card=None)
    card = hit_card_of(memory, record.memory, hit, question.text, weights)
    return Explanation(sentence=_missing_sentence(memory, record, question, part, hit), card=card)


def _records_with_id(memory: MemorySystem, id_prefix: str) -> Iterator[NamedRecord]:
    for name, views in VIEWS.items():
        records = views.kind.records(memory)
        ids = [
            record_id
            for record_id in records.ids()
            if record_id.startswith(id_prefix) or shown_id(record_id) == id_prefix
        ]
        yield from _with_titles(memory, name, ids[:MAX_RECORDS])


def _records_with_words(memory: MemorySystem, words: str) -> Iterator[NamedRecord]:
    for name, views in VIEWS.items():
        records = views.kind.records(memory).search_words(words, MAX_RECORDS, with_buried=True)
        yield from _with_titles(memory, name, [record.id for record in records])


def _with_titles(memory: MemorySystem, name: str, ids: list[str]) -> Iterator[NamedRecord]:
    titles = VIEWS[name].kind.records(memory).titles(ids)
    for record_id in ids:
        title = shortened(" ".join(titles.get(record_id, "").split()), TITLE_CHARACTERS)
        yield NamedRecord(memory=name, id=record_id, title=title)


def _scored_as_hit(
    memory: MemorySystem, record: NamedRecord, question: Question, *, with_buried: bool
) -> Hit[Any] | None:
    """Return a record scored as a hit, or None if it is not searchable."""
    ranked_records = VIEWS[record.memory].kind.records(memory).ranked_with(question.configuration.weights)
    hits = ranked_records.retrieve(
        question.text,
        1,
        where={"id": {"$in": [record.id]}},
        threshold=0.0,
        count_retrieval=False,
        with_buried=with_buried,
    ).hits
    return hits[0] if hits else None


def _found_sentence(hit: RankedHit, part: Part) -> str:
    place_text = f"at place {hit.place} of the block" if hit.is_shown else f"{LEFT_OUT}: {hit.reason}"
    return f"It was found: rank {hit.rank} of {len(part.hits)} in {part.title.lower()}, {place_text}."


def _missing_sentence(memory: MemorySystem, record: NamedRecord, question: Question, part: Part, hit: Hit[Any]) -> str:
    marks = VIEWS[record.memory].kind.records(memory).marks([record.id])[record.id]
    if marks.held_for:
        return "It waits for review, so searches leave it out."
    if marks.buried:
        return "It is retired, so searches leave it out. Its own page can bring it back."
    if _scored_as_hit(memory, record, question, with_buried=False) is None:
        return "It is retired, because it failed too often, so searches leave it out."
    if hit.relevance < part.level:
        return f"Its relevance of {hit.relevance:.2f} does not reach the level of {part.level:.2f} of this search."
    return _rank_sentence(memory, record, question, part)


def _rank_sentence(memory: MemorySystem, record: NamedRecord, question: Question, part: Part) -> str:
    ranked_records = VIEWS[record.memory].kind.records(memory).ranked_with(question.configuration.weights)
    hits = ranked_records.retrieve(question.text, N_RETRIEVED, count_retrieval=False).hits
    rank = next((rank for rank, hit in enumerate(hits, start=1) if hit.item.id == record.id), None)
    representative = _representative(record, hits, part) if question.configuration.is_diverse else None
    if representative is not None:
        return f"Hit {representative.rank} stands for it: both are attempts at one task and about equally relevant."
    if rank is None:
        return f"It is relevant enough, but not among the {N_RETRIEVED} best of {TITLES[record.memory].lower()}."
    if rank > question.configuration.k:
        return (
            f"It is relevant enough and has rank {rank}, behind the {_hits_text(question.configuration.k)} asked for."
        )
    return f"It has rank {rank}. It was moved behind the last hit because a hit above it says much the same."


def _representative(record: NamedRecord, hits: list[Hit[Any]], part: Part) -> RankedHit | None:
    """Return the hit that stands for several attempts at a record's task, or None if there is none."""
    if record.memory != "experience":
        return None
    task_id = next((hit.item.task.id for hit in hits if hit.item.id == record.id), "")
    grouping_hits = (hit for hit in part.hits if sum(hit.hit.outcomes.values()) > 1)
    return next((hit for hit in grouping_hits if task_id and hit.hit.item.task.id == task_id), None)


def _hits_text(n: int) -> str:
    return "hit" if n == 1 else f"{n} hits"
