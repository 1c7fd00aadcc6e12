"""Fixtures that every test may use."""

from __future__ import annotations

import gc
import os
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read by huggingface_hub when it is imported
os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run side by side, where further threads only wait for others
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # tests start hundreds of programs, which would each compile ATLAS
os.environ["ATLAS_COMPRESS_EVERY"] = "0"  # no test starts a process that outlives it
os.environ["ATLAS_EVALUATE_GROWTH"] = "0"
os.environ["ATLAS_LLM_FORBIDDEN"] = "1"  # no test asks a model that costs money
os.environ.setdefault("STREAMLIT_LOGGER_ENABLE_RICH", "false")  # drawing a traceback takes as long as drawing a page

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import certifi
import pytest
from hypothesis import settings

settings.register_profile("atlas", deadline=None)  # a busy machine is no fault of the code
settings.load_profile("atlas")
sys.dont_write_bytecode = False  # and tests are rewritten once
pytest.register_assert_rewrite("tests.support")  # a helper's failed assertion says as much as a test's

from atlas.embedding.minilm import bundled  # noqa: E402, after the settings above
from atlas.embedding.onnx_encoder import OnnxEncoder  # noqa: E402, likewise
from tests.support.lacking import lacking  # noqa: E402, its assertions rewritten
from tests.support.storage import chroma_server as chroma_servers  # noqa: E402, its assertions rewritten
from tests.support.storage.postgres import Server, close_idle_connections, running  # noqa: E402, likewise


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep the collector of garbage off what stays to the end: every full collection would walk all tests and modules.

    A page collects in full after each of its runs, so this is most of what a late test costs.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def real_data(pytestconfig: pytest.Config) -> Path:
    """The directory of real agent runs; its tests are skipped if it is absent, but not in CI."""
    directory = Path(os.environ.get("ATLAS_REAL_DATA") or pytestconfig.rootpath.parent / "shared" / "data")
    if not directory.is_dir():
        lacking(f"no real agent runs at {directory}; set ATLAS_REAL_DATA to their directory")
    return directory


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what says which servers run, and files of stores in PostgreSQL, out of the user's own directory."""
    with pytest.MonkeyPatch.context() as surroundings:
        surroundings.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_certificate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Trust one authority: each HTTP client reads all that it trusts, and no test speaks with anybody elsewhere."""
    first, end, _ = Path(certifi.where()).read_text(encoding="utf-8").partition("-----END CERTIFICATE-----\n")
    file = tmp_path_factory.mktemp("certificates") / "one.pem"
    file.write_text(first + end, encoding="ascii", errors="replace")
    with pytest.MonkeyPatch.context() as surroundings:
        surroundings.setenv("SSL_CERT_FILE", str(file))
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_model() -> Iterator[None]:
    """Load the bundled model once in this process, though each command and page makes an embedder of its own."""
    load = bundled.bundled_encoder

    @cache
    def loaded(directory: Path, files: Path, batch_size: int) -> OnnxEncoder:
        return load(batch_size)

    def find(batch_size: int) -> OnnxEncoder:
        return loaded(bundled.DIRECTORY, bundled.bundled_files(), batch_size)

    with pytest.MonkeyPatch.context() as surroundings:
        surroundings.setattr(bundled, "bundled_encoder", find)
        yield


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """A PostgreSQL server of this test process."""
    with running() as server:
        yield server


@pytest.fixture(scope="session")
def chroma_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chroma_servers.ChromaServer]:
    """A ChromaDB server of this test process, which nobody kills."""
    with chroma_servers.running(tmp_path_factory.mktemp("chroma-server")) as server:
        yield server


@pytest.fixture
def postgres_address(postgres_server: Server, tmp_path: Path, monkeypatch) -> Iterator[str]:
    """The address of a store in a schema of its own, whose files of this machine are in the test's directory."""
    monkeypatch.setenv("ATLAS_LOCAL", str(tmp_path / "local"))
    yield postgres_server.new_address()
    close_idle_connections()
