"""A hit of any memory as a card: which of its texts matched, how it has worked, and why it stands where it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from atlas.core.hits import Hit
from atlas.core.settings import RankingWeights
from atlas.core.statistics import SuccessRate
from atlas.core.types import CodeConcept, JournalEntry, Strategy
from atlas.memory.base.memory import Memory
from atlas.memory.context import record_text
from atlas.memory.strategies.outcomes import StrategyRate
from atlas.memory.system import MemorySystem
from atlas.views.experience.finding import card_of
from atlas.views.lists.highlighting import Source, matched_spans
from atlas.views.lists.hits import HitCard, hit_card
from atlas.views.shared.rates import rate_line
from atlas.views.shared.wording import counted


def memory_card(memory: MemorySystem, name: str, hit: Hit[Any], text: str, weights: RankingWeights) -> HitCard:
    """Return the card of a hit.

    Args:
        name: Of the memory that it is from: `strategies`, `experience`, `concepts`, `journal`.
        text: What was asked.
        weights: What it was ranked with.
    """
    return _CARDS[name](memory, hit, text, weights)


def tried_line(rate: StrategyRate) -> str:
    """Return `succeeded in 3 of 4 tries (95 %: 28–95 %)`, or `not tried yet`. That it is retired, if it is."""
    return record_text(rate.n_succeeded, rate.n) + (f", retired {rate.retired}" if rate.retired else "")


def _experience(memory: MemorySystem, hit: Hit[Any], text: str, weights: RankingWeights) -> HitCard:
    return card_of(memory.experience, text, hit, hit.item, weights)


def _strategy(memory: MemorySystem, hit: Hit[Strategy], text: str, weights: RankingWeights) -> HitCard:
    strategy = hit.item
    rate = memory.strategies.rates([strategy.id]).get(strategy.id)
    return hit_card(
        hit,
        id=strategy.id,
        title=strategy.title,
        outcome=tried_line(rate) if rate else "",
        sources=_sources(
            memory.strategies,
            strategy.id,
            text,
            {"When": strategy.situation, "Do": strategy.suggestion, "Because": strategy.rationale},
        ),
        query=text,
        weights=weights,
        met=memory.strategies.met_words(strategy.id, text),
    )


def _concept(memory: MemorySystem, hit: Hit[CodeConcept], text: str, weights: RankingWeights) -> HitCard:
    concept = hit.item
    usage = memory.concepts.usage([concept.id])[concept.id]
    rate = SuccessRate(n_succeeded=usage.n_successes, n_failed=usage.n_uses - usage.n_successes)
    used = f"helped with {counted(usage.n_uses, 'task')}: {rate_line(rate)}" if usage.n_uses else "not used yet"
    told = {"Does": concept.description, "When": concept.guidance}
    is_told = any(matched_spans(held, text) for held in told.values())  # code on one line is hard to read
    return hit_card(
        hit,
        id=concept.id,
        title=concept.name,
        outcome=f"{concept.language}, {concept.source}, {used}",
        sources=_sources(memory.concepts, concept.id, text, told if is_told else told | {"Code": concept.code}),
        query=text,
        weights=weights,
        met=memory.concepts.met_words(concept.id, text),
    )


def _entry(memory: MemorySystem, hit: Hit[JournalEntry], text: str, weights: RankingWeights) -> HitCard:
    entry = hit.item
    return hit_card(
        hit,
        id=entry.id,
        title="",
        outcome=f"{entry.entry_type}, generation {entry.generation}",
        sources=_sources(memory.journal, entry.id, text, {"Entry": entry.content}),
        query=text,
        weights=weights,
        met=memory.journal.met_words(entry.id, text),
    )


def _sources(of: Memory[Any], record_id: str, text: str, named: Mapping[str, str]) -> list[Source]:
    """Return the texts of a record. Of a long one, the passage that is nearest in meaning comes first."""
    window = of.passage(record_id, text)
    nearest = [Source("Nearest passage", window, is_part=True)] if window else []
    return [*nearest, *(Source(name, held) for name, held in named.items())]


_CARDS: Mapping[str, Callable[[MemorySystem, Hit[Any], str, RankingWeights], HitCard]] = {
    "strategies": _strategy,
    "experience": _experience,
    "concepts": _concept,
    "journal": _entry,
}
