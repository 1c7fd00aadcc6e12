"""Importance of entries, and detection of noise and near-duplicates."""

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
"""Metadata key of a score, and the word that announces a score in a text."""

MAX_SCORE = 100.0
"""Maximum of a score."""

DEFAULT_SCORE = 0.5
"""Default score."""

_NUMBER = r"[-+]?(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][-+]?\d++)?+"
_SCORE = re.compile(rf"({_NUMBER})(?!\.?\w)\s*(?:(%)|/\s*({_NUMBER}))?")
_SCORE_IN_TEXT = re.compile(rf"\b{SCORE}\b[\"']?\s*(?:[:=]|is|of)?\s*(?={_NUMBER})", re.IGNORECASE)

NOISE, REPEATED = "noise", "near-duplicate"

MIN_WORDS = 3
"""Minimum number of distinct words of an entry that is not noise."""

MIN_COMMON_WORDS = 0.9
"""Minimum share of common words in near-duplicates."""

MIN_COMMON_PAIRS = 0.8
"""Minimum share of common bigrams in near-duplicates. The same words in another order may mean the opposite."""

NEGATIONS = {"not", "never", "no", "none", "nothing", "neither", "nor", "without", "cannot", "t"}
"""Negations, including `t` from `don't`. Near-duplicates have the same number of negations."""

SCORED_TYPE = "observation"
"""The type whose importance depends on a score. Types that count as this type are included."""

SCORE_WEIGHT = 0.3
"""Difference in importance between observations of score 1 and 0."""

FEEDBACK_WEIGHT = 0.3
"""Maximum change of an entry's importance by the outcomes of its uses."""

FEEDBACK_PRIOR = 3
"""Number of uses that weigh as much as the initial importance."""

LENGTH_CHARACTERS = 300
"""Length of a text beyond which importance no longer grows."""

_FAILURE_WORDS = re.compile(
    r"\b(?:not solved|fail\w*|error|exception|traceback|timed? ?out|wrong|incorrect)\b", re.IGNORECASE
)
_ADVICE = re.compile(r"\b(?:should|must|never|always|because|instead|root cause|fix\w*|learned)\b", re.IGNORECASE)
_TOKEN = re.compile(r"[^\W\d]+")
_NAME = re.compile(r"\w+")
_NUMBERS = re.compile(r"-?\d+(?:[.,:]\d+)*")
_COUNTER = re.compile(
    r"\bgen(?:eration)?\s+\d+\b|\b(?:survived|died after)\s+[\d.]+\s*s\b|\bcode:\s*\d+\s*bytes\b", re.IGNORECASE
)
"""Counters in Protea's template, which differ between runs with the same content."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The refusal of an entry by a gate, with its reason."""

    gate: str
    """`noise` or `near-duplicate`."""

    reason: str
    like_id: str = ""
    """Id of the repeated entry, or empty for noise."""


def importance_of(entry_type: EntryType, content: str, metadata: Mapping[str, Any] = MappingProxyType({})) -> float:
    """Return the importance of an entry, in [0, 1], from its type, content and score.

    Failures, reasons and rules count more than reports of success, and paragraphs more than a few words.
    """
    wording_bonus = 0.05 * bool(_FAILURE_WORDS.search(content)) + 0.05 * bool(_ADVICE.search(content))
    length_bonus = 0.05 * (min(len(content), LENGTH_CHARACTERS) / LENGTH_CHARACTERS - 0.5)
    is_scored = SCORED_TYPE in (entry_type.name, entry_type.counts_as)
    score = score_of(content, metadata) if is_scored else None
    score_bonus = 0.0 if score is None else SCORE_WEIGHT * (min(1.0, score) - DEFAULT_SCORE)
    return round(min(1.0, max(0.0, entry_type.importance + wording_bonus + length_bonus + score_bonus)), 4)


def adjust_by_feedback(importance: float, usage: Usage) -> float:
    """Return the importance of an entry, in [0, 1], adjusted by the outcomes of its uses."""
    if not usage.n_uses:
        return importance
    trust = usage.n_uses / (usage.n_uses + FEEDBACK_PRIOR)
    balance = 2 * usage.n_successes / usage.n_uses - 1
    return min(1.0, max(0.0, importance + FEEDBACK_WEIGHT * trust * balance))


