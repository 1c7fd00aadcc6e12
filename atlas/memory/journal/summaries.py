"""Summaries of forgotten entries: their most central sentences, or a language model's text."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from atlas.core.errors import InvalidInput, LLMError, LLMReplyInvalid
from atlas.core.imports.lazy import LazyModule
from atlas.core.types import JournalEntry, Vectors
from atlas.llm.budget import operation
from atlas.llm.concurrency import concurrency_of
from atlas.llm.prompts.journal_summary import JOURNAL_SUMMARY
from atlas.llm.structured_output import Question, as_data, ask, model_name
from atlas.memory.base.ranking import maximal_marginal_relevance
from atlas.memory.journal.importance import significant_words
from atlas.protocols.infra import LLMClient, Progress

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = LazyModule("asyncio")

EXTRACTION = "extraction"

CHARACTERS = 24_000
"""Of the entries of one summary in a prompt, about 8,000 tokens."""

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "points": {
            "type": "array",
            "minItems": 1,
            "maxItems": 8,
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string", "minLength": 1, "maxLength": 400},
                    "entries": {"type": "array", "items": {"type": "string"}, "minItems": 1},
                },
                "required": ["text", "entries"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["points"],
    "additionalProperties": False,
}

Encode = Callable[[list[str]], Vectors]
"""From texts to their vectors."""

N_SENTENCES = 5
"""Of a summary."""

MAX_SENTENCES = 240
"""Sentences that are embedded for one plan, which takes most of its time: shared evenly by its summaries."""

MIN_SENTENCES = 10
"""Sentences that are embedded for a summary, however many there are to write."""

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
"""Lines of programs, their traces and separators: they occur in many entries and mean little."""

_FAULT = re.compile(r"\b\w*(?:Error|Exception)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryDraft:
    """An entry that would be written, and the entries that it summarises."""

    entry_type: str
    """Of its sources."""

    first_generation: int
    last_generation: int
    content: str
    source_ids: tuple[str, ...]
    """In the order of their time. They stay, in the cold tier."""

    written_by: str = EXTRACTION
    """`extraction`, for sentences that were picked from its sources, or the name of a language model."""

    problem: str = ""
    """Why no language model wrote it although there is one. Else empty."""


def drafts(
    groups: Sequence[Sequence[JournalEntry]], encode: Encode, on_progress: Progress | None
) -> Iterator[SummaryDraft]:
    """Yield a summary of each group of entries, of sentences that are picked from them."""
    most = max(MIN_SENTENCES, MAX_SENTENCES // max(1, len(groups)))
    for number, group in enumerate(groups, start=1):
        yield _draft(group, encode, most)
        if on_progress:
            on_progress(number, len(groups))


def _draft(entries: Sequence[JournalEntry], encode: Encode, most: int) -> SummaryDraft:
    generations = [entry.generation for entry in entries]
    first, last = min(generations), max(generations)
    texts = [entry.content for entry in entries]
    faults = recurring_faults(texts)
    points = [*([faults] if faults else []), *central_sentences(texts, encode, most=most)]
    head = f"Generations {first} to {last}, {len(entries)} entries of type {entries[0].entry_type}:"
    return SummaryDraft(
        entry_type=entries[0].entry_type,
        first_generation=first,
        last_generation=last,
        content=in_lines(head, points),
        source_ids=tuple(entry.id for entry in entries),
    )


def central_sentences(
    texts: Sequence[str], encode: Encode, n: int = N_SENTENCES, *, most: int = MAX_SENTENCES
) -> list[str]:
    """Return the n most central sentences, without repetition: first those that give a reason, each part in text order.

    Sentences that differ in numbers alone count as one, with their number: else those that a program wrote
    into every entry, such as how long it ran, would be the most central of all. Lines of code are taken only for
    want of others.

    Args:
        most: Sentences that are compared, evenly picked from the different ones.

    Source:
        Centroid-based selection (Radev et al., 2004) over sentence embeddings, ordered by maximal marginal relevance.
    """
    alike = Counter[str]()
    first: dict[frozenset[str], str] = {}
    for sentence in (part for text in texts for part in sentences_of(text)):
        alike[first.setdefault(frozenset(significant_words(sentence)), sentence)] += 1
    worded = [sentence for words, sentence in first.items() if words] or list(first.values())
    sentences = [sentence for sentence in worded if not _CODE.match(sentence)] or worded
    reasons = [sentence for sentence in sentences if _REASON.match(sentence)]
    chosen = _most_central(reasons, encode, n, most)
    remaining = [sentence for sentence in sentences if sentence not in reasons]
    chosen += _most_central(remaining, encode, n - len(chosen), most)
    return [f"{sentence} ({alike[sentence]} like it)" if alike[sentence] > 1 else sentence for sentence in chosen]


def recurring_faults(texts: Sequence[str]) -> str:
    """Return the names of the errors that several texts mention, with counts. Empty if there are none."""
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
    """Return the sentences and lines of a text, each on one line."""
    return [" ".join(part.split()) for part in _SENTENCE.split(text) if part.strip()]


def in_lines(head: str, points: Sequence[str]) -> str:
    """Return a summary's text."""
    return "\n".join([head, *(f"- {point}" for point in points)])


