"""Writers at once, and a ChromaDB server that is killed under them: nothing is lost, and nothing cannot be found."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from atlas.core.settings import Settings
from atlas.storage.maintenance.doctor import examine
from atlas.storage.store import Store
from tests.support.processes.conversation import hear, start_together
from tests.support.storage.chroma_server import ChromaServer, running
from tests.support.storage.engines import every_engine
from tests.support.storage.ledgers import THINGS, vector_of

engine = every_engine
EXACT_MAX_ROWS, LAG_ROWS = 20, 25

WRITER = """
import sys
from atlas.core.settings import Settings
from atlas.storage.store import EmbeddingModel, Store
from atlas.storage.vectors.remote import index as remote_index, notes as index_notes
from tests.support.storage.ledgers import THINGS, Opened

remote_index.WRITING_SECONDS, index_notes.LEASE_SECONDS = 5.0, 15.0
place, index, name, n = sys.argv[1:5]
settings = Settings(index=index, exact_max_rows=20, index_lag_rows=25, index_timeout_seconds=2.0, actor=name)
opened = Opened(Store.open(place, settings=settings))
print("ready", flush=True)
sys.stdin.readline()
for i in range(int(n)):
    opened.add(f"{name}-{i}")
    print(f"{name}-{i}", flush=True)
opened.store.close()
"""


def write_and_kill(place: Path | str, server: ChromaServer, n_each: int) -> list[str]:
    """Let three processes add records, and kill the server midway; those that were acknowledged."""
    command = [sys.executable, "-c", WRITER, str(place), server.address]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    writers = [subprocess.Popen([*command, f"w{i}", str(n_each)], **pipes) for i in range(3)]
    start_together(writers)
    acknowledged = [hear(writers[0]) for _ in range(n_each // 2)]
    server.kill()
    time.sleep(0.5)
    server.start()
    for writer in writers:
        with writer:
            assert writer.stdout is not None
            acknowledged += writer.stdout.read().split()  # `communicate` loses lines that `hear` has buffered
        assert writer.returncode == 0
    return acknowledged


def check(place: Path | str, server: ChromaServer, n_each: int) -> None:
    acknowledged = write_and_kill(place, server, n_each)
    assert len(acknowledged) == 3 * n_each
    settings = Settings(index=server.address, exact_max_rows=EXACT_MAX_ROWS, index_lag_rows=LAG_ROWS)
    with Store.open(place, settings=settings) as store:
        nearest = store.collection(THINGS).parts.nearest
        assert nearest.index is not None
        missing = [key for key in acknowledged if store.collection(THINGS).query(vector_of(key), 1).ids != [key]]
        assert missing == []
        until = time.monotonic() + 60
        while nearest.updater.n_behind() and time.monotonic() < until:  # nobody writes soon after what had no answer
            store.catch_up()
            time.sleep(0.2)
        assert nearest.updater.n_behind() == 0
        assert nearest.index.count() == 3 * n_each
        missing = [key for key in acknowledged if store.collection(THINGS).query(vector_of(key), 1).ids != [key]]
        assert missing == []
        seqs = {nearest.index.query(vector_of(key), 1)[0][0] for key in acknowledged}
        assert len(seqs) == 3 * n_each  # each is found by the index alone, too
        assert not [finding for finding in examine(store) if finding.problem]


@pytest.fixture
def place(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> Path | str:
    return tmp_path / "store" if engine == "sqlite" else str(request.getfixturevalue("postgres_address"))


def test_three_writers_and_a_killed_server_lose_nothing(place: Path | str, tmp_path: Path) -> None:
    with running(tmp_path / "server") as server:
        check(place, server, 50)


@pytest.mark.slow
def test_three_writers_of_many_and_a_killed_server_lose_nothing(place: Path | str, tmp_path: Path) -> None:
    with running(tmp_path / "server") as server:
        check(place, server, 500)


def test_a_writer_that_was_killed_holds_the_index_no_longer(place: Path | str, chroma_server: ChromaServer) -> None:
    program = WRITER.replace("opened.store.close()", "").replace("for i in range(int(n)):", "for i in range(30):")
    program += (
        "index = opened.store.collection(THINGS).parts.nearest.index\n"
        "with index.locked():\n    print('holds', flush=True)\n    sys.stdin.readline()\n"
    )
    command = [sys.executable, "-c", program, str(place), chroma_server.address, "w", "30"]
    writer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    start_together([writer])
    while hear(writer) != "holds":
        pass
    settings = Settings(index=chroma_server.address, exact_max_rows=EXACT_MAX_ROWS, index_lag_rows=LAG_ROWS)
    with Store.open(place, settings=settings) as store:
        index = store.collection(THINGS).parts.nearest.index
        assert index is not None
        with index.locked(0) as is_held:
            assert not is_held
        writer.kill()
        writer.communicate()
        with index.locked(0) as is_held:
            assert is_held
