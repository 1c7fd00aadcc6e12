"""The supported clients, with their configuration files and entries.

Source:
    Claude Code: types of `@anthropic-ai/claude-agent-sdk` 0.3.332. Codex: the published JSON schemas of its hooks, and
    its configuration. Gemini CLI: the documentation within `@google/gemini-cli` 0.61.0. OpenCode: types of
    `@opencode-ai/sdk` 1.19.3.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atlas.cli.clients.edits import Edit, JsonEdit, TomlEdit

SERVER = "atlas"
"""Name of the MCP server in configurations."""

HOOK_SECONDS = 10
"""Timeout of a hook in clients."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """The options of one installation."""

    store: str
    """Absolute path or URL of the store."""

    needs_key: bool = False
    """True if the store needs the key in ATLAS_KEY. Clients pass the variable on, and no file contains the key."""

    with_hooks: bool = True
    project: Path | None = None
    """Directory of the project to install in, or None for all projects of this user."""

    scope: Mapping[str, str]
    """Scope of the MCP server and the hooks. For a remote server, the key's scope applies."""

    def server(self, *, key_reference: str = "") -> dict[str, Any]:
        """Return the configuration of the MCP server, in the format of most clients.

        Args:
            key_reference: Text by which the client's configuration refers to the variable ATLAS_KEY, or empty.
        """
        program, *arguments = self.server_command()
        return {"command": program, "args": arguments, "env": self.variables(key_reference)}

    @property
    def _is_on_server(self) -> bool:
        return self.store.lower().startswith(("http://", "https://"))

    def server_command(self) -> list[str]:
        """Return the command line of the MCP server."""
        options = [] if self._is_on_server else self.scope_options()
        return [*atlas_command(), "mcp", *options]

    def scope_options(self) -> list[str]:
        """Return the options of the scope."""
        return [part for name, value in self.scope.items() for part in ("--scope", f"{name}={value}")]

    def variables(self, key_reference: str = "") -> dict[str, str]:
        """Return the environment variables of the MCP server."""
        key = {"ATLAS_KEY": key_reference} if self.needs_key and key_reference else {}
        return {"ATLAS_STORE": self.store, **key}

    def hooks(self, client: str, events: tuple[str, ...], *, seconds: int = 1) -> dict[str, dict[str, Any]]:
        """Return the hooks to install, keyed by event.

        Args:
            seconds: One second in the client's unit of time.
        """
        if not self.with_hooks:
            return {}
        words = [*atlas_command(), "--store", self.store, "hook", client, *self.scope_options()]
        command = subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)
        return {event: {"type": "command", "command": command, "timeout": HOOK_SECONDS * seconds} for event in events}


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A supported client, with the edits of its configuration."""

    title: str
    edits: Callable[[Installation], Mapping[Path, Edit]]
    """Function that returns the edits of an installation, keyed by file."""

    notes: tuple[str, ...] = ()
    """Instructions printed after the installation."""

    is_printed_only: bool = False
    """True if the format was not verified with the client itself, so entries are only printed."""


def atlas_command() -> list[str]:
    """Return a command line for ATLAS that works in any directory."""
    script = Path(sys.executable).with_name("atlas")
    executable = str(script) if script.exists() else shutil.which("atlas")
    return [executable] if executable else [sys.executable, "-P", "-m", "atlas"]


def _home(variable: str, default: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / default)


def _claude_code(installation: Installation) -> Mapping[Path, Edit]:
    if installation.project:
        servers, settings = installation.project / ".mcp.json", installation.project / ".claude" / "settings.json"
    else:
        home = os.environ.get("CLAUDE_CONFIG_DIR")
        servers = Path(home or Path.home()) / ".claude.json"
        settings = _home("CLAUDE_CONFIG_DIR", ".claude") / "settings.json"
    server = {"type": "stdio", **installation.server(key_reference="${ATLAS_KEY}")}
    hooks = installation.hooks("claude-code", ("UserPromptSubmit", "Stop", "SessionEnd"))
    return {
        servers: JsonEdit(path=servers, section="mcpServers", name=SERVER, server=server),
        settings: JsonEdit(path=settings, hooks=hooks),
    }


def _codex(installation: Installation) -> Mapping[Path, Edit]:
    home = installation.project / ".codex" if installation.project else _home("CODEX_HOME", ".codex")
    values = installation.server() | ({"env_vars": ["ATLAS_KEY"]} if installation.needs_key else {})
    config, hooks = home / "config.toml", home / "hooks.json"
    return {
        config: TomlEdit(path=config, table=("mcp_servers", SERVER), values=values),
        hooks: JsonEdit(path=hooks, hooks=installation.hooks("codex", ("UserPromptSubmit", "Stop"))),
    }


def _gemini(installation: Installation) -> Mapping[Path, Edit]:
    home = installation.project or _home("GEMINI_CLI_HOME", "")
    path = home / ".gemini" / "settings.json"
    hooks = installation.hooks("gemini-cli", ("BeforeAgent", "AfterAgent"), seconds=1_000)
    server = installation.server(key_reference="$ATLAS_KEY")
    return {path: JsonEdit(path=path, section="mcpServers", name=SERVER, server=server, hooks=hooks)}


def _opencode(installation: Installation) -> Mapping[Path, Edit]:
    home = installation.project or _home("XDG_CONFIG_HOME", ".config") / "opencode"
    path = home / "opencode.json"
    server = {
        "type": "local",
        "command": installation.server_command(),
        "environment": installation.variables("{env:ATLAS_KEY}"),
        "enabled": True,
    }
    return {path: JsonEdit(path=path, section="mcp", name=SERVER, server=server)}


def _cursor(installation: Installation) -> Mapping[Path, Edit]:
    path = (installation.project or Path.home()) / ".cursor" / "mcp.json"
    return {path: JsonEdit(path=path, section="mcpServers", name=SERVER, server=installation.server())}


def _claude_desktop(installation: Installation) -> Mapping[Path, Edit]:
    path = Path("claude_desktop_config.json")
    return {path: JsonEdit(path=path, section="mcpServers", name=SERVER, server=installation.server())}


def _vscode(installation: Installation) -> Mapping[Path, Edit]:
    path = (installation.project or Path()) / ".vscode" / "mcp.json"
    server = {"type": "stdio", **installation.server()}
    return {path: JsonEdit(path=path, section="servers", name=SERVER, server=server)}


CLIENTS: Mapping[str, Client] = {
    "claude-code": Client(
        title="Claude Code",
        edits=_claude_code,
        notes=("Restart Claude Code. /mcp lists the server, and /hooks the hooks.",),
    ),
    "codex": Client(
        title="Codex",
        edits=_codex,
        notes=("Restart Codex, and trust the hooks: it asks, or use /hooks.",),
    ),
    "gemini-cli": Client(
        title="Gemini CLI",
        edits=_gemini,
        notes=("Restart Gemini CLI. /mcp lists the server, and /hooks the hooks.",),
    ),
    "opencode": Client(
        title="OpenCode",
        edits=_opencode,
        notes=("Restart OpenCode. It does not support hooks: the agent calls the tools itself.",),
    ),
    "cursor": Client(title="Cursor", edits=_cursor, is_printed_only=True),
    "claude-desktop": Client(title="Claude Desktop", edits=_claude_desktop, is_printed_only=True),
    "vscode": Client(title="VS Code", edits=_vscode, is_printed_only=True),
}
"""Clients, keyed by their name in `atlas install`."""
