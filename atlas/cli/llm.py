"""The configured language model: the command that checks it, and the client for other commands."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from atlas.cli.common import add_command, add_part, sanitise
from atlas.core.settings import Settings
from atlas.llm.check import check_model
from atlas.llm.client import ModelClient


def add_commands(commands: Any) -> None:
    """Declare the command `llm`, with its subcommand."""
    command = add_command(commands, "llm", _check)
    add_part(command.add_subparsers(metavar="PART"), "check", _check, "ask the language model one small question")


def interactive_model(settings: Settings) -> ModelClient:
    """Return the configured language model for an interactive command.

    If its server is down, the command waits for it and reports that on stderr. Ctrl-C ends the wait.
    """
    return ModelClient(settings, on_wait=lambda message: print(sanitise(message), file=sys.stderr))


def _check(options: argparse.Namespace, settings: Settings) -> int:
    client = ModelClient(settings)
    try:
        check = check_model(client)
    finally:
        client.close()
    for label, text in check.lines:
        print(f"{label:16} {sanitise(text)}")
    return 1 if check.problem or check.fault else 0
