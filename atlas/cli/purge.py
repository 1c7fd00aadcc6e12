"""The command that erases records permanently."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from atlas.cli.common import DRY_RUN_SENTENCE, MAX_SHOWN, add_command, open_local, sanitise
from atlas.core.errors import InvalidInput
from atlas.core.settings import Settings
from atlas.views.shared.purging import PurgeRow, PurgeView, done_sentence, propose_purge


def add_commands(commands: Any) -> None:
    """Declare the command."""
    command = add_command(commands, "purge", _purge)
    command.add_argument(
        "ids",
        nargs="+",
        metavar="ID",
        help="ids, or prefixes of ids, of records in any memory, including deleted records",
    )
    command.add_argument("--reason", default="", metavar="TEXT", help="reason, shown in the history")
    command.add_argument("--dry-run", action="store_true", help="print the records to erase, and change nothing")
    command.add_argument("--yes", action="store_true", help="do not ask for confirmation; needed without a terminal")
    command.add_argument(
        "--all", action="store_true", help="print every other record with the same content, not only the first ten"
    )


def _purge(options: argparse.Namespace, settings: Settings) -> int:
    with open_local(settings, read_only=options.dry_run) as memory:
        proposal = propose_purge(memory, options.ids)
        _print(proposal.view, show_all=options.all)
        if options.dry_run:
            print(DRY_RUN_SENTENCE)
            return 0
        if not options.yes and not _is_confirmed(proposal.view):
            print("atlas: the text does not match; nothing was changed", file=sys.stderr)
            return 1
        result = proposal.apply(memory, options.reason)
    print(done_sentence(result))
    if result.problem:
        print(f"atlas: not all is done: {result.problem}", file=sys.stderr)
    return 1 if result.problem else 0


def _print(view: PurgeView, *, show_all: bool) -> None:
    print(view.headline)
    _print_rows(view.erased, "-", show_all=True)
    if view.remaining:
        print("These have the same content or mention it, and stay; purge them too if necessary:")
        _print_rows(view.remaining, "+", show_all=show_all)
    _print_files(
        view.removed, "-", "These older copies of the ledger and of marks, with what was marked by hand, go too:"
    )
    _print_files(view.files, "+", "These may contain it, and stay:")
    for note in view.notes:
        print(note)


def _print_files(paths: Sequence[str], sign: str, heading: str) -> None:
    if paths:
        print(heading)
    for path in paths:
        print(f"  {sign} {sanitise(path)}")


def _print_rows(rows: Sequence[PurgeRow], sign: str, *, show_all: bool) -> None:
    for row in rows if show_all else rows[:MAX_SHOWN]:
        reason = ", ".join(part for part in (row.kind, row.why) if part)
        print(f"  {sign} {row.id[:8]}  {sanitise(row.title)[:80]}  ({reason})")
    if not show_all and len(rows) > MAX_SHOWN:
        print(f"  {sign} … and {len(rows) - MAX_SHOWN:,} more (--all prints them)")


def _is_confirmed(view: PurgeView) -> bool:
    if not sys.stdin.isatty():
        raise InvalidInput("a purge needs a confirmation, but there is no terminal; confirm with --yes")
    return view.is_confirmed_by(input(f"Type {' or '.join(view.words)} to go on: "))
