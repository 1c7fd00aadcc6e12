"""The dashboard on a store, without a browser."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import atlas
from atlas.core.types import Vectors
from atlas.maps import map as maps
from atlas.maps.knn import Neighbours
from atlas.maps.projection import Coordinates
from tests.support.dashboard import Dashboard, page_at
from tests.support.stores import opened_store


@pytest.fixture(scope="session", autouse=True)
def _one_layout() -> Iterator[None]:
    """Lay out equal vectors once in this process: most stores of these tests are alike, and each page has a map."""
    fit, layouts = maps.fit, dict[tuple[bytes, str, int], Coordinates]()

    def fit_once(vectors: Vectors, neighbours: Neighbours, *, engine: str, seed: int, on_progress: Any) -> Coordinates:
        key = vectors.tobytes(), engine, seed
        if key not in layouts:
            layouts[key] = fit(vectors, neighbours, engine=engine, seed=seed, on_progress=on_progress)
        return layouts[key].copy()

    with pytest.MonkeyPatch.context() as surroundings:
        surroundings.setattr(maps, "fit", fit_once)
        yield


@pytest.fixture
def dashboard() -> Iterator[Dashboard]:
    """A page, by its name and what its URL says, over the store at a path."""
    before = dict(os.environ)

    def open_page(store: Path, page: str, *, read_only: bool = False, **query: str) -> AppTest:
        os.environ.update(ATLAS_STORE=str(store), ATLAS_READ_ONLY="1" if read_only else "0")
        return page_at(page, query).run()

    yield open_page
    st.cache_resource.clear()
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[atlas.MemorySystem]:
    """An empty memory, beside the dashboard's own view of it."""
    with opened_store(tmp_path) as opened:
        yield opened
