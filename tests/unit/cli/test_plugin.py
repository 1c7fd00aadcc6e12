"""The Claude Code plugin and the entry for MCP registries name what is installed."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from typing import Any

import pytest

from atlas.cli import SUMMARIES, _parser
from atlas.cli.clients.table import CLIENTS, Installation
from atlas.core.imports.distribution import EXTRAS, NAME, __version__
from tests.support.repository import REPOSITORY

STORE = "${ATLAS_STORE:-~/.atlas}"


def read(path: str) -> Any:
    return json.loads((REPOSITORY / path).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def plugin() -> Any:
    return read(".claude-plugin/plugin.json")


@pytest.fixture(scope="module")
def package() -> Any:
    [package] = read("server.json")["packages"]
    return package


def test_the_plugin_has_a_valid_name_and_this_version(plugin):
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", plugin["name"])
    assert plugin["version"] == __version__
    assert 50 <= len(plugin["description"]) <= 200


def test_the_marketplace_offers_the_plugin_of_this_directory(plugin):
    [offered] = read(".claude-plugin/marketplace.json")["plugins"]
    assert (offered["name"], offered["source"]) == (plugin["name"], "./")


def test_the_plugin_has_the_server_and_the_hooks_of_the_installer(plugin, monkeypatch, tmp_path):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    edits = CLIENTS["claude-code"].edits(Installation(store=STORE, scope={}))
    installed = [json.loads(edit.add_entries("")) for edit in edits.values()]
    server, hooks = installed[0]["mcpServers"]["atlas"], installed[1]["hooks"]
    assert plugin["mcpServers"]["atlas"] == {"command": "atlas", "args": ["mcp"], "env": server["env"]}
    assert set(plugin["hooks"]) == set(hooks)
    for event, [group] in plugin["hooks"].items():
        [hook], [expected] = group["hooks"], hooks[event][0]["hooks"]
        assert (hook["type"], hook["timeout"]) == (expected["type"], expected["timeout"])
        assert shlex.split(hook["command"])[1:] == shlex.split(expected["command"])[1:]


def test_the_commands_of_the_plugin_exist(plugin):
    scripts = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    server = plugin["mcpServers"]["atlas"]
    lines = [[server["command"], *server["args"]]]
    lines += [shlex.split(hook["command"]) for [group] in plugin["hooks"].values() for hook in group["hooks"]]
    for program, *arguments in lines:
        assert program in scripts
        [command] = set(arguments) & set(SUMMARIES)
        assert _parser(command).parse_args(arguments).run  # a wrong option would end the parser


def test_the_entry_of_registries_names_this_package_and_version(package):
    entry = read("server.json")
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", entry["name"])
    assert 1 <= len(entry["description"]) <= 100
    assert (package["registryType"], package["identifier"]) == ("pypi", NAME)
    assert (entry["version"], package["version"]) == (__version__, __version__)
    assert [each["value"] for each in package["runtimeArguments"]] == [f"{NAME}[mcp]=={__version__}"]
    assert "mcp" in EXTRAS
    assert package["transport"] == {"type": "stdio"}


def test_the_entry_of_registries_starts_the_server(package):
    scripts = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert package["identifier"] in scripts  # uvx runs the script of the package's name
    assert [each["value"] for each in package["packageArguments"]] == ["mcp"]
    assert "mcp" in SUMMARIES


def test_the_readme_proves_to_registries_who_owns_the_package():
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert f"<!-- mcp-name: {read('server.json')['name']} -->" in readme
