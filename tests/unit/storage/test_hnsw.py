"""pgvector's index: what it finds, also narrowed and behind the ledger, and what is left of it where a writer ends."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from atlas.core.errors import StoreUnavailable
from atlas.core.settings import Settings
from atlas.storage.following_index import IndexCheckpoint
from atlas.storage.history import UnfinishedPurge
from atlas.storage.postgres import hnsw
from atlas.storage.store import EmbeddingModel, Store
from atlas.storage.vectors import exact_search, vector_search
from tests.support.storage.engines import rows_of, run_in
from tests.support.storage.ledgers import THINGS, Opened, vector_of

FEW = {"exact_max_rows": 10, "index_lag_rows": 10**6}
IDS = [f"r{i}" for i in range(60)]
WIDE = 64


@pytest.fixture
def opened(open_store):
    return open_store(**FEW)


@pytest.fixture
def engine():
    return "postgres"


@pytest.fixture
def index(opened):
    return opened.store.collection(THINGS).parts.nearest.index


def clustered(n, *, seed):
    """Unit vectors around 40 centres, as texts about 40 subjects lie."""
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(1).standard_normal((40, WIDE))
    vectors = centres[random.integers(0, 40, n)] + 0.35 * random.standard_normal((n, WIDE))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("exact_among", [0, 20_000])
def test_it_finds_the_neighbours_that_a_full_comparison_finds_also_among_few(
    postgres_address, monkeypatch, exact_among
):
    monkeypatch.setattr(hnsw, "MAX_EXACT", exact_among)
    monkeypatch.setattr(vector_search, "MAX_COMPARED", 0)
    monkeypatch.setattr(exact_search, "MAX_RESIDENT", 0)
    vectors, queries = clustered(4_000, seed=2), clustered(50, seed=3)
    shares = {None: 1, 20: 20, 200: 200}
    with Store.open(postgres_address, settings=Settings(**FEW)) as store:
        store.bind(EmbeddingModel("made", WIDE))
        things = store.collection(THINGS)
        metadatas = [{"of_20": i % 20, "of_200": i % 200} for i in range(4_000)]
        things.add([str(i) for i in range(4_000)], list(vectors), metadatas, ["text"] * 4_000)
        assert store.catch_up() == 4_000
        for share, step in shares.items():
            where = {f"of_{share}": 0} if share else None
            numbers = np.arange(0, 4_000, step)
            found = [set(things.query(query, 10, where).ids) for query in queries]
            true = [{str(numbers[i]) for i in np.argsort(-(vectors[numbers] @ query))[:10]} for query in queries]
            assert np.mean([len(one & other) / 10 for one, other in zip(found, true, strict=True)]) >= 0.99, share


def test_similarities_are_exact_though_the_index_holds_half_the_digits(opened, index):
    opened.add(*IDS)
    opened.store.catch_up()
    vector = vector_of("r3") + 0.01 * vector_of("r4")
    (first, *_) = index.query(vector, 5)
    assert first[1] == pytest.approx(float(vector @ vector_of("r3")), abs=1e-6)


def test_what_changed_since_its_checkpoint_counts_for_more_than_what_it_says(opened):
    opened.add(*IDS)
    opened.store.catch_up()
    opened.edit("r1", "another text")
    opened.delete("r2")
    opened.add("new")
    assert opened.nearest("new") == ["new"]
    assert opened.store.collection(THINGS).query(vector_of("another text"), 1).ids == ["r1"]
    assert "r2" not in opened.nearest("r2", 60)
    opened.store.catch_up()
    assert opened.store.collection(THINGS).parts.nearest.index.count() == 60
    assert "r2" not in opened.nearest("r2", 60)


def test_a_writer_that_ends_before_its_checkpoint_leaves_nothing(opened, index):
    opened.add(*IDS)

    def write_and_fail():
        with index.locked():
            index.upsert(["1:0"], vector_of("r0")[None])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_and_fail()
    assert (index.count(), index.checkpoint()) == (0, IndexCheckpoint())
    assert opened.store.catch_up() == 60


def test_of_two_that_catch_up_at_once_one_does(opened, index, open_store):
    opened.add(*IDS)
    other = open_store(**FEW).store.collection(THINGS).parts.nearest
    with index.locked() as is_held:
        assert is_held
        assert other.updater.catch_up(timeout_seconds=0.05) == 0
    assert other.updater.catch_up() == 60


def test_whoever_reads_an_older_state_goes_on_finding_all_of_it(opened, open_store):
    opened.add(*IDS)
    opened.store.catch_up()
    other = open_store(**FEW)
    with opened.store.reading():
        assert opened.nearest("r1") == ["r1"]
        thread = threading.Thread(target=renew, args=(other,))
        thread.start()
        thread.join()
        assert opened.nearest("r1") == ["r1"]
        assert opened.nearest("new") != ["new"]
    assert opened.nearest("new") == ["new"]


def renew(other: Opened) -> None:
    """Clear the index and build it from one record more."""
    other.add("new")
    other.store.collection(THINGS).parts.nearest.index.clear()
    other.store.catch_up()


@pytest.mark.parametrize("many", [5, 10**6])
def test_much_that_is_new_is_indexed_at_once_and_little_one_by_one(opened, postgres_address, monkeypatch, many):
    monkeypatch.setattr(hnsw, "MANY_CHANGES", many)
    opened.add(*IDS)
    opened.store.catch_up()
    before = index_number(postgres_address)
    opened.add(*[f"new {i}" for i in range(40)])
    assert opened.store.catch_up() == 40
    assert (index_number(postgres_address) != before) == (many == 5)
    assert all(opened.nearest(one) == [one] for one in (*IDS, "new 0", "new 39"))


def index_number(address):
    """The server's number of the HNSW index, which a new one of the same name does not have."""
    [(number,)] = rows_of(
        address,
        "SELECT oid FROM pg_class WHERE relname LIKE 'index_vectors\\_%' AND relam = "
        "(SELECT oid FROM pg_am WHERE amname = 'hnsw') AND relnamespace = current_schema::regnamespace",
    )
    return number


def test_a_store_that_is_opened_for_reading_only_asks_the_index(opened, open_store, monkeypatch):
    opened.add(*IDS)
    opened.store.catch_up()
    reader = open_store(read_only=True, **FEW)
    monkeypatch.setattr(reader.store.ledger, "vector_changes", None)  # it need not read what the index has
    assert reader.nearest("r5") == ["r5"]


def test_a_purged_text_leaves_no_vector_in_the_index(opened, index):
    opened.add(*IDS)
    opened.store.catch_up()
    opened.delete("r7")
    ledger = opened.store.ledger
    left = UnfinishedPurge(collections=(THINGS,))
    ledger.purges.purge(
        [(THINGS, "r7")], ledger.new_operation("purge", actor="t"), left, unchanged_since=ledger.moment()
    )
    assert opened.store.finish_purges() == ""
    assert index.count() == 59
    assert len(opened.nearest("r8", 60)) == 59


def test_a_server_without_pgvector_is_said_with_what_to_install(postgres_server, postgres_address):
    run_in(postgres_address, "CREATE DATABASE bare TEMPLATE template0")
    bare = postgres_address.replace("/postgres?", "/bare?") + "&options=-c%20extension_control_path%3D/nowhere"
    with pytest.raises(StoreUnavailable, match=r"has no pgvector; install it .*Nothing was created"):
        Store.open(bare)
