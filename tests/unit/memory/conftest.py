"""Experience memories over every kind of store, with a clock that stands still."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from atlas.memory.experience.memory import ChromaExperienceMemory
from atlas.memory.journal import Journal
from atlas.storage.store import EmbeddingModel, Store
from atlas.testing import FixedClock, HashEmbedder
from tests.support.journals import opened
from tests.support.memories import memory_over


@pytest.fixture(params=["memory", "dict", "ledger"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ChromaExperienceMemory]:
    with memory_over(request.param, tmp_path) as made:
        yield made


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def stored(tmp_path: Path, clock: FixedClock) -> Iterator[ChromaExperienceMemory]:
    """A memory over a real store, which keeps history, marks and usage."""
    with memory_over("ledger", tmp_path, clock=clock) as made:
        yield made


@pytest.fixture
def store(tmp_path: Path, clock: FixedClock) -> Iterator[Store]:
    """An empty store that is bound to the fake model."""
    made = Store.open(tmp_path / "store", clock=clock)
    made.bind(EmbeddingModel(HashEmbedder().model_name, HashEmbedder().dimension))
    yield made
    made.ledger.close()


@pytest.fixture
def journal(store: Store, clock: FixedClock) -> Journal:
    return opened(store, clock)
