"""Edits of other programs' configuration files. All other entries stay unchanged."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

from atlas.core.errors import InvalidInput

_INDENT = re.compile(r'^([ \t]+)"', re.MULTILINE)
_HEADER = re.compile(r"\s*\[")


class Edit(Protocol):
    """Entries that ATLAS adds to a configuration file."""

    def add_entries(self, text: str) -> str:
        """Return the text of a file with the entries added. The text stays unchanged if all entries exist already."""
        ...

    def remove_entries(self, text: str) -> str:
        """Return the text of a file without ATLAS's entries. Empty if nothing else is in the file."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonEdit:
    """Entries of a JSON file: an MCP server, and hooks in the format of Claude Code's settings."""

    path: Path
    """Path of the file, for error messages."""

    section: str = ""
    """Key of the object with the MCP servers, or empty for no server."""

    name: str = ""
    """Name of the server."""

    server: Mapping[str, Any] | None = None

    hooks: Mapping[str, Mapping[str, Any]] | None = None
    """Hooks to add, keyed by event."""

    def add_entries(self, text: str) -> str:
        """Return the text of a file with the entries."""
        config = self._parse(text)
        before = json.dumps(config)
        if self.section:
            servers = self._get_or_add_object(config, self.section)
            self._check_is_atlas_server(servers.get(self.name))
            servers[self.name] = dict(self.server or {})
        for event, hook in (self.hooks or {}).items():
            self._add_hook(config, event, hook)
        return text if json.dumps(config) == before else _dump(config, text)

    def remove_entries(self, text: str) -> str:
        """Return the text of a file without the entries."""
        config = self._parse(text)
        before = json.dumps(config)
        servers = config.get(self.section)
        if isinstance(servers, dict) and is_atlas_server(servers.get(self.name)):
            del servers[self.name]
            if not servers:
                del config[self.section]
        for event in self.hooks or {}:
            self._remove_hook(config, event)
        if json.dumps(config) == before:
            return text
        return _dump(config, text) if config else ""

    def _parse(self, text: str) -> dict[str, Any]:
        try:
            config = json.loads(text) if text.strip() else {}
        except ValueError as error:
            raise InvalidInput(
                f"expected plain JSON in {self.path}, got text that cannot be read ({error}); "
                "correct it or remove its comments, or add the entries that --print shows by hand"
            ) from error
        if not isinstance(config, dict):
            raise InvalidInput(f"expected a JSON object in {self.path}, got type {type(config).__name__}")
        return config

    def _check_is_atlas_server(self, server: object) -> None:
        if server is not None and not is_atlas_server(server):
            raise InvalidInput(
                f"{self.path} already has a different MCP server named {self.name}; rename that one, then run this "
                "command again"
            )

    def _get_or_add_object(self, config: dict[str, Any], key: str) -> dict[str, Any]:
        value: dict[str, Any] = config.setdefault(key, {})
        if not isinstance(value, dict):
            raise InvalidInput(f"expected an object for {key} in {self.path}, got a {type(value).__name__}")
        return value

    def _get_or_add_groups(self, config: dict[str, Any], event: str) -> list[Any]:
        groups: list[Any] = self._get_or_add_object(config, "hooks").setdefault(event, [])
        if not isinstance(groups, list):
            raise InvalidInput(f"expected a list for hooks.{event} in {self.path}, got a {type(groups).__name__}")
        return groups

    def _add_hook(self, config: dict[str, Any], event: str, hook: Mapping[str, Any]) -> None:
        groups = self._get_or_add_groups(config, event)
        for group in groups:
            for position, existing in enumerate(_read_hooks(group)):
                if is_atlas_hook(existing):
                    group["hooks"][position] = dict(hook)
                    return
        groups.append({"hooks": [dict(hook)]})

    def _remove_hook(self, config: dict[str, Any], event: str) -> None:
        events = config.get("hooks")
        groups = events.get(event) if isinstance(events, dict) else None
        if not isinstance(groups, list) or not any(map(is_atlas_hook, chain.from_iterable(map(_read_hooks, groups)))):
            return
        for group in groups:
            if any(map(is_atlas_hook, _read_hooks(group))):
                group["hooks"] = [hook for hook in group["hooks"] if not is_atlas_hook(hook)]
        groups[:] = [group for group in groups if not (isinstance(group, dict) and group.get("hooks") == [])]
        if not groups:
            del config["hooks"][event]
        if not config["hooks"]:
            del config["hooks"]


def is_atlas_hook(hook: object) -> bool:
    """Return whether a hook of a client's settings calls `atlas hook`."""
    command = hook.get("command") if isinstance(hook, dict) else None
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return False
    match _atlas_arguments(words):
        case ["--store", _, "hook", _, *options] | ["hook", _, *options]:
            return {*options[::2]} <= {"--scope"}
    return False


