"""The command that scans records for signs of an attack on the agents that read them."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from atlas.cli.common import add_command, add_json_option, open_or_connect, print_json, sanitise
from atlas.cli.trust.ids import expand_ids
from atlas.core.settings import Settings
from atlas.memory.effects.scan import Finding
from atlas.scanning.text import SUSPICIOUS
from atlas.views.shared.wording import counted


def add_commands(commands: Any) -> None:
    """Declare the command."""
    command = add_command(commands, "scan", _scan)
    command.add_argument("ids", nargs="*", metavar="ID", help="ids of records in any memory (default: all records)")
    command.add_argument(
        "--minimum",
        type=float,
        default=SUSPICIOUS,
        metavar="SCORE",
        help=f"least score of a listed record, from 0 to 1 (default: {SUSPICIOUS:g})",
    )
    add_json_option(command)


def _scan(options: argparse.Namespace, settings: Settings) -> int:
    with open_or_connect(settings, read_only=True) as memory:
        result = memory.scan(expand_ids(memory, options.ids) or None, minimum=options.minimum)
    if options.json:
        print_json(asdict(finding) for finding in result.findings)
        return 0
    for finding in result.findings:
        _print(finding)
    print(f"{counted(len(result.findings), 'record')} of {result.n_scanned:,} with signs of an attack.")
    return 0


def _print(finding: Finding) -> None:
    state = "  (in quarantine)" if finding.is_quarantined else ""
    print(f"{finding.score:.2f}  {finding.memory:10}  {sanitise(finding.id)}  {sanitise(finding.title)[:80]}{state}")
    for reason in finding.reasons:
        part = f", {sanitise(reason.part)}" if reason.part else ""
        excerpt = f" “{sanitise(reason.excerpt)}”" if reason.excerpt else ""
        print(f"      {reason.attack}{part}: {reason.why}{excerpt}")
