"""The process that looks for concepts by itself, from the store that begins it to the undo of what it added."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import atlas
from atlas.core.errors import EmbeddingUnavailable
from atlas.core.types import Outcome, Task, Trajectory
from atlas.embedding.sentence_transformers import SentenceTransformerEmbedder
from atlas.infra.child_process import module_command
from atlas.jobs.compression.automatic import compress_store
from atlas.memory.concepts.automatic import MODULE, RESULT_NOTE, begin_search, search_environment, search_lock
from atlas.testing import HashEmbedder
from tests.support.stores import MODEL
from tests.support.waiting import GIVE_UP_SECONDS


def attempt(n):
    program = (
        f"def solve_{n}(rows):\n    total = 0\n    for row in rows:\n        for cell in row:\n"
        f"            if cell > {n}:\n                total += cell * 2\n    return total + {n}\n"
    )
    tests = {"test_list": [f"assert solve_{n}([[100]]) == {200 + n}"]}
    task = Task(f"t{n}", "", f"sum the cells above {n}", context=tests)
    return Trajectory(task, (), Outcome(True), metadata={"solution": program})


@pytest.fixture(autouse=True)
def _without_word_pieces(monkeypatch):
    """They take long to prepare, in this process and in that of the search, and play no part here."""
    monkeypatch.setenv("ATLAS_LATE_INTERACTION", "0")


def opened(store, every=6, **options):
    settings = atlas.Settings(embedding_model=MODEL, compress_every=every, late_interaction=False)
    return atlas.open_memory(store, settings=settings, **options)


def wait_for_result(memory):
    """Return what the search left, once it has ended."""
    until = time.monotonic() + GIVE_UP_SECONDS
    while not (result := memory.storage.ledger.notes.read(RESULT_NOTE).get("")):
        assert time.monotonic() < until, "the search did not end"
        time.sleep(0.1)
    with search_lock(memory.storage.path).locked(GIVE_UP_SECONDS) as is_over:
        assert is_over
    return result


def test_a_search_begins_in_the_background_and_what_it_adds_can_be_undone(tmp_path):
    with opened(tmp_path / "store") as memory:
        stored = [memory.store(attempt(n)) for n in range(6)]
        assert [answer.get("compression") for answer in stored] == [None] * 5 + ["started"]
        result = wait_for_result(memory)
        assert "read 6 programs and added" in result
        assert memory.compression_status().startswith(result)
        [added] = [done for done in memory.storage.history() if done.kind == "compress"]
        assert (added.actor, added.counts["added"]) == ("automatic", len(memory.concepts))
        assert len(memory.concepts) > 0
        memory.undo(added.id)
        assert len(memory.concepts) == 0
        assert "and added nothing." in compress_store(memory.storage.path), "what was undone does not come back"


def test_a_second_search_beside_the_first_does_nothing(tmp_path):
    with opened(tmp_path / "store") as memory:
        memory.store(attempt(1))
        with search_lock(memory.storage.path).locked():
            command = [sys.executable, "-W", "ignore", "-m", MODULE, str(memory.storage.path)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=GIVE_UP_SECONDS)
        assert (done.returncode, done.stderr) == (0, "")
        assert memory.storage.ledger.notes.read(RESULT_NOTE) == {}


def test_a_status_that_looks_whether_a_search_runs_prevents_none(tmp_path):
    with opened(tmp_path / "store") as memory, ThreadPoolExecutor() as threads:
        with search_lock(memory.storage.path).locked():
            search = threads.submit(compress_store, memory.storage.path)
            time.sleep(0.5)
        assert "read 0 programs" in search.result()


@pytest.mark.parametrize("engine", ["SQLite", "PostgreSQL"])
def test_a_search_that_finds_nothing_adds_nothing(tmp_path, engine, request):
    store = tmp_path / "store" if engine == "SQLite" else request.getfixturevalue("postgres_address")
    with opened(store) as memory:
        memory.store(attempt(1))
        assert "read 1 programs and added nothing." in compress_store(memory.storage.path)
        assert [done.kind for done in memory.storage.history()] == ["store"]


def test_the_search_of_a_store_in_postgresql_has_its_password(postgres_address):
    with opened(postgres_address.replace("atlas@", "atlas:secret@")) as memory:
        assert "atlas:secret@" in search_environment(memory.storage)["ATLAS_STORE"]
        assert "secret" not in memory.storage.location
        assert begin_search(memory.storage)
        assert "read 0 programs and added nothing." in wait_for_result(memory)


def search_with(memory, **options):
    """Return the status of the process that searches with other options than the store has."""
    command = module_command(MODULE, str(memory.storage.path))
    environment = {**search_environment(memory.storage), **options}
    return subprocess.run(command, env=environment, capture_output=True, timeout=GIVE_UP_SECONDS).returncode


def test_the_status_says_why_a_search_could_not_open_the_store(tmp_path):
    with opened(tmp_path / "store") as memory:
        assert search_with(memory, ATLAS_BATCH_SIZE="many") == 1
        assert "failed (expected int for ATLAS_BATCH_SIZE" in memory.compression_status()
        assert search_with(memory) == 0
        assert "failed" not in memory.compression_status()


def test_the_status_says_why_a_search_failed(tmp_path, monkeypatch):
    def fail(*given, **options):
        raise EmbeddingUnavailable("the model's files are gone")

    with opened(tmp_path / "store", every=0) as memory:
        for n in range(6):
            memory.store(attempt(n))
        monkeypatch.setattr(SentenceTransformerEmbedder, "encode_batch", fail)
        compress_store(memory.storage.path)
        assert "failed (the model's files are gone)" in memory.storage.ledger.notes.read(RESULT_NOTE)[""]
        assert len(memory.concepts) == 0


def test_an_embedder_of_ones_own_and_a_read_only_store_begin_none(tmp_path):
    with atlas.open_memory(
        tmp_path / "own", embedder=HashEmbedder(), settings=atlas.Settings(compress_every=1)
    ) as memory:
        assert "compression" not in memory.store(attempt(1)) | memory.store(attempt(2))
        assert "are not extracted from stored successes" in memory.compression_status()
    assert "automatic" not in "".join(path.name for path in (tmp_path / "own").iterdir())


@pytest.mark.parametrize("every", [0, 6])
def test_no_more_is_stored_than_the_attempts_until_it_is_due(tmp_path, every):
    with opened(tmp_path / "store", every) as memory:
        assert all("compression" not in memory.store(attempt(n)) for n in range(5))
        assert len(memory.concepts) == 0


def test_the_search_imports_nothing_from_the_working_directory(tmp_path, monkeypatch):
    """It may be a checkout of somebody else's, with a module named as one that the search imports."""
    (tmp_path / "filelock.py").write_text("open('imported', 'w')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with opened(tmp_path / "store") as memory:
        assert begin_search(memory.storage)
        wait_for_result(memory)
    assert not (tmp_path / "imported").exists()
