"""How much an entry tells, and whether it tells anything that its journal does not know already."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from atlas.core.operations import Usage
from atlas.core.types import JournalEntry
from atlas.memory.journal_kinds import EntryType
from atlas.storage.terms import CJK_RUN

NOISE, REPEATED = "noise", "near-duplicate"

MIN_WORDS = 3
"""Different words that an entry needs to tell anything: fewer are noise."""

SAME_WORDS = 0.9
"""Share of the words of two entries that both have, from which they may say the same."""

SAME_PAIRS = 0.8
"""Share of the pairs of neighbouring words that both must have as well: in another order, words advise the opposite."""

NEGATIONS = {"not", "never", "no", "none", "nothing", "neither", "nor", "without", "cannot", "t"}
"""Words that turn what is said round, `t` being what is left of `don't`: two entries that say the same have as many."""

NUMBERS_TELL = ("crash_log",)
"""Types in which a number, such as that of an error or a line, tells one from another, as a word does."""

FEEDBACK_WEIGHT = 0.3
"""How far the tasks that an entry was used for can move its importance, up or down, once there are many."""

FEEDBACK_PRIOR = 3
"""Uses that count as much as what was thought of the entry before there were any."""

TELLING_CHARACTERS = 300
"""From so many on, a text's length says no more of how much it tells."""

_FAILED = re.compile(r"\b(?:not solved|fail\w*|error|exception|traceback|timed? ?out|wrong|incorrect)\b", re.IGNORECASE)
_ADVICE = re.compile(r"\b(?:should|must|never|always|because|instead|root cause|fix\w*|learned)\b", re.IGNORECASE)
_TOKEN = re.compile(r"[^\W\d]+")
_TOKEN_OR_NUMBER = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an entry was kept out."""

    gate: str
    """`noise` or `near-duplicate`."""

    reason: str
    like_id: str = ""
    """The entry that says the same; empty for noise."""


def importance_of(entry_type: EntryType, content: str) -> float:
    """How much an entry tells, in [0, 1], by its type and by what it says.

    A failure, and a reason or a rule, say more than that all went well; a few words say less than a paragraph.
    """
    told = 0.05 * bool(_FAILED.search(content)) + 0.05 * bool(_ADVICE.search(content))
    length = 0.05 * (min(len(content), TELLING_CHARACTERS) / TELLING_CHARACTERS - 0.5)
    return round(min(1.0, max(0.0, entry_type.importance + told + length)), 4)


def with_feedback(importance: float, usage: Usage) -> float:
    """An importance, moved by how those tasks went that the entry was used for; in [0, 1]."""
    if not usage.n_uses:
        return importance
    trust = usage.n_uses / (usage.n_uses + FEEDBACK_PRIOR)
    helped = 2 * usage.n_successes / usage.n_uses - 1
    return min(1.0, max(0.0, importance + FEEDBACK_WEIGHT * trust * helped))


def noise(content: str) -> Refusal | None:
    """Why a text tells nothing, or None where it may."""
    unspaced = set("".join(CJK_RUN.findall(content)))  # a character of Chinese or Japanese counts as a word
    n_words = len(telling_words(CJK_RUN.sub(" ", content))) + len(unspaced)
    if n_words >= MIN_WORDS:
        return None
    return Refusal(NOISE, f"{n_words} different words; an entry needs {MIN_WORDS} to tell anything")


def repeated(content: str, earlier: Iterable[JournalEntry]) -> Refusal | None:
    """Which of earlier entries of its type says what a text says, but for a few words and numbers that tell nothing."""
    for entry in earlier:
        shared = _shared(content, entry)
        if shared >= SAME_WORDS:
            share = math.floor(100 * shared)
            reason = f"shares {share} % of its words with entry {entry.id} of generation {entry.generation}"
            return Refusal(REPEATED, reason, entry.id)
    return None


def telling_words(text: str) -> set[str]:
    """The different words of a text, without numbers: these differ from one run of the same thing to the next."""
    return set(_TOKEN.findall(text.lower()))


def _shared(content: str, entry: JournalEntry) -> float:
    """The share of their words that a text and an entry both have; 0 where the same words say something else."""
    if content == entry.content:
        return 1.0
    token = _TOKEN_OR_NUMBER if entry.entry_type in NUMBERS_TELL else _TOKEN
    one, other = (token.findall(text.lower()) for text in (content, entry.content))
    if _negations(one) != _negations(other) or _overlap(_pairs(one), _pairs(other)) < SAME_PAIRS:
        return 0.0
    return _overlap(set(one), set(other))


def _negations(words: Sequence[str]) -> Counter[str]:
    return Counter(word for word in words if word in NEGATIONS)


def _pairs(words: Sequence[str]) -> set[tuple[str, ...]]:
    """Each word with the next one, also the first and the last."""
    return set(zip(["", *words], [*words, ""], strict=True))


def _overlap(one: Set[object], other: Set[object]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0
