"""The command that withdraws records with all that came from them."""

from __future__ import annotations

import argparse
from typing import Any

from atlas.cli.common import UNTOUCHED, add_command, opened, safe
from atlas.core.errors import NotFound
from atlas.core.settings import Settings
from atlas.core.types import Outcome
from atlas.memory.effects.withdrawal import Withdrawal
from atlas.memory.kinds.table import known_kinds
from atlas.memory.system import MemorySystem
from atlas.views.shared.wording import counted


def add_commands(commands: Any) -> None:
    """Declare the command."""
    command = add_command(commands, "withdraw", _withdraw)
    command.add_argument("ids", nargs="+", metavar="ID", help="ids of records in any memory")
    command.add_argument(
        "--keep", action="append", default=[], metavar="ID", help="a derived record to keep; may be repeated"
    )
    command.add_argument("--reason", default="", metavar="TEXT", help="reason, shown in the history")
    command.add_argument("--dry-run", action="store_true", help="print the records to delete, and change nothing")


def _withdraw(options: argparse.Namespace, settings: Settings) -> int:
    with opened(settings, read_only=options.dry_run) as memory:
        ids, keep = ([_full_id(memory, beginning) for beginning in ids] for ids in (options.ids, options.keep))
        plan = memory.plan_withdrawal(ids, keep)
        _print(plan)
        if options.dry_run:
            print(UNTOUCHED)
            return 0
        operation_id = memory.apply_withdrawal(plan, reason=options.reason)
    print(f"Withdrew {counted(len(plan.records), 'record')}. To bring them back: atlas undo {operation_id[:8]}")
    return 0


def _full_id(memory: MemorySystem, beginning: str) -> str:
    """Return the id of a record in any memory from a prefix.

    Raises:
        NotFound: No record, or more than one, has it.
    """
    memories = [kind.records(memory) for kind in known_kinds().values()]
    ids = [i for each in memories for i in memory.storage.ledger.ids_with_prefix(each.collection_name, beginning)]
    if beginning in ids:
        return beginning
    if len(ids) != 1:
        raise NotFound(f"{'no' if not ids else 'more than one'} record has an id that begins with {beginning!r}")
    return ids[0]


def _print(plan: Withdrawal) -> None:
    for record in plan.records:
        origin = f"  ({record.relation} {safe(record.source)[:8]})" if record.source else ""
        print(f"  - {record.memory:10}  {safe(record.id)}  {safe(record.title)[:80]}{origin}")
    if plan.uses:
        print(f"{counted(len(plan.uses), 'use')} of these by attempts, which stay:")
    for recorded in plan.uses:
        use = recorded.use
        attempt = use.trajectory_id or use.task_id or "an attempt without an id"
        print(f"  + {recorded.record_id[:8]} in {safe(attempt)}, {Outcome(use.success).label}, {use.at:%Y-%m-%d %H:%M}")
