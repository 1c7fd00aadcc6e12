"""Grids to draw from, a small project to work in, and every primitive there is."""

from __future__ import annotations

import pytest

from atlas.primitives.arc.loader import ARCPrimitiveLoader
from atlas.primitives.discovery import known_primitives
from atlas.primitives.swe.loader import SWEPrimitiveLoader


@pytest.fixture(scope="session")
def library():
    """Every primitive of this package, by id."""
    return known_primitives({"arc": ARCPrimitiveLoader(), "swe": SWEPrimitiveLoader()})


@pytest.fixture
def outside(tmp_path):
    """A directory beside the root, with a secret in it."""
    directory = tmp_path / "outside"
    directory.mkdir()
    (directory / "secret.txt").write_text("secret\n")
    return directory


@pytest.fixture
def root(tmp_path, outside):
    """A directory with a file, a package, and links that lead out."""
    directory = tmp_path / "root"
    (directory / "package").mkdir(parents=True)
    (directory / "notes.txt").write_text("first\nsecond\n")
    (directory / "package" / "module.py").write_text("def greet():\n    return 'hello'\n")
    (directory / "file_link").symlink_to(outside / "secret.txt")
    (directory / "directory_link").symlink_to(outside)
    (directory / "inner_link").symlink_to(directory / "notes.txt")
    return directory
