"""Example questions: diverse tasks of a store."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from atlas.core.types import Vectors
from atlas.memory.base.ranking import maximal_marginal_relevance
from atlas.memory.effects.curation import sample_evenly
from atlas.memory.effects.memory_effect import MemoryEffect
from atlas.memory.system import MemorySystem

MIN_CUT = 40
"""Least length of a truncated task, since its first sentence may only introduce the speaker."""

EXAMPLES, GAINED = 6, 2
"""Number of questions that are offered, and how many of them are about tasks that gained most with memory."""

SAMPLED = 240
"""Number of experiences to sample evenly."""

SHORTEST, LONGEST = 20, 120
"""Bounds on a question's length. A longer task is truncated after a sentence or word."""


def example_questions(memory: MemorySystem, n: int = EXAMPLES) -> tuple[str, ...]:
    """Return diverse example questions from the store's tasks. Untrusted texts."""
    rows = memory.experience.collection.get(sample_evenly(memory.experience.ids(), SAMPLED))
    vectors_by_question: dict[str, Vectors] = {}
    for row in rows:
        question = _question(row["document"])
        if len(question) >= SHORTEST:
            vectors_by_question.setdefault(question, np.atleast_2d(row["embedding"])[0])
    if not vectors_by_question:
        return ()
    order = maximal_marginal_relevance(
        np.stack([*vectors_by_question.values()]), [0.0] * len(vectors_by_question), diversity=1.0
    )
    questions = [*vectors_by_question]
    return tuple(questions[index] for index in order[:n])


def invitations(memory: MemorySystem, effect: MemoryEffect) -> tuple[str, ...]:
    """Return questions for a first visit: tasks that gained most with memory, then diverse ones. Untrusted texts."""
    gained = demonstrations(memory, effect)[:GAINED] if effect.n_helped else ()
    return tuple(dict.fromkeys((*gained, *example_questions(memory))))[:EXAMPLES]


def demonstrations(memory: MemorySystem, effect: MemoryEffect) -> tuple[str, ...]:
    """Return questions for a demonstration: tasks tried with and without memory, largest gain first.

    Falls back to `example_questions` if no task was tried both ways. All are untrusted texts.
    """
    latest = list[str]()
    for task in effect.tasks:
        ids = [attempt.experience_id for attempt in task.attempts if attempt.experience_id]
        latest += ids[-1:]
    experiences = {experience.id: experience for experience in memory.experience.get_many(latest)}
    questions = [_question(experiences[i].task.description) for i in latest if i in experiences]
    return tuple(dict.fromkeys(filter(None, questions))) or example_questions(memory)


def neighbour(questions: Sequence[str], text: str, *, is_next: bool) -> str:
    """Return the next or previous question, cyclically."""
    if text in questions:
        return questions[(questions.index(text) + (1 if is_next else -1)) % len(questions)]
    return questions[0 if is_next else -1]


def _question(document: str) -> str:
    """Return the beginning of a task, on one line."""
    line = " ".join(document[: 4 * LONGEST].split())
    if len(line) <= LONGEST:
        return line
    whole = [end.end() for end in re.finditer(r"[.!?](?=\s)", line[:LONGEST]) if end.end() >= MIN_CUT]
    return line[: whole[-1]] if whole else line[:LONGEST].rsplit(" ", 1)[0]