class Summariser:
    """Has a language model write summaries, a few at once, until it cannot be asked any more.

    A summary is never lost for want of a model: if its text is unusable, the sentences that were picked
    from the entries stay, and the draft contains the reason.
    """

    def __init__(self, llm: LLMClient) -> None:
        self._llm = llm
        self._stopped = ""
        self._free = asyncio.Semaphore(concurrency_of(llm))

    async def written_all(
        self, drafts: Sequence[SummaryDraft], sources: Sequence[Sequence[JournalEntry]], on_progress: Progress | None
    ) -> tuple[SummaryDraft, ...]:
        """Return each draft as `written` gives it, in their order.

        Args:
            sources: The entries that each draft stands for.
            on_progress: Called after each draft with the number written, and the total.
        """
        number = itertools.count(1)

        async def with_progress(draft: SummaryDraft, entries: Sequence[JournalEntry]) -> SummaryDraft:
            written = await self.written(draft, entries)
            if on_progress:
                on_progress(next(number), len(drafts))
            return written

        with operation():
            return tuple(await asyncio.gather(*map(with_progress, drafts, sources)))

    async def written(self, draft: SummaryDraft, entries: Sequence[JournalEntry]) -> SummaryDraft:
        """Return the draft as the model writes it, else as it is, with why.

        Args:
            entries: The entries that it summarises.
        """
        try:
            async with self._free:
                if self._stopped:
                    return replace(draft, problem=self._stopped)
                points = await self._points_of_model(entries)
        except LLMReplyInvalid as error:
            return replace(draft, problem=str(error))
        except LLMError as error:  # the next question would fare no better
            self._stopped = str(error)
            return replace(draft, problem=self._stopped)
        head = draft.content.splitlines()[0]
        return replace(draft, content=in_lines(head, points), written_by=model_name(self._llm))

    async def _points_of_model(self, entries: Sequence[JournalEntry]) -> list[str]:
        texts = {str(number): entry.content for number, entry in enumerate(entries, 1)}
        first, last = entries[0], entries[-1]
        prompt = (
            f"{len(entries)} entries of type {as_word(first.entry_type)}, generations {first.generation} to "
            f"{last.generation}, oldest first:\n{as_data(texts, limit=CHARACTERS)}"
        )
        question = Question(
            system=JOURNAL_SUMMARY.text,
            prompt=prompt,
            schema=SCHEMA,
            validate=partial(_points, numbers=texts.keys(), most=sum(map(len, texts.values()))),
            prose=frozenset({"text"}),
            is_grounded=lambda answer: True,
            max_tokens=1_024,
        )
        return await ask(self._llm, question)


def as_word(entry_type: str) -> str:
    """Return a type's name as one word of a prompt: an import may bring any."""
    return "".join(character if character.isalnum() else "_" for character in entry_type)[:40]


def _points(answer: Any, numbers: Any, most: int) -> list[str]:
    """Return the lines of an answer, if they are a summary of these entries.

    Args:
        numbers: The numbers of the entries.
        most: Characters of all of them together.
    """
    points = [" ".join(point["text"].split()) for point in answer["points"]]
    unknown = sorted({number for point in answer["points"] for number in point["entries"]} - set(numbers))
    if unknown:
        raise InvalidInput(f"there are no entries {', '.join(unknown[:5])}; name those that a point rests on")
    if sum(map(len, points)) > most:
        raise InvalidInput("the summary is longer than the entries that it stands for; say less")
    return points
