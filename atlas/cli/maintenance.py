"""Commands that keep a store safe and whole, and carry it elsewhere."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tqdm import tqdm

from atlas.cli.common import add_command, new_file, opened, progress_bar, safe
from atlas.core.exchange import encode_line
from atlas.core.settings import Settings
from atlas.memory.concepts.records import SOURCES
from atlas.memory.open import open_storage, reembed_store
from atlas.storage.backup import backup, restore
from atlas.storage.doctor import examine
from atlas.views.shared.wording import counted, in_words

EXPORT_BATCH = 500


def add_commands(commands: Any) -> None:
    """Declare them."""
    summary = "write every experience, strategy and concept as JSONL, one a line"
    command = add_command(commands, "export", _export, summary)
    command.add_argument("file", type=Path, help="a new file, or - for the terminal")
    command.add_argument("--vectors", action="store_true", help="with the vectors of experiences")
    without = f"leave out the concepts of a source, one of {', '.join(SOURCES)}; may be given again"
    command.add_argument("--without", action="append", default=[], choices=SOURCES, metavar="SOURCE", help=without)
    command = add_command(commands, "backup", _backup, "copy the whole store into one file, while others write")
    command.add_argument("file", type=Path)
    command = add_command(commands, "restore", _restore, "make the store what it was at a backup")
    command.add_argument("file", type=Path)
    command = add_command(commands, "doctor", _doctor, "check the store against its ledger")
    command.add_argument("--fix", action="store_true", help="mend what differs")
    command = add_command(commands, "reembed", _reembed, "embed everything anew with another model")
    command.add_argument("--model", required=True, help="for example BAAI/bge-base-en-v1.5")


def _export(options: argparse.Namespace, settings: Settings) -> int:
    with opened(settings, read_only=True) as memory, new_file(options.file) as write:
        rows = memory.experience.browse(order_by="", descending=False)
        for start in tqdm(range(0, len(rows), EXPORT_BATCH), unit="batch", disable=None):
            ids = [row["id"] for row in rows[start : start + EXPORT_BATCH]]
            for exported in memory.experience.export(ids, with_vectors=options.vectors):
                write(encode_line(exported) + "\n")
        strategies = memory.strategies.export(memory.strategies.ids())
        kept = [source for source in SOURCES if source not in options.without]
        concepts = memory.concepts.export(memory.concepts.ids({"source": {"$in": kept}}))
        write("".join(encode_line(strategy) + "\n" for strategy in strategies))
        write("".join(encode_line(concept) + "\n" for concept in concepts))
    said = [f"{len(rows)} experiences"]
    said += [counted(len(strategies), "strategy")] if strategies else []
    said += [counted(len(concepts), "concept")] if concepts else []
    print(f"Exported {in_words(said)}.", file=sys.stderr)
    return 0


def _backup(options: argparse.Namespace, settings: Settings) -> int:
    with open_storage(settings=settings, create=False) as storage:
        report = backup(storage, options.file)
    print(f"Backed up {report.n_records} records into {safe(str(options.file))} ({report.n_bytes / 2**20:.1f} MB).")
    return 0


def _restore(options: argparse.Namespace, settings: Settings) -> int:
    with open_storage(settings=settings) as storage:
        report = restore(storage, options.file)
    print(f"Restored {report.n_records} records from {safe(str(options.file))}.")
    if report.revived:
        again = " ".join(report.revived)
        print(f"{counted(len(report.revived), 'record')} had been purged since; to purge again: atlas purge {again}")
    return 0


def _doctor(options: argparse.Namespace, settings: Settings) -> int:
    with open_storage(settings=settings, create=False) as storage:
        findings = examine(storage, fix=options.fix)
    for finding in findings:
        verdict = "ok" if not finding.problem else f"{finding.problem}{' (mended)' if finding.is_fixed else ''}"
        print(f"{finding.check:16} {verdict}")
    n_left = sum(bool(finding.problem) and not finding.is_fixed for finding in findings)
    if n_left and not options.fix:
        print("To mend what can be mended: atlas doctor --fix")
    return 1 if n_left else 0


def _reembed(options: argparse.Namespace, settings: Settings) -> int:
    with progress_bar(unit="text") as on_progress:
        n_texts = reembed_store(settings, options.model, on_progress)
    print(f"Embedded {n_texts} texts with {options.model}.")
    return 0
