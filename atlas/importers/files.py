"""Reading untrusted files in bounded memory, with exact positions in errors."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from atlas.core.errors import ImportFailed, InvalidInput
from atlas.importers.rows import MEGABYTE, Limits
from atlas.importers.spans import find_spans

HEAD_BYTES = 64 * 1024
BOM = b"\xef\xbb\xbf"
_UTF_16_OR_32 = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


class NothingToImport(ImportFailed):
    """An error: a file is empty or in an unknown format."""


@dataclass(frozen=True, slots=True)
class RawRecord:
    """One line of JSONL or one element of a JSON list, as bytes that are not parsed yet."""

    position: int
    raw: bytes
    end: int
    """Offset of the record's end in the file, in bytes."""

    problem: str = ""
    """Reason why the record was not read, or empty."""

    def value(self) -> Any:
        """Return the JSON value.

        Raises:
            InvalidInput: The record is not JSON, or could not be read.
        """
        if self.problem:
            raise InvalidInput(self.problem)
        return parse_json(self.raw)


def read_head(path: Path, limits: Limits) -> bytes:
    """Return the first 64 KiB of a file, without a byte order mark.

    Raises:
        NothingToImport: The file is empty.
        ImportFailed: The file is too large, or its text is not UTF-8 but a wider encoding.
    """
    size = path.stat().st_size
    if size > limits.max_file_bytes:
        raise ImportFailed(
            f"the file has {_megabytes(size)}, but at most {_megabytes(limits.max_file_bytes)} are allowed; set "
            "ATLAS_MAX_IMPORT_MEGABYTES or split it"
        )
    with path.open("rb") as handle:
        head = handle.read(HEAD_BYTES)
    if not head.removeprefix(BOM).strip():
        is_short = len(head) < HEAD_BYTES
        raise NothingToImport("the file is empty" if is_short else "the file begins with whitespace only")
    begins_with_wide_bracket = b"\x00" in head[:4] and head[:4].strip(b"\x00")[:1] in (b"[", b"{")
    if head.startswith(_UTF_16_OR_32) or begins_with_wide_bracket:
        raise ImportFailed("the file is not UTF-8, but seems to be UTF-16 or UTF-32; save it as UTF-8")
    return head.removeprefix(BOM)


def parse_json(raw: bytes) -> Any:
    """Return the parsed JSON value. NaN and infinities are accepted, and the caller has to handle them.

    Raises:
        InvalidInput: The bytes are not UTF-8 or not JSON, are nested too deeply, or contain too long a number or a
            repeated key. The message is a predicate, such as `is not JSON`; callers put the subject before it.
    """
    try:
        return json.loads(decode_utf_8(raw, "the JSON text"), object_pairs_hook=_unique_keys)
    except InvalidInput:
        raise
    except json.JSONDecodeError as error:
        raise InvalidInput(f"is not JSON: {error.msg.removesuffix(' at')} at character {error.pos + 1}") from error
    except ValueError as error:  # Python's limit on the digits of a number
        raise InvalidInput("contains a number with too many digits; write it as a string") from error
    except RecursionError as error:
        raise InvalidInput("nests too deeply; flatten it") from error


def decode_utf_8(raw: bytes, name: str) -> str:
    """Return bytes as text, or raise `InvalidInput` if they are not UTF-8.

    Args:
        name: Name of the bytes in the error, such as `the row`.
    """
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = raw[error.start]
        raise InvalidInput(
            f"is not UTF-8: byte 0x{byte:02x} at byte {error.start + 1} of {name}; convert it"
        ) from error


def read_records(path: Path, limits: Limits) -> Iterator[RawRecord]:
    """Yield the rows of a JSONL file, or the elements of a JSON list.

    Raises:
        ImportFailed: As `read_head`.
    """
    if read_head(path, limits).lstrip().startswith(b"["):
        yield from _elements(path, limits)
    else:
        yield from read_lines(path, limits)


def read_lines(path: Path, limits: Limits) -> Iterator[RawRecord]:
    """Yield the non-blank lines of a JSONL file. A line that is too long raises when its value is read.

    Raises:
        ImportFailed: As `read_head`.
    """
    read_head(path, limits)
    end = 0
    with path.open("rb") as handle:
        for position, (line, length) in enumerate(_bounded_lines(handle, limits.max_row_bytes), start=1):
            end += length
            line = line.removeprefix(BOM) if position == 1 else line
            if length > limits.max_row_bytes:
                yield RawRecord(position, b"", end, _size_problem("line", length, limits.max_row_bytes))
            elif line.strip():
                yield RawRecord(position, line.rstrip(b"\r\n"), end)


def read_span(handle: BinaryIO, start: int, end: int, limit: int) -> bytes:
    """Return the bytes between two offsets.

    Raises:
        InvalidInput: There are more bytes than the limit.
    """
    if end - start > limit:
        raise InvalidInput(_size_problem("row", end - start, limit))
    handle.seek(start)
    return handle.read(end - start)


def read_document(path: Path, limits: Limits) -> bytes:
    """Return the bytes of a file that is a single document.

    Raises:
        ImportFailed: As `read_head`, or the file is too large to read at once.
    """
    read_head(path, limits)
    size = path.stat().st_size
    if size > limits.max_document_bytes:
        raise ImportFailed(_size_problem("document", size, limits.max_document_bytes))
    return path.read_bytes().removeprefix(BOM)


def _elements(path: Path, limits: Limits) -> Iterator[RawRecord]:
    position, end = 0, 0
    with path.open("rb") as handle:
        try:
            for position, span in enumerate(find_spans(path), start=1):
                end = span.end
                yield _read_element(handle, position, span.start, span.end, limits)
        except ImportFailed as error:  # truncated, or followed by other text: keep the elements before
            yield RawRecord(position + 1, b"", end, str(error))


def _read_element(handle: BinaryIO, position: int, start: int, end: int, limits: Limits) -> RawRecord:
    try:
        return RawRecord(position, read_span(handle, start, end, limits.max_row_bytes), end)
    except InvalidInput as error:
        return RawRecord(position, b"", end, str(error))


def _bounded_lines(handle: BinaryIO, limit: int) -> Iterator[tuple[bytes, int]]:
    """Yield each line with its full length in bytes. A line beyond the limit is truncated."""
    while line := handle.readline(limit + 1):
        length = len(line)
        chunk = line
        while not chunk.endswith(b"\n") and (chunk := handle.readline(MEGABYTE)):
            length += len(chunk)
        yield line, length


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        [(repeated_key, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise InvalidInput(f"has the key {repeated_key[:60]!r} twice in one object; keep one of them")
    return values


def _size_problem(noun: str, size: int, limit: int) -> str:
    return f"the {noun} has {_megabytes(size)}, but at most {_megabytes(limit)} are read at once; split it"


def _megabytes(n_bytes: int) -> str:
    return f"{n_bytes / MEGABYTE:,.1f} MB"
