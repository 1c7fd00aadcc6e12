"""A memory, and its address while it is served."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import atlas
from atlas.testing import HashEmbedder
from tests.support.records import attempts
from tests.support.serving import serving


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[atlas.MemorySystem]:
    """A memory of thirty attempts, which its owner stored."""
    settings = atlas.Settings(actor="owner")
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(), settings=settings) as opened:
        opened.experience.store_many(attempts(30))
        yield opened


@pytest.fixture
def address(memory: atlas.MemorySystem) -> Iterator[str]:
    """Where it is served."""
    with serving(memory) as address:
        yield address