def find_noise(content: str) -> Refusal | None:
    """Return a refusal if a text is noise, or else None."""
    cjk_characters = set("".join(CJK_RUN.findall(content)))  # a character of Chinese or Japanese counts as a word
    names = set(_NAME.findall(CJK_RUN.sub(" ", content).lower()))  # `w3` is another word than `w4`
    n_words = sum(not name.isdecimal() for name in names) + len(cjk_characters)
    if n_words >= MIN_WORDS:
        return None
    return Refusal(NOISE, f"{n_words} different words; an informative entry needs {MIN_WORDS}")


def find_repetition(entry: JournalEntry, earlier_entries: Iterable[JournalEntry]) -> Refusal | None:
    """Return a refusal if an entry is a near-duplicate of an earlier entry, or else None.

    Entries with different numbers, such as error codes or scores, are not duplicates. Counters in Protea's template are
    ignored.
    """
    score, numbers = score_of(entry.content, entry.metadata), _significant_numbers(entry.content)
    for earlier_entry in earlier_entries:
        if numbers != _significant_numbers(earlier_entry.content):
            continue
        overlap_share = _word_overlap_share(entry.content, earlier_entry.content)
        if overlap_share >= MIN_COMMON_WORDS and score == score_of(earlier_entry.content, earlier_entry.metadata):
            percent = math.floor(100 * overlap_share)
            reason = (
                f"shares {percent}% of its words with entry {earlier_entry.id} of generation {earlier_entry.generation}"
            )
            return Refusal(REPEATED, reason, earlier_entry.id)
    return None


def significant_words(text: str) -> set[str]:
    """Return the distinct words of a text, without numbers."""
    return set(_TOKEN.findall(text.lower()))


def _word_overlap_share(content: str, other: str) -> float:
    """Return the share of common words of two texts, in [0, 1], or 0 if word order or negations differ."""
    if content == other:
        return 1.0
    words, other_words = (_TOKEN.findall(text.lower()) for text in (content, other))
    if (
        _count_negations(words) != _count_negations(other_words)
        or _jaccard(_bigrams(words), _bigrams(other_words)) < MIN_COMMON_PAIRS
    ):
        return 0.0
    return _jaccard(set(words), set(other_words))


def _significant_numbers(text: str) -> list[str]:
    """Return the significant numbers of a text, in order."""
    return _NUMBERS.findall(_COUNTER.sub(" ", text))


def _count_negations(words: Sequence[str]) -> Counter[str]:
    return Counter(word for word in words if word in NEGATIONS)


def _bigrams(words: Sequence[str]) -> set[tuple[str, ...]]:
    """Return the bigrams of a text, padded at both ends."""
    return set(zip(["", *words], [*words, ""], strict=True))


def _jaccard(first: Set[object], second: Set[object]) -> float:
    return len(first & second) / len(first | second) if first and second else 0.0


def score_of(content: str, metadata: Mapping[str, Any]) -> float | None:
    """Return the score that an entry reports, in [0, 100], or None without a valid score. Higher is better.

    The metadata's score takes precedence over the last score in the text, such as `Score: 0.95`. `95%` and `19/20` are
    fractions. Other numbers are not rescaled, because the agent's maximum may be 1, 10 or 100.
    """
    score = _metadata_score(metadata.get(SCORE))
    if score is not None:
        return score
    scores = [_read_score(content, match.end()) for match in _SCORE_IN_TEXT.finditer(content)]
    return next((score for score in reversed(scores) if score is not None), None)


def _metadata_score(score: Any) -> float | None:
    if isinstance(score, str):
        return _read_score(score.strip(), 0)
    if isinstance(score, bool) or not isinstance(score, int | float):
        return None
    return score * 1.0 if 0 <= score <= MAX_SCORE else None  # compared first: a huge int does not convert to float


def _read_score(text: str, start: int) -> float | None:
    """Return the score that starts at a position of a text, or None if there is no score or it is out of range."""
    match = _SCORE.match(text, start)
    if match is None:
        return None
    number, percent, scale = match.groups()
    score = float(number) / (100.0 if percent else float(scale or 1) or math.nan)
    return score if 0 <= score <= MAX_SCORE else None
