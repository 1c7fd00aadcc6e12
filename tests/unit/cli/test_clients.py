"""Configuration files of clients: ATLAS adds its own entries, and takes exactly these out again."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.cli import main
from atlas.cli.clients.edits import JsonEdit, TomlEdit, is_atlas_hook
from atlas.cli.clients.table import CLIENTS, Installation
from atlas.core.errors import InvalidInput

FILE = Path("settings.json")
HOOK = {"type": "command", "command": "/opt/my tools/atlas --store /s hook claude-code", "timeout": 10}
OF_ANOTHER = {"type": "command", "command": "notify --hook atlas"}
JSON = JsonEdit(
    path=FILE,
    section="mcpServers",
    name="atlas",
    server={"command": "atlas", "args": ["mcp"]},
    hooks={"Stop": {**HOOK, "command": "'/opt/my tools/atlas' --store /s hook claude-code"}},
)
TOML = TomlEdit(
    path=Path("config.toml"),
    table=("mcp_servers", "atlas"),
    values={"command": "atlas", "args": ["mcp"], "env": {"ATLAS_STORE": 'C:\\a "store"'}},
)

others = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, min_size=1) | st.dictionaries(st.text(), inner, min_size=1),
    max_leaves=8,
)
groups = st.lists(st.just({"matcher": "", "hooks": [OF_ANOTHER]}), min_size=1, max_size=2)
configs = st.dictionaries(st.text(), others).flatmap(
    lambda rest: st.fixed_dictionaries(
        {},
        optional={
            "mcpServers": st.dictionaries(st.sampled_from(["github", "Atlas"]), others, min_size=1),
            "hooks": st.dictionaries(st.sampled_from(["Stop", "PreToolUse"]), groups, min_size=1),
        },
    ).map(lambda own: {name: value for name, value in rest.items() if name not in ("mcpServers", "hooks")} | own)
)


@given(configs, st.sampled_from([2, 4, "\t"]))
def test_what_else_stands_in_a_json_file_is_as_before_after_the_removal(config, indent):
    text = json.dumps(config, indent=indent, ensure_ascii=False) + "\n" if config else ""
    added = JSON.add_entries(text)
    assert json.loads(added)["mcpServers"]["atlas"] == {"command": "atlas", "args": ["mcp"]}
    assert JSON.add_entries(added) == added
    assert JSON.remove_entries(added) == (
        text if (config and "\n " in text) or "\n\t" in text else JSON.remove_entries(added)
    )
    assert json.loads(JSON.remove_entries(added) or "{}") == config


def test_a_renewed_hook_takes_the_place_of_the_old_one():
    old = {"hooks": {"Stop": [{"hooks": [OF_ANOTHER]}, {"matcher": "*", "hooks": [{"command": "atlas hook codex"}]}]}}
    changed = json.loads(JSON.add_entries(json.dumps(old)))
    assert changed["hooks"]["Stop"][0] == {"hooks": [OF_ANOTHER]}
    assert len(changed["hooks"]["Stop"]) == 2
    assert is_atlas_hook(changed["hooks"]["Stop"][1]["hooks"][0])


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("/v/bin/atlas --store /s hook codex", True),
        ("/v/bin/python -m atlas hook codex", True),
        ("notify --hook atlas", False),
        ("hook atlas", False),
        ("atlas import 'unended", False),
        ("git -C /src/atlas hook run pre-commit", False),
        ("atlas mcp && notify hook", False),
        ("atlas hook codex && rm x", False),
    ],
)
def test_a_hook_is_ours_if_it_calls_our_command(command, expected):
    assert is_atlas_hook({"command": command}) is expected


COMMENTED = """# mine
model = "m" # the best

[mcp_servers.other]
command = "x"

