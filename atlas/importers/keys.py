"""Extraction of JSON keys from the beginning of a file, which may end anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_LINES = 20
_MARK = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}:]', re.DOTALL)


def record_keys(head: bytes) -> list[frozenset[str]]:
    """Return one set of keys for each object of a JSONL file or a JSON list whose beginning is in the head."""
    if head.lstrip().startswith(b"["):
        return [frozenset(_keys(head, level=2))]
    lines = [line for line in head.splitlines() if line.lstrip().startswith(b"{")]
    return [frozenset(_keys(line, level=1)) for line in lines[:MAX_LINES]]


def document_keys(head: bytes) -> frozenset[str]:
    """Return the top-level keys of a JSON object, or an empty set for other files."""
    return frozenset(_keys(head, level=1)) if head.lstrip().startswith(b"{") else frozenset()


def member_keys(head: bytes) -> frozenset[str]:
    """Return the keys of the objects directly inside a JSON object, or an empty set for other files."""
    return frozenset(_keys(head, level=2)) if head.lstrip().startswith(b"{") else frozenset()


def _keys(text: bytes, level: int) -> Iterator[str]:
    """Yield the keys of the objects at one nesting depth. The JSON text may be truncated."""
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
