"""Safe reading of untrusted zip files: declared sizes are checked, and unpacked bytes are counted."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from atlas.core.errors import ImportFailed, InvalidInput
from atlas.importers.rows import MEGABYTE, Limits

RATIO_FREE_BYTES = 16 * MEGABYTE
"""Unpacked size up to which the compression ratio is not limited."""

_ENTRY_MARK = b"PK\x01\x02"
_SUPPORTED_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Supported compression methods. The others cannot be decompressed in bounded chunks."""

_UNPACKING_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, struct.error)
"""Errors that `zipfile` raises for damaged, encrypted and unknown entries."""


@contextmanager
def open_archive(path: Path, limits: Limits) -> Iterator[zipfile.ZipFile]:
    """Open a zip file after checking the number of its entries and their total unpacked size. Yield the open file.

    Raises:
        ImportFailed: The file is not a zip file, is cut off, has too many entries, or unpacks to too much.
    """
    _check_entries(path, limits)
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:
        raise ImportFailed(f"the file is not a readable zip file, or is truncated: {error}; export it again") from error
    with archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked > limits.max_file_bytes:
            raise ImportFailed(
                f"the file unpacks to {unpacked / MEGABYTE:,.0f} MB, more than the "
                f"{limits.max_file_bytes / MEGABYTE:,.0f} MB that are allowed; set ATLAS_MAX_IMPORT_MEGABYTES"
            )
        yield archive


def read_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limits: Limits) -> bytes:
    """Return the unpacked content of an entry.

    Raises:
        InvalidInput: The entry is too large, packed too tightly, encrypted, or damaged; the message names it.
    """
    _check_declared_size(entry, limits)
    try:
        with archive.open(entry) as stream:
            raw = stream.read(limits.max_document_bytes + 1)
    except _UNPACKING_ERRORS as error:
        raise InvalidInput(f"{entry.filename} cannot be unpacked: {error}; repack it, or leave it out") from error
    if len(raw) > limits.max_document_bytes:
        raise InvalidInput(
            f"{entry.filename} unpacks to more than {limits.max_document_bytes / MEGABYTE:,.0f} MB; leave it out"
        )
    return raw


def _check_declared_size(entry: zipfile.ZipInfo, limits: Limits) -> None:
    size, compressed_size = entry.file_size, max(entry.compress_size, 1)
    if size > limits.max_document_bytes:
        raise InvalidInput(
            f"{entry.filename} unpacks to {size / MEGABYTE:,.0f} MB, more than the "
            f"{limits.max_document_bytes / MEGABYTE:,.0f} MB that are read at once; leave it out"
        )
    if size > RATIO_FREE_BYTES and size / compressed_size > limits.max_ratio:
        raise InvalidInput(
            f"{entry.filename} unpacks to {size / compressed_size:,.0f} times its compressed size, which is "
            "implausible for a log; leave it out, or store it uncompressed"
        )
    if entry.compress_type not in _SUPPORTED_METHODS:
        raise InvalidInput(
            f"{entry.filename} has the unsupported compression method {entry.compress_type}; repack it with deflate"
        )


def _check_entries(path: Path, limits: Limits) -> None:
    """Count the entries before reading the central directory, which takes memory for each entry."""
    n_entries, tail = 0, b""
    with path.open("rb") as handle:
        while chunk := handle.read(MEGABYTE):
            n_entries += (tail + chunk).count(_ENTRY_MARK)
            tail = chunk[-len(_ENTRY_MARK) + 1 :]
            if n_entries > limits.max_entries:
                raise ImportFailed(f"the file contains more than {limits.max_entries:,} entries; unpack and split it")