# of the last table
[profiles.fast]
model = "n"
"""


@pytest.mark.parametrize(
    "text", ["", "a = 1\n", COMMENTED, "[mcp_servers]\n", "[mcp_servers.atlas_two]\ncommand = 'y'\n"]
)
def test_comments_and_order_of_a_toml_file_stay(text):
    added = TOML.add_entries(text)
    assert added.startswith(text)
    assert tomllib.loads(added)["mcp_servers"]["atlas"] == dict(TOML.values)
    assert TOML.add_entries(added) == added
    assert TOML.remove_entries(added) == text


def test_a_table_between_others_is_replaced_where_it_stands():
    old = "[mcp_servers.atlas]\ncommand = '/old/atlas'\nargs = ['mcp']\n\n[mcp_servers.atlas.env]\nA = 'b'\n"
    text = f"{old}\n# next\n[b]\nc = 1\n"
    assert TOML.add_entries(text).endswith("}\n\n# next\n[b]\nc = 1\n")
    assert tomllib.loads(TOML.add_entries(text))["mcp_servers"]["atlas"] == dict(TOML.values)
    assert TOML.remove_entries(text) == "\n# next\n[b]\nc = 1\n"


@pytest.mark.parametrize(
    ("edit", "text", "message"),
    [
        (JSON, "{// mine\n}", "expected plain JSON in"),
        (JSON, "[]", "expected a JSON object in .*, got type list"),
        (JSON, '{"mcpServers": []}', "expected an object for mcpServers in settings.json"),
        (JSON, '{"hooks": {"Stop": {}}}', "expected a list"),
        (TOML, "a = ", "is not TOML"),
        (TOML, "mcp_servers.atlas = {}", "that is not written as a table"),
        (
            TOML,
            'a = """\n[mcp_servers.atlas]\n"""\nmcp_servers.atlas = {command = "atlas", args = ["mcp"]}\n',
            "cannot be edited safely",
        ),
    ],
)
def test_a_file_that_cannot_be_edited_is_refused(edit, text, message):
    with pytest.raises(InvalidInput, match=message):
        edit.add_entries(text)


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (JSON, '{"mcpServers": {"atlas": {"command": "other-atlas-server"}}}'),
        (TOML, '[mcp_servers.atlas]\ncommand = "mongodb-atlas"\nargs = ["mcp"]\n'),
    ],
)
def test_another_server_of_the_same_name_stays(edit, text):
    with pytest.raises(InvalidInput, match="already has a different MCP server"):
        edit.add_entries(text)
    assert edit.remove_entries(text) == text


def test_the_ends_of_lines_stay():
    text = '{\r\n  "theme": "dark"\r\n}\r\n'
    assert "\n" not in JSON.add_entries(text).replace("\r\n", "")
    assert JSON.remove_entries(JSON.add_entries(text)) == text


def test_a_password_is_written_into_no_file(home, monkeypatch, capsys):
    monkeypatch.setenv("ATLAS_STORE", "postgresql://u:hunter2@db/x")
    assert main(["install", "claude-code", "--yes"]) == 1
    assert "contains a password, which would be written to the client's files" in capsys.readouterr().err
    assert files_below(home) == {}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The home directory of a user who has used none of the clients."""
    for name in ("ATLAS_STORE", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME", "ATLAS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files_below(directory: Path) -> dict[str, str]:
    return {
        str(path.relative_to(directory)): path.read_text(encoding="utf-8")
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


EXPECTED = {
    "claude-code": {".claude.json", ".claude/settings.json"},
    "codex": {".codex/config.toml", ".codex/hooks.json"},
    "gemini-cli": {".gemini/settings.json"},
    "opencode": {".config/opencode/opencode.json"},
}


@pytest.mark.parametrize("client", EXPECTED)
def test_a_client_is_installed_once_and_removed_without_a_trace(client, home, capsys):
    assert main(["install", client, "--dry-run"]) == 0
    assert "+++" in capsys.readouterr().out
    assert files_below(home) == {}
    assert main(["install", client, "--yes"]) == 0
    installed = files_below(home)
    assert set(installed) == EXPECTED[client]
    assert str(home / ".atlas") in "".join(installed.values())
    capsys.readouterr()
    assert main(["install", client, "--yes"]) == 0
    assert "has all these entries already. Nothing was changed." in capsys.readouterr().out
    assert main(["install", client, "--remove", "--yes"]) == 0
    assert files_below(home) == {}


def test_nothing_is_written_without_a_yes(home, capsys):
    assert main(["install", "codex"]) == 1
    assert "add --yes to make them" in capsys.readouterr().err
    assert files_below(home) == {}


def test_a_key_is_passed_on_by_the_client_and_written_nowhere(home, monkeypatch):
    monkeypatch.setenv("ATLAS_STORE", "https://memory.example")
    monkeypatch.setenv("ATLAS_KEY", "atlas_secret")
    for client in EXPECTED:
        assert main(["install", client, "--yes"]) == 0
    written = files_below(home)
    assert "atlas_secret" not in "".join(written.values())
    assert tomllib.loads(written[".codex/config.toml"])["mcp_servers"]["atlas"]["env_vars"] == ["ATLAS_KEY"]
    assert json.loads(written[".claude.json"])["mcpServers"]["atlas"]["env"] == {
        "ATLAS_STORE": "https://memory.example",
        "ATLAS_KEY": "${ATLAS_KEY}",
    }


def test_a_project_has_its_own_files_and_store(home):
    project = home / "shop"
    project.mkdir()
    assert main(["install", "claude-code", "--yes", "--project", str(project), "--no-hooks"]) == 0
    assert set(files_below(home)) == {"shop/.mcp.json"}
    assert json.loads((project / ".mcp.json").read_text())["mcpServers"]["atlas"]["env"]["ATLAS_STORE"] == str(
        project / ".atlas"
    )


def test_a_link_to_a_configuration_stays_a_link_and_its_permissions_stay(home):
    real = home / "dotfiles.json"
    real.write_text('{\n    "theme": "dark"\n}')
    real.chmod(0o644)
    (home / ".claude.json").symlink_to(real)
    assert main(["install", "claude-code", "--yes"]) == 0
    assert (home / ".claude.json").is_symlink()
    assert real.stat().st_mode & 0o777 == 0o644
    assert main(["install", "claude-code", "--remove", "--yes"]) == 0
    assert real.read_text() == '{\n    "theme": "dark"\n}'


@pytest.mark.parametrize("client", ["cursor", "claude-desktop", "vscode"])
def test_entries_of_an_untested_client_are_printed_only(client, home, capsys):
    assert main(["install", client]) == 0
    captured = capsys.readouterr()
    assert '"atlas"' in captured.out
    assert "Untested" in captured.err
    assert files_below(home) == {}


def test_hooks_of_one_event_are_of_the_client_that_calls_them():
    installation = Installation(store="/s", scope={"project": "shop"})
    for client in ("claude-code", "codex", "gemini-cli"):
        for path, edit in CLIENTS[client].edits(installation).items():
            if isinstance(edit, JsonEdit):
                for hook in (edit.hooks or {}).values():
                    assert is_atlas_hook(hook), path
                    assert f"hook {client} --scope project=shop" in hook["command"]
