"""Cutting a text into windows by a model's own word pieces, where words end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from atlas.embedding.windows import Span, in_characters, spread

_SPARE = 1 / 32
"""Of a window left free where a text is cut: a word that is cut in two may have more pieces than it had whole."""

_SHIFT = 1 / 16
"""Of a window by which a cut may move to where a word ends; in a longer word it stays between two pieces."""


class Cutter:
    """Cuts texts by the word pieces of one model.

    To the tokenizers of BERT and its kin a word of more than 100 characters is one unknown piece, so such a model reads
    nothing in it, however it is cut.
    """

    def __init__(self, tokenizer: Any, window: int) -> None:
        """Cut by a tokenizer of the package `tokenizers`, for a window of so many pieces, special ones counted."""
        self._tokenizer = type(tokenizer).from_str(tokenizer.to_str())  # the model's own is told to cut off, each time
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._capacity = window - tokenizer.num_special_tokens_to_add(is_pair=False)

    def spans(self, text: str, *, instruction: str, max_windows: int) -> list[Span]:
        """Spans of characters, in order, each of which fits the window together with an instruction before it."""
        capacity = self._capacity - (len(self._pieces(instruction).ids) if instruction else 0)
        pieces = self._pieces(text)
        n_pieces = len(pieces.ids)
        if n_pieces <= capacity:
            return [(0, len(text))]
        windows = spread(n_pieces, capacity - round(_SPARE * capacity), max_windows)
        reach = round(_SHIFT * (windows[0][1] - windows[0][0]))
        words = pieces.word_ids
        cut = [(_word_end(words, start, reach), _word_end(words, end, -reach)) for start, end in windows]
        return in_characters(cut, pieces.offsets, len(text))

    def n_pieces(self, text: str) -> int:
        """How many word pieces a text has."""
        return len(self._pieces(text).ids)

    def _pieces(self, text: str) -> Any:
        return self._tokenizer.encode(text, add_special_tokens=False)


def _word_end(words: Sequence[int | None], position: int, reach: int) -> int:
    """The first place from a position on, or back from it where the reach is negative, where another word begins."""
    for place in range(position, position + reach, 1 if reach > 0 else -1):
        if not 0 < place < len(words) or words[place] != words[place - 1]:
            return place
    return position
