"""The command for pending records of keys under review."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import Any

from atlas.cli.common import (
    DRY_RUN_SENTENCE,
    add_command,
    add_json_option,
    add_part,
    open_local,
    print_json,
    print_plan,
    sanitise,
    undo_hint,
)
from atlas.core.settings import Settings
from atlas.memory.system import MemorySystem
from atlas.views.curate.review import RejectRequest, WaitingRow, accept, review_queue, select_pending, words_of


def add_commands(commands: Any) -> None:
    """Declare the command."""
    review = add_command(commands, "review", _list)
    _add_selection(review, default=None)
    add_json_option(review)
    parts = review.add_subparsers(metavar="COMMAND")
    command = add_part(parts, "accept", _accept, "let everybody find records that wait")
    _add_ids(command)
    command = add_part(parts, "reject", _reject, "delete records that wait; `atlas undo` brings them back")
    _add_ids(command)


def _add_ids(command: argparse.ArgumentParser) -> None:
    command.add_argument("ids", nargs="*", metavar="ID", help="only these records: ids, or prefixes of ids")
    command.add_argument("--all", action="store_true", help="all pending records, if no other option selects records")
    # otherwise the default would overwrite an option before the subcommand
    _add_selection(command, default=argparse.SUPPRESS)
    command.add_argument("--dry-run", action="store_true", help="print the changes, and change nothing")


def _add_selection(command: argparse.ArgumentParser, *, default: object) -> None:
    command.add_argument("--writer", default=default, help="only records written with this key")
    command.add_argument(
        "--since",
        type=_parse_time,
        default=default,
        metavar="TIME",
        help="only records stored since then, such as 2026-01-31",
    )


def _list(options: argparse.Namespace, settings: Settings) -> int:
    with open_local(settings, read_only=True) as memory:
        queue = review_queue(memory, options.writer or "", options.since)
    if options.json:
        print_json(
            {"id": row.id, "kind": row.noun, "title": row.title, "writer": row.writer, "at": row.stored_at}
            for row in queue.rows
        )
        return 0
    for row in queue.rows:
        print(_line(row))
    print(f"{len(queue.rows)} wait. To let everybody find them: atlas review accept --all")
    return 0


def _accept(options: argparse.Namespace, settings: Settings) -> int:
    with open_local(settings) as memory:
        rows = _select(memory, options)
        if options.dry_run:
            print(f"Would accept {words_of(rows) or 'nothing'}. {DRY_RUN_SENTENCE}")
        elif rows:
            operation_id = accept(memory, rows)
            print(f"Accepted {words_of(rows)}. {undo_hint(operation_id)}")
        else:
            print("Nothing waits.")
    return 0


def _reject(options: argparse.Namespace, settings: Settings) -> int:
    with open_local(settings) as memory:
        proposal = RejectRequest(rows=_select(memory, options)).propose(memory)
        if options.dry_run:
            print_plan(proposal.view, show_all=True)
            print(DRY_RUN_SENTENCE)
        elif proposal.rows:
            print(f"{proposal.done_sentence}. {undo_hint(proposal.apply(memory))}")
        else:
            print("Nothing waits.")
    return 0


def _select(memory: MemorySystem, options: argparse.Namespace) -> tuple[WaitingRow, ...]:
    return select_pending(memory, ids=options.ids, writer=options.writer or "", since=options.since, is_all=options.all)


def _line(row: WaitingRow) -> str:
    return sanitise(f"{row.id[:8]}  {row.stored_at:%Y-%m-%d %H:%M}  {row.noun:10}  {row.title[:80]}  (by {row.writer})")


def _parse_time(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a date or a time such as 2026-01-31T14:00, got {text!r}") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
