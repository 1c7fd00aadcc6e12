"""Judgements of the hits of one task."""

from __future__ import annotations

from collections.abc import Mapping

from atlas.memory.kinds.sections import SECTIONS
from atlas.memory.system import MemorySystem

RIGHT, WRONG = "right", "wrong"

LABELS: Mapping[str, str] = {RIGHT: ":material/thumb_up: Right", WRONG: ":material/thumb_down: Wrong"}

ABOUT = (
    "For each hit: should a search for this task find it? Mark it as right or wrong. "
    "Evaluation measures searches on these judgements."
)

Judged = Mapping[tuple[str, str], str]
"""`RIGHT` or `WRONG`, by the name of a memory and the id of a record."""


def judgements_of(memory: MemorySystem, text: str) -> Judged:
    """Return which records were judged right or wrong as hits for the task with this text."""
    names = {getattr(memory, name).collection_name: name for name in SECTIONS}
    return {
        (names[judgement.collection], judgement.record_id): RIGHT if judgement.is_right else WRONG
        for judgement in memory.judgements()
        if judgement.query == text.strip() and judgement.collection in names
    }


def is_right(choice: str | None) -> bool | None:
    """Return a choice as an argument of `MemorySystem.judge`."""
    return None if choice is None else choice == RIGHT
