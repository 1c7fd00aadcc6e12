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

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import count
from pathlib import Path
from typing import Any

from atlas.core.errors import InvalidInput, StoreDamaged
from atlas.core.operations import NO_MARKS, Marks
from atlas.infra.fork_safety import InterProcessLock
from atlas.storage.engine import LedgerEngine
from atlas.storage.marks.codec import MARK_NAMES, check_marks
from atlas.storage.marks.tinydb import UNREADABLE, TinyMetadataStore, marks_file, may_have_marks_file
from atlas.storage.records import OperationDraft

logger = logging.getLogger(__name__)

BY_HAND = "by hand"
"""The actor of a change that was found in a file: nobody said who made it."""

TRIES = 10
"""How often a marks file that somebody spoils meanwhile is written again."""


class MarksBook:
    """The marks of every collection of a store, with a file for each whose records were ever marked."""

    def __init__(self, directory: Path, ledger: LedgerEngine) -> None:
        self._directory = directory
        self._ledger = ledger
        self._files: dict[str, TinyMetadataStore] = {}
        self._lock = InterProcessLock(directory / "marks.lock")

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
        with self._lock.held():
            yield

    def settle(self, *, thoroughly: bool = False) -> None:
        """Take in what was changed by hand, and bring the files up to what the ledger has committed.

        Args:
            thoroughly: Also look into files that seem to be as they were left.
        """
        if self._ledger.read_only or not self._ledger.is_file:
            return
        try:
            if self._unsettled(thoroughly):
                with self.held():
                    for collection in self._unsettled(thoroughly):
                        self._settle(collection, thoroughly)
        except OSError as error:  # a full disk, say: the ledger has the marks, and readers find them there
            logger.warning("the marks cannot be written to their files yet: %s", error)

    def ids_in_files(self) -> dict[str, set[str]]:
        """Return the ids that each readable marks file names, by collection."""
        found: dict[str, set[str]] = {}
        for collection in self._collections():
            try:
                found[collection] = set(self._file(collection).all())
            except UNREADABLE:
                found[collection] = set()
        return found

    def file_problems(self) -> list[str]:
        """Return how each marks file differs from the ledger, where it does."""
        with nullcontext() if self._ledger.read_only else self.held():
            return [problem for collection in self._collections() if (problem := self._problem(collection))]

    def _problem(self, collection: str) -> str:
        name = marks_file(collection)
        if self._version(collection) is None:
            return f"{name} is gone" if self._settled(collection) is not None else ""
        try:
            held = self._file(collection).all()
        except UNREADABLE as error:
            return str(error)
        differing = self._ledger.marks.differing(collection, held)
        return f"{name} differs from the ledger in {len(differing)} records: {differing[0]!r} …" if differing else ""

    def _unsettled(self, thoroughly: bool) -> list[str]:
        """Return the collections whose file is not what the ledger, and whoever wrote it last, left behind."""
        with self._ledger.reading():
            pending = self._ledger.marks.pending_collections()
            return [
                collection
                for collection in self._collections()
                if thoroughly or collection in pending or self._version(collection) != self._settled(collection)
            ]

    def _settle(self, collection: str, thoroughly: bool) -> None:
        version = self._version(collection)
        if version is not None and (thoroughly or version != self._settled(collection)):
            self._take_in(collection, version)
        with self._ledger.reading():
            pending = self._ledger.marks.pending(collection)
            is_gone = self._version(collection) is None and self._settled(collection) is not None
            marks = self._ledger.marks.read(collection, None if is_gone else list(pending))
        if pending or is_gone:
            self._write(collection, {**dict.fromkeys(pending, NO_MARKS), **marks})
            version = self._version(collection)
        if version is not None:  # else nothing was ever marked
            self._ledger.marks.settle(collection, version, pending)

    def _take_in(self, collection: str, version: str) -> None:
        """Let the ledger say what a file says that is not as it was left. Set it aside where it says nothing."""
        try:
            held = self._file(collection).all()
        except UNREADABLE as error:
            self._set_aside(collection, error)
            return
        if self._version(collection) == version:  # else it is being changed right now: the next time is soon enough
            why = f"{marks_file(collection)} was changed"
            self._ledger.marks.take_in(collection, held, self._ledger.draft("mark", actor=BY_HAND, reason=why))

    def _write(self, collection: str, marks: Mapping[str, Marks]) -> None:
        for _ in range(TRIES):
            try:
                self._file(collection).replace(marks)
                return
            except StoreDamaged as error:
                self._set_aside(collection, error)
                marks = self._ledger.marks.read(collection)
        self._file(collection).replace(marks)

    def _set_aside(self, collection: str, error: Exception) -> None:
        path = self._directory / marks_file(collection)
        names = (path.with_name(f"{path.stem}.unreadable-{number}{path.suffix}") for number in count(1))
        aside = next(name for name in names if not os.path.lexists(name))
        path.rename(aside)
        logger.warning("%s. It is named %s now, and is written again from the ledger", error, aside.name)

    def _collections(self) -> list[str]:
        """Return the collections that have, or may have, a file."""
        if not self._ledger.is_file:
            return []
        return [name for name in self._ledger.marks.collections() if may_have_marks_file(name)]

    def _settled(self, collection: str) -> str | None:
        return self._ledger.marks.settled_version(collection)

    def _version(self, collection: str) -> str | None:
        version = self._file(collection).version()
        return None if version is None else repr(version)

    def _file(self, collection: str) -> TinyMetadataStore:
        if collection not in self._files:
            self._files[collection] = TinyMetadataStore(self._directory / marks_file(collection))
        return self._files[collection]
