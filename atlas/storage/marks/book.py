"""Marks: what people say of records, undoable, crash-safe, and part of every filter.

The ledger holds them. Each collection's JSON file follows: a change is committed with its before-image, its records are
noted as *pending*, and then the file is replaced and they are pending no more. Whoever finds pending records (after a
crash, say) finishes the way. Nobody reads marks from a file but to take in what people changed there.

Where the two differ, for records that are not pending:

- A file that can be read, and is not as ATLAS left it, was changed by hand, or checked out from version control. It
  wins: what it says is taken in as an operation of its own, that can be undone, when a store is opened for writing,
  before the next change of marks, and by `atlas doctor --fix`.
- A file that cannot be read, or is gone, loses: it is set aside under another name, which the log says, and written
  again from the ledger. Mended and put back, it was changed by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.operations import NO_MARKS, Marks
from atlas.storage.engine import LedgerEngine
from atlas.storage.marks.codec import MARK_NAMES, check_marks
from atlas.storage.marks.files import MarksFiles
from atlas.storage.records import OperationDraft


class MarksBook:
    """The marks of every collection of a store."""

    def __init__(self, directory: Path, ledger: LedgerEngine) -> None:
        self._ledger = ledger
        self._files = MarksFiles(directory, ledger)

    def read(self, collection: str, ids: Sequence[str]) -> dict[str, Marks]:
        """Return the marks of each record, empty ones where nobody marked it."""
        held = self._ledger.marks.read(collection, ids)
        return {record_id: held.get(record_id, NO_MARKS) for record_id in ids}

    def column(self, collection: str, key: str, ids: Iterable[str]) -> dict[str, Any]:
        """Return one mark, such as `marks.tags`, of the records that have it."""
        name = key.removeprefix("marks.")
        if name not in MARK_NAMES:
            raise InvalidInput(f"unknown column {key!r}; known: {', '.join(f'marks.{known}' for known in MARK_NAMES)}")
        values = self._ledger.marks.column(collection, name)
        return {record_id: values[record_id] for record_id in ids if record_id in values}

    def write(self, collection: str, marks: Mapping[str, Marks], operation: OperationDraft) -> None:
        """Set records' marks.

        Raises:
            NotFound: One of the records is not there.
            InvalidInput: A tag or note that JSON cannot hold.
        """
        check_marks(marks)
        with self.settled():
            self._ledger.marks.write(collection, marks, operation)

    def change(
        self, collection: str, ids: Sequence[str], change: Callable[[Marks], Marks], operation: OperationDraft
    ) -> int:
        """Set each record's marks to what a function makes of them, and return how many that changed.

        Raises:
            NotFound: One of the records is not there; no marks were changed.
            InvalidInput: A tag or note that JSON cannot hold.
        """
        with self.settled():
            return self._ledger.marks.change(collection, ids, change, operation)

    def drop_strays(self, operation: OperationDraft) -> None:
        """Take their marks from records that never were in the ledger."""
        with self.settled():
            self._ledger.marks.drop_strays(operation)

    @contextmanager
    def settled(self) -> Iterator[None]:
        """Take in what was changed by hand before the block, and bring the files up to the ledger after it."""
        self.settle()
        yield
        self.settle()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep every process from changing the marks files inside the block. Changes wait in the ledger meanwhile."""
        with self._files.held():
            yield

    def ids_in_files(self) -> dict[str, set[str]]:
        """Return the ids that each readable marks file names, by collection."""
        return self._files.ids()

    def file_problems(self) -> list[str]:
        """Return how each marks file differs from the ledger, where it does."""
        return self._files.problems()

    def settle(self, *, thoroughly: bool = False) -> None:
        """Make the JSON files and the ledger say the same. See `MarksFiles.settle`."""
        self._files.settle(thoroughly=thoroughly)
