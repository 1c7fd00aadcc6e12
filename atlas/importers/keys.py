"""Keys of JSON in the first bytes of a file, even where they stop in the middle."""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_LINES = 20
_MARK = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}:]', re.DOTALL)


def record_keys(head: bytes) -> list[frozenset[str]]:
    """Return the keys of each of the first objects of a JSONL file or a JSON list, as far as the head shows them."""
    if head.lstrip().startswith(b"["):
        return [frozenset(_keys(head, level=2))]
    lines = [line for line in head.splitlines() if line.lstrip().startswith(b"{")]
    return [frozenset(_keys(line, level=1)) for line in lines[:MAX_LINES]]


def document_keys(head: bytes) -> frozenset[str]:
    """Return the outermost keys of a JSON object, empty for other files."""
    return frozenset(_keys(head, level=1)) if head.lstrip().startswith(b"{") else frozenset()


def member_keys(head: bytes) -> frozenset[str]:
    """Return the keys of the objects that the outermost JSON object holds, empty for other files."""
    return frozenset(_keys(head, level=2)) if head.lstrip().startswith(b"{") else frozenset()


def _keys(text: bytes, level: int) -> Iterator[str]:
    depth, string = 0, b""
    for match in _MARK.finditer(text):
        mark = match[0]
        if mark in b"[{":
            depth += 1
        elif mark in b"]}":
            depth -= 1
        elif mark == b":" and depth == level:
            yield string.decode("utf-8", "replace")
        elif mark != b":":
            string = mark[1:-1]
