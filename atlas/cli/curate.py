"""Commands that change what is remembered; each is one operation, which `atlas undo` takes back."""

from __future__ import annotations

import argparse
import itertools
from typing import Any

from atlas.cli.common import add_command, count, counts, full_ids, opened, print_plan, safe
from atlas.core.errors import NotFound
from atlas.core.operations import Operation
from atlas.core.settings import Settings
from atlas.memory.open import open_storage
from atlas.storage.store import Store
from atlas.views.experience.plan_views import merge_plan_view, prune_plan_view

HISTORY_BATCH = 100


def add_commands(commands: Any) -> None:
    """Declare them."""
    command = add_command(commands, "prune", _prune, "remove low-value experiences; `atlas undo` brings them back")
    command.add_argument("--min-success-rate", type=float, metavar="RATE", help="lowest success rate to keep, 0 to 1")
    command.add_argument("--max-age-days", type=float, metavar="DAYS", help="older attempts go")
    command.add_argument("--never-retrieved-days", type=float, metavar="DAYS", help="not retrieved for so long goes")
    command.add_argument("--max-count", type=count, metavar="N", help="how many to keep")
    command.add_argument("--keep-diverse", action="store_true", help="save the last of each neighbourhood")
    command.add_argument("--dry-run", action="store_true", help="say what would go, and touch nothing")
    command.add_argument("--all", action="store_true", help="print every experience that goes, not the first ten")
    command = add_command(commands, "merge", _merge, "make one experience of several that say the same")
    command.add_argument("ids", nargs="+", metavar="ID", help="two or more ids, or beginnings of them")
    command.add_argument("--dry-run", action="store_true", help="say what would become of them, and touch nothing")
    _add_tag(commands)
    command = add_command(commands, "trash", _trash, "what was deleted, newest first, and bringing it back")
    command.add_argument("-n", type=count, default=20, help="how many to list (default: 20)")
    command.add_argument("--restore", nargs="+", metavar="ID", help="bring these back; ids, or beginnings of them")
    command = add_command(commands, "undo", _undo, "take an operation back, exactly")
    command.add_argument(
        "operation", nargs="?", default="", help="its id, or a beginning of it (default: the newest that is not undone)"
    )
    command = add_command(commands, "history", _history, "what was done to the store, newest first")
    command.add_argument("-n", type=count, default=20, help="how many (default: 20)")


def _add_tag(commands: Any) -> None:
    command = add_command(commands, "tag", _tag, "tag, pin, bury or annotate experiences")
    command.add_argument("ids", nargs="+", metavar="ID", help="ids, or beginnings of them")
    command.add_argument("--add", action="append", default=[], metavar="TAG", help="a tag to add; may be repeated")
    command.add_argument("--remove", action="append", default=[], metavar="TAG", help="a tag to take off")
    truth = argparse.BooleanOptionalAction
    command.add_argument("--pin", dest="pinned", action=truth, help="keep from pruning, or no longer")
    command.add_argument("--bury", dest="buried", action=truth, help="hide from searches, or no longer")
    command.add_argument("--note", help="in place of the note; empty takes it away")


def _prune(options: argparse.Namespace, settings: Settings) -> int:
    names = ("min_success_rate", "max_age_days", "never_retrieved_days", "max_count", "keep_diverse")
    criteria = {name: getattr(options, name) for name in names if getattr(options, name) not in (None, False)}
    with opened(settings, read_only=options.dry_run) as memory:
        plan = memory.experience.plan_prune(criteria)
        print_plan(prune_plan_view(plan), show_all=options.all)
        if options.dry_run:
            print("Nothing was touched (--dry-run).")
        elif plan.removals:
            scoped = memory.experience.within("prune", plan.reason)
            n_removed = scoped.apply_prune(plan)
            print(f"Removed {n_removed}. To bring them back: atlas undo {str(scoped.operation_id)[:8]}")
    return 0


def _undo(options: argparse.Namespace, settings: Settings) -> int:
    with open_storage(settings=settings, create=False) as storage:
        undone = storage.undo(options.operation or _newest_not_undone(storage).id)
        print(f"{undone.reason}: {counts(undone)}. To do it again: atlas undo {undone.id[:8]}")
    return 0


def _history(options: argparse.Namespace, settings: Settings) -> int:
    with open_storage(settings=settings, read_only=True, create=False) as storage:
        for operation in storage.history(options.n):
            undone = f"  (undone by {operation.undone_by[:8]})" if operation.undone_by else ""
            when = f"{operation.created_at:%Y-%m-%d %H:%M:%S}"
            what = f"{operation.kind:7} {counts(operation):24} {safe(operation.actor)}  {safe(operation.reason)}"
            print(f"{operation.id[:8]}  {when}  {what}{undone}")
    return 0


def _newest_not_undone(storage: Store) -> Operation:
    for offset in itertools.count(step=HISTORY_BATCH):
        operations = storage.history(HISTORY_BATCH, offset)
        for operation in operations:
            if not operation.undoes and not operation.undone_by:
                return operation
        if not operations:
            break
    raise NotFound("there is nothing to undo: the history is empty, or all of it is undone already")


def _merge(options: argparse.Namespace, settings: Settings) -> int:
    with opened(settings, read_only=options.dry_run) as memory:
        plan = memory.experience.plan_merge([full_ids(memory, options.ids)])
        print_plan(merge_plan_view(plan), show_all=True)
        if options.dry_run:
            print("Nothing was touched (--dry-run).")
            return 0
        scoped = memory.experience.within("merge", plan.reason)
        [merged] = scoped.apply_merge(plan)
        print(f"Merged into {merged.id[:8]}. To part them again: atlas undo {str(scoped.operation_id)[:8]}")
    return 0


def _tag(options: argparse.Namespace, settings: Settings) -> int:
    with opened(settings) as memory:
        scoped = memory.experience.within("mark")
        n_changed = scoped.change_marks(
            full_ids(memory, options.ids),
            add_tags=options.add,
            remove_tags=options.remove,
            pinned=options.pinned,
            buried=options.buried,
            note=options.note,
        )
        print(f"Changed {n_changed}." + _how_to_undo(scoped.operation_id if n_changed else None))
    return 0


def _trash(options: argparse.Namespace, settings: Settings) -> int:
    with opened(settings, read_only=options.restore is None) as memory:
        if options.restore is not None:
            scoped = memory.experience.within("restore")
            n_restored = scoped.restore(full_ids(memory, options.restore, deleted=True))
            print(f"Brought back {n_restored}." + _how_to_undo(scoped.operation_id if n_restored else None))
            return 0
        for record in memory.experience.trash(options.n):
            why = f"{record.kind}: {record.reason}" if record.reason else record.kind
            when = f"{record.deleted_at:%Y-%m-%d %H:%M}"
            print(f"{record.id[:8]}  {when}  {record.outcome:9}  {safe(record.title)[:80]}  ({safe(why)})")
        print(f"{memory.experience.count_trash()} deleted. To bring one back: atlas trash --restore ID")
    return 0


def _how_to_undo(operation_id: str | None) -> str:
    return f" To take it back: atlas undo {operation_id[:8]}" if operation_id else ""
