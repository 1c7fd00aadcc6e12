"""The commands for a whole store: creating, checking, copying and re-embedding it."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas.cli.common import (
    MAX_SHOWN,
    add_command,
    add_json_option,
    calibrate,
    open_local,
    print_json,
    progress_bar,
    sanitise,
)
from atlas.cli.server.dashboard_files import sample_directory
from atlas.core.imports.distribution import installed_extras
from atlas.core.imports.lazy import LazyModule
from atlas.core.settings import Settings, settings_for_store
from atlas.embedding.cross_encoder import CrossEncoderReranker
from atlas.embedding.sentence_transformers import SentenceTransformerEmbedder
from atlas.memory.effects.difference import ADDED, CHANGED, RATE, REMOVED, RecordDifference, compare_memories
from atlas.memory.kinds.kind import ADDED_KINDS
from atlas.memory.open import open_storage, reembed_store
from atlas.memory.system import MemorySystem
from atlas.storage.maintenance.backup import BackupReport, backup, restore
from atlas.storage.maintenance.copying import copy_store
from atlas.storage.maintenance.doctor import examine
from atlas.storage.maintenance.rotation import rotate_backups
from atlas.storage.store import Store
from atlas.views.overview.effect import effect_sentence, unused_sentence
from atlas.views.overview.index_state import current_index_state
from atlas.views.settings.doctor import n_left, verdict
from atlas.views.settings.store import level_text
from atlas.views.shared.wording import counted

if TYPE_CHECKING:
    from atlas.importers import sample
else:
    sample = LazyModule("atlas.importers.sample")  # which imports all formats, for a new store alone


def add_commands(commands: Any) -> None:
    """Declare the commands."""
    command = add_command(commands, "init", _init)
    command.add_argument(
        "--sample",
        nargs="?",
        const="",
        metavar="DIR",
        help="add sample data if the store is new: the data of ATLAS, or of a directory",
    )
    add_command(commands, "status", _status)
    command = add_command(commands, "backup", _backup)
    command.add_argument("file", type=Path, help="file to write, or with --keep the directory for backups")
    command.add_argument(
        "--keep",
        type=int,
        metavar="N",
        help="restore the new backup into a scratch store as a test, then remove all but the newest N in the directory",
    )
    command = add_command(commands, "restore", _restore)
    command.add_argument("file", type=Path, help="file that `atlas backup` wrote")
    command = add_command(commands, "copy", _copy)
    command.add_argument("source", metavar="FROM", help="directory of a store, or address of one in PostgreSQL")
    command.add_argument("target", metavar="TO", help="the same of a store that is not there yet, or is empty")
    command = add_command(commands, "diff", _diff)
    location_help = "directory of a store, address of one in PostgreSQL, or a backup"
    command.add_argument("before", metavar="A", help=location_help)
    command.add_argument("after", metavar="B", help="the same")
    command.add_argument("--all", action="store_true", help="print every record, not only the first ones of each kind")
    add_json_option(command)
    command = add_command(commands, "doctor", _doctor)
    command.add_argument("--fix", action="store_true", help="repair derived data that differs from the ledger")
    add_json_option(command)
    command.add_argument(
        "--leave-index",
        metavar="ADDRESS",
        default="",
        help="first, abandon the store's vectors in the service at this address",
    )
    command = add_command(commands, "reembed", _reembed)
    command.add_argument("--model", default="", help="name of the model (default: the store's own)")


def _init(options: argparse.Namespace, settings: Settings) -> int:
    with open_local(settings, create=True) as memory:
        embedder = memory.experience.embedder
        if isinstance(embedder, SentenceTransformerEmbedder):
            embedder.prepare(_announce_step)
        if settings.reranker:
            CrossEncoderReranker(settings.reranker, settings.device).prepare(_announce_step)
        if options.sample is not None and sample.is_new(memory) and not memory.storage.read_only:
            loaded = sample.load_sample(memory, Path(options.sample or sample_directory()), settings)
            print(
                f"added {loaded.added} records of sample data, {loaded.added_attempts} of them experiences; "
                "the overview removes them with one click"
            )
        model = memory.storage.model
        print(
            f"{memory.storage.location}: {len(memory.experience)} experiences, "
            f"embedding model {model.name if model else 'not chosen'}"
        )
        if isinstance(embedder, SentenceTransformerEmbedder):
            print(f"the embedding model is run by {sanitise(embedder.engine)}")
        calibrate(memory)
    return 0


def _announce_step(step: str) -> None:
    print(f"preparing the embedding model, once: {step} …", file=sys.stderr, flush=True)


def _status(options: argparse.Namespace, settings: Settings) -> int:
    with open_local(settings, read_only=True) as memory:
        model = memory.storage.model
        print(f"store            {memory.storage.location}")
        print(f"embedding model  {f'{model.name}, {model.dimension} dimensions' if model else 'none yet'}")
        if isinstance(embedder := memory.experience.embedder, SentenceTransformerEmbedder):
            print(f"run by           {sanitise(embedder.engine)}")
        print(f"index            {sanitise(current_index_state(memory))}")
        print(f"word pieces      {_late_interaction_state(memory)}")
        print(f"level            {level_text(memory.experience.level_costs())}")
        print(f"concepts         {len(memory.concepts)}")
        print(f"compression      {sanitise(memory.compression_status())}")
        print(f"strategies       {len(memory.strategies)}")
        print(f"experiences      {len(memory.experience)}")
        print(f"journal entries  {len(memory.journal)}")
        for name, kind in ADDED_KINDS.items():
            print(f"{name:16} {kind.records(memory).count()}")
        for key in ("outcome", "source"):
            for value, count in memory.experience.values(key).items():
                print(f"  {key:14} {sanitise(str(value))}: {count}")
        print(f"extras           {', '.join(installed_extras()) or 'none'}")
        effect = memory.memory_effect()
        print(f"does it help?    {sanitise(effect_sentence(effect))}")
        if unused := unused_sentence(effect):
            print(f"context blocks   {sanitise(unused)}")
    return 0


def _late_interaction_state(memory: MemorySystem) -> str:
    """Return a text on the state of token vectors: whether searches compare them, and how many texts lack them."""
    if memory.storage.late is None:
        return "not compared"
    n_missing = memory.storage.ledger.token_vectors.count_missing()
    if not n_missing:
        return "compared"
    if not memory.storage.late.is_available():
        return "not compared: those of this model do not distinguish texts"
    return f"compared, but of {counted(n_missing, 'text')}: atlas reembed"


def _backup(options: argparse.Namespace, settings: Settings) -> int:
    with open_storage(settings=settings, create=False) as storage:
        if options.keep is not None:
            return _rotate_backups(storage, options.file, options.keep)
        report = backup(storage, options.file)
    _print_backup(report, options.file)
    return 0


def _rotate_backups(storage: Store, directory: Path, n_kept: int) -> int:
    rotation = rotate_backups(storage, directory, n_kept)
    _print_backup(rotation.backup, rotation.path)
    print(f"Restored it into a scratch store as a test. Removed {counted(len(rotation.removed), 'older backup')}.")
    return 0


def _print_backup(report: BackupReport, path: Path) -> None:
    print(f"Backed up {report.n_records} records into {sanitise(str(path))} ({report.n_bytes / 2**20:.1f} MB).")


def _restore(options: argparse.Namespace, settings: Settings) -> int:
    with open_storage(settings=settings) as storage:
        report = restore(storage, options.file)
    print(f"Restored {report.n_records} records from {sanitise(str(options.file))}.")
    if report.revived:
        purged_ids = " ".join(report.revived)
        print(
            f"{counted(len(report.revived), 'record')} had been purged since; to purge again: atlas purge {purged_ids}"
        )
    return 0


def _copy(options: argparse.Namespace, settings: Settings) -> int:
    source = open_storage(settings=settings_for_store(settings, options.source), create=False, read_only=True)
    target = open_storage(settings=settings_for_store(settings, options.target), accept_incomplete=True)
    with source, target, progress_bar(unit="row") as on_progress:
        n_rows = copy_store(source, target, on_progress)
    print(f"Copied {counted(n_rows, 'row')}. Every row was compared with the original.")
    return 0


SIGNS = {ADDED: "+", REMOVED: "-", CHANGED: "~", RATE: "%"}
"""Signs of differences in a list."""


def _diff(options: argparse.Namespace, settings: Settings) -> int:
    with _open_for_diff(options.before, settings) as before, _open_for_diff(options.after, settings) as after:
        all_differences = [*compare_memories(before, after)]
    if options.json:
        print_json(map(asdict, all_differences))
        return 0
    for (memory, change), group in groupby(sorted(all_differences, key=_group_key), _group_key):
        differences = list(group)
        moved = f"{counted(len(differences), 'rate')} moved"
        print(f"{memory}: {moved if change == RATE else f'{len(differences):,} {change}'}")
        for difference in differences if options.all else differences[:MAX_SHOWN]:
            rates = " → ".join(rate or "no use" for rate in (difference.before, difference.after))
            details = ", ".join(difference.fields) or rates
            suffix = f"  ({details})" if change in (CHANGED, RATE) else ""
            print(f"  {SIGNS[change]} {difference.id[:8]}  {sanitise(difference.title)[:80]}{suffix}")
        if not options.all and len(differences) > MAX_SHOWN:
            print(f"  {SIGNS[change]} … and {len(differences) - MAX_SHOWN:,} more (--all prints them)")
    if not all_differences:
        print("No differences.")
    return 0


def _group_key(difference: RecordDifference) -> tuple[str, str]:
    return difference.memory, difference.change


@contextmanager
def _open_for_diff(location: str, settings: Settings) -> Iterator[MemorySystem]:
    """Open a store, or a backup in a scratch store, for reading."""
    if not Path(location).is_file():
        with open_local(settings_for_store(settings, location), read_only=True) as memory:
            yield memory
        return
    with tempfile.TemporaryDirectory(prefix="atlas-diff-") as scratch:
        scratch_settings = settings_for_store(settings, str(Path(scratch) / "store"))
        with open_storage(settings=scratch_settings) as storage:
            restore(storage, Path(location))
        with open_local(scratch_settings, read_only=True) as memory:
            yield memory


def _doctor(options: argparse.Namespace, settings: Settings) -> int:
    with open_storage(settings=settings, create=False) as storage:
        if options.leave_index:
            namespaces = storage.indexes.abandon(options.leave_index)
            names = sanitise(", ".join(namespaces)) or "nothing"
            print(f"Left at {sanitise(options.leave_index)}, to be deleted there: {names}.")
        findings = examine(storage, fix=options.fix)
    if options.json:
        print_json(map(asdict, findings))
        return 1 if n_left(findings) else 0
    for finding in findings:
        print(f"{finding.check:16} {verdict(finding)}")
    if n_left(findings) and not options.fix:
        print("To repair what can be repaired: atlas doctor --fix")
    return 1 if n_left(findings) else 0


def _reembed(options: argparse.Namespace, settings: Settings) -> int:
    with progress_bar(unit="text") as on_progress:
        model, n_texts = reembed_store(settings, options.model, on_progress)
    print(f"Embedded {n_texts} texts with {sanitise(model)}.")
    return 0
