"""Formats and commands of plug-ins that get in the way of others."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from atlas.cli import main
from atlas.importers.registry import all_formats, detect

MODULE = """
from atlas.importers.registry import Format

def make():
    return Format("odd", "Odd files", lambda path, head: 1 / 0, lambda path, limits: iter(()))

def shout(parser):
    pass
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Installs distributions with an entry point each in a group."""

    def installed(group: str, **points: tuple[str, str]) -> None:
        (tmp_path / "odd_plugin.py").write_text(MODULE)
        for distribution, (name, value) in points.items():
            directory = tmp_path / f"{distribution}-1.dist-info"
            directory.mkdir()
            (directory / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1\n")
            (directory / "entry_points.txt").write_text(f"[{group}]\n{name} = {value}\n")
        monkeypatch.syspath_prepend(tmp_path)
        all_formats.cache_clear()

    yield installed
    all_formats.cache_clear()
    sys.modules.pop("odd_plugin", None)


def test_a_format_that_fails_at_a_file_is_named_and_the_others_are_tried(install, tmp_path, caplog):
    install("atlas.importers", oddities=("odd", "odd_plugin:make"), others=("plain", "odd_plugin:plain"))
    (tmp_path / "odd_plugin.py").write_text(
        f"{MODULE}\ndef plain():\n"
        "    return Format('plain', 'Plain', lambda path, head: head == b'plain', lambda path, limits: iter(()))\n"
    )
    path = Path(tmp_path / "file.txt")
    path.write_text("plain")
    assert detect(path).name == "plain"
    assert "'odd' of oddities 1 (odd_plugin:make) cannot be used: its `matches` raised ZeroDivisionError" in caplog.text


def test_help_shows_the_first_of_two_commands_of_one_name_and_names_the_other(install, capsys, caplog):
    install("atlas.commands", first=("shout", "odd_plugin:shout"), second=("shout", "odd_plugin:shout"))
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "shout" in capsys.readouterr().out
    assert "the name 'shout' is taken" in caplog.text
