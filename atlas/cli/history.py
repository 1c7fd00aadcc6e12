"""The commands for a store's history, undo and trash."""

from __future__ import annotations

import argparse
import itertools
from typing import Any

import atlas
from atlas.cli.common import add_command, counts_text, full_ids, open_local, parse_limit, sanitise, undo_hint
from atlas.core.errors import NotFound
from atlas.core.operations import Operation
from atlas.core.settings import Settings
from atlas.memory.open import open_storage
from atlas.storage.store import Store

HISTORY_BATCH = 100


def add_commands(commands: Any) -> None:
    """Declare the commands."""
    command = add_command(commands, "history", _history)
    command.add_argument("-n", type=parse_limit, default=20, help="number of operations (default: 20)")
    command = add_command(commands, "undo", _undo)
    command.add_argument(
        "operation",
        nargs="?",
        default="",
        help="its id, or a prefix of the id (default: the latest operation that is not undone yet)",
    )
    command = add_command(commands, "trash", _trash)
    command.add_argument("-n", type=parse_limit, default=20, help="number of experiences (default: 20)")
    command.add_argument("--restore", nargs="+", metavar="ID", help="restore these records: ids, or prefixes of ids")


def _history(options: argparse.Namespace, settings: Settings) -> int:
    with _history_source(settings, read_only=True) as history:
        for operation in history.history(options.n):
            undone = f"  (undone by {operation.undone_by[:8]})" if operation.undone_by else ""
            when = f"{operation.created_at:%Y-%m-%d %H:%M:%S}"
            actor, reason = sanitise(operation.actor), sanitise(operation.reason)
            details = f"{operation.kind:7} {counts_text(operation):24} {actor}  {reason}"
            print(f"{operation.id[:8]}  {when}  {details}{undone}")
    return 0


def _undo(options: argparse.Namespace, settings: Settings) -> int:
    with _history_source(settings) as history:
        undone = history.undo(options.operation or _newest_undoable_operation(history).id)
        print(f"{undone.reason}: {counts_text(undone)}. To do it again: atlas undo {undone.id[:8]}")
    return 0


def _history_source(settings: Settings, *, read_only: bool = False) -> Store | atlas.RemoteMemory:
    """Return the history of a server, or of the local store, which is opened without its models."""
    if settings.server:
        return atlas.connect(settings.server, key=settings.key)
    return open_storage(settings=settings, read_only=read_only, create=False)


def _newest_undoable_operation(history: Store | atlas.RemoteMemory) -> Operation:
    for offset in itertools.count(step=HISTORY_BATCH):
        operations = history.history(HISTORY_BATCH, offset)
        for operation in operations:
            if not operation.undoes and not operation.undone_by:
                return operation
        if not operations:
            break
    raise NotFound("there is nothing to undo: the history is empty, or everything is undone already")


def _trash(options: argparse.Namespace, settings: Settings) -> int:
    with open_local(settings, read_only=options.restore is None) as memory:
        if options.restore is not None:
            scoped = memory.experience.as_operation("restore")
            n_restored = scoped.restore(full_ids(memory, memory.experience, options.restore, deleted=True))
            print(f"Brought back {n_restored}. {undo_hint(scoped.operation_id if n_restored else None)}".rstrip())
            return 0
        for record in memory.experience.trash(options.n):
            why = f"{record.kind}: {record.reason}" if record.reason else record.kind
            when = f"{record.deleted_at:%Y-%m-%d %H:%M}"
            print(f"{record.id[:8]}  {when}  {record.outcome:9}  {sanitise(record.title)[:80]}  ({sanitise(why)})")
        print(f"{memory.experience.count_trash()} deleted. To bring one back: atlas trash --restore ID")
    return 0
