"""Reading of marks files, which a store of this or an older version wrote, or a person edited."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.json_values import check_json
from atlas.core.operations import Marks
from atlas.storage.marks.codec import decode_marks, is_marks_by_table
from atlas.storage.marks.files import TABLE

MAX_BYTES = 256 * 2**20
"""Maximum size in bytes of a file to read."""


def read_marks_file(path: Path) -> dict[str, Marks]:
    """Return the marks of each record that a file lists.

    Raises:
        InvalidInput: The file does not contain marks, or is too large.
        OSError: The file cannot be read.
    """
    return {record_id: decode_marks(row) for record_id, row in read_rows(path).items()}


def read_rows(path: Path) -> dict[str, dict[str, Any]]:
    """Return the row of each record in a file, with validated types.

    Raises:
        InvalidInput: The file does not contain marks, or is too large.
        OSError: The file cannot be read.
    """
    if not path.is_file():
        raise InvalidInput(f"{path} is not a file; give a file of marks")
    if path.stat().st_size > MAX_BYTES:
        raise InvalidInput(f"{path} has more than {MAX_BYTES / 2**20:,.0f} MB; give a file of marks")
    try:
        tables = json.loads(path.read_text(encoding="utf-8"))
        check_json(tables, "the content")
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the marks in {path} are not readable JSON ({error}); export the marks again") from error
    if not is_marks_by_table(tables) or TABLE not in tables:
        raise InvalidInput(
            f"expected a JSON object with a table {TABLE!r} of rows with tags, pinned and note in {path}, got "
            f"{tables!r:.80}; export the marks again"
        )
    # Older versions had the record's id for the key of a row.
    return {str(row.get("id", key)): row for key, row in tables[TABLE].items()}
