"""Inspect's evaluation logs, as JSON and as `.eval` (zip): one trajectory per sample.

Images and other blobs become placeholders. Inspect's logs may contain NaN, which becomes null.

Source:
    https://inspect.aisi.org.uk/eval-logs.html
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from atlas.core.errors import ImportFailed, InvalidInput
from atlas.core.types import Trajectory
from atlas.importers.archive import open_archive, read_entry
from atlas.importers.fields import Json, abbreviate, as_object
from atlas.importers.files import parse_json, read_head, read_span
from atlas.importers.formats.inspect_samples import Header, trajectory
from atlas.importers.keys import document_keys
from atlas.importers.rows import Limits, Row, make_row
from atlas.importers.spans import Span, find_spans

ZIP_MARK = b"PK\x03\x04"
HEADERS = ("header.json", "_journal/start.json")
"""Zip entries with the header that all samples share: in a finished log, and in an interrupted one."""

_HEADER_KEYS = ("version", "status", "eval")


def matches(path: Path, head: bytes) -> bool:
    """Return whether the file is a log in JSON, or a zip file with the entries of one."""
    if head.startswith(ZIP_MARK):
        return path.suffix == ".eval" or any(name in head for name in (b"_journal/", b"samples/", b"header.json"))
    return {"version", "status"} <= document_keys(head)


def read(path: Path, limits: Limits) -> Iterator[Row]:
    """Yield the samples of a log."""
    if read_head(path, limits).startswith(ZIP_MARK):
        yield from _read_zip(path, limits)
    else:
        yield from _read_json(path, limits)


def _read_json(path: Path, limits: Limits) -> Iterator[Row]:
    header = _json_header(path, limits)
    position, end = 0, 0
    with path.open("rb") as handle:
        try:
            for position, span in enumerate(_samples(path), start=1):
                end = span.end
                make = partial(_json_sample, handle, span, header, limits)
                yield make_row(position, make, offset=end, n_bytes=span.end - span.start)
        except ImportFailed as error:  # truncated, or followed by other text: keep the samples before
            yield Row(position + 1, None, str(error), offset=end)


def _samples(path: Path) -> Iterator[Span]:
    for span in find_spans(path, expand="samples"):
        if span.key == "samples" and (span.is_expanded or span.end - span.start > len(" null ")):
            yield span


def _json_sample(handle: BinaryIO, span: Span, header: Header, limits: Limits) -> Trajectory:
    raw = read_span(handle, span.start, span.end, limits.max_document_bytes)
    if not span.is_expanded:
        raise InvalidInput(f"expected a list for samples, got {abbreviate(parse_json(raw))}")
    return trajectory(as_object(parse_json(raw), "the sample"), header, limits)


def _json_header(path: Path, limits: Limits) -> Header:
    """Return the header of the log, which may come before or after the samples."""
    fields: Json = {}
    with path.open("rb") as handle:
        try:
            for span in find_spans(path, expand="samples"):
                if span.key in _HEADER_KEYS:
                    fields[span.key] = parse_json(read_span(handle, span.start, span.end, limits.max_row_bytes))
                if len(fields) == len(_HEADER_KEYS):
                    break
        except (InvalidInput, ImportFailed) as error:
            raise ImportFailed(f"the log's header cannot be read: {error}") from error
    return _header(fields)


def _read_zip(path: Path, limits: Limits) -> Iterator[Row]:
    with open_archive(path, limits) as archive:
        header = _zip_header(archive, limits)
        entries = [entry for entry in archive.infolist() if _is_sample(entry)]
        n_read = 0
        for position, entry in enumerate(entries, start=1):
            n_read += entry.compress_size
            make = partial(_zip_sample, archive, entry, header, limits)
            yield make_row(position, make, offset=n_read, n_bytes=entry.file_size)


def _is_sample(entry: zipfile.ZipInfo) -> bool:
    return entry.filename.startswith("samples/") and entry.filename.endswith(".json")


def _zip_sample(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, header: Header, limits: Limits) -> Trajectory:
    raw = read_entry(archive, entry, limits)
    try:
        return trajectory(as_object(parse_json(raw), "the sample"), header, limits)
    except InvalidInput as error:
        raise InvalidInput(f"{entry.filename}: {error}") from error


def _zip_header(archive: zipfile.ZipFile, limits: Limits) -> Header:
    name = next((name for name in HEADERS if name in archive.namelist()), None)
    if name is None:
        raise ImportFailed(
            f"the file is not an Inspect log: it contains neither {' nor '.join(HEADERS)}; give another --format"
        )
    try:
        return _header(as_object(parse_json(read_entry(archive, archive.getinfo(name), limits)), name))
    except InvalidInput as error:
        raise ImportFailed(f"the log's {name} cannot be read: {error}") from error


def _header(fields: Json) -> Header:
    try:
        return Header.from_log(fields)
    except InvalidInput as error:
        raise ImportFailed(f"the log's header cannot be read: {error}") from error
