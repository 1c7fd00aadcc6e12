"""What a language model says in the place of entries that are forgotten, or why it could not."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from atlas.core.errors import InvalidInput, LLMError, LLMReplyInvalid
from atlas.core.types import JournalEntry
from atlas.llm.structured_output import as_data, ask, model_name
from atlas.memory.journal.compaction import SummaryDraft
from atlas.memory.journal.excerpts import in_lines
from atlas.protocols.infra import LLMClient, Progress

CHARACTERS = 24_000
"""Of the entries of one summary in a prompt, about 8,000 tokens."""

AT_ONCE = 4
"""Questions that wait for their answers at the same time."""

SYSTEM = """\
You sum up old entries of an agent's journal, which it will read in their place.
Say what it has to know from them later: what was learned, what went wrong again and again and why, what worked, what \
people wanted. Name functions, files and errors as the entries do. Leave out what happened once and taught nothing. \
Say nothing that the entries do not say.
- points: one line each, the most useful first, with the numbers of the entries that say so."""

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


class Summariser:
    """Has a language model write summaries, a few at once, until it cannot be asked any more.

    A summary is never lost for want of a model: where it gives none that can be used, the sentences that were picked
    from the entries stay, and the draft says why.
    """

    def __init__(self, llm: LLMClient) -> None:
        self._llm = llm
        self._stopped = ""
        self._free = asyncio.Semaphore(AT_ONCE)

    async def written_all(
        self, drafts: Sequence[SummaryDraft], sources: Sequence[Sequence[JournalEntry]], on_progress: Progress | None
    ) -> tuple[SummaryDraft, ...]:
        """Return each draft as `written` gives it, in their order.

        Args:
            sources: The entries that each draft stands for.
            on_progress: Told after each draft how many are written, and of how many.
        """
        number = itertools.count(1)

        async def told(draft: SummaryDraft, entries: Sequence[JournalEntry]) -> SummaryDraft:
            written = await self.written(draft, entries)
            if on_progress:
                on_progress(next(number), len(drafts))
            return written

        return tuple(await asyncio.gather(*map(told, drafts, sources)))

    async def written(self, draft: SummaryDraft, entries: Sequence[JournalEntry]) -> SummaryDraft:
        """The draft as the model writes it, else as it is, with why.

        Args:
            entries: Those that it stands for.
        """
        try:
            async with self._free:
                if self._stopped:
                    return replace(draft, problem=self._stopped)
                points = await self._asked(entries)
        except LLMReplyInvalid as error:
            return replace(draft, problem=str(error))
        except LLMError as error:  # the next question would fare no better
            self._stopped = str(error)
            return replace(draft, problem=self._stopped)
        head = draft.content.splitlines()[0]
        return replace(draft, content=in_lines(head, points), written_by=model_name(self._llm))

    async def _asked(self, entries: Sequence[JournalEntry]) -> list[str]:
        texts = {str(number): entry.content for number, entry in enumerate(entries, 1)}
        first, last = entries[0], entries[-1]
        prompt = (
            f"{len(entries)} entries of type {as_word(first.entry_type)}, generations {first.generation} to "
            f"{last.generation}, oldest first:\n{as_data(texts, limit=CHARACTERS)}"
        )
        n_characters = sum(map(len, texts.values()))
        validate = partial(_points, known=texts.keys(), most=n_characters)
        return await ask(self._llm, SYSTEM, prompt, schema=SCHEMA, validate=validate, max_tokens=1_024)


def as_word(entry_type: str) -> str:
    """A type's name as one word of a prompt: an import may bring any."""
    return "".join(character if character.isalnum() else "_" for character in entry_type)[:40]


def _points(answer: Any, known: Any, most: int) -> list[str]:
    """The lines of an answer, if they are a summary of these entries.

    Args:
        known: The numbers of the entries.
        most: Characters of all of them together.
    """
    points = [" ".join(point["text"].split()) for point in answer["points"]]
    if not all(any(character.isalnum() for character in point) for point in points):
        raise InvalidInput("every point should say something, in words")
    unknown = sorted({number for point in answer["points"] for number in point["entries"]} - set(known))
    if unknown:
        raise InvalidInput(f"there are no entries {', '.join(unknown[:5])}; name those that a point rests on")
    if sum(map(len, points)) > most:
        raise InvalidInput("the summary is longer than the entries that it stands for; say less")
    return points
