"""ATLAS's own JSONL, as written by `atlas export` or with the same codecs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from atlas.core.exchange import decode_line
from atlas.importers.files import RawRecord, read_lines
from atlas.importers.keys import record_keys
from atlas.importers.rows import Item, Limits, Row, make_row
from atlas.memory.kinds.table import known_lines


def matches(path: Path, head: bytes) -> bool:
    """Return whether the lines are experiences, or other records with a `kind`."""
    required = ({"experience"}, *({"kind", kind} for kind in known_lines()))
    return any(names <= keys for keys in record_keys(head) for names in required)


def read(path: Path, limits: Limits) -> Iterator[Row]:
    """Yield the records of a file, one per line."""
    for line in read_lines(path, limits):
        yield make_row(line.position, partial(_decode_line, line), offset=line.end, n_bytes=len(line.raw))


def _decode_line(line: RawRecord) -> Item:
    return decode_line(line.value(), known_lines())
