"""Imports of files and directories. Every row is imported or reported, and an invalid row does not stop the others."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from atlas.core.errors import ImportFailed
from atlas.core.exchange import ExportedExperience
from atlas.core.settings import Settings
from atlas.core.types import Experience, Trajectory
from atlas.importers.evidence import RULES, with_decided_outcome
from atlas.importers.files import NothingToImport
from atlas.importers.logs import LogOptions, prepare
from atlas.importers.registry import Format, all_formats, detect
from atlas.importers.rows import MEGABYTE, Item, Limits, Row, one_line
from atlas.infra.secrets import counting_secrets
from atlas.memory.experience.extraction import to_trajectory

BATCH_ITEMS = 256
BATCH_BYTES = 32 * MEGABYTE
MAX_REJECTIONS = 100

Progress = Callable[[int, int], None]
"""Callback with the number of bytes read so far, and the total."""


@dataclass(frozen=True, slots=True)
class AddCount:
    """The numbers of added and skipped items of one batch."""

    added: Mapping[str, int]
    """Number of new records, keyed by noun: `experience`, `concept`, `strategy`, `entry`, `turn`."""

    skipped: int
    """Number of items that were stored already, or purged earlier."""

    purged: int = 0
    """Number of skipped items that were purged earlier."""


class Sink(Protocol):
    """The destination of an import."""

    def add(self, items: list[Item], source: str) -> AddCount:
        """Store the items, which all come from the named format."""
        ...


@dataclass(frozen=True, slots=True)
class Rejection:
    """A row that was not imported, and why."""

    path: Path
    row: int
    """Position from 1, or 0 for the file as a whole."""

    reason: str

    def __str__(self) -> str:
        row = f", row {self.row}" if self.row else ""
        return f"{one_line(str(self.path))}{row}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """The result of an import. `read` is `added` + `skipped` + the rows among `rejected`."""

    read: int
    """Number of rows read, plus the number of journal entries that were derived from them."""

    added_by: Mapping[str, int]
    """Number of new records, keyed by noun: `experience`, `concept`, `strategy`, `entry`, `turn`."""

    skipped: int
    """Number of rows that the store contained already, or that were purged from it."""

    purged: int
    """Number of skipped rows that were purged earlier."""

    rejected: int
    """Number of rejected rows and whole files."""

    rejections: tuple[Rejection, ...]
    """The first 100 rejections."""

    files: int
    """Number of files visited."""

    unclaimed: int = 0
    """Number of files in directories that were skipped as empty or of unknown format."""

    scrubbed: Mapping[str, int] = field(default_factory=dict)
    """Number of removed secrets, keyed by kind."""

    unknown: Mapping[str, int] = field(default_factory=dict)
    """Number of attempts with an unknown outcome, keyed by reason."""

    judged: Mapping[str, int] = field(default_factory=dict)
    """Number of attempts whose outcome a score decided, keyed by rule, such as `reward ≥ 1`.

    The requested rule is included even if it decided none. Names of scores may come from the files.
    """

    @property
    def added(self) -> int:
        """Number of new records."""
        return sum(self.added_by.values())

    @property
    def added_attempts(self) -> int:
        """Number of new attempts."""
        return self.added_by.get("experience", 0)

    @property
    def added_concepts(self) -> int:
        """Number of new concepts."""
        return self.added_by.get("concept", 0)

    @property
    def added_strategies(self) -> int:
        """Number of new strategies."""
        return self.added_by.get("strategy", 0)

    @property
    def added_entries(self) -> int:
        """Number of new journal entries."""
        return self.added_by.get("entry", 0)

    @property
    def added_turns(self) -> int:
        """Number of new turns of conversations."""
        return self.added_by.get("turn", 0)


def import_paths(
    sink: Sink,
    paths: Sequence[Path],
    *,
    format: str = "auto",
    strict: bool = False,
    log_options: LogOptions | None = None,
    settings: Settings,
    on_progress: Progress | None = None,
) -> ImportReport:
    """Read files and directories, and pass their items to the sink in batches.

    Args:
        sink: Stores the items.
        paths: Files and directories.
        format: A name in `all_formats`, or `auto` to recognise each file's format by its content.
        strict: Stop at the first rejected row or file; the items before it have been stored.
        log_options: Options for logs, such as the score that decides success.
        settings: For the maximum file size.
        on_progress: Called after each stored batch and after each file.

    Raises:
        ImportFailed: A path does not exist or the format is unknown, before anything is stored; or, with `strict`, a
            row or a file was rejected.
    """
    chosen_format, limits = _find_format(format), Limits.from_settings(settings)
    files = source_files(paths)
    total_bytes = sum(file.size for file in files)
    run = _Run(
        sink, strict=strict, log_options=log_options or LogOptions(), on_progress=on_progress, total_bytes=total_bytes
    )
    for file in files:
        run.add_file(file, _read_rows(file, chosen_format, limits))
    run.flush()
    return run.report(len(files))


class _AttemptSink:
    """A sink that keeps attempts in memory, and skips other records."""

    def __init__(self) -> None:
        self.trajectories: list[Trajectory] = []

    def add(self, items: list[Item], source: str) -> AddCount:
        before = len(self.trajectories)
        for item in items:
            if isinstance(item, Trajectory):
                self.trajectories.append(item)
            elif isinstance(item, ExportedExperience):
                self.trajectories.append(to_trajectory(item.experience))
        n_added = len(self.trajectories) - before
        return AddCount(added={"experience": n_added}, skipped=len(items) - n_added)


def read_attempts(paths: Sequence[Path], *, format: str = "auto", settings: Settings) -> list[Trajectory]:
    """Return the attempts in files and directories, in order. Other records are skipped.

    Raises:
        ImportFailed: A path does not exist, or a row or a file was rejected. Results on a part of the data would be
            mistaken for results on all of it.
    """
    sink = _AttemptSink()
    import_paths(sink, paths, format=format, strict=True, settings=settings)
    return sink.trajectories


class SourceFile(NamedTuple):
    """A file to read."""

    path: Path
    size: int
    """Size in bytes."""

    is_listed: bool
    """True if the path was given explicitly, false if it was found in a directory."""


class _SourcedRow(NamedTuple):
    source: str
    row: Row


class _Run:
    """The state of one import: its counts, and the current batch."""

    def __init__(
        self, sink: Sink, *, strict: bool, log_options: LogOptions, on_progress: Progress | None, total_bytes: int
    ) -> None:
        self._sink = sink
        self._strict = strict
        self._options = log_options
        self._scrubbed: Counter[str] = Counter()
        self._unknown: Counter[str] = Counter()
        self._judged: Counter[str] = Counter({str(log_options.success): 0} if log_options.success else {})
        self._on_progress = on_progress
        self._total_bytes = total_bytes
        self._done_bytes = 0
        self._n_read = self._n_skipped = self._n_rejected = self._n_purged = self._n_unclaimed = 0
        self._added: Counter[str] = Counter()
        self._rejections: list[Rejection] = []
        self._items: list[Item] = []
        self._items_bytes = 0
        self._source = ""

    def add_file(self, file: SourceFile, rows: Iterator[_SourcedRow]) -> None:
        """Add a file's rows to the batch, and record the rejected ones."""
        start = self._done_bytes
        try:
            for source, row in rows:
                self._done_bytes = start + min(row.offset, file.size)
                self._n_read += row.position > 0
                if row.item is None:
                    self._reject(Rejection(file.path, row.position, row.reason))
                else:
                    self._add_item(row.item, row.n_bytes, source)
        except NothingToImport:
            self._n_unclaimed += 1
        self._done_bytes = start + file.size
        self._report_progress()

    def flush(self) -> None:
        """Pass the current batch to the sink."""
        items, self._items, self._items_bytes = self._items, [], 0
        if items:
            with counting_secrets() as secrets:
                count = self._sink.add(items, self._source)
            self._scrubbed.update(secrets)
            self._added.update(count.added)
            self._n_skipped += count.skipped
            self._n_purged += count.purged
            self._report_progress()

    def report(self, n_files: int) -> ImportReport:
        """Return the report so far."""
        return ImportReport(
            read=self._n_read,
            added_by=dict(self._added),
            skipped=self._n_skipped,
            purged=self._n_purged,
            rejected=self._n_rejected,
            rejections=tuple(self._rejections),
            files=n_files,
            unclaimed=self._n_unclaimed,
            scrubbed=dict(self._scrubbed),
            unknown=dict(self._unknown),
            judged=dict(self._judged),
        )

    def _add_item(self, item: Item, n_bytes: int, source: str) -> None:
        if source != self._source:
            self.flush()
            self._source = source
        if all_formats()[source].is_log:
            items = prepare(item, self._options, self._scrubbed)
        else:
            items = [with_decided_outcome(item) if isinstance(item, Trajectory) else item]
        self._unknown[all_formats()[source].why_unknown] += sum(map(_has_unknown_outcome, items))
        if rule := self._deciding_rule(item, items[0], source):
            self._judged[rule] += 1
        self._items += items
        self._n_read += len(items) - 1
        self._items_bytes += n_bytes
        if len(self._items) >= BATCH_ITEMS or self._items_bytes >= BATCH_BYTES:
            self.flush()

    def _deciding_rule(self, original: Item, prepared_item: Item, source: str) -> str:
        """Return the rule that decided the outcome of an attempt, such as `reward ≥ 1`, or an empty string."""
        if isinstance(original, Trajectory) and not _has_unknown_outcome(original):
            return all_formats()[source].judged_by(original)
        if not _has_unknown_outcome(original) or _has_unknown_outcome(prepared_item):
            return ""
        rule = _unwrap(prepared_item).outcome.verification_details["rule"]
        return rule if rule in RULES else str(self._options.success)

    def _reject(self, rejection: Rejection) -> None:
        self._n_rejected += 1
        if len(self._rejections) < MAX_REJECTIONS:
            self._rejections.append(rejection)
        if self._strict:
            self.flush()
            raise ImportFailed(
                f"{rejection}; {self._added.total()} were added before. Fix it, or import without --strict"
            )

    def _report_progress(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self._done_bytes, self._total_bytes)


