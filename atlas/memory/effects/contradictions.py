"""Strategies whose advice contradicts several better proven strategies for a similar situation.

Only plain opposites count: one strategy advises an act that the other forbids, in a sentence without a condition.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from atlas.core.types import Strategy, Vector
from atlas.core.unseen import shown_id
from atlas.core.words import FUNCTION_WORDS

MIN_OTHERS = 2
"""Minimum number of better proven strategies with the opposite advice."""

MIN_SUCCESSES = 2
"""Minimum number of successes of each of these strategies."""

SITUATION_SIMILARITY = 0.6
"""Minimum cosine of two strategies for similar situations."""

PHRASE_WORDS = 3
"""Largest number of words of an act."""

_BATCH = 500
_NEGATION = re.compile(
    r"\b(?:do not|don't|never|avoid|must not|mustn't|should not|shouldn't|refrain from)\s+", re.IGNORECASE
)
_CONDITION = re.compile(
    r"\b(?:if|when|unless|only|except|until|without|before|after|while|but|instead|not just|never mind)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.!?;:\n]+")
_CLAUSE = re.compile(r"[,()]")
_WORD = re.compile(r"[^\W_]+(?:'t)?")
_NEGATIVE = re.compile(r"\b(?:not|never|no|without|avoid|refrain|\w+n't)\b", re.IGNORECASE)

Act = tuple[str, ...]
"""The content words of an act, such as `verify`, `customer`, `identity`."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A strategy that contradicts several better proven strategies, with the reason."""

    id: str
    why: str
    excerpt: str
    """Words of the contradicted act. Untrusted text."""


def find_contradictions(strategies: Any) -> Iterator[Contradiction]:
    """Yield a contradiction for each strategy that several better proven ones contradict.

    Args:
        strategies: ATLAS's own strategy bank.
    """
    forbidding_ids, advising_ids = _strategies_by_act(strategies)
    successes = strategies.column("usage.n_successes")
    sides_by_act = {act: (ids, advising_ids[act]) for act, ids in forbidding_ids.items() if act in advising_ids}
    all_ids = set[str]().union(*chain.from_iterable(sides_by_act.values()))
    vectors = strategies.collection.first_vectors(sorted(all_ids))
    reported_ids: set[str] = set()
    for act, sides in sorted(sides_by_act.items()):
        for same_side, opposite_side in (sides, sides[::-1]):
            for record_id in sorted(same_side - opposite_side - reported_ids):
                better_ids = _find_better_proven(record_id, opposite_side - same_side, successes, vectors)
                if len(better_ids) >= MIN_OTHERS:
                    reported_ids.add(record_id)
                    yield Contradiction(id=record_id, why=_describe(better_ids), excerpt=" ".join(act))


def forbidden_acts(text: str) -> set[Act]:
    """Return the acts that a text forbids unconditionally."""
    acts = set[Act]()
    for sentence in _SENTENCE.split(text):
        if _CONDITION.search(sentence):
            continue
        for match in _NEGATION.finditer(sentence):
            words = _content_words(_CLAUSE.split(sentence[match.end() :])[0])[:PHRASE_WORDS]
            if len(words) > 1:
                acts.add(words)
    return acts


def advised_acts(text: str) -> set[Act]:
    """Return the acts that a text may advise: each run of two or three words in a sentence without negation."""
    acts = set[Act]()
    for sentence in _SENTENCE.split(text):
        if not _NEGATIVE.search(sentence):
            words = _content_words(sentence)
            for n_words in range(2, PHRASE_WORDS + 1):
                acts.update(words[start : start + n_words] for start in range(len(words) - n_words + 1))
    return acts


def _strategies_by_act(strategies: Any) -> tuple[dict[Act, set[str]], dict[Act, set[str]]]:
    """Return the ids of the strategies that forbid each act, and of those that advise it, both keyed by act."""
    forbidding_ids, advising_ids = defaultdict[Act, set[str]](set), defaultdict[Act, set[str]](set)
    retired = strategies.retired()
    ids = [record_id for record_id in strategies.ids({"marks.buried": False}) if record_id not in retired]
    texts: dict[str, str] = {}
    for start in range(0, len(ids), _BATCH):
        batch: list[Strategy] = strategies.get_many(ids[start : start + _BATCH])
        texts |= {strategy.id: strategy.suggestion for strategy in batch}
    for record_id, text in texts.items():
        for act in forbidden_acts(text):
            forbidding_ids[act].add(record_id)
    for record_id, text in texts.items() if forbidding_ids else ():
        for act in advised_acts(text) & forbidding_ids.keys():
            advising_ids[act].add(record_id)
    return forbidding_ids, advising_ids


def _find_better_proven(
    record_id: str, other_ids: set[str], successes: Mapping[str, int], vectors: Mapping[str, Vector]
) -> list[str]:
    """Return the ids of other strategies for similar situations with more successes, at least `MIN_SUCCESSES`."""
    min_successes = max(MIN_SUCCESSES, successes.get(record_id, 0) + 1)
    return sorted(
        other_id
        for other_id in other_ids
        if successes.get(other_id, 0) >= min_successes
        and {record_id, other_id} <= vectors.keys()
        and float(vectors[record_id] @ vectors[other_id]) >= SITUATION_SIMILARITY
    )


def _describe(better_ids: list[str]) -> str:
    names = ", ".join(shown_id(record_id) for record_id in better_ids[:3])
    and_more = f" and {len(better_ids) - 3} more" if len(better_ids) > 3 else ""
    return f"It advises the opposite of {len(better_ids)} strategies with more successes: {names}{and_more}."


def _content_words(text: str) -> Act:
    """Return the content words of a text, in lower case and stemmed."""
    words = (word.lower() for word in _WORD.findall(text))
    return tuple(_stem(word) for word in words if word not in FUNCTION_WORDS and word != "please")


def _stem(word: str) -> str:
    """Return a word without endings of verbs and plurals: `verify` for `verifying`."""
    for ending in ("ing", "es", "s", "ed", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word
