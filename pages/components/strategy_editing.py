"""What a person can change of one strategy: its texts, in boxes that are kept when they are saved."""

from __future__ import annotations

from atlas import MemorySystem
from atlas.views.kinds import STRATEGY
from atlas.views.strategy import EditableStrategy
from pages.components.text_forms import TextForm

LABELS = {
    "title": "Title; the situation's first line where it is empty",
    "situation": "When to apply it",
    "suggestion": "What to do",
    "parameters": "What differs between the tasks, one a line, as: name (type): what it is",
    "rationale": "Why it should work",
}
HEIGHTS = {"situation": 100, "suggestion": 200, "parameters": 90, "rationale": 80}


def _stored(memory: MemorySystem, strategy_id: str) -> EditableStrategy | None:
    strategy = memory.strategies.get(strategy_id)
    return None if strategy is None else EditableStrategy.of(strategy)


FORM = TextForm(kind=STRATEGY, labels=LABELS, heights=HEIGHTS, read=_stored)
