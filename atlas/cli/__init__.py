"""The command line: parse, call the library, print. Nothing else prints or exits."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from atlas.cli import (
    ablate,
    compress,
    concepts,
    evaluate,
    exchange,
    experiences,
    history,
    journal,
    map,
    profiles,
    purge,
    refine,
    store,
    strategies,
)
from atlas.core.errors import AtlasError
from atlas.core.settings import Settings

GROUPS = (
    store,
    exchange,
    experiences,
    refine,
    concepts,
    compress,
    strategies,
    journal,
    map,
    history,
    purge,
    profiles,
    evaluate,
    ablate,
)
"""Modules of commands, each with an `add_commands`, in the order in which `atlas --help` lists them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 done, 1 not done, 2 wrong usage, 130 interrupted.

    With ATLAS_DEBUG set, an error that ATLAS did not foresee shows its traceback too.
    """
    options = _parser().parse_args(arguments)
    try:
        settings = _settings(options)
        status: int = options.run(options, settings)
    except AtlasError as error:
        print(f"atlas: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("atlas: interrupted; what was stored until now is kept (see: atlas history)", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains again while it exits
        return 1
    except OSError as error:
        print(f"atlas: {error}", file=sys.stderr)
        return 1
    except Exception as error:  # noqa: BLE001 - the last resort: whatever it is, the person gets a sentence
        _report_bug(error)
        return 1
    return status


def _report_bug(error: Exception) -> None:
    if os.environ.get("ATLAS_DEBUG"):
        traceback.print_exception(error)
    what = " ".join(f"{type(error).__name__}: {error}".split())
    print(f"atlas: {what} (this is a bug in ATLAS; ATLAS_DEBUG=1 shows the traceback)", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="atlas", description="See, trust and curate what an agent has learned.")
    parser.add_argument("--store", type=Path, help="the store's directory (default: ATLAS_STORE, or .atlas)")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for group in GROUPS:
        group.add_commands(commands)
    return parser


def _settings(options: argparse.Namespace) -> Settings:
    settings = Settings.from_environment()
    return replace(settings, store=options.store) if options.store else settings
