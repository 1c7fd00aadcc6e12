"""What every index of vectors does, and how many of the true neighbours it finds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from atlas.protocols.infra import VectorIndex
from atlas.storage.following_index import IndexCheckpoint, IndexUnusable
from atlas.storage.store import Store
from atlas.storage.vectors.chroma import ChromaIndex
from atlas.storage.vectors.remote.opening import RemoteIndexes
from tests.support.storage.pinecone_server import KEY, serving
from tests.support.waiting import GIVE_UP_SECONDS

DIMENSION = 32


@pytest.fixture(params=["chroma", "chroma server", "pinecone"])
def index(request, tmp_path):
    if request.param == "chroma":
        chroma = ChromaIndex(tmp_path / "chroma", "things")
        yield chroma
        chroma.close()
    else:
        with remote(request, tmp_path) as one:
            yield one


@contextmanager
def remote(request, tmp_path):
    """An index in a service, of which a ledger of its own keeps the notes."""
    is_chroma = request.param == "chroma server"
    server = request.getfixturevalue("chroma_server" if is_chroma else "pinecone_server")
    indexes = RemoteIndexes(server.address, seconds=30.0)
    with Store.open(tmp_path / "store") as store:
        yield indexes.index(store.ledger, "things", DIMENSION)
    indexes.close()


@pytest.fixture
def pinecone_server(monkeypatch):
    monkeypatch.setenv("PINECONE_API_KEY", KEY)
    with serving(DIMENSION) as server:
        yield server


def clustered(n, *, seed):
    """Unit vectors around 40 centres, as texts about 40 subjects lie."""
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(1).standard_normal((40, DIMENSION))
    vectors = centres[random.integers(0, 40, n)] + 0.35 * random.standard_normal((n, DIMENSION))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def keys_of(found):
    return [key for key, _ in found]


def test_it_is_what_the_seam_asks_for(index):
    assert isinstance(index, VectorIndex)


def test_it_finds_the_neighbours_that_a_full_comparison_finds(index):
    vectors, queries = clustered(2_000, seed=2), clustered(100, seed=3)
    keys = [f"k{i}" for i in range(2_000)]
    index.upsert(keys, vectors)
    truth = np.argsort(-(queries @ vectors.T), axis=1)[:, :10]
    shares = [
        len({f"k{i}" for i in row} & set(keys_of(index.query(query, 10)))) / 10
        for row, query in zip(truth, queries, strict=True)
    ]
    assert np.mean(shares) >= 0.95


def test_it_gives_the_cosine_highest_first(index):
    vectors = clustered(50, seed=4)
    index.upsert([str(i) for i in range(50)], vectors)
    found = index.query(vectors[7], 5)
    assert found[0][0] == "7"
    values = [value for _, value in found]
    assert values == sorted(values, reverse=True)
    np.testing.assert_allclose(values, np.sort(vectors @ vectors[7])[::-1][:5], atol=1e-5)


def test_a_key_written_again_holds_the_new_vector_only(index):
    vectors = clustered(3, seed=5)
    index.upsert(["a", "b"], vectors[:2])
    index.upsert(["a"], vectors[2:])
    assert index.count() == 2
    assert keys_of(index.query(vectors[2], 1)) == ["a"]
    assert dict(index.query(vectors[0], 2))["a"] == pytest.approx(float(vectors[0] @ vectors[2]), abs=1e-5)


def test_a_removed_key_is_not_found_and_its_place_can_be_used_again(index):
    vectors = clustered(4, seed=6)
    index.upsert(["a", "b", "c"], vectors[:3])
    index.remove(["b", "never there"])
    assert index.count() == 2
    assert set(keys_of(index.query(vectors[1], 9))) == {"a", "c"}
    index.upsert(["d"], vectors[3:])
    assert keys_of(index.query(vectors[3], 1)) == ["d"]
    assert set(keys_of(index.query(vectors[3], 9))) == {"a", "c", "d"}


@pytest.mark.parametrize("k", [0, -1])
def test_asking_for_none_gives_none(index, k):
    index.upsert(["a"], clustered(1, seed=7))
    assert index.query(clustered(1, seed=7)[0], k) == []


def test_an_empty_or_cleared_index_finds_nothing(index):
    vectors = clustered(2, seed=8)
    assert index.query(vectors[0], 5) == []
    index.upsert(["a", "b"], vectors)
    index.clear()
    assert index.count() == 0
    assert index.query(vectors[0], 5) == []
    index.upsert(["c"], vectors[:1])
    assert keys_of(index.query(vectors[0], 5)) == ["c"]


def test_writing_nothing_is_no_error(index):
    index.upsert([], np.zeros((0, DIMENSION), np.float32))
    index.remove([])
    assert index.count() == 0


def test_closed_chroma_clients_let_go_of_their_files(tmp_path):
    chroma, vectors = ChromaIndex(tmp_path / "chroma", "things"), clustered(3, seed=10)
    chroma.upsert(["a"], vectors[:1])
    chroma.set_checkpoint("ledger", 1)
    for _ in range(10):
        assert keys_of(chroma.query(vectors[0], 5)) == ["a"]
        chroma.close()
    deadline = time.monotonic() + GIVE_UP_SECONDS
    while open_files(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)  # ChromaDB closes its database in a thread of its own
    assert open_files(tmp_path) == []


def open_files(path):
    targets = [link.resolve() for link in Path("/proc/self/fd").iterdir()]
    return [target for target in targets if target.is_relative_to(path)]


def collections_in(directory):
    """The collections of an index's files, by name, as ChromaDB has them: what does with a client of its own."""
    code = (
        "import sys, chromadb; client = chromadb.PersistentClient(sys.argv[1]); "
        "[client.get_collection(one).modify(name=two) for one, two in [sys.argv[2:4]] if two]; "
        "two = sys.argv[4:] and client.create_collection(sys.argv[4]); "
        "print(*sorted(one.name for one in client.list_collections()))"
    )
    return lambda *names: subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(directory), *names], capture_output=True, text=True, check=True
    ).stdout.split()


