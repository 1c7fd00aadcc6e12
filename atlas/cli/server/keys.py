"""The commands for keys, which give agents and people access to a served store."""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from atlas.access.issuing import issue_key
from atlas.access.keys import ApiKeys, Key
from atlas.cli.common import add_command, add_json_option, add_part, add_scope_option, print_json, sanitise
from atlas.core.settings import Settings
from atlas.infra.actor import Role
from atlas.memory.open import open_storage
from atlas.views.settings.keys import key_state

_UNITS = {"d": timedelta(days=1), "h": timedelta(hours=1), "w": timedelta(weeks=1)}


def add_commands(commands: Any) -> None:
    """Declare the commands."""
    group = add_command(commands, "keys", _list).add_subparsers(required=True, metavar="COMMAND")
    command = add_part(group, "add", _add, "make a key, and print it once")
    command.add_argument("name", help="name of the key in the history")
    command.add_argument(
        "--role",
        type=_parse_role,
        default=Role.WRITER,
        metavar="ROLE",
        help="its permissions: viewer, writer, curator or admin (default: writer)",
    )
    command.add_argument(
        "--expires", type=_parse_duration, metavar="TIME", help="refuse it after a time, such as 90d or 12h"
    )
    command.add_argument(
        "--review",
        action="store_true",
        help="its records wait until a curator accepts them, and others do not find them before",
    )
    add_scope_option(command, "let it read and write only records of a scope")
    command = add_part(group, "list", _list, "list every key that was ever made, newest first")
    add_json_option(command)
    command = add_part(group, "revoke", _revoke, "refuse a key from now on")
    command.add_argument("name", help="its name")


def _add(options: argparse.Namespace, settings: Settings) -> int:
    with open_storage(settings=settings, read_only=True, create=False) as storage:
        key, secret = issue_key(
            storage,
            options.name,
            options.role,
            lifetime=options.expires,
            is_reviewed=options.review,
            scope=options.scope,
        )
    print(secret)  # alone on the standard output, for scripts
    sentences = [f"This is the key of {sanitise(key.name)}, a {key.role}. It cannot be shown again."]
    if options.scope:
        scope = sanitise(key.scope_text)
        sentences.append(f"It reads and writes only records of {scope}, over HTTP and MCP. No page opens to it.")
    if key.is_reviewed:
        sentences.append("Its records are pending on the page Curate until a curator accepts them.")
    print("\n".join(sentences), file=sys.stderr)
    return 0


def _list(options: argparse.Namespace, settings: Settings) -> int:
    keys = _open_keys(settings).keys()
    if options.json:
        print_json(asdict(key_state(key)) for key in keys)
        return 0
    for key in keys:
        print(f"{sanitise(key.name):24} {key.role!s:8} {_state_text(key)}")
    if not keys:
        print("No key was made yet: atlas keys add NAME")
    return 0


def _revoke(options: argparse.Namespace, settings: Settings) -> int:
    key = _open_keys(settings).revoke(options.name)
    print(f"The key {sanitise(key.name)} is refused from now on.")
    return 0


def _open_keys(settings: Settings) -> ApiKeys:
    """Return the keys of an existing store."""
    with open_storage(settings=settings, read_only=True, create=False) as storage:
        return ApiKeys(storage.path, owner=settings.actor)


def _state_text(key: Key) -> str:
    creation = f"made {key.created_at:%Y-%m-%d} by {sanitise(key.created_by)}"
    problem = key.problem(datetime.now(UTC))
    scope = sanitise(f", {key.scope_text}") if key.scope else ""
    end = f"until {key.expires_at:%Y-%m-%d}" if key.expires_at else "without an end"
    return f"{creation}, {problem or end}{', under review' if key.is_reviewed else ''}{scope}"


def _parse_role(text: str) -> Role:
    try:
        return Role[text.upper()]
    except KeyError:
        roles = ", ".join(map(str, Role))
        raise argparse.ArgumentTypeError(f"expected one of {roles}, got {text!r}") from None


def _parse_duration(text: str) -> timedelta:
    match = re.fullmatch(r"(\d{1,5})([dhw])", text)
    if not match or not int(match[1]):
        raise argparse.ArgumentTypeError(f"expected a time such as 90d, 12h or 4w, got {text!r}")
    return int(match[1]) * _UNITS[match[2]]
