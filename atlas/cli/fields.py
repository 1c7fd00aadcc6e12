"""The command that lists the fields of filters."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from itertools import groupby
from typing import Any

from atlas.cli.common import add_command, add_json_option, print_json
from atlas.core.settings import Settings
from atlas.views.kinds.filterable import OF_METADATA, filterable_fields


def add_commands(commands: Any) -> None:
    """Declare the command."""
    command = add_command(commands, "fields", _fields)
    add_json_option(command)


def _fields(options: argparse.Namespace, settings: Settings) -> int:
    fields = filterable_fields()
    if options.json:
        print_json([asdict(field) for field in fields])
        return 0
    for memory, group in groupby(fields, lambda field: field.memory):
        print(memory)
        for field in group:
            choices = f"one of {', '.join(field.values)}" if field.values else ""
            notes = ", ".join(filter(None, [field.label, choices]))
            print(f"  {field.key:22}{notes}".rstrip())
    print(OF_METADATA)
    return 0
