"""The length of code in tokens of Python's tokenizer."""

from __future__ import annotations

import io
import tokenize

COUNTED_TOKENS = frozenset({tokenize.NAME, tokenize.NUMBER, tokenize.STRING, tokenize.OP})


def n_tokens(source: str) -> int:
    """Return the number of tokens in a source: names, numbers, strings and operators, not layout and comments."""
    return sum(token.type in COUNTED_TOKENS for token in tokenize.generate_tokens(io.StringIO(source).readline))
