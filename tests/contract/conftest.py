"""Every vector store, behind one fixture, and what the contract tests need around it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.storage.vector_stores import STORES, StoreUnderTest, make_store


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreUnderTest]:
    address = request.getfixturevalue("postgres_address") if request.param.endswith("PostgreSQL") else ""
    with make_store(request.param, tmp_path, address) as under_test:
        yield under_test
