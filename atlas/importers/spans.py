"""Byte spans of the elements of a large JSON document, found without loading the document.

Each element can then be parsed on its own, so a broken or oversized element, or one with NaN (as Inspect writes it),
does not affect the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

from atlas.core.errors import ImportFailed

CHUNK_BYTES = 2**20
MAX_KEY_BYTES = 4_096

_STRING_REST = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_TO_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|' + _STRING + rb")*+", re.DOTALL)
_TO_TOKEN = re.compile(rb'(?:[^"\[\]{},:]++|' + _STRING + rb")*+", re.DOTALL)
_QUOTE = ord('"')


@dataclass(frozen=True, slots=True)
class Span:
    """The byte range of one element."""

    key: str
    """Name of the member, empty for an element of the top-level list."""

    start: int
    end: int
    """Offset after the element's last byte. `start` is the offset of its first byte."""

    is_expanded: bool = False
    """True for an element of the list of the expanded member, see `find_spans`."""


class _Token(NamedTuple):
    character: str
    """A bracket, a comma or a colon."""

    at: int
    depth: int
    """Nesting depth outside of the list or object that a bracket opens or closes."""


def find_spans(path: Path, *, expand: str = "") -> Iterator[Span]:
    """Yield the elements of the top-level list, or the members of the top-level object.

    Args:
        path: A file with one JSON document.
        expand: Name of a member whose list is yielded element by element.

    Raises:
        ImportFailed: The document is not a list or an object, is truncated, or is followed by other text.
    """
    with path.open("rb") as handle, path.open("rb") as keys:
        yield from _Splitter(keys, expand).split(_scan_tokens(handle))


class _Splitter:
    def __init__(self, keys: BinaryIO, expand: str) -> None:
        self._key_file = keys
        self._expand = expand
        self._key = ""
        self._start = -1
        self._has_key = False
        self._is_expanded = False

    def split(self, tokens: Iterator[_Token]) -> Iterator[Span]:
        opening = self._open(tokens)
        for token in tokens:
            if token.depth == 0:
                yield from self._end_span(token.at)
                self._check_close(opening, token)
                return
            yield from self._take_token(token, is_object=opening.character == "{")
        raise ImportFailed("the file ends in the middle of the document, so it is truncated; export it again")

    def _open(self, tokens: Iterator[_Token]) -> _Token:
        token = next(tokens, None)
        if token is None or token.character not in "[{":
            raise ImportFailed("expected a JSON list or object in the file, got neither")
        self._key_file.seek(0)
        if self._key_file.read(min(token.at, MAX_KEY_BYTES)).removeprefix(b"\xef\xbb\xbf").strip():
            raise ImportFailed("expected a JSON list or object at the beginning of the file, got other text")
        self._start = token.at + 1
        return token

    def _take_token(self, token: _Token, *, is_object: bool) -> Iterator[Span]:
        if self._is_expanded and (token.depth, token.character) in ((2, ","), (1, "]")):
            yield from self._end_span(token.at)
            self._is_expanded = token.character == ","
            self._start = token.at + 1 if self._is_expanded else -1
        elif token.depth == 1 and token.character == ",":
            yield from self._end_span(token.at)
            self._start, self._has_key = token.at + 1, False
        elif token.depth == 1 and token.character == ":" and is_object and not self._has_key:
            self._key = self._read_key(token.at)
            self._start = token.at + 1
            self._has_key = True
        elif token.depth == 1 and token.character == "[" and self._expand and self._key == self._expand:
            self._is_expanded, self._start = True, token.at + 1

    def _end_span(self, at: int) -> Iterator[Span]:
        if self._start >= 0 and not self._is_blank(at):
            yield Span(self._key, self._start, at, self._is_expanded)

    def _is_blank(self, at: int) -> bool:
        if at - self._start > MAX_KEY_BYTES:
            return False
        self._key_file.seek(self._start)
        return not self._key_file.read(at - self._start).strip()

    def _read_key(self, at: int) -> str:
        self._key_file.seek(self._start)
        raw = self._key_file.read(min(at - self._start, MAX_KEY_BYTES))
        return raw.strip().strip(b'"').decode("utf-8", "replace")

    def _check_close(self, opening: _Token, closing: _Token) -> None:
        if opening.character + closing.character not in ("[]", "{}"):
            raise ImportFailed(
                f"expected matching brackets, but the document begins with {opening.character} "
                f"and ends with {closing.character}"
            )
        self._key_file.seek(closing.at + 1)
        if self._key_file.read(CHUNK_BYTES).strip():
            raise ImportFailed("other text follows the end of the JSON document; remove it")


def _scan_tokens(handle: BinaryIO) -> Iterator[_Token]:
    """Yield the structural characters outside strings, on the two outermost levels."""
    depth, base, in_string = 0, 0, False
    while chunk := _read_chunk(handle):
        at = _string_end(chunk) if in_string else 0
        while (at := _next_token(chunk, at, depth)) < len(chunk) and chunk[at] != _QUOTE:
            depth -= chunk[at] in b"]}"
            if depth <= 2:
                yield _Token(chr(chunk[at]), base + at, depth)
            depth += chunk[at] in b"[{"
            at += 1
        in_string = at != len(chunk)
        base += len(chunk)


def _read_chunk(handle: BinaryIO) -> bytes:
    """Return the next chunk of the file, which never ends between a backslash and the escaped character."""
    chunk = handle.read(CHUNK_BYTES)
    n_backslashes = len(chunk) - len(chunk.rstrip(b"\\"))
    return chunk + handle.read(1) if n_backslashes % 2 else chunk


def _string_end(chunk: bytes) -> int:
    """Return the end of the string in which a chunk begins, or the length of the chunk if the string goes on."""
    match = _STRING_REST.match(chunk)
    return match.end() if match else len(chunk) + 1


def _next_token(chunk: bytes, at: int, depth: int) -> int:
    """Return the position of the next relevant token at this depth, or of the quote of an unfinished string."""
    if at > len(chunk):
        return at
    pattern = _TO_BRACKET if depth > 2 else _TO_TOKEN
    match = pattern.match(chunk, at)
    return match.end() if match else at
