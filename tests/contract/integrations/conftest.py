"""A memory for the adapters: opened here, and over a server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import atlas
from atlas.remote.system import RemoteMemory
from atlas.testing import HashEmbedder
from tests.support.serving import serving


@pytest.fixture(params=["local", "remote"])
def memory(request, tmp_path) -> Iterator[atlas.MemorySystem | RemoteMemory]:
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as memory:
        if request.param == "local":
            yield memory
            return
        with serving(memory) as address, atlas.connect(address) as remote:
            yield remote
