"""Words that distinguish the tasks for which a function is used from other tasks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from atlas.core.words import content_words

MIN_TASKS = 3
"""Smallest number of tasks of the function."""

MIN_OTHER_TASKS = 20
"""Smallest number of other tasks to compare with."""

MIN_TASK_SHARE = 0.9
"""Smallest share of the function's tasks that contain a distinctive word."""

MAX_OTHER_SHARE = 0.05
"""Largest share of other tasks that contain a distinctive word."""

MAX_CHARACTERS = 10_000
"""Number of characters of a task's text that are read."""

_EXAMPLES = re.compile(r"\n\ndef |>>>|https?://\S+|(?i:\bexamples?:)")
"""Starts of the parts of a task that are left out: a signature, examples, a URL."""


def distinctive_words(own_tasks: Iterable[str], tasks: Iterable[str]) -> list[str]:
    """Return the words that nearly all of a function's tasks and few other tasks contain.

    Args:
        tasks: Texts of all tasks, including `own_tasks`.
    """
    own_texts = sorted({text for text in own_tasks if text.strip()})
    other_texts = sorted({text for text in tasks if text.strip()} - set(own_texts))
    if len(own_texts) < MIN_TASKS or len(other_texts) < MIN_OTHER_TASKS:
        return []
    own_counts, other_counts = _count_tasks_by_word(own_texts), _count_tasks_by_word(other_texts)
    distinctive = [
        word
        for word, count in own_counts.items()
        if count >= MIN_TASK_SHARE * len(own_texts) and other_counts[word] <= MAX_OTHER_SHARE * len(other_texts)
    ]
    return sorted(distinctive, key=lambda word: (other_counts[word], word))


def _count_tasks_by_word(texts: Sequence[str]) -> Counter[str]:
    return Counter(word for text in texts for word in content_words(_EXAMPLES.split(text[:MAX_CHARACTERS])[0]))
