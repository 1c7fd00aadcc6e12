"""What some texts say most of: the sentences nearest to all of them, and the faults that they name again and again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from atlas.core.types import Vectors
from atlas.memory.base.ranking import maximal_marginal_relevance
from atlas.memory.journal.importance import telling_words

Encode = Callable[[list[str]], Vectors]
"""From texts to their vectors."""

N_SENTENCES = 5
"""Of a summary."""

MOST_SENTENCES = 240
"""That are embedded for one plan, which is what takes its time: shared by its summaries, evenly picked for each."""

FEWEST_SENTENCES = 10
"""That are embedded for a summary, however many there are to write."""

_SENTENCE = re.compile(
    r"(?<=[.!?])\s+|\n+"
    r"|(?<=[。！？])(?![。！？」』）])\s*"  # noqa: RUF001  (Chinese and Japanese put no space between sentences)
)
_REASON = re.compile(
    r"\W*(?:reason|(?:root )?cause|error|lesson|fix(?:ed)?|[\w.]*(?:Error|Exception))\s*:", re.IGNORECASE
)
_CODE = re.compile(
    r"(?:async )?(?:def|class) \w+.*:|import [\w.]+$|from [\w.]+ import |@\w+"
    r"|(?:assert|return|print|raise)\b.*[()\[\]{}=]|(?:if|for|while|with|try|except|else|elif)\b.*:$"
    r"|[\w.]+\(.*\)?$|[\w.\[\]]+ [-+*/]?= |\W+$|Traceback \(|File \"|-{3,}.*-{3,}$"
)
"""Lines of programs, their traces and what parts them: they stand in many entries, and say little of any."""

_FAULT = re.compile(r"\b\w*(?:Error|Exception)\b")


def central_sentences(
    texts: Sequence[str], encode: Encode, n: int = N_SENTENCES, *, most: int = MOST_SENTENCES
) -> list[str]:
    """The n sentences that say most of what all say, without repeating one another, in the order in which they come.

    Sentences that differ in numbers alone count as one, which says how many there are: else those that a program wrote
    into every entry, such as how long it ran, would be the most central of all. Those that begin with the reason of
    something come before all others, and lines of code only where there is nothing else.

    Args:
        most: Sentences that are compared, evenly picked from the different ones.

    Source:
        Centroid-based selection (Radev et al., 2004) over sentence embeddings, ordered by maximal marginal relevance.
    """
    alike = Counter[str]()
    first: dict[frozenset[str], str] = {}
    for sentence in (part for text in texts for part in sentences_of(text)):
        alike[first.setdefault(frozenset(telling_words(sentence)), sentence)] += 1
    worded = [sentence for words, sentence in first.items() if words] or list(first.values())
    sentences = [sentence for sentence in worded if not _CODE.match(sentence)] or worded
    reasons = [sentence for sentence in sentences if _REASON.match(sentence)]
    said = _most_central(reasons, encode, n, most)
    said += _most_central([one for one in sentences if one not in reasons], encode, n - len(said), most)
    return [f"{one} ({alike[one]} like it)" if alike[one] > 1 else one for one in said]


def recurring_faults(texts: Sequence[str]) -> str:
    """The names of the errors that several texts tell of, and how many do; empty where there is none."""
    often = Counter(name for text in texts for name in set(_FAULT.findall(text)))
    named = [
        f"{name} ({n} entries)" for name, n in sorted(often.items(), key=lambda item: (-item[1], item[0])) if n > 1
    ]
    return f"Recurring: {', '.join(named[:N_SENTENCES])}" if named else ""


def _most_central(sentences: Sequence[str], encode: Encode, n: int, most: int) -> list[str]:
    if len(sentences) <= n or n <= 0:
        return list(sentences[: max(n, 0)])
    positions = np.linspace(0, len(sentences) - 1, min(most, len(sentences))).astype(int)
    compared = [sentences[position] for position in positions]
    vectors = encode(compared)
    centre = vectors.mean(axis=0)
    relevance = (vectors @ (centre / (np.linalg.norm(centre) or 1.0))).tolist()
    best = maximal_marginal_relevance(vectors, relevance)[:n]
    return [compared[position] for position in sorted(best)]


def sentences_of(text: str) -> list[str]:
    """The sentences and lines of a text, each on one line."""
    return [" ".join(part.split()) for part in _SENTENCE.split(text) if part.strip()]


def in_lines(head: str, points: Sequence[str]) -> str:
    """A summary's text."""
    return "\n".join([head, *(f"- {point}" for point in points)])
