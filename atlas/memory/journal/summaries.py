"""Summaries of compacted entries: extractive, or written by a language model."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
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
"""Maximum characters of a summary's sources in a prompt, about 8,000 tokens."""

Encode = Callable[[list[str]], Vectors]
"""Function from texts to vectors."""

N_SENTENCES = 5
"""Number of sentences in a summary."""

MAX_SENTENCES = 240
"""Maximum number of sentences that are embedded for all summaries of a plan. Embedding takes most of the time."""

MIN_SENTENCES = 10
"""Minimum number of sentences embedded for a summary."""

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
"""Lines of code, tracebacks and separators, which are frequent and not informative."""

_ERROR_NAME = re.compile(r"\b\w*(?:Error|Exception)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryDraft:
    """A draft of a summary, with the sources and the author."""

    entry_type: str
    """Type of the summarised entries."""

    first_generation: int
    last_generation: int
    content: str
    source_ids: tuple[str, ...]
    """Ids of the summarised entries, oldest first. These entries stay, in the cold tier."""

    written_by: str = EXTRACTION
    """Name of the language model, or `extraction` if the sentences were selected from the sources."""

    problem: str = ""
    """Reason why the language model did not write the summary, or empty."""


def build_schema(numbers: Iterable[str]) -> dict[str, Any]:
    """Return the JSON schema of a summary of the entries with these numbers."""
    point = {
        "type": "object",
        "properties": {
            "text": {"type": "string", "minLength": 1, "maxLength": 400},
            "entries": {"type": "array", "items": {"enum": list(numbers)}, "minItems": 1},
        },
        "required": ["text", "entries"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"points": {"type": "array", "minItems": 1, "maxItems": 8, "items": point}},
        "required": ["points"],
        "additionalProperties": False,
    }


def draft_summaries(
    groups: Sequence[Sequence[JournalEntry]], encode: Encode, on_progress: Progress | None
) -> Iterator[SummaryDraft]:
    """Yield an extractive summary of each group of entries."""
    max_sentences = max(MIN_SENTENCES, MAX_SENTENCES // max(1, len(groups)))
    for number, group in enumerate(groups, start=1):
        yield _draft_summary(group, encode, max_sentences)
        if on_progress:
            on_progress(number, len(groups))


def _draft_summary(entries: Sequence[JournalEntry], encode: Encode, max_sentences: int) -> SummaryDraft:
    """Return an extractive summary of entries: a heading, the recurring errors, and the most central sentences."""
    generations = [entry.generation for entry in entries]
    first_generation, last_generation = min(generations), max(generations)
    texts = [entry.content for entry in entries]
    errors = recurring_errors(texts)
    points = [text for text in (errors, *central_sentences(texts, encode, max_compared=max_sentences)) if text]
    heading = (
        f"Generations {first_generation} to {last_generation}, {len(entries)} entries of type {entries[0].entry_type}:"
    )
    return SummaryDraft(
        entry_type=entries[0].entry_type,
        first_generation=first_generation,
        last_generation=last_generation,
        content=join_lines(heading, points),
        source_ids=tuple(entry.id for entry in entries),
    )


def central_sentences(
    texts: Sequence[str], encode: Encode, n: int = N_SENTENCES, *, max_compared: int = MAX_SENTENCES
) -> list[str]:
    """Return the n most central distinct sentences. Sentences that give a reason come first and are preferred.

    Sentences that differ only in numbers count as duplicates. Otherwise boilerplate in every entry, such as a run time,
    would be most central. Lines of code are used only if there are no other sentences.

    Args:
        max_compared: Maximum number of distinct sentences to compare, sampled evenly.

    Source:
        Centroid-based selection (Radev et al., 2004) over sentence embeddings, ordered by maximal marginal relevance.
    """
    counts = Counter[str]()
    sentence_by_words: dict[frozenset[str], str] = {}
    for sentence in chain.from_iterable(map(split_sentences, texts)):
        original = sentence_by_words.setdefault(frozenset(significant_words(sentence)), sentence)
        counts[original] += 1
    sentences_with_words = [sentence for words, sentence in sentence_by_words.items() if words] or list(
        sentence_by_words.values()
    )
    sentences = [sentence for sentence in sentences_with_words if not _CODE.match(sentence)] or sentences_with_words
    reasons = [sentence for sentence in sentences if _REASON.match(sentence)]
    selected_sentences = _select_central_and_varied(reasons, encode, n, max_compared)
    other_sentences = [sentence for sentence in sentences if sentence not in reasons]
    selected_sentences += _select_central_and_varied(other_sentences, encode, n - len(selected_sentences), max_compared)
    return [
        f"{sentence} ({counts[sentence]} like it)" if counts[sentence] > 1 else sentence
        for sentence in selected_sentences
    ]


def recurring_errors(texts: Sequence[str]) -> str:
    """Return a line with the names of errors that several texts mention, with counts. Empty if no error recurs."""
    counts = Counter(name for text in texts for name in set(_ERROR_NAME.findall(text)))
    phrases = [
        f"{name} ({count} entries)"
        for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if count > 1
    ]
    return f"Recurring: {', '.join(phrases[:N_SENTENCES])}" if phrases else ""


def _select_central_and_varied(sentences: Sequence[str], encode: Encode, n: int, max_sentences: int) -> list[str]:
    """Return n sentences near the mean of all that differ from each other, in the given order."""
    if len(sentences) <= n or n <= 0:
        return list(sentences[: max(n, 0)])
    positions = np.linspace(0, len(sentences) - 1, min(max_sentences, len(sentences))).astype(int)
    compared_sentences = [sentences[position] for position in positions]
    vectors = encode(compared_sentences)
    centre = vectors.mean(axis=0)
    relevance = (vectors @ (centre / (np.linalg.norm(centre) or 1.0))).tolist()
    selected_positions = maximal_marginal_relevance(vectors, relevance)[:n]
    return [compared_sentences[position] for position in sorted(selected_positions)]


def split_sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text, each on one line."""
    return [" ".join(part.split()) for part in _SENTENCE.split(text) if part.strip()]


def join_lines(heading: str, points: Sequence[str]) -> str:
    """Return a summary as text: a heading, and a line for each point."""
    return "\n".join([heading, *(f"- {point}" for point in points)])


class Summariser:
    """A writer of summaries by a language model, a few concurrently.

    After a failure, such as a spent budget, the extractive summaries are kept, and the drafts contain the reason.
    """

    def __init__(self, llm: LLMClient) -> None:
        self._llm = llm
        self._stop_reason = ""
        self._slots = asyncio.Semaphore(concurrency_of(llm))

    async def write_all_with_model(
        self, drafts: Sequence[SummaryDraft], sources: Sequence[Sequence[JournalEntry]], on_progress: Progress | None
    ) -> tuple[SummaryDraft, ...]:
        """Return the drafts in order, each rewritten by the model if possible.

        Args:
            sources: The sources of each draft.
            on_progress: Called after each draft with the number written, and the total.
        """
        number = itertools.count(1)

        async def with_progress(draft: SummaryDraft, entries: Sequence[JournalEntry]) -> SummaryDraft:
            new_draft = await self.write_with_model(draft, entries)
            if on_progress:
                on_progress(next(number), len(drafts))
            return new_draft

        with operation():
            return tuple(await asyncio.gather(*map(with_progress, drafts, sources)))

    async def write_with_model(self, draft: SummaryDraft, entries: Sequence[JournalEntry]) -> SummaryDraft:
        """Return a draft rewritten by the model or, if the model failed, the extractive draft with the reason.

        Args:
            entries: The sources of the draft.
        """
        try:
            async with self._slots:
                if self._stop_reason:
                    return replace(draft, problem=self._stop_reason)
                points = await self._ask_for_points(entries)
        except LLMReplyInvalid as error:
            return replace(draft, problem=str(error))
        except LLMError as error:  # the next question would fail too
            self._stop_reason = str(error)
            return replace(draft, problem=self._stop_reason)
        heading = draft.content.splitlines()[0]
        return replace(draft, content=join_lines(heading, points), written_by=model_name(self._llm))

    async def _ask_for_points(self, entries: Sequence[JournalEntry]) -> list[str]:
        """Return the points of a summary that the model writes of some entries."""
        texts = {str(number): entry.content for number, entry in enumerate(entries, 1)}
        first_entry, last_entry = entries[0], entries[-1]
        quoted_entries = as_data({"type of the entries": first_entry.entry_type, **texts}, limit=CHARACTERS)
        prompt = (
            f"{len(entries)} entries of one type, generations {first_entry.generation} to {last_entry.generation}, "
            f"oldest first:\n{quoted_entries}"
        )
        question = Question(
            system=JOURNAL_SUMMARY.text,
            prompt=prompt,
            schema=build_schema(texts),
            validate=partial(_parse_points, limit=sum(map(len, texts.values()))),
            prose=frozenset({"text"}),
            is_grounded=lambda answer: True,
            max_tokens=1_024,
        )
        return await ask(self._llm, question)


def _parse_points(answer: Any, limit: int) -> list[str]:
    """Return the points of an answer as lines, or raise `InvalidInput` for more than `limit` characters."""
    points = [" ".join(point["text"].split()) for point in answer["points"]]
    n_characters = sum(map(len, points))
    if n_characters > limit:
        raise InvalidInput(f"expected a summary of at most {limit} characters, like its entries, got {n_characters}")
    return points
