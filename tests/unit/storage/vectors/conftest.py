"""Services that keep an index."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.storage.ledgers import DIMENSION
from tests.support.storage.pinecone_server import KEY, PineconeServer, serving


@pytest.fixture
def pinecone(monkeypatch: pytest.MonkeyPatch) -> Iterator[PineconeServer]:
    """An index of Pinecone, and its key."""
    monkeypatch.setenv("PINECONE_API_KEY", KEY)
    with serving(DIMENSION) as server:
        yield server
