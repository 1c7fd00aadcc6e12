"""What the analysis reads of a store."""

from __future__ import annotations

import numpy as np
import pytest

import atlas
from atlas.core.errors import NotFound
from atlas.maps.snapshot import read_embedded, reread
from atlas.memory.experience.memory import COLLECTION
from atlas.storage.store import Store
from atlas.testing import HashEmbedder


def attempt(description, **given):
    return atlas.Trajectory(
        task=atlas.Task(id=description, domain="", description=description),
        steps=(),
        outcome=atlas.Outcome(True),
        **given,
    )


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(16), settings=atlas.Settings()) as opened:
        yield opened


def read(memory, **given):
    return read_embedded(memory.storage, COLLECTION, **given)


def test_each_record_has_a_vector_a_title_and_a_text(memory):
    ids = memory.experience.store_many([attempt("cancel a flight"), attempt("sort a list")])
    found = read(memory)
    assert found.ids == tuple(ids)
    assert found.titles == found.texts == ("cancel a flight", "sort a list")
    assert np.allclose(found.vectors, HashEmbedder(16).encode_batch(["cancel a flight", "sort a list"]), atol=1e-6)
    assert (found.model, found.revision) == ("hash", memory.revision())


def test_only_some_records_can_be_read(memory):
    ids = memory.experience.store_many([attempt("a"), attempt("b"), attempt("c")])
    assert read(memory, ids=[ids[2], ids[0], "unknown"]).ids == (ids[0], ids[2])


def test_an_empty_collection_is_empty(memory):
    assert read(memory).ids == ()
    assert read(memory).vectors.shape == (0, 16)


def test_a_store_without_a_model_is_told(tmp_path):
    with Store.open(tmp_path / "new") as store, pytest.raises(NotFound, match="no embedding model yet"):
        read_embedded(store, COLLECTION)


def test_what_changed_is_read_again(memory):
    first, second, third = memory.experience.store_many([attempt("a"), attempt("b"), attempt("c")])
    earlier = read(memory)
    assert reread(memory.storage, COLLECTION, earlier) == earlier
    memory.experience.delete([first])
    fourth = memory.experience.store(attempt("d"))
    now = reread(memory.storage, COLLECTION, earlier)
    assert (now.ids, now.titles) == ((second, third, fourth), ("b", "c", "d"))
    assert np.allclose(now.vectors, read(memory).vectors)
    assert now.revision == memory.revision()


def test_after_a_restore_all_is_read_again(memory, tmp_path):
    from atlas.storage.maintenance.backup import backup, restore

    kept = memory.experience.store(attempt("a"))
    backup(memory.storage, tmp_path / "copy")
    memory.experience.store(attempt("b"))
    earlier = read(memory)
    restore(memory.storage, tmp_path / "copy")
    assert reread(memory.storage, COLLECTION, earlier).ids == (kept,)
