"""The rows that importers yield: each has an item, or the reason why it was rejected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from atlas.core.errors import InvalidInput
from atlas.core.exchange import ExportedConcept, ExportedExperience, ExportedStrategy
from atlas.core.settings import Settings
from atlas.core.types import CodeConcept, JournalEntry, Trajectory, Turn
from atlas.infra.secrets import scrub_text
from atlas.memory.kinds.table import kind_of_item

Item = Trajectory | ExportedExperience | ExportedStrategy | ExportedConcept | CodeConcept | JournalEntry | Turn
"""An attempt, a reusable piece of code, a line of an agent's log, a turn of a conversation, or an exported record."""

MEGABYTE = 2**20
REASON_LENGTH = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Maximum sizes of imported files and rows, so that no file can exhaust the memory."""

    max_file_bytes: int = 2_048 * MEGABYTE
    """Size of a whole file, and the unpacked size of a zip file."""

    max_row_bytes: int = 32 * MEGABYTE
    """Size of one line of JSONL, or of one element of a JSON list."""

    max_document_bytes: int = 256 * MEGABYTE
    """Largest JSON document that is parsed as a whole: one run, or one sample of a log."""

    max_entries: int = 100_000
    """Number of files in a zip file."""

    max_ratio: int = 200
    """Compression ratio of an entry of more than 16 MB."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Limits:
        """Return the limits that are derived from the settings."""
        return cls(max_file_bytes=settings.max_import_megabytes * MEGABYTE)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a file: an item, or the reason why there is none."""

    position: int
    """Line of a JSONL file, element of a JSON list, or sample of a log, from 1."""

    item: Item | None
    reason: str = ""
    """Reason why the row was rejected, on one line, empty if there is an item."""

    offset: int = 0
    """Offset of the row's end in the file, in bytes."""

    n_bytes: int = 0
    """Size of the row's JSON in bytes."""


def one_line(reason: str) -> str:
    """Return a reason as one line of limited length, without control characters and secrets.

    Secrets are removed before the text is cut, because half a secret would not be recognised.
    """
    text = scrub_text(" ".join(reason.encode("utf-8", "backslashreplace").decode("utf-8").split()), Counter())
    text = "".join(character if character.isprintable() else f"\\x{ord(character):02x}" for character in text)
    return text if len(text) <= REASON_LENGTH else text[: REASON_LENGTH - 1] + "…"


def make_row(position: int, make: Callable[[], Item], *, offset: int = 0, n_bytes: int = 0) -> Row:
    """Return a row with the item that `make` returns, or with the reason why there is none."""
    item: Item | None = None

    def make_checked() -> None:
        nonlocal item
        new_item = make()
        kind_of_item(new_item).check(new_item)
        item = new_item

    reason = catch_failure(make_checked)
    return Row(position, item, reason, offset=offset, n_bytes=n_bytes)


def catch_failure(convert: Callable[[], object]) -> str:
    """Call `convert`. Return the error that it raises as one line, or an empty string if it raises none."""
    try:
        convert()
    except InvalidInput as error:
        reason = str(error)
    except RecursionError:
        reason = "nests too deeply; flatten it"
    except Exception as error:  # noqa: BLE001 - one row of an import: whatever is wrong with it, the others go on
        reason = f"cannot be read: {type(error).__name__}: {error}"
    else:
        return ""
    return one_line(reason) or "cannot be read"
