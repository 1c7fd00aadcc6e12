"""Word diff of two texts, in one line for a table cell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from atlas.views.shared.wording import shortened

SAME = "the same"
CONTEXT_WORDS = 3
"""Words that are shown on either side of a change."""

DIFF_CHARACTERS = 400
MAX_WORDS = 3_000
"""Longer texts are compared line by line: comparing them by words takes seconds."""


def word_diff(before: str, after: str) -> str:
    """Return the changed words, with a few words around them: `… run [77401 → 77402] at [+ night]`.

    `the same` if only white space differs. Longer than `DIFF_CHARACTERS` it ends in `…`.
    """
    old, new = _tokens(before), _tokens(after)
    if max(len(old), len(new)) > MAX_WORDS:
        old, new = _lines(before), _lines(after)
    if _bare(old) == _bare(new):
        return SAME
    line = re.sub(r"\s+", " ", "".join(_pieces(old, new))).strip()
    return shortened(line, DIFF_CHARACTERS)


def _tokens(text: str) -> list[str]:
    """Return the words, numbers and signs of a text, each with the white space before it."""
    return [match.group() for match in re.finditer(r"\s*(?:\d+(?:[.,:]\d+)+|\w+|[^\w\s])", text)]


def _lines(text: str) -> list[str]:
    return [f"\n{line}" for line in text.splitlines() if line.strip()]


def _bare(tokens: Sequence[str]) -> list[str]:
    return [token.strip() for token in tokens]


def _pieces(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    changes = SequenceMatcher(None, _bare(old), _bare(new), autojunk=False).get_opcodes()
    for number, (kind, start, end, other, other_end) in enumerate(changes):
        if kind == "equal":
            yield _surrounding_text(old[start:end], is_first=not number, is_last=number == len(changes) - 1)
        else:
            removed, added = "".join(old[start:end]), "".join(new[other:other_end])
            space = " " if (removed or added)[0].isspace() else ""
            yield f"{space}{_change(removed.strip(), added.strip())}"


def _surrounding_text(words: Sequence[str], *, is_first: bool, is_last: bool) -> str:
    """Return the end of the text before a change, and the beginning of the text after it."""
    before = 0 if is_last else CONTEXT_WORDS
    after = 0 if is_first else CONTEXT_WORDS
    if len(words) <= before + after:
        return "".join(words)
    return "".join([*words[:after], " …", *words[len(words) - before :]])


def _change(removed: str, added: str) -> str:
    if removed and added:
        return f"[{removed} → {added}]"
    return f"[+ {added}]" if added else f"[− {removed}]"
