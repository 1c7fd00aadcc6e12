"""The commands that bring records into a store and out of it: `import` and `export`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tqdm import tqdm

from atlas.cli.common import (
    add_command,
    add_format_option,
    calibrate,
    how_to_undo,
    new_file,
    opened,
    progress_bar,
    safe,
)
from atlas.core.settings import Settings
from atlas.importers.run import ImportReport, import_paths
from atlas.importers.sink import MemorySink
from atlas.views.settings.copies import SOURCES, Export
from atlas.views.shared.wording import counted, in_words


def add_commands(commands: Any) -> None:
    """Declare them."""
    command = add_command(commands, "import", _import, "import agent runs; runs that are stored already are skipped")
    command.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="files, or directories of files")
    add_format_option(command)
    command.add_argument("--strict", action="store_true", help="stop at the first row that is rejected")
    summary = "write all experiences, strategies and concepts as lines of JSON"
    command = add_command(commands, "export", _export, summary)
    command.add_argument("file", type=Path, help="a new file, or - for the terminal")
    command.add_argument("--vectors", action="store_true", help="include the vectors of experiences")
    without = f"leave out concepts from this source ({', '.join(SOURCES)}); may be repeated"
    command.add_argument("--without", action="append", default=[], choices=SOURCES, metavar="SOURCE", help=without)


def _import(options: argparse.Namespace, settings: Settings) -> int:
    with opened(settings, create=True) as memory:
        sink = MemorySink(memory, f"imported {', '.join(safe(path.name) for path in options.paths)}")
        with progress_bar(unit="B", unit_scale=True, desc="importing") as on_progress:
            report = import_paths(
                sink,
                options.paths,
                format=options.format,
                strict=options.strict,
                settings=settings,
                on_progress=on_progress,
            )
        _print_report(report, sink.operation_id if report.added else None)
        if report.added:
            calibrate(memory)
    return 0 if report.read or not report.rejected else 1


def _print_report(report: ImportReport, operation_id: str | None) -> None:
    for rejection in report.rejections:
        print(f"rejected: {rejection}", file=sys.stderr)
    is_mixed = report.added_attempts != report.added
    of_what = f" ({_of_what(report)})" if is_mixed else ""
    print(
        f"{report.read} read, {report.added} added{of_what}, {report.skipped} skipped as duplicates, "
        f"{report.rejected} rejected"
    )
    if report.purged:
        print(f"{report.purged} of those skipped had been purged here, and are not taken again")
    if operation_id:
        print(how_to_undo(operation_id))


def _of_what(report: ImportReport) -> str:
    """Return for example `51 concepts`, or `3 experiences and 51 concepts`."""
    named = {
        "experience": report.added_attempts,
        "concept": report.added_concepts,
        "journal line": report.added_entries,
        "strategy": report.added_strategies,
        "conversation turn": report.added_turns,
    }
    return in_words([counted(n, noun) for noun, n in named.items() if n])


def _export(options: argparse.Namespace, settings: Settings) -> int:
    with opened(settings, read_only=True) as memory, new_file(options.file) as write:
        export = Export(memory, with_vectors=options.vectors, without=options.without)
        for line in export.lines(lambda batches: tqdm(batches, unit="batch", disable=None)):
            write(line)
    print(export.sentence, file=sys.stderr)
    return 0