def _has_unknown_outcome(item: Item) -> bool:
    """Return whether an item is an attempt whose outcome is unknown."""
    attempt = _unwrap(item)
    return isinstance(attempt, Trajectory | Experience) and attempt.outcome.success is None


def _unwrap(item: Item) -> Any:
    """Return the experience in an exported record, or any other item unchanged."""
    return item.experience if isinstance(item, ExportedExperience) else item


def _read_rows(file: SourceFile, chosen_format: Format | None, limits: Limits) -> Iterator[_SourcedRow]:
    """Yield the rows of a file, each with the name of the format.

    If the file cannot be read to its end, the last row has the position 0 and the reason.

    Raises:
        NothingToImport: The file was found in a directory, and is empty or of unknown format.
    """
    try:
        reader = chosen_format or detect(file.path, limits)
        for row in reader.read(file.path, limits):
            yield _SourcedRow(reader.name, row)
    except ImportFailed as error:
        if isinstance(error, NothingToImport) and not file.is_listed:
            raise
        yield _SourcedRow("", Row(0, None, one_line(str(error))))
    except OSError as error:
        yield _SourcedRow("", Row(0, None, one_line(f"the file cannot be read: {error.strerror or error}")))


def _find_format(name: str) -> Format | None:
    if name == "auto":
        return None
    if name not in all_formats():
        raise ImportFailed(f"there is no format {name!r}; known: auto, {', '.join(all_formats())}")
    return all_formats()[name]