@pytest.mark.parametrize(
    ("collection", "name"), [("atlas_experiences", "atlas_experiences"), ("Erlebnisse für mich", "vectors")]
)
def test_chromadb_has_the_collection_under_its_name_where_it_takes_it(tmp_path, collection, name):
    chroma = ChromaIndex(tmp_path / "chroma", collection)
    chroma.upsert(["a"], clustered(1, seed=16))
    chroma.close()
    assert collections_in(tmp_path / "chroma" / collection)("", "") == [name]


@pytest.mark.parametrize("also", [(), ("vectors",)])
def test_an_index_of_the_former_name_is_renamed_and_keeps_its_vectors(tmp_path, also):
    """Whether or not an earlier version has since created an empty collection of that name."""
    vectors, chroma = clustered(1_200, seed=17), ChromaIndex(tmp_path / "chroma", "things")
    chroma.begin(IndexCheckpoint())
    chroma.upsert([str(i) for i in range(1_200)], vectors)
    chroma.set_checkpoint("ledger", 1)
    checkpoint, files = chroma.checkpoint(), collections_in(tmp_path / "chroma" / "things")
    assert files("things", "" if also else "vectors", *also) == (["things", "vectors"] if also else ["vectors"])
    assert keys_of(chroma.query(vectors[7], 1, checkpoint=checkpoint)) == ["7"]
    assert chroma.count() == 1_200
    chroma.close()
    assert files("", "") == ["things"]
    assert chroma.checkpoint() == checkpoint


def test_a_second_chroma_client_sees_what_the_first_one_checkpointed(tmp_path):
    first, second = ChromaIndex(tmp_path / "chroma", "things"), ChromaIndex(tmp_path / "chroma", "things")
    vectors = clustered(3, seed=10)
    first.upsert(["a"], vectors[:1])
    first.set_checkpoint("ledger", 1)
    assert keys_of(second.query(vectors[0], 5)) == ["a"]
    first.upsert(["b"], vectors[1:2])
    first.set_checkpoint("ledger", 2)
    assert set(keys_of(second.query(vectors[0], 5))) == {"a", "b"}
    assert second.checkpoint().revision == 2
    first.close()
    second.close()


@pytest.fixture
def checkpointed(tmp_path):
    """An index of three keys with its checkpoint, in a directory of its own."""
    chroma = ChromaIndex(tmp_path / "chroma", "things")
    chroma.upsert(["a", "b", "c"], clustered(3, seed=11))
    chroma.set_checkpoint("ledger", 3)
    yield chroma
    chroma.close()


