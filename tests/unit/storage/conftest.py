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
def open_store(tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Opens the test's store, as often as one likes; all of them let go of their files at the end."""
    opened: list[Store] = []

    def open_one(path: Path = tmp_path / "store", *, read_only: bool = False, **options: Any) -> Opened:
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
