"""The command line: it parses arguments, calls the library and prints. No other package prints or exits."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import NoneType
from typing import Any

from atlas.core.errors import AtlasError
from atlas.core.imports.distribution import EVERY, __version__, extra
from atlas.core.imports.plugins import COMMANDS, installed_plugins, log_fault
from atlas.core.settings import Settings

GROUPS: Mapping[str, Mapping[str, str]] = {
    "store": {
        "init": "create the store and print which embedding model it uses",
        "status": "print the contents of the store",
        "backup": "copy the whole store into one file, even while others write",
        "restore": "bring the store back to the state of a backup",
        "copy": "copy the whole store, with its history, into PostgreSQL or back",
        "diff": "compare two stores or backups: records, and success rates that moved",
        "doctor": "check the store against its ledger",
        "reembed": "embed all texts again, with another model or the same",
    },
    "exchange": {
        "import": "import agent runs; runs that are stored already are skipped",
        "export": "write all experiences, strategies, concepts and the like as lines of JSON",
    },
    "experiences": {
        "search": "find experiences for a task",
        "context": "print the context block that an agent gets for a task",
        "similar": "find the experiences that are most similar to one experience",
        "show": "print one experience, step by step",
        "tag": "tag, pin, bury or annotate experiences",
        "prune": "delete experiences of low value; `atlas undo` brings them back",
        "merge": "merge several duplicate experiences into one",
    },
    "fields": {
        "fields": "list the fields that a filter (--where) can name",
    },
    "refine": {
        "refine": "plan which similar experiences to keep, merge and drop, or apply the plan",
    },
    "concepts": {
        "concepts": "list, search or print reusable code",
        "primitives": "list the loaders of primitives, or load one",
    },
    "llm": {
        "llm": "check which language model answers, in which form and how fast",
    },
    "compress": {
        "compress": "find functions that successful programs have in common",
    },
    "strategies": {
        "strategies": "list, search, print or write strategies",
    },
    "journal": {
        "journal": "read, search and change an agent's journal",
    },
    "map": {
        "map": "write the map of all experiences as one HTML file",
    },
    "history": {
        "history": "list the operations on the store, newest first",
        "undo": "take an operation back, exactly",
        "trash": "list deleted experiences, newest first, or restore some",
    },
    "purge": {
        "purge": "erase records for good, such as a leaked key or a person's data; `atlas undo` cannot bring them back",
    },
    "trust.judge": {
        "judge": "set the outcomes of attempts, one by one or by a rule",
    },
    "trust.scan": {
        "scan": "find records with signs of an attack on the agents that read them, worst first",
    },
    "trust.quarantine": {
        "quarantine": "keep agents from finding records, list them, or release them",
    },
    "trust.withdraw": {
        "withdraw": "delete records with all that came from them, such as strategies learned from an attempt",
    },
    "server.keys": {
        "keys": "make, list and revoke the keys by which agents enter a store that is served",
    },
    "server.access": {
        "people": "list the people who have signed in to a server, and change their roles",
        "links": "list, make and end links to a frozen copy of the store",
        "audit": "list sign-ins, refusals, keys, roles, links, purges and backups, newest first",
    },
    "server.review": {
        "review": "list, accept or reject records written with keys under review",
    },
    "server.serve": {
        "serve": "serve the dashboard, the HTTP API and MCP on one port",
    },
    "server.dashboard": {
        "dashboard": "show the store in a browser on this machine",
        "demo": "show the dashboard on sample data, in a store of its own",
    },
    "server.mcp": {
        "mcp": "serve the memory to one MCP client, over standard input and output",
    },
    "clients.install": {
        "install": "add the memory to Claude Code, Codex, Gemini CLI or OpenCode, or take it out again",
    },
    "clients.hook": {
        "hook": "answer a hook of such a client: recall at a prompt, store after a turn",
    },
    "clients.watch": {
        "watch": "store the sessions in a directory of logs while they are written",
    },
    "profiles": {
        "profiles": "list, save, choose or delete ranking profiles",
        "level": "show the minimum relevance of hits and its costs, or make searches stricter or laxer",
    },
    "measure.evaluate": {
        "evaluate": "measure how well each search method finds relevant records, compared with chance",
    },
    "measure.trial": {
        "trial": "run a command of yours with and without memory, and compare how it went",
    },
    "measure.ablate": {
        "ablate": "replay runs with some memories left out, and compare the hits",
    },
    "measure.bench": {
        "bench": "compare ways to shrink a memory by the records that are still found",
    },
}
"""Commands with their summaries, by the module that declares them, in the order of `atlas --help`.

