"""The command line: parse, call the library, print. Nothing else prints or exits."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module

from atlas.core.errors import AtlasError
from atlas.core.settings import Settings

GROUPS: Mapping[str, tuple[str, ...]] = {
    "store": ("init", "status", "backup", "restore", "copy", "doctor", "reembed"),
    "exchange": ("import", "export"),
    "experiences": ("search", "show", "tag", "prune", "merge"),
    "refine": ("refine",),
    "concepts": ("concepts", "primitives"),
    "compress": ("compress",),
    "strategies": ("strategies",),
    "journal": ("journal",),
    "map": ("map",),
    "history": ("history", "undo", "trash"),
    "purge": ("purge",),
    "server.keys": ("keys",),
    "server.serve": ("serve",),
    "server.mcp": ("mcp",),
    "profiles": ("profiles",),
    "evaluate": ("evaluate",),
    "ablate": ("ablate",),
}
"""Commands by the module that declares them with its `add_commands`, in the order in which `atlas --help` lists them.

Only the module of the command that is asked for is imported: `atlas mcp` should answer within a second.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 done, 1 not done, 2 wrong usage, 130 interrupted.

    With ATLAS_DEBUG set, an error that ATLAS did not foresee shows its traceback too.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = _parser(given).parse_args(given)
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


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    """Return what reads the words given: it knows their command, or every command where they name none."""
    everywhere = argparse.ArgumentParser(add_help=False)
    everywhere.add_argument(
        "--store",
        help="the store's directory, the address of one in PostgreSQL, or a server's address (default: ATLAS_STORE, "
        "or .atlas)",
    )
    everywhere.add_argument(
        "--index",
        help="the address of the service that keeps the index, pinecone://, chroma+http:// or chroma+cloud://, or an "
        "empty text for none (default: ATLAS_INDEX)",
    )
    first = argparse.ArgumentParser(add_help=False, parents=[everywhere])
    first.add_argument("command", nargs="?")
    asked = first.parse_known_args(given)[0].command
    parser = argparse.ArgumentParser(
        prog="atlas", description="See, trust and curate what an agent has learned.", parents=[everywhere]
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in [name for name, declared in GROUPS.items() if asked in declared] or GROUPS:
        import_module(f"atlas.cli.{module}").add_commands(commands)
    return parser


def _settings(options: argparse.Namespace) -> Settings:
    given = {"ATLAS_STORE": options.store or None, "ATLAS_INDEX": options.index}  # an empty --index is for none
    return Settings.from_environment(os.environ | {name: value for name, value in given.items() if value is not None})
