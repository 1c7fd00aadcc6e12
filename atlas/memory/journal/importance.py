"""The importance of an entry, and whether the journal contains its content already."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from atlas.core.operations import Usage
from atlas.core.types import JournalEntry
from atlas.memory.journal.entry_types import EntryType
from atlas.storage.text.analyzer import CJK_RUN

SCORE = "score"
"""The key of an entry's metadata, and the word in its text, before a score."""

MAX_SCORE = 100.0
"""The highest number that is taken for a score."""

MIDDLING = 0.5
"""The score that an entry without one counts as."""

_NUMBER = r"[-+]?(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][-+]?\d++)?+"
_WRITTEN = re.compile(rf"({_NUMBER})(?!\.?\w)\s*(?:(%)|/\s*({_NUMBER}))?")
_IN_TEXT = re.compile(rf"\b{SCORE}\b[\"']?\s*(?:[:=]|is|of)?\s*(?={_NUMBER})", re.IGNORECASE)

NOISE, REPEATED = "noise", "near-duplicate"

MIN_WORDS = 3
"""Different words that a meaningful entry needs: fewer are noise."""

SAME_WORDS = 0.9
"""Share of common words from which two entries may be repetitions."""

SAME_PAIRS = 0.8
"""Share of the pairs of neighbouring words that both must have as well: in another order, words advise the opposite."""

NEGATIONS = {"not", "never", "no", "none", "nothing", "neither", "nor", "without", "cannot", "t"}
"""Words that negate, `t` being what is left of `don't`: repetitions have the same number of them."""

SCORED = "observation"
"""The type whose importance, with those that count as it, depends on a score: success is worth repeating."""

SCORE_WEIGHT = 0.3
"""Difference in importance between observations of score 1 and 0."""

FEEDBACK_WEIGHT = 0.3
"""How far the tasks that an entry was used for can move its importance, up or down, once there are many."""

FEEDBACK_PRIOR = 3
"""Number of uses that count as much as the first estimate of an entry's importance."""

TELLING_CHARACTERS = 300
"""Length of a text from which more adds no importance."""

_FAILED = re.compile(r"\b(?:not solved|fail\w*|error|exception|traceback|timed? ?out|wrong|incorrect)\b", re.IGNORECASE)
_ADVICE = re.compile(r"\b(?:should|must|never|always|because|instead|root cause|fix\w*|learned)\b", re.IGNORECASE)
_TOKEN = re.compile(r"[^\W\d]+")
_NAME = re.compile(r"\w+")
_NUMBERS = re.compile(r"-?\d+(?:[.,:]\d+)*")
_COUNTER = re.compile(
    r"\bgen(?:eration)?\s+\d+\b|\b(?:survived|died after)\s+[\d.]+\s*s\b|\bcode:\s*\d+\s*bytes\b", re.IGNORECASE
)
"""Counters of Protea's template in each entry: these numbers differ from one run of the same thing to the next."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Reason why an entry was refused."""

    gate: str
    """`noise` or `near-duplicate`."""

    reason: str
    like_id: str = ""
    """The entry that is repeated, or empty for noise."""


def importance_of(entry_type: EntryType, content: str, metadata: Mapping[str, Any] = MappingProxyType({})) -> float:
    """Return the importance of an entry, in [0, 1], by its type, its content, and an observation's score.

    A failure, a reason or a rule counts more than a success report, and a paragraph more than a few words.
    """
    wording = 0.05 * bool(_FAILED.search(content)) + 0.05 * bool(_ADVICE.search(content))
    length = 0.05 * (min(len(content), TELLING_CHARACTERS) / TELLING_CHARACTERS - 0.5)
    is_scored = SCORED in (entry_type.name, entry_type.counts_as)
    score = score_of(content, metadata) if is_scored else None
    scored = 0.0 if score is None else SCORE_WEIGHT * (min(1.0, score) - MIDDLING)
    return round(min(1.0, max(0.0, entry_type.importance + wording + length + scored)), 4)


