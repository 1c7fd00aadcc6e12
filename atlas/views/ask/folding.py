"""A line on the memories without hits."""

from __future__ import annotations

from atlas.views.ask.answer import Absence, Answer
from atlas.views.shared.wording import in_words

SENTENCES: dict[Absence, str] = {
    "not relevant": "Nothing is relevant enough in {}.",
    "nothing found": "Nothing was found in {}.",
    "no records": "Nothing is stored yet in {}.",
    "left out": "Left out here: {}.",
}
"""Sentences on memories without hits. Failures are reported separately."""


def folded_sentence(answer: Answer) -> str:
    """Return `Nothing is relevant enough in strategies and journal.`, or '' if each memory has hits."""
    titles = {
        absence: [part.title.lower() for part in answer.parts if part.absence == absence] for absence in SENTENCES
    }
    return " ".join(SENTENCES[absence].format(in_words(names)) for absence, names in titles.items() if names)
