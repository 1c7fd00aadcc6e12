"""Backups and exports of a store: preview and restoration of a backup, and all records as JSON Lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path, PurePath
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.exchange import ExportedRecord, encode_line
from atlas.infra.actor import refuse_in_scope
from atlas.memory.concepts.records import SOURCES as SOURCES
from atlas.memory.kinds.table import known_lines
from atlas.memory.system import MemorySystem
from atlas.storage.maintenance import rotation
from atlas.storage.maintenance.backup import BackupContents, BackupReport, backup, inspect_backup, read_backups, restore
from atlas.storage.maintenance.rotation import RotationReport
from atlas.views.kinds.concept import CONCEPT
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.kind import Kind
from atlas.views.overview.summary import size_text
from atlas.views.settings.roles import may_administer
from atlas.views.settings.store import names_of_collections, record_counts
from atlas.views.shared.kinds import KINDS
from atlas.views.shared.state import may_name_paths
from atlas.views.shared.wording import counted, in_words

EXPORT_BATCH = 500

OLD_DAYS = 30
"""Days after which a backup counts as old, if the store has changed since."""

SAME_DISK = "On the same disk as the store: keep a copy elsewhere."
"""Warning on a backup that is lost together with its store."""

Track = Callable[[Sequence[int]], Iterable[int]]
"""Wraps an iterable, and shows the progress of going through it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountRow:
    """Records of one kind, before and after."""

    kind: str
    now: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RestorePreview:
    """The result that restoring a backup would have."""

    source: Path
    name: str
    """The file's display name."""

    rows: tuple[CountRow, ...]
    notes: tuple[str, ...]
    """Sentences on further changes."""


class Export:
    """The lines of an export, with the number of exported records per kind so far."""

    def __init__(self, memory: MemorySystem, *, with_vectors: bool = False, without: Sequence[str] = ()) -> None:
        self._memory = memory
        self._with_vectors = with_vectors
        self._without = without
        self._counts: dict[str, int] = {"experience": 0}

    @property
    def sentence(self) -> str:
        """`Exported 41 experiences and 2 concepts.`."""
        counts = [counted(n, noun) for noun, n in self._counts.items() if n or noun == "experience"]
        return f"Exported {in_words(counts)}."

    def lines(self, track: Track = iter) -> Iterator[str]:
        """Yield the lines, with newlines."""
        for kind in KINDS.values():
            if kind.is_exported:
                yield from self._lines_of(kind, track if kind is EXPERIENCE else iter)

    def _lines_of(self, kind: Kind, track: Track) -> Iterator[str]:
        records: Any = kind.records(self._memory)
        sources = [source for source in SOURCES if source not in self._without]
        ids = records.ids({"source": {"$in": sources}} if kind is CONCEPT else None)
        options = {"with_vectors": self._with_vectors} if kind is EXPERIENCE else {}
        for start in track(range(0, len(ids), EXPORT_BATCH)):
            yield from self._encode(kind.noun, records.export(ids[start : start + EXPORT_BATCH], **options))

    def _encode(self, noun: str, exported: Iterable[ExportedRecord]) -> Iterator[str]:
        for record in exported:
            self._counts[noun] = self._counts.get(noun, 0) + 1
            yield encode_line(record, known_lines()) + "\n"


def backup_name(memory: MemorySystem, purpose: str = "backup") -> str:
    """Return the name of a new backup: `my-agent-backup-20260131-090507.zip`."""
    return rotation.backup_name(memory.storage, purpose)


def backup_sentence(report: BackupReport, target: Path) -> str:
    """Return a sentence on the contents of a backup and its place."""
    return f"Backed up {counted(report.n_records, 'record')} into {target} ({size_text(report.n_bytes)})"


def make_backup(memory: MemorySystem, target: Path) -> str:
    """Copy the whole store into a new file, and return a sentence on it.

    Raises:
        InvalidInput: The file exists already.
        StoreError: It cannot be written; no partial file is left.
    """
    return backup_sentence(backup(memory.storage, target), target)


def make_own_backup(memory: MemorySystem, n_kept: int | None = None) -> RotationReport:
    """Copy the whole store into its directory for backups, and return the file.

    Args:
        n_kept: Number of backups to keep, after a test restore of the new one. Only those that were made with a number
            are removed. None for no test, and to keep all.

    Raises:
        NotAllowed: The actor is not an admin, or has a scope.
        StoreError: It cannot be written or restored; no partial file is left.
    """
    refuse_in_scope("write a backup")
    return rotation.back_up_into(memory.storage, backup_directory(memory), n_kept)