def with_feedback(importance: float, usage: Usage) -> float:
    """Return an importance, adjusted by the outcomes of the tasks that the entry was used for. In [0, 1]."""
    if not usage.n_uses:
        return importance
    trust = usage.n_uses / (usage.n_uses + FEEDBACK_PRIOR)
    helped = 2 * usage.n_successes / usage.n_uses - 1
    return min(1.0, max(0.0, importance + FEEDBACK_WEIGHT * trust * helped))


def noise(content: str) -> Refusal | None:
    """Return the reason why a text is noise, or None."""
    unspaced = set("".join(CJK_RUN.findall(content)))  # a character of Chinese or Japanese counts as a word
    names = set(_NAME.findall(CJK_RUN.sub(" ", content).lower()))  # `w3` is another word than `w4`
    n_words = sum(not name.isdecimal() for name in names) + len(unspaced)
    if n_words >= MIN_WORDS:
        return None
    return Refusal(NOISE, f"{n_words} different words; an entry needs {MIN_WORDS} to tell anything")


def repeated(entry: JournalEntry, earlier: Iterable[JournalEntry]) -> Refusal | None:
    """Return the earlier entry that an entry repeats, but for a few words and Protea's counters.

    Another number, such as that of an error or a score, makes other content.
    """
    score, numbers = score_of(entry.content, entry.metadata), _numbers(entry.content)
    for other in earlier:
        if numbers != _numbers(other.content):
            continue
        shared = _shared(entry.content, other.content)
        if shared >= SAME_WORDS and score == score_of(other.content, other.metadata):
            share = math.floor(100 * shared)
            reason = f"shares {share} % of its words with entry {other.id} of generation {other.generation}"
            return Refusal(REPEATED, reason, other.id)
    return None


def significant_words(text: str) -> set[str]:
    """Return the different words of a text, without numbers, which differ from run to run."""
    return set(_TOKEN.findall(text.lower()))


def _shared(content: str, other: str) -> float:
    """Return the share of words that two texts have in common. 0 if the same words mean something else."""
    if content == other:
        return 1.0
    first, second = (_TOKEN.findall(text.lower()) for text in (content, other))
    if _negations(first) != _negations(second) or _overlap(_pairs(first), _pairs(second)) < SAME_PAIRS:
        return 0.0
    return _overlap(set(first), set(second))


def _numbers(text: str) -> list[str]:
    """Return the meaningful numbers of a text in their order."""
    return _NUMBERS.findall(_COUNTER.sub(" ", text))


def _negations(words: Sequence[str]) -> Counter[str]:
    return Counter(word for word in words if word in NEGATIONS)


def _pairs(words: Sequence[str]) -> set[tuple[str, ...]]:
    """Return each word with the next one, also the first and the last."""
    return set(zip(["", *words], [*words, ""], strict=True))


def _overlap(first: Set[object], second: Set[object]) -> float:
    return len(first & second) / len(first | second) if first and second else 0.0


def score_of(content: str, metadata: Mapping[str, Any]) -> float | None:
    """Return the score that an entry names, in [0, 100], higher being better, or None if it is absent or odd.

    That of the metadata counts before that of the text, such as `Score: 0.95`, of which the last is taken. `95 %` and
    `19/20` are shares. Other numbers are compared as they are, whether an agent counts to 1, 10 or 100.
    """
    score = _value(metadata.get(SCORE))
    if score is not None:
        return score
    scores = [_read(content, match.end()) for match in _IN_TEXT.finditer(content)]
    return next((score for score in reversed(scores) if score is not None), None)


def _value(score: Any) -> float | None:
    if isinstance(score, str):
        return _read(score.strip(), 0)
    if isinstance(score, bool) or not isinstance(score, int | float):
        return None
    return score * 1.0 if 0 <= score <= MAX_SCORE else None  # compared first: a huge whole number is no float


def _read(text: str, start: int) -> float | None:
    written = _WRITTEN.match(text, start)
    if written is None:
        return None
    number, percent, whole = written.groups()
    score = float(number) / (100.0 if percent else float(whole or 1) or math.nan)
    return score if 0 <= score <= MAX_SCORE else None
