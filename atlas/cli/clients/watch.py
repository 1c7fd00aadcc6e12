"""The command that follows a directory of session logs, and stores each request while its session is written.

The command keeps no state of its own. Attempts have stable ids, so an attempt that is read twice is stored once, and a
watch that was killed can be started again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from atlas.cli.clients.recording import SessionSink
from atlas.cli.common import add_command, add_scope_option, open_or_connect, sanitise
from atlas.core.errors import AtlasError, ImportFailed, InvalidInput
from atlas.core.filters import scope_metadata
from atlas.core.settings import Settings, bulk_settings
from atlas.importers.registry import all_formats, detect
from atlas.importers.rows import Limits
from atlas.importers.run import Rejection, Sink, import_paths, source_files

DEFAULT_SECONDS = 5.0

Version = tuple[int, int]
"""Size in bytes, and time of the last change in nanoseconds."""


def add_commands(commands: Any) -> None:
    """Declare the command."""
    command = add_command(commands, "watch", _watch)
    command.add_argument("directory", type=Path, metavar="DIR", help="a directory of session logs")
    logs = [name for name, format in all_formats().items() if format.is_log]
    command.add_argument(
        "--format", default="auto", choices=["auto", *logs], help="their format (default: recognised for each file)"
    )
    command.add_argument(
        "--every",
        type=_parse_seconds,
        default=DEFAULT_SECONDS,
        metavar="SECONDS",
        help=f"time between two checks (default: {DEFAULT_SECONDS:g})",
    )
    command.add_argument("--once", action="store_true", help="store the current sessions, and end")
    add_scope_option(command, "give all that is stored a scope")


def _parse_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number above 0, got {text!r:.80}")
    return seconds


def _watch(options: argparse.Namespace, settings: Settings) -> int:
    scope = scope_metadata(options.scope)
    if not options.directory.is_dir():
        raise InvalidInput(f"expected a directory of session logs for DIR, got {sanitise(str(options.directory))}")
    log_settings = bulk_settings(settings) if options.once else settings
    with open_or_connect(log_settings, create=True) as memory:
        sink = SessionSink(memory, f"sessions of {options.directory}", scope)
        watched = WatchedLogs(options.directory, sink, settings, format=options.format)
        if options.once:
            n_new = watched.store_changes() + watched.store_changes()  # the second call settles rejections
            _print_report(n_new, watched, is_last=True)
            return 0
        _follow(watched, options.every)
    return 0


def _follow(watched: WatchedLogs, every_seconds: float) -> None:
    """Check the directory repeatedly until interrupted. Unreadable logs are tried again at the next check."""
    problem = ""
    while True:
        try:
            _print_report(watched.store_changes(), watched)
            problem = ""
        except AtlasError as error:
            if str(error) != problem:
                problem = str(error)
                print(f"atlas: {sanitise(problem)}; trying again", file=sys.stderr, flush=True)
        time.sleep(every_seconds)


def _print_report(n_new: int, watched: WatchedLogs, *, is_last: bool = False) -> None:
    for rejection in watched.settled_rejections():
        print(f"rejected: {sanitise(str(rejection))}", file=sys.stderr)
    if n_new or is_last:
        print(f"{n_new} new", flush=True)


class WatchedLogs:
    """The session logs of a directory. Each check stores the sessions that have changed since the last check."""

    def __init__(self, directory: Path, sink: Sink, settings: Settings, *, format: str = "auto") -> None:
        self._directory = directory
        self._sink = sink
        self._settings = settings
        self._format = format
        self._versions: dict[Path, Version] = {}
        self._rejections: dict[Path, tuple[Rejection, ...]] = {}
        self._settled: list[Rejection] = []

    def store_changes(self) -> int:
        """Store the files that have changed, and return the number of new attempts."""
        versions = dict(self._current_versions())
        changed = [path for path, version in versions.items() if self._versions.get(path) != version]
        for path in self._rejections.keys() - changed:
            self._settled += self._rejections.pop(path)
        self._versions = {path: version for path, version in self._versions.items() if path in versions}
        n_new = 0
        for path in changed:
            n_new += self._store_file(path)
            self._versions[path] = versions[path]  # only now, so that a failed check leaves the file to the next one
        return n_new

    def settled_rejections(self) -> list[Rejection]:
        """Return the rejections of files that no longer change. Each is returned once.

        A file that is still being written is left out, because its last line may be incomplete.
        """
        settled, self._settled = self._settled, []
        return settled

    def _current_versions(self) -> Iterator[tuple[Path, Version]]:
        for file in source_files([self._directory]):
            try:
                status = file.path.stat()
            except FileNotFoundError:  # deleted since the directory was listed
                continue
            yield file.path, (status.st_size, status.st_mtime_ns)

    def _store_file(self, path: Path) -> int:
        try:
            format = (
                all_formats()[self._format]
                if self._format != "auto"
                else detect(path, Limits.from_settings(self._settings))
            )
        except ImportFailed:  # not a log, or not yet
            return 0
        if not format.is_log:
            return 0
        try:
            report = import_paths(self._sink, [path], format=format.name, settings=self._settings)
        except ImportFailed as error:
            self._rejections[path] = (Rejection(path, 0, str(error)),)
            return 0
        self._rejections[path] = report.rejections
        return report.added
