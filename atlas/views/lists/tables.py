"""Export of a list, over all of its pages, as a file with one row per record."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from atlas.core.exchange import encode_line
from atlas.core.imports.distribution import require_extra
from atlas.jobs.map import map_positions
from atlas.maps.map import MemoryMap
from atlas.memory.base.tables import escape_formulas
from atlas.memory.kinds.table import known_lines
from atlas.memory.system import MemorySystem
from atlas.views.kinds.kind import Kind

EXPORT_BATCH = 500


def table_of(
    memory: MemorySystem, kind: Kind, ids: Sequence[str], form: str, memory_map: MemoryMap | None = None
) -> bytes:
    """Return records as the content of a file.

    Args:
        kind: Their kind.
        ids: The records, in the order of the rows.
        form: One of `FORMS`.
        memory_map: The map that the page shows, with their domains and positions, or None for the stored one.

    Raises:
        ExtraMissing: pandas is not installed, or pyarrow for a Parquet file.
    """
    positions = map_positions(memory_map) if memory_map is not None else None
    return FORMS[form](kind.records(memory).to_pandas(ids=ids, positions=positions))


def exported_lines(memory: MemorySystem, kind: Kind, ids: Sequence[str]) -> bytes:
    """Return records as JSONL, one a line, as `atlas import` reads them."""
    return "".join(_lines(kind.records(memory), ids)).encode()


def _lines(records: Any, ids: Sequence[str]) -> Iterator[str]:
    for start in range(0, len(ids), EXPORT_BATCH):
        for exported in records.export(ids[start : start + EXPORT_BATCH]):
            yield encode_line(exported, known_lines()) + "\n"


def _csv(frame: Any) -> bytes:
    return bytes(escape_formulas(frame).to_csv(index=False).encode("utf-8", "replace"))


def _parquet(frame: Any) -> bytes:
    require_extra("tables", "a Parquet file")
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


FORMS: Mapping[str, Callable[[Any], bytes]] = {"CSV": _csv, "Parquet": _parquet}
"""Forms of a file, by their names."""

TYPES = {"CSV": "text/csv", "Parquet": "application/vnd.apache.parquet"}
"""Media types of the forms."""
