"""Rows that every importer yields, each with what was read from it or the reason why it was refused."""

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
    """Sizes above which an import refuses to read, so that no input can fill the memory."""

    max_file_bytes: int = 2_048 * MEGABYTE
    """Size of a whole file, and of what a packed file unpacks to."""

    max_row_bytes: int = 32 * MEGABYTE
    """Size of one line of JSONL, or of one element of a JSON list."""

    max_document_bytes: int = 256 * MEGABYTE
    """Size of a JSON document that is read as a whole: one run, or one sample of a log."""

    max_entries: int = 100_000
    """Number of files in a packed file."""

    max_ratio: int = 200
    """Ratio to its packed size that a packed file of more than 16 MB may unpack to."""

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        """Return the limits that follow from the settings."""
        return cls(max_file_bytes=settings.max_import_megabytes * MEGABYTE)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a file: an item, or the reason for its absence."""

    position: int
    """Line of a JSONL file, element of a JSON list, or sample of a log, from 1."""

    item: Item | None
    reason: str = ""
    """Reason why the row was refused, on one line, empty if there is an item."""

    offset: int = 0
    """Bytes of the file up to the end of this row."""

    n_bytes: int = 0
    """Bytes of JSON that the row was read from."""


def one_line(reason: str) -> str:
    """Return the reason on one line, at a readable length, without characters that a terminal would act on.

    It quotes what is wrong, which may be a secret, so it is scrubbed before it is cut.
    """
    text = scrub_text(" ".join(reason.encode("utf-8", "backslashreplace").decode("utf-8").split()), Counter())
    text = "".join(character if character.isprintable() else f"\\x{ord(character):02x}" for character in text)
    return text if len(text) <= REASON_LENGTH else text[: REASON_LENGTH - 1] + "…"


def convert(position: int, make: Callable[[], Item], *, offset: int = 0, n_bytes: int = 0) -> Row:
    """Return the row that `make` gives, refused with the reason where it fails or the ledger could not hold it."""
    items: list[Item] = []

    def make_checked() -> None:
        item = make()
        kind_of_item(item).check(item)
        items.append(item)

    reason = refusal(make_checked)
    return Row(position, None if reason else items[0], reason, offset=offset, n_bytes=n_bytes)


def refusal(act: Callable[[], object]) -> str:
    """Return the reason, on one line, why an import fails on a row, or an empty string."""
    try:
        act()
    except InvalidInput as error:
        reason = str(error)
    except RecursionError:
        reason = "nests too deeply; flatten it"
    except Exception as error:  # noqa: BLE001 - one row of an import: whatever is wrong with it, the others go on
        reason = f"cannot be read: {type(error).__name__}: {error}"
    else:
        return ""
    return one_line(reason) or "cannot be read"
