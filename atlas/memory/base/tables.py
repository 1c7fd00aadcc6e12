"""Conversion of a memory's records to a table for pandas: content, success, and position on the map."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from atlas.core.imports.distribution import extra
from atlas.core.operations import NO_MARKS, NO_USAGE, Marks, Usage

FIRST_COLUMNS = ("id", "title", "outcome", "domain", "map_x", "map_y", "n_uses", "n_successes", "rate")
"""The first columns, in order. Further columns follow alphabetically."""

NUMBERS = {"map_x": "float64", "map_y": "float64", "rate": "float64"}
"""Columns that are numeric even if all values are missing."""

INTERNAL_KEYS = ("content", "content_hash", "search_text")
"""Internal metadata that tables leave out."""

RENAMED_COLUMNS = {"domain": "field"}
"""Metadata keys that get another column name, because the domain of a task is not the domain of the map."""

_BLANKS = r"[\s\x00-\x1f\x7f-\x9f\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]*"
"""Invisible characters, which spreadsheets may strip before they parse a cell."""

_FORMULA = re.compile(
    rf"(?!{_BLANKS}[+-]?\d+(?:\.\d+)?{_BLANKS}\Z)(?:[\t\r\n]|{_BLANKS}[=+\-@\uff0b\uff0d\uff1d\uff20])"
)
"""Prefix of a string that a spreadsheet parses as a formula. Plain numbers do not match."""


@dataclass(frozen=True, slots=True)
class MapPosition:
    """The position of a record on the map, and its domain."""

    domain: str
    """Name of the domain, or empty outside of all domains."""

    x: float
    y: float


MapPositions = Mapping[str, MapPosition]
"""Positions of the records on the map, keyed by id."""

NO_POSITIONS: MapPositions = {}

MAP_MODULE = "atlas.jobs.map"
"""Module that reads maps, imported by name, because maps depend on memories."""


def read_positions(directory: Path, collection: str) -> MapPositions:
    """Return the map positions of a collection's records, keyed by id, from the map stored in a directory."""
    positions: MapPositions = import_module(MAP_MODULE).load_positions(directory, collection)
    return positions


def build_columns(
    rows: Sequence[Mapping[str, Any]], marks: Mapping[str, Marks], usage: Mapping[str, Usage], positions: MapPositions
) -> dict[str, list[Any]]:
    """Return records as columns of equal length, keyed by name. Missing values are None.

    Args:
        rows: Rows of a store: `id`, `document`, `metadata`.
    """
    table_rows = [
        _table_row(row, marks.get(row["id"], NO_MARKS), usage.get(row["id"], NO_USAGE), positions.get(row["id"]))
        for row in rows
    ]
    names = sorted({name for table_row in table_rows for name in table_row}.difference(FIRST_COLUMNS))
    return {name: _unify_types([table_row.get(name) for table_row in table_rows]) for name in (*FIRST_COLUMNS, *names)}


def drop_vectors(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row without vectors and internal metadata."""
    metadata = {name: value for name, value in row["metadata"].items() if name not in INTERNAL_KEYS}
    return {"id": row["id"], "document": row["document"], "metadata": metadata}


def build_frame(columns: Mapping[str, Iterable[Any]]) -> Any:
    """Return columns as a `pandas.DataFrame`.

    Raises:
        ExtraMissing: pandas is not installed.
    """
    with extra("tables", "a table"):
        import pandas as pd
    frame = pd.DataFrame(dict(columns)).astype(NUMBERS)
    if "created_at" in frame:
        frame["created_at"] = pd.to_datetime(frame["created_at"], format="ISO8601", utc=True, errors="coerce")
    return frame


def escape_formulas(frame: Any) -> Any:
    """Return a table with an apostrophe before each string that a spreadsheet would evaluate as a formula.

    Cells and column names are untrusted text, and a spreadsheet evaluates a formula in a CSV cell, even a quoted one.

    Source:
        OWASP, CSV Injection.
    """
    safe = frame.copy()
    for name in frame.select_dtypes(["object", "string"]):
        safe[name] = frame[name].map(escape_formula)
    return safe.rename(columns=escape_formula)


def escape_formula(value: Any) -> Any:
    """Return a value for a CSV cell, with an apostrophe before a string that a spreadsheet would evaluate."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def _unify_types(values: list[Any]) -> list[Any]:
    """Return the values of a column, as strings if they have several types or are lists."""
    types = {type(value) for value in values if value is not None}
    if types <= {int, float} or (len(types) == 1 and types <= {str, bool}):
        return values
    return [value if value is None else _cell_text(value) for value in values]


def _cell_text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _table_row(row: Mapping[str, Any], marks: Marks, usage: Usage, position: MapPosition | None) -> dict[str, Any]:
    metadata = {
        RENAMED_COLUMNS.get(name, name): value for name, value in row["metadata"].items() if name not in INTERNAL_KEYS
    }
    map_values = {"domain": position.domain or None, "map_x": position.x, "map_y": position.y} if position else {}
    return {
        **metadata,
        "id": row["id"],
        "text": row["document"],
        "n_uses": usage.n_uses,
        "n_successes": usage.n_successes,
        "rate": usage.n_successes / usage.n_uses if usage.n_uses else None,
        "n_retrieved": usage.n_retrieved,
        "pinned": marks.pinned,
        "buried": marks.buried,
        "held_for": marks.held_for,
        "quarantine": marks.quarantine,
        "tags": ", ".join(marks.tags),
        "note": marks.note,
        **map_values,
    }