def another_three(path):
    """Put other files with as many keys in place of an index's."""
    path.with_name("other").mkdir(exist_ok=True)
    other = ChromaIndex(path.with_name("other") / "chroma", "things")
    other.upsert(["x", "y", "z"], clustered(3, seed=12))
    other.set_checkpoint("ledger", 2)
    other.close()
    shutil.rmtree(path / "chroma")
    shutil.copytree(path.with_name("other") / "chroma", path / "chroma")


def deleted(path):
    shutil.rmtree(path / "chroma")


def emptied(path):
    shutil.rmtree(path / "chroma" / "things")
    (path / "chroma" / "things").mkdir()


GONE = [deleted, emptied, another_three]


@pytest.mark.parametrize("go", GONE)
def test_an_index_is_written_on_only_from_the_checkpoint_that_was_read(checkpointed, tmp_path, go):
    checkpoint = checkpointed.checkpoint()
    assert checkpoint.n_keys == 3
    go(tmp_path)
    with pytest.raises(IndexUnusable, match="the index was deleted or replaced after its checkpoint was read"):
        checkpointed.begin(checkpoint)
    checkpointed.clear()
    checkpointed.begin(IndexCheckpoint())
    checkpointed.upsert(["d"], clustered(1, seed=13))
    checkpointed.set_checkpoint("ledger", 4, n_keys=1)
    assert checkpointed.checkpoint().n_keys == 1


@pytest.mark.parametrize("go", GONE)
def test_an_index_that_goes_while_it_is_written_is_not_checkpointed(checkpointed, tmp_path, go):
    checkpointed.begin(checkpointed.checkpoint())
    checkpointed.upsert(["d"], clustered(1, seed=13))
    go(tmp_path)
    with pytest.raises(IndexUnusable):
        checkpointed.set_checkpoint("ledger", 4)
    assert checkpointed.checkpoint().revision != 4


def test_an_index_that_does_not_hold_what_its_ledger_does_is_not_checkpointed(checkpointed):
    checkpointed.begin(checkpointed.checkpoint())
    checkpointed.upsert(["d"], clustered(1, seed=13))
    with pytest.raises(IndexUnusable, match="the index contains 4 vectors, but the ledger 5"):
        checkpointed.set_checkpoint("ledger", 4, n_keys=5)
    assert checkpointed.checkpoint() == IndexCheckpoint()


@pytest.mark.parametrize("go", GONE)
def test_a_query_of_a_checkpointed_index_is_not_answered_by_what_stands_in_its_place(checkpointed, tmp_path, go):
    vectors, checkpoint = clustered(3, seed=11), checkpointed.checkpoint()
    go(tmp_path)
    with pytest.raises(IndexUnusable, match="the index was deleted or replaced after its checkpoint was read"):
        checkpointed.query(vectors[0], 3, checkpoint=checkpoint)


class PanicException(BaseException):
    """As ChromaDB's Rust raises it where its directory vanishes while it is opened."""


def test_a_panic_of_chromadb_is_an_index_out_of_use(checkpointed, monkeypatch):
    def panic(*_, **__):
        raise PanicException("unable to open database file")

    monkeypatch.setattr("chromadb.PersistentClient", panic)
    with pytest.raises(IndexUnusable, match="unable to open database file"):
        checkpointed.query(clustered(1, seed=14)[0], 1)


def test_what_the_process_held_in_memory_is_not_in_the_files(tmp_path):
    program = (
        "import sys, pathlib, numpy as np; from atlas.storage.vectors.chroma import ChromaIndex; "
        "index = ChromaIndex(pathlib.Path(sys.argv[1]), 'things'); "
        "index.upsert(['a'], np.eye(1, 32, dtype=np.float32)); index.set_checkpoint('ledger', 1)"
    )
    filled = os.environ | {"MALLOC_PERTURB_": "90"}  # whatever memory holds before it is used
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, env=filled)
    files = [path for name in ("data_level0.bin", "length.bin") for path in tmp_path.rglob(name)]
    assert [set(path.read_bytes()) for path in files] == [{0}, {0}]
