"""The command that puts records into quarantine, so that agents do not find them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from atlas.cli.common import (
    DRY_RUN_SENTENCE,
    add_command,
    add_json_option,
    open_or_connect,
    print_json,
    sanitise,
    undo_hint,
)
from atlas.cli.trust.ids import expand_ids
from atlas.core.errors import InvalidInput
from atlas.core.settings import Settings
from atlas.memory.effects.quarantine import QuarantinedRecord, quarantine_each
from atlas.memory.effects.scan import join_reasons
from atlas.memory.system import MemorySystem
from atlas.remote.system import RemoteMemory
from atlas.views.shared.wording import counted


def add_commands(commands: Any) -> None:
    """Declare the command."""
    command = add_command(commands, "quarantine", _quarantine)
    command.add_argument("ids", nargs="*", metavar="ID", help="ids of records in any memory (default: list all)")
    command.add_argument("--reason", default="", metavar="TEXT", help="reason, which is shown with the records")
    command.add_argument("--release", action="store_true", help="release the records instead")
    command.add_argument(
        "--found", type=float, metavar="SCORE", help="add the records that `atlas scan --minimum SCORE` lists"
    )
    command.add_argument("--dry-run", action="store_true", help="print what would be done, and change nothing")
    add_json_option(command)


def _quarantine(options: argparse.Namespace, settings: Settings) -> int:
    if options.release and options.found is not None:
        raise InvalidInput("--release and --found cannot be combined; use one of them")
    if settings.server and options.found is not None:
        raise InvalidInput(
            "--found does not work with a server; run this on the server's machine, or give the ids that `atlas "
            "scan` lists"
        )
    if not options.ids and options.found is None:
        return _list(options, settings)
    with open_or_connect(settings, read_only=options.dry_run) as memory:
        ids = expand_ids(memory, options.ids)
        reasons = _reasons_by_id(memory, ids, options)
        _print_plan(reasons)
        if options.dry_run or not reasons:
            print(DRY_RUN_SENTENCE if options.dry_run else "No record was found.")
            return 0
        if options.release:
            operation_id = memory.unquarantine([*reasons], reason=options.reason)
        elif options.found is None:
            operation_id = memory.quarantine(ids, reason=options.reason)
        else:
            operation_id = quarantine_each(memory, reasons, options.reason or "found by a scan")
    sentence_start = "Released" if options.release else "Put into quarantine:"
    print(f"{sentence_start} {counted(len(reasons), 'record')}. {undo_hint(operation_id)}")
    return 0


def _reasons_by_id(
    memory: MemorySystem | RemoteMemory, ids: Sequence[str], options: argparse.Namespace
) -> dict[str, str]:
    """Return the reason to quarantine each record, keyed by id. The reason is empty for a record to release."""
    if options.release:
        return dict.fromkeys(ids, "")
    if ids and not options.reason.strip():
        raise InvalidInput("--reason is missing; state why agents should not find these records")
    findings = memory.scan(minimum=options.found).findings if options.found is not None else ()
    new_findings = [finding for finding in findings if finding.is_in_text and not finding.is_quarantined]
    return {finding.id: join_reasons(finding) for finding in new_findings} | dict.fromkeys(ids, options.reason)


def _print_plan(reasons: dict[str, str]) -> None:
    for record_id, reason in reasons.items():
        print(f"  - {sanitise(record_id)}  {sanitise(reason)}".rstrip())


def _list(options: argparse.Namespace, settings: Settings) -> int:
    with open_or_connect(settings, read_only=True) as memory:
        records: Sequence[QuarantinedRecord] = memory.quarantined()
    if options.json:
        print_json(asdict(record) for record in records)
        return 0
    for record in records:
        print(f"{record.memory:10}  {sanitise(record.id)}  {sanitise(record.title)[:80]}  ({sanitise(record.reason)})")
    print(f"{counted(len(records), 'record')} in quarantine.")
    return 0