def is_atlas_server(server: object) -> bool:
    """Return whether an MCP server of a client's settings is `atlas mcp`."""
    if not isinstance(server, dict):
        return False
    words = list[str]()
    for name in ("command", "args"):
        value = server.get(name) or []
        words += [value] if isinstance(value, str) else map(str, value)
    match _atlas_arguments(words):
        case ["mcp", *options]:
            return {*options[::2]} <= {"--scope"}
    return False


def _atlas_arguments(words: Sequence[str]) -> list[str]:
    """Return the arguments of an ATLAS command line, or an empty list for another program."""
    match words:
        case [program, *arguments] if Path(program).stem == "atlas":
            return arguments
        case [_, "-P", "-m", "atlas", *arguments] | [_, "-m", "atlas", *arguments]:
            return arguments
    return []


def _read_hooks(group: object) -> list[Any]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return hooks if isinstance(hooks, list) else []


def _dump(config: Mapping[str, Any], text: str) -> str:
    """Return an object as JSON, with the indentation of the original text."""
    indent = _INDENT.search(text)
    dumped = json.dumps(config, ensure_ascii=False, indent=indent[1] if indent else 2)
    if not text or text.endswith("\n"):
        dumped = f"{dumped}\n"
    return dumped.replace("\n", "\r\n") if "\r\n" in text else dumped


@dataclass(frozen=True, slots=True, kw_only=True)
class TomlEdit:
    """One table of a TOML file. Comments and the order of all other entries are kept."""

    path: Path
    """Path of the file, for error messages."""

    table: Sequence[str]
    """Keys that lead to the table."""

    values: Mapping[str, Any]

    def add_entries(self, text: str) -> str:
        """Return the text of a file with the entries."""
        block = [f"[{'.'.join(self.table)}]", *(f"{name} = {_toml(value)}" for name, value in self.values.items())]
        lines = text.splitlines()
        table_lines = self._find_table(text, lines)
        existing = self._value(self._parse(text))
        if existing is not None and not is_atlas_server(existing):
            raise InvalidInput(
                f"{self.path} already has a different MCP server {'.'.join(self.table)}; rename that one, then run "
                "this command again"
            )
        if table_lines is None:
            changed = [*lines, *([""] if lines else []), *block]
        else:
            changed = [*lines[: table_lines.start], *block, *lines[table_lines.stop :]]
        return self._validate_edit(text, "\n".join(changed) + "\n", dict(self.values))

    def remove_entries(self, text: str) -> str:
        """Return the text of a file without the entries."""
        lines = text.splitlines()
        table_lines = self._find_table(text, lines)
        if table_lines is None or not is_atlas_server(self._value(self._parse(text))):
            return text
        start = table_lines.start
        is_after_blank = start > 0 and not lines[start - 1].strip()
        is_before_blank = not "".join(lines[table_lines.stop : table_lines.stop + 1]).strip()
        if is_after_blank and is_before_blank:
            start -= 1  # the blank line that was added with the table
        changed = [*lines[:start], *lines[table_lines.stop :]]
        return self._validate_edit(text, "\n".join(changed) + "\n" if changed else "", None)

    def _find_table(self, text: str, lines: Sequence[str]) -> range | None:
        """Return the line range of the table, or None if it is missing."""
        if self._value(self._parse(text)) is None:
            return None
        header = f"[{'.'.join(self.table)}]"
        start = next((i for i, line in enumerate(lines) if line.split("#")[0].replace(" ", "").strip() == header), None)
        if start is None:
            raise InvalidInput(
                f"{self.path} has an entry {'.'.join(self.table)} that is not written as a table {header}; remove it "
                "by hand, then run this command again"
            )
        below = f"[{'.'.join(self.table)}."
        later_headers = (i for i in range(start + 1, len(lines)) if _HEADER.match(lines[i]) and below not in lines[i])
        end = next(later_headers, len(lines))
        while end > start + 1 and _is_blank_or_comment(lines[end - 1]):
            end -= 1  # comments before the next table belong to it
        return range(start, end)

    def _value(self, config: dict[str, Any]) -> Any:
        value: Any = config
        for key in self.table:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def _parse(self, text: str) -> dict[str, Any]:
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InvalidInput(f"{self.path} is not TOML: {error}; correct the file") from error

    def _validate_edit(self, text: str, changed: str, values: dict[str, Any] | None) -> str:
        """Return a changed text after checking that it differs from the original in this table only."""
        try:
            after = tomllib.loads(changed)
        except tomllib.TOMLDecodeError:
            after = {}
        before = _remove_value(self._parse(text), self.table)
        if self._value(after) != values or _remove_value(after, self.table) != before:
            raise InvalidInput(
                f"{'.'.join(self.table)} in {self.path} is written in a way that cannot be edited safely; "
                "edit it by hand (--print shows the entries)"
            )
        return changed


def _is_blank_or_comment(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _remove_value(config: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """Return a configuration without the value at a path of keys, and without tables that this leaves empty."""
    first, *rest = keys
    remaining = _remove_value(dict(config.get(first, {})), rest) if rest else {}
    return {key: value for key, value in config.items() if key != first} | ({first: remaining} if remaining else {})


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{name} = {_toml(item)}' for name, item in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
