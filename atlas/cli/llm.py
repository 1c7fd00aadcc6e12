"""The command that checks the language model of the settings."""

from __future__ import annotations

import argparse
from typing import Any

from atlas.cli.common import add_command, add_part, safe
from atlas.core.settings import Settings
from atlas.llm.check import check_model
from atlas.llm.client import ModelClient


def add_commands(commands: Any) -> None:
    """Declare it, with its part."""
    command = add_command(commands, "llm", _check)
    add_part(command.add_subparsers(metavar="PART"), "check", _check, "ask the language model one small question")


def _check(options: argparse.Namespace, settings: Settings) -> int:
    client = ModelClient(settings)
    try:
        checked = check_model(client)
    finally:
        client.close()
    for label, text in checked.lines:
        print(f"{label:16} {safe(text)}")
    return 1 if checked.problem or checked.fault else 0
