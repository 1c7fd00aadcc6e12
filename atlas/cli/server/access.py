"""The commands for people, links and the audit log of a served store."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any, TypeVar

from atlas.cli.common import add_command, add_json_option, add_part, open_local, parse_limit, print_json, sanitise
from atlas.core.errors import InvalidInput, NotFound
from atlas.core.settings import Settings
from atlas.infra.actor import Role
from atlas.memory.system import MemorySystem
from atlas.views.settings.audit import AuditRow, audit_rows, kinds_of, of_kind
from atlas.views.settings.links import LinkRow, end_link, link_rows, make_link
from atlas.views.settings.people import (
    PersonRow,
    follow_groups,
    grants_of,
    person_rows,
    readmit_person,
    remove_person,
    set_role,
)

Row = TypeVar("Row", PersonRow, LinkRow)

MAX_DAYS = 366
GROUPS = "groups"
"""Value of `role` that restores the role from a person's groups."""


def add_commands(commands: Any) -> None:
    """Declare the commands."""
    people = add_command(commands, "people", _people)
    add_json_option(people)
    parts = people.add_subparsers(metavar="COMMAND")
    command = add_part(parts, "role", _role, "give somebody a role, whatever their groups")
    command.add_argument("name", help="their name or id")
    command.add_argument("role", choices=[*map(str, Role), GROUPS], help="the role, or that of their groups again")
    command = add_part(parts, "remove", _remove, "end somebody's access, from their next click on")
    command.add_argument("name", help="their name or id")
    command.add_argument("--revoke-grants", action="store_true", help="also revoke their keys and end their links")
    command = add_part(parts, "readmit", _readmit, "restore somebody's access")
    command.add_argument("name", help="their name or id")

    links = add_command(commands, "links", _links)
    add_json_option(links)
    parts = links.add_subparsers(metavar="COMMAND")
    command = add_part(parts, "add", _add_link, "copy the store for guests, and print a path to the copy once")
    command.add_argument("name", help="name of the link, such as the audience")
    command.add_argument("--days", type=_parse_days, default=7, help="end it after these days (default: 7)")
    command = add_part(parts, "end", _end_link, "end a link, and remove its copy")
    command.add_argument("name", help="its name or id")

    audit = add_command(commands, "audit", _audit)
    audit.add_argument("-n", type=parse_limit, default=50, help="number of events (default: 50)")
    audit.add_argument("--kind", help="only one kind of event, such as refused")
    add_json_option(audit)


def _people(options: argparse.Namespace, settings: Settings) -> int:
    with open_local(settings, read_only=True) as memory:
        rows = person_rows(memory)
    lines = [f"{row.name:24} {row.role:22} {row.state}, seen {row.seen}" for row in rows]
    return _print_rows(options, rows, lines or ["Nobody has signed in yet."])


def _role(options: argparse.Namespace, settings: Settings) -> int:
    with open_local(settings) as memory:
        person_id = _find_person(memory, options.name).id
        is_by_groups = options.role == GROUPS
        person = follow_groups(memory, person_id) if is_by_groups else set_role(memory, person_id, options.role)
    print(f"{sanitise(person.name)} is a {person.role} from now on{', by their groups' if is_by_groups else ''}.")
    return 0


def _remove(options: argparse.Namespace, settings: Settings) -> int:
    with open_local(settings) as memory:
        person_id = _find_person(memory, options.name).id
        grants = grants_of(memory, person_id)
        person = remove_person(memory, person_id, revoke_grants=options.revoke_grants)
    print(f"{sanitise(person.name)} no longer has access.")
    if grants.sentence:
        print(sanitise(grants.sentence), "They no longer work." if options.revoke_grants else "They still work.")
    return 0


def _readmit(options: argparse.Namespace, settings: Settings) -> int:
    with open_local(settings) as memory:
        person = readmit_person(memory, _find_person(memory, options.name).id)
    print(f"{sanitise(person.name)} has access again.")
    return 0


def _links(options: argparse.Namespace, settings: Settings) -> int:
    with open_local(settings) as memory:
        rows = link_rows(memory)
    lines = [f"{row.name:24} {row.state}, made {row.made}" for row in rows]
    return _print_rows(options, rows, lines or ["No link was made yet: atlas links add NAME"])


def _add_link(options: argparse.Namespace, settings: Settings) -> int:
    with open_local(settings) as memory:
        _, path = make_link(memory, options.name, options.days)
    print(path)  # alone on the standard output, for scripts
    print("Put the server's address before it. It cannot be shown again.", file=sys.stderr)
    return 0


def _end_link(options: argparse.Namespace, settings: Settings) -> int:
    with open_local(settings) as memory:
        live = [row for row in link_rows(memory) if row.is_live]
        link = end_link(memory, _find_row(live, options.name, "open link", "links").id)
    print(f"The link {sanitise(link.name)} has ended, and its copy is removed.")
    return 0


def _audit(options: argparse.Namespace, settings: Settings) -> int:
    with open_local(settings, read_only=True) as memory:
        rows = audit_rows(memory)
    kinds = kinds_of(rows)
    if options.kind and options.kind not in kinds:
        raise InvalidInput(f"unknown kind {options.kind!r:.80}; recorded kinds: {', '.join(kinds) or 'none yet'}")
    rows = list(islice(of_kind(rows, options.kind), options.n))
    return _print_rows(options, rows, [*map(_event_line, rows)])


def _print_rows(options: argparse.Namespace, rows: Sequence[PersonRow | LinkRow | AuditRow], lines: list[str]) -> int:
    """Print rows as JSON if requested, or else as lines, and return the exit status."""
    if options.json:
        print_json(map(asdict, rows))
    else:
        for line in lines:
            print(sanitise(line))
    return 0


def _event_line(row: AuditRow) -> str:
    return f"{row.at}  {row.what:24} {row.who}{f': {row.about}' if row.about else ''}"


def _find_person(memory: MemorySystem, name: str) -> PersonRow:
    return _find_row(person_rows(memory), name, "person", "people")


def _find_row(rows: list[Row], name: str, noun: str, command: str) -> Row:
    """Return the row with a name or an id.

    Raises:
        NotFound: No row has the name or id, or several have it.
    """
    matches = [row for row in rows if name in (row.name, row.id)]
    if len(matches) != 1:
        how_many = "more than one" if matches else "no"
        raise NotFound(f"{how_many} {noun} has the name {name!r:.80}; atlas {command} --json lists names and ids")
    return matches[0]


def _parse_days(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= MAX_DAYS:
        raise argparse.ArgumentTypeError(f"expected a number of days up to {MAX_DAYS}, got {text!r:.80}")
    return int(text)
