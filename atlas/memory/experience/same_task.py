"""Equality of tasks. Descriptions that differ in a number or a name describe different tasks."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from atlas.core.types import Task

_TOKEN = re.compile(
    r"""
    "[^"\n]+" | \u201c[^\u201d\n]+\u201d | `[^`\n]+` | (?<!\w)'[^'\n]+'(?!\w)  # quotations, unchanged
    | \d+(?:[.,:/]\d+)*(?!\w) | \w+
    | (?<![\w)])-(?=\d)                                         # a minus sign, not a hyphen
    | [^\w\s.,;:!?'"`\u2018-\u201f\u2013\u2014-]  # operators and brackets, not punctuation
    """,
    re.VERBOSE,
)

_FILLERS = frozenset(("a", "an", "the", "given", "please", "kindly"))
"""Function words, which do not distinguish tasks."""

_SHORTEST_PLURAL = 4


def is_same_task(task: Task, other: Task) -> bool:
    """Return whether two tasks have the same id or the same `task_key`."""
    return task.id == other.id or task_key(task) == task_key(other)


def task_key(task: Task) -> tuple[str, tuple[str, ...], str]:
    """Return a key that equal tasks share: domain, significant words of the description, and context."""
    return task.domain, significant_words(task.description), input_key(task.context)


def input_key(context: Mapping[str, Any]) -> str:
    """Return a task's context as a string that is equal for equal contexts."""
    return json.dumps(context, sort_keys=True, default=str)


def significant_words(text: str) -> tuple[str, ...]:
    """Return the words of a description that distinguish its task, in order.

    Case, punctuation, articles and plural endings are ignored. Numbers, names, operators, quotations and all other
    words count.
    """
    tokens = _TOKEN.findall(unicodedata.normalize("NFKC", text))
    return tuple(_normalise(token) for token in tokens if token.lower() not in _FILLERS)


def _normalise(token: str) -> str:
    if not (token.isalpha() and token.islower()):
        return token if token[0] in "\"\u201c`'" else token.casefold()
    is_plural = len(token) >= _SHORTEST_PLURAL and token.endswith("s") and not token.endswith("ss")
    return token[:-1] if is_plural else token
