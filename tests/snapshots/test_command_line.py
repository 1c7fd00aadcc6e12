"""The help of every command."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from atlas.cli import main
from tests.support.snapshots import assert_unchanged

COLUMNS = 100
"""Characters of a line of help, whatever the terminal."""


def test_the_help_of_every_command_is_the_same(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    monkeypatch.delenv("ATLAS_STORE", raising=False)
    assert_unchanged("help", (line for shown in helps(capsys) for line in shown))


def helps(capsys: pytest.CaptureFixture[str], *command: str) -> Iterator[list[str]]:
    """The lines of a command's help, and of those of its subcommands."""
    with pytest.raises(SystemExit) as ended:
        main([*command, "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    yield [f"$ {' '.join(['atlas', *command, '--help'])}", *text.rstrip().splitlines(), ""]
    for name in subcommands(text):
        yield from helps(capsys, *command, name)


def subcommands(text: str) -> list[str]:
    """The names that a help lists under COMMAND, PART or another word in capitals."""
    listed = re.search(r"^  [A-Z]+\n((?: {4,}.*\n)+)", text, re.MULTILINE)
    return re.findall(r"^    ([a-z-]+)", listed[1], re.MULTILINE) if listed else []
