"""Tests that hold for every engine: a module that says `engine = every_engine` runs with a store of each."""

from __future__ import annotations

import pytest

ENGINES = ("sqlite", "postgres")

of_files = pytest.mark.parametrize("engine", ENGINES[:1])
"""Marks a test about the files of a store in a directory, in a module that otherwise holds for every engine."""


@pytest.fixture(params=ENGINES)
def every_engine(request: pytest.FixtureRequest) -> str:
    """Each engine in turn."""
    return str(request.param)
