"""The command that adds ATLAS to the configuration of a client, and removes it."""

from __future__ import annotations

import argparse
import difflib
import os
import shlex
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from atlas.cli.clients.edits import Edit
from atlas.cli.clients.table import CLIENTS, Client, Installation
from atlas.cli.common import DRY_RUN_SENTENCE, add_command, add_scope_option, sanitise, terminal_confirmation
from atlas.core.errors import InvalidInput
from atlas.core.settings import Settings
from atlas.infra.durable_files import replace_durably
from atlas.infra.secrets import scrub_text

CONTEXT_LINES = 2
"""Context lines of a diff."""

UNCHANGED_SENTENCE = "Nothing was changed."

NEW_FILE_MODE = 0o600
"""Permissions of a new configuration file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The text of a configuration file before and after an edit."""

    path: Path
    before: str
    after: str
    """New text, or empty for a file that is removed."""

    @property
    def diff(self) -> str:
        """The changes as a unified diff, without secrets."""
        lines = difflib.unified_diff(
            self.before.splitlines(keepends=True),
            self.after.splitlines(keepends=True),
            str(self.path) if self.before else os.devnull,
            str(self.path) if self.after else os.devnull,
            n=CONTEXT_LINES,
        )
        text = "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
        return scrub_text(text, Counter(), homes=False).rstrip("\n")

    def apply(self) -> None:
        """Write or remove the file.

        Raises:
            InvalidInput: The file has been changed since it was read.
        """
        target = self.path.resolve()  # keep a symbolic link, for example into a dotfiles repository
        if _read_text(target) != self.before:
            raise InvalidInput(f"{self.path} was changed by another program; run the command again")
        if not self.after:
            target.unlink()
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        replace_durably(target, self.after, mode=target.stat().st_mode & 0o777 if target.exists() else NEW_FILE_MODE)


def add_commands(commands: Any) -> None:
    """Declare the command."""
    command = add_command(commands, "install", _install)
    command.add_argument("client", choices=[*CLIENTS], help="the client")
    command.add_argument("--remove", action="store_true", help="remove the installed entries")
    command.add_argument("--dry-run", action="store_true", help="print the changes, and change nothing")
    command.add_argument("--print", action="store_true", help="print the entries, to be added by hand")
    command.add_argument("--yes", action="store_true", help="make the changes without asking")
    command.add_argument(
        "--project", nargs="?", const=Path(), type=Path, metavar="DIR", help="install for one project alone"
    )
    command.add_argument("--no-hooks", action="store_true", help="install the MCP server alone")
    add_scope_option(command, "limit what hooks recall and store to a scope")


def _install(options: argparse.Namespace, settings: Settings) -> int:
    client = CLIENTS[options.client]
    installation = _installation(options, settings)
    edits = client.edits(installation)
    if options.print or client.is_printed_only:
        _print_entries(client, edits)
        return 0
    changes = plan_changes(edits, remove=options.remove)
    if not changes:
        state = "has no entries of ATLAS" if options.remove else "has all these entries already"
        print(f"{client.title} {state}. {UNCHANGED_SENTENCE}")
        return 0
    for change in changes:
        print(sanitise(change.diff, keep_lines=True))
    if options.dry_run:
        print(DRY_RUN_SENTENCE)
        return 0
    if not options.yes and not _is_confirmed():
        print(UNCHANGED_SENTENCE, file=sys.stderr)
        return 1
    for change in changes:
        change.apply()
    _print_result(client, installation, options)
    return 0


def _installation(options: argparse.Namespace, settings: Settings) -> Installation:
    project = options.project.expanduser().resolve() if options.project else None
    if project is not None and not project.is_dir():
        raise InvalidInput(f"expected a directory for --project, got {project}")
    return Installation(
        store=_store_location(options, settings, project),
        needs_key=bool(settings.key),
        with_hooks=options.remove or not options.no_hooks,
        project=project,
        scope=options.scope,
    )


def _store_location(options: argparse.Namespace, settings: Settings, project: Path | None) -> str:
    """Return the store that the options or ATLAS_STORE name, or else the location of the project's or user's store."""
    if named_store := options.store or os.environ.get("ATLAS_STORE"):
        if urlsplit(named_store).password:
            raise InvalidInput(
                "the URL of the store contains a password, which would be written to the client's files; omit it, "
                "and start the client with PGPASSWORD set"
            )
        if settings.server or settings.address:
            return named_store
        return str(Path(named_store).expanduser().resolve())
    return str((project or Path.home()) / settings.store)


def plan_changes(edits: Mapping[Path, Edit], *, remove: bool) -> list[Change]:
    """Return the changes of files that an installation, or its removal, makes. Unchanged files are left out.

    Raises:
        InvalidInput: A file is malformed, or cannot be edited.
    """
    changes = []
    for path, edit in edits.items():
        before = _read_text(path)
        after = edit.remove_entries(before) if remove else edit.add_entries(before)
        if after != before:
            changes.append(Change(path=path, before=before, after=after))
    return changes


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise InvalidInput(f"expected UTF-8 text in {path}, got other bytes ({error}); convert the file") from error


def _is_confirmed() -> bool:
    ask = terminal_confirmation()
    if ask is None:
        raise InvalidInput("the changes need a confirmation, but there is no terminal; add --yes to make them")
    return ask("Make these changes?")


def _print_entries(client: Client, edits: Mapping[Path, Edit]) -> None:
    if client.is_printed_only:
        print(f"Untested with {client.title}: add this by hand.", file=sys.stderr)
    for path, edit in edits.items():
        if text := edit.add_entries(""):
            print(f"{path}:\n{text}")


def _print_result(client: Client, installation: Installation, options: argparse.Namespace) -> None:
    if options.remove:
        print(f"ATLAS was removed from {client.title}. The memory stays in {installation.store}.")
        return
    print(f"ATLAS was installed in {client.title}, with the memory in {installation.store}.")
    for note in client.notes:
        print(note)
    if installation.needs_key:
        print("The key is not written down: start the client with ATLAS_KEY set.")
    project = f" --project {shlex.quote(str(installation.project))}" if installation.project else ""
    print(f"To take it out: atlas install {options.client} --remove{project}")