Only the module of the requested command is imported, and `atlas --help` needs none.
"""

HOOK = "hook"
"""The command that clients run during a user's work, so it must not fail."""

SUMMARIES: Mapping[str, str] = {name: summary for group in GROUPS.values() for name, summary in group.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 success, 1 failure, 2 wrong usage, 130 interrupted.

    With ATLAS_DEBUG set, an unexpected error prints its traceback.
    """
    argument_list = sys.argv[1:] if arguments is None else list(arguments)
    command = _command_name(argument_list)
    if command != HOOK:
        return _main(command, argument_list)
    from atlas.cli.clients.hook import run_without_failing

    return run_without_failing(lambda: _main(command, argument_list))


def _main(command: str | None, argument_list: Sequence[str]) -> int:
    try:
        options = _parser(command).parse_args(argument_list)
        settings = _settings(options)
        with extra(EVERY, "this command"):
            status: int = options.run(options, settings)
    except AtlasError as error:
        print(f"atlas: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("atlas: interrupted; everything stored so far is kept (see: atlas history)", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # otherwise Python reports the broken pipe again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
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
    summary = " ".join(f"{type(error).__name__}: {error}".split())
    print(f"atlas: {summary} (this is a bug in ATLAS; ATLAS_DEBUG=1 shows the traceback)", file=sys.stderr)


def _command_name(argument_list: Sequence[str]) -> str | None:
    """Return the name of the command in the arguments, or None if they contain none."""
    parser = argparse.ArgumentParser(add_help=False, parents=[_shared_options()])
    parser.add_argument("command", nargs="?")
    command: str | None = parser.parse_known_args(argument_list)[0].command
    return command


def _shared_options() -> argparse.ArgumentParser:
    """Return a parser with the options that all commands share."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument(
        "--store",
        help="the store's directory, the address of one in PostgreSQL, or a server's address (default: ATLAS_STORE, "
        "or .atlas)",
    )
    parser.add_argument(
        "--index",
        help="the address of the service with the index, pinecone://, chroma+http:// or chroma+cloud://, or an "
        "empty text for none (default: ATLAS_INDEX)",
    )
    return parser


def _parser(requested: str | None) -> argparse.ArgumentParser:
    """Return a parser for the requested built-in command, or for all commands if there is no such command."""
    parser = argparse.ArgumentParser(
        prog="atlas", description="See, trust and curate what an agent has learned.", parents=[_shared_options()]
    )
    parser.add_argument("--version", action="version", version=f"atlas {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    module = next((name for name, group in GROUPS.items() if requested in group), "")
    if module:
        import_module(f"atlas.cli.{module}").add_commands(commands)
    else:
        _add_every_command(commands, requested)
    return parser


def _add_every_command(commands: Any, requested: str | None) -> None:
    """Declare all commands with their summaries, and the options of a requested plug-in command."""
    for name, summary in SUMMARIES.items():
        commands.add_parser(name, help=summary)
    names = {*SUMMARIES}
    for plugin in installed_plugins(COMMANDS):
        if plugin.name in names:
            log_fault(plugin, plugin.unusable_error(f"the name {plugin.name!r} is taken"))
            continue
        names.add(plugin.name)
        summary = f"{plugin.summary} ({plugin.distribution})".strip().replace("%", "%%")
        command = commands.add_parser(plugin.name, help=summary)
        if plugin.name == requested:
            plugin.make(NoneType, command)


def _settings(options: argparse.Namespace) -> Settings:
    overrides = {"ATLAS_STORE": options.store or None, "ATLAS_INDEX": options.index}  # an empty --index means no index
    return Settings.from_environment(
        os.environ | {name: value for name, value in overrides.items() if value is not None}
    )
