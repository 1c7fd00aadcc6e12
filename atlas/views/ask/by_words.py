"""The answer by words alone: what is shown until the embedding model is ready."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atlas.core.types import CodeConcept, Experience, JournalEntry, Strategy
from atlas.memory.context import SECTIONS
from atlas.memory.system import MemorySystem
from atlas.views.lists.highlighting import Source
from atlas.views.lists.hits import HitCard, hit_card
from atlas.views.shared.wording import signed

SENTENCE = (
    "The embedding model is being prepared, once for this machine. This takes about half a minute. "
    "Until then, these are the memories that share words with the task. The context block needs the model too."
)


def cards_by_words(memory: MemorySystem, text: str, k: int) -> dict[str, tuple[HitCard, ...]]:
    """Return the cards of what shares words with a task, by memory, at most k of each. No text is embedded."""
    found = {name: getattr(memory, name).retrieve_words(text, k).hits for name in SECTIONS}
    return {name: tuple(_card(hit.item, text) for hit in hits) for name, hits in found.items() if hits}


def _card(item: Any, text: str) -> HitCard:
    title, outcome, texts = _told(item)
    sources = [Source(name, held) for name, held in texts.items()]
    return hit_card(None, id=item.id, title=title, outcome=outcome, sources=sources, query=text)


def _told(item: Any) -> tuple[str, str, Mapping[str, str]]:
    """Return what a card says of a record: its title, a word on it, and its texts."""
    match item:
        case Experience():
            told = {"Task": item.task.description, "Solution": item.solution_output, "Feedback": item.feedback}
            return item.task.description, signed(item.outcome.label), told
        case Strategy():
            return item.title, "", {"When": item.situation, "Do": item.suggestion, "Because": item.rationale}
        case CodeConcept():
            return item.name, item.language, {"Does": item.description, "When": item.guidance, "Code": item.code}
        case JournalEntry():
            return "", f"{item.entry_type}, generation {item.generation}", {"Entry": item.content}
    raise TypeError(f"expected a record of a memory, but got {type(item).__name__}")
