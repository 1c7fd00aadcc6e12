"""Small stores in temporary directories."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from atlas.core.errors import NotFound, StoreError
from atlas.core.settings import Settings
from atlas.storage.store import Store
from tests.support.storage.ledgers import THINGS, Opened


@pytest.fixture
def engine() -> str:
    """The engine of the test's store. A module that says `engine = every_engine` has each in turn."""
    return "sqlite"


@pytest.fixture
def store_place(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> Path | str:
    """Directory or address of the test's store."""
    return tmp_path / "store" if engine == "sqlite" else request.getfixturevalue("postgres_address")


@pytest.fixture
def open_store(store_place: Path | str) -> Iterator[Callable[..., Opened]]:
    """Opens the test's store, as often as one likes; all of them let go of their files at the end."""
    opened: list[Store] = []

    def open_one(path: Path | str = store_place, *, read_only: bool = False, **options: Any) -> Opened:
        store = Store.open(path, read_only=read_only, settings=Settings(actor="tester", **options))
        opened.append(store)
        return Opened(store)

    yield open_one
    for store in opened:
        with suppress(StoreError, NotFound):
            store.collection(THINGS).parts.nearest.close()
        store.ledger.close()


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that every user of the machine can reach."""
    path = Path(tempfile.mkdtemp(prefix="atlas-test-"))
    path.chmod(0o755)
    yield path
    for directory in path.rglob("*"):
        if directory.is_dir():
            directory.chmod(0o755)
    shutil.rmtree(path)
