"""Services that keep an index."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from atlas.storage.vectors.remote import circuit_breaker
from tests.support.storage.ledgers import DIMENSION
from tests.support.storage.pinecone_server import KEY, PineconeServer, serving


@pytest.fixture
def pinecone(monkeypatch: pytest.MonkeyPatch) -> Iterator[PineconeServer]:
    """An index of Pinecone, and its key."""
    monkeypatch.setenv("PINECONE_API_KEY", KEY)
    with serving(DIMENSION) as server:
        yield server


@pytest.fixture
def no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that has failed is asked again at once, and one that counts another number is believed."""
    monkeypatch.setattr("atlas.storage.maintenance.doctor.SETTLING_SECONDS", 0.0)
    monkeypatch.setattr(circuit_breaker, "MIN_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(circuit_breaker, "MAX_PAUSE_SECONDS", 0.0)