def recorded_backups(memory: MemorySystem) -> dict[str, str]:
    """Return the times of the recorded backups that may be restored here, by path. The newest comes first."""
    backups = {note.path: note.made_at for note in reversed(read_backups(memory.storage.ledger))}
    directory = backup_directory(memory)
    return (
        backups
        if may_name_paths()
        else {path: made_at for path, made_at in backups.items() if PurePath(path).parent == directory}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupState:
    """The newest recorded backup of a store."""

    made_at: datetime | None
    """None if there is none."""

    is_outdated: bool
    """True if it is older than `OLD_DAYS`, and the store has changed since."""


def backup_state(memory: MemorySystem, now: datetime) -> BackupState:
    """Return the state of the newest recorded backup."""
    made_at = next(map(datetime.fromisoformat, recorded_backups(memory).values()), None)
    is_old = made_at is not None and now - made_at > timedelta(days=OLD_DAYS)
    is_outdated = (
        is_old and made_at is not None and any(operation.created_at > made_at for operation in memory.history(1))
    )
    return BackupState(made_at=made_at, is_outdated=is_outdated)


def needs_backup(memory: MemorySystem, n_own: int) -> bool:
    """Return whether the visitor should make backups: an admin of a store that has more than sample data.

    Args:
        n_own: Number of records that are not sample data.
    """
    return n_own > 0 and not memory.storage.read_only and may_administer()


def backup_directory(memory: MemorySystem) -> Path:
    """Return the directory for backups from the pages.

    It is next to the store's directory and specific to the store, as an admin of one store has no access to others.
    """
    store = memory.storage.path.resolve()
    return store.with_name(f"{store.name}-backups")


def check_place(memory: MemorySystem, path: Path) -> None:
    """Check the chosen path of a backup.

    Raises:
        InvalidInput: The server requires authentication, and the path is not in the directory for backups.
    """
    if not may_name_paths() and path.resolve().parent != backup_directory(memory):
        raise InvalidInput(f"{str(path)!r:.200} is not in {backup_directory(memory)}; upload the file instead")


def preview_restore(memory: MemorySystem, source: Path, name: str) -> RestorePreview:
    """Return the preview of restoring a backup. Nothing is changed.

    Raises:
        InvalidInput: The file is not a backup that this version can read.
        StoreUnavailable: It cannot be read.
    """
    contents = inspect_backup(memory.storage, source)
    return RestorePreview(
        source=source,
        name=name,
        rows=_rows(memory, record_counts(memory), contents.counts),
        notes=tuple(_notes(memory, contents)),
    )


def restore_from(memory: MemorySystem, source: Path, *, keep: Path) -> str:
    """Back up the store to `keep`, restore `source`, and return what was restored, as a sentence.

    Args:
        memory: The memory of the store.
        source: The backup to restore.
        keep: The new file for a backup of the present store.

    Raises:
        InvalidInput: The file is not a backup that this version can read; the store is unchanged.
        StoreError: Either backup cannot be read or written.
    """
    backup(memory.storage, keep)
    report = restore(memory.storage, source)
    return f"Restored {counted(report.n_records, 'record')}"


def _rows(
    memory: MemorySystem, present_counts: Mapping[str, int], backup_counts: Mapping[str, int]
) -> tuple[CountRow, ...]:
    names_by_collection = names_of_collections(memory)
    names = [*names_by_collection, *sorted({*present_counts, *backup_counts} - {*names_by_collection})]
    rows = [
        CountRow(
            kind=names_by_collection.get(name, name), now=present_counts.get(name, 0), after=backup_counts.get(name, 0)
        )
        for name in names
    ]
    return tuple(row for row in rows if row.now or row.after)


def _notes(memory: MemorySystem, contents: BackupContents) -> Iterator[str]:
    yield "Marks, the history and the names of domains become what they were, too. What was done since then is gone."
    yield "The store as it is now is backed up first, into a file beside it, so the restore can be undone."
    model = memory.storage.model
    if model is not None and contents.model != model.name:
        yield f"The embedding model becomes {contents.model or 'none'} again. It is {model.name} now."
    if contents.revived:
        ids = " ".join(contents.revived[:20])
        yield f"{counted(len(contents.revived), 'purged record')} would come back. Purge again: {ids}"
