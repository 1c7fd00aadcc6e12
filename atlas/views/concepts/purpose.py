"""The purpose of a concept, as the one sentence that a programmer would write, without its origin."""

from __future__ import annotations

import re

from atlas.learning.naming.documenter import DERIVATION_NOTE

_SENTENCE = re.compile(r"(?:`[^`]*`|[^.!?\n]|[.!?](?!\s|$))+[.!?]?")


def purpose_of(description: str) -> tuple[str, str]:
    """Return the first sentence of a description and the rest, without the note `DERIVATION_NOTE`."""
    text = description.strip()
    sentence = _SENTENCE.match(text)
    if sentence is None:
        return text, ""
    return sentence.group().strip(), text[sentence.end() :].replace(DERIVATION_NOTE, "").strip()