def source_files(paths: Sequence[Path]) -> list[SourceFile]:
    """Return the files to read, in the order of the paths. Files in a directory are sorted by name.

    Raises:
        ImportFailed: A path does not exist, or a directory cannot be listed.
    """
    files: list[SourceFile] = []
    for path in paths:
        if path.is_dir():
            files += _walk(path)
        elif path.is_file():
            files.append(SourceFile(path, _size(path), is_listed=True))
        else:
            exists = path.exists()
            raise ImportFailed(f"{path} {'is neither a file nor a directory' if exists else 'does not exist'}")
    return files


def _walk(directory: Path) -> list[SourceFile]:
    def raise_import_failed(error: OSError) -> None:
        raise ImportFailed(f"{error.filename} cannot be listed: {error.strerror}; check its permissions") from error

    entries = os.walk(directory, onerror=raise_import_failed)
    paths = sorted(Path(parent, name) for parent, _, names in entries for name in names)
    return [
        SourceFile(path, _size(path), is_listed=False)
        for path in paths
        if path.is_file() and not _belongs_to_database(path)
    ]


def _belongs_to_database(path: Path) -> bool:
    """Return whether a file belongs to an open SQLite database: its WAL, shared memory or journal file."""
    database, dash, suffix = str(path).rpartition("-")
    return bool(dash) and suffix in ("wal", "shm", "journal") and Path(database).is_file()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # deleted in the meantime; reading it will raise
        return 0
