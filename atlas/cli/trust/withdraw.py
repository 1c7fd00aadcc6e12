"""The command that withdraws records with everything derived from them."""

from __future__ import annotations

import argparse
from typing import Any

from atlas.cli.common import DRY_RUN_SENTENCE, add_command, open_local, sanitise
from atlas.cli.trust.ids import expand_ids
from atlas.core.settings import Settings
from atlas.core.types import Outcome
from atlas.memory.effects.reach import Reach
from atlas.memory.effects.withdrawal import Withdrawal
from atlas.views.shared.wording import counted

MAX_SHOWN_TASKS = 5
"""Maximum number of tasks whose titles are printed."""


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
    with open_local(settings, read_only=options.dry_run) as memory:
        plan = memory.plan_withdrawal(expand_ids(memory, options.ids), expand_ids(memory, options.keep))
        _print(plan)
        if options.dry_run:
            _print_reach(plan.reach)
            print(DRY_RUN_SENTENCE)
            return 0
        operation_id = memory.apply_withdrawal(plan, reason=options.reason)
    print(f"Withdrew {counted(len(plan.records), 'record')}. To bring them back: atlas undo {operation_id[:8]}")
    return 0


def _print_reach(reach: Reach) -> None:
    print(f"Searches returned these {counted(reach.n_retrieved, 'time')}.")
    print(f"The contexts of {len(reach.tasks)} of {counted(reach.n_tasks, 'replayed task')} would contain them now.")
    for task in reach.tasks[:MAX_SHOWN_TASKS]:
        print(f"  > {sanitise(' '.join(task.title.split()))[:80]}")
    if len(reach.tasks) > MAX_SHOWN_TASKS:
        print(f"  > and {len(reach.tasks) - MAX_SHOWN_TASKS} more")


def _print(plan: Withdrawal) -> None:
    for record in plan.records:
        origin = f"  ({record.relation} {sanitise(record.source)[:8]})" if record.source else ""
        print(f"  - {record.memory:10}  {sanitise(record.id)}  {sanitise(record.title)[:80]}{origin}")
    if plan.uses:
        print(f"{counted(len(plan.uses), 'use')} of these by attempts, which stay:")
    for recorded in plan.uses:
        use = recorded.use
        attempt = sanitise(use.trajectory_id or use.task_id or "an attempt without an id")
        print(f"  + {recorded.record_id[:8]} in {attempt}, {Outcome(use.success).label}, {use.at:%Y-%m-%d %H:%M}")
