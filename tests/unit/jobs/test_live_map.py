"""The map as it follows the store."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import atlas
from atlas.jobs import live_map as map_source
from atlas.jobs.artefact import CACHE
from atlas.jobs.live_map import LiveMap
from atlas.jobs.map import MapFile
from atlas.maps.map import make_map
from atlas.maps.snapshot import read_embedded
from atlas.memory.experience.memory import COLLECTION
from atlas.storage.maintenance.backup import backup, restore
from atlas.testing import HashEmbedder
from tests.support.records import attempts


class Desk:
    """A worker that nobody asks for anything."""

    def status(self, key: str) -> None: ...


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(16), settings=atlas.Settings()) as opened:
        opened.experience.store_many(attempts(60))
        yield opened


@pytest.fixture
def live(memory):
    return LiveMap(memory, Desk())


@pytest.fixture
def large(memory):
    """The same where it counts as large, with a map that was made elsewhere."""
    MapFile(memory.storage.path / CACHE, COLLECTION).save(make_map(read_embedded(memory.storage, COLLECTION)))
    return LiveMap(memory, Desk(), max_synchronous=5)


@pytest.fixture
def readings(monkeypatch):
    """How many times all vectors of the store were read."""
    made = []

    def counted(*given):
        made.append(given)
        return read_embedded(*given)

    monkeypatch.setattr(map_source, "read_embedded", counted)
    return made


def add(memory, n: int) -> list[str]:
    return memory.experience.store_many([*attempts(80)][60 : 60 + n])


def places(found) -> dict[str, list[float]]:
    return dict(zip(found.ids, found.coordinates.tolist(), strict=True))


def test_writes_are_followed_without_reading_all_vectors_again(live, memory, readings):
    before = live.latest()
    for _ in range(3):
        memory.experience.delete(add(memory, 2)[:1])
        now = live.latest()
    assert set(now.ids) == set(memory.experience.ids())
    assert {one: places(now)[one] for one in before.ids} == places(before)
    assert len(readings) == 1


def test_marks_change_nothing_on_the_map(large, memory, readings):
    before = large.latest()
    memory.experience.change_marks(memory.experience.ids(), pinned=True)
    assert large.latest() is before
    assert readings == []


def test_domains_of_a_chosen_size_are_found_once_and_follow_the_store_then(live, memory, monkeypatch):
    before = live.latest(3)
    assert before.recipe.min_domain_size == 3
    monkeypatch.setattr(map_source, "regroup", lambda *given: pytest.fail("they were found again"))
    new = add(memory, 1)
    now = live.latest(3)
    assert now.ids == (*before.ids, *new)
    assert now.labels[:60].tolist() == before.labels.tolist()


def test_who_does_not_wait_is_given_the_map_of_a_large_store_as_it_was(large, memory, monkeypatch):
    may_read = threading.Event()

    def slow(*given):
        may_read.wait(20)
        return read_embedded(*given)

    monkeypatch.setattr(map_source, "read_embedded", slow)
    add(memory, 3)
    assert len(large.latest(is_awaited=False).ids) == 60
    assert len(large.latest(is_awaited=False).ids) == 60
    assert large.n_background_updates == 0
    may_read.set()
    large.wait()
    assert large.n_background_updates == 1
    assert len(large.latest(is_awaited=False).ids) == 63
    large.wait()
    assert large.n_background_updates == 1


def test_a_map_that_cannot_follow_stays_as_it_was(large, memory, monkeypatch):
    def fail(*given):
        raise OSError("the disk is gone")

    monkeypatch.setattr(map_source, "read_embedded", fail)
    add(memory, 3)
    large.latest(is_awaited=False)
    large.wait()
    assert (len(large.latest(is_awaited=False).ids), large.n_background_updates) == (60, 0)


def test_the_first_map_can_be_made_in_the_background(memory):
    live = LiveMap(memory, Desk())
    assert not live.has_map()
    live.begin()
    live.wait()
    assert (live.has_map(), live.n_background_updates) == (True, 1)
    live.begin()
    live.wait()
    assert live.n_background_updates == 1
    assert set(live.latest(is_awaited=False).ids) == set(memory.experience.ids())


def test_no_sketch_is_made_of_a_large_store_for_who_does_not_wait(memory, readings):
    live = LiveMap(memory, Desk(), max_synchronous=5)
    assert live.latest(is_awaited=False) is None
    live.wait()
    assert readings == []
    assert live.latest().domains == ()
    assert live.is_worker_needed()


def test_a_store_that_was_put_back_has_its_own_map_at_the_same_revision(live, memory, tmp_path):
    backup(memory.storage, tmp_path / "copy")
    add(memory, 2)
    assert len(live.latest().ids) == 62
    revision = memory.revision()
    restore(memory.storage, tmp_path / "copy")
    new = memory.experience.store_many([*attempts(90)][85:87])
    assert memory.revision() == revision
    assert set(new) <= set(live.latest().ids)
    assert set(live.latest().ids) == set(memory.experience.ids())


def test_a_map_of_another_embedding_model_is_made_anew_at_once_or_by_the_worker(live, memory, large):
    before = live.latest()
    assert not live.is_worker_needed()
    with memory.storage.ledger.database.write() as connection:
        connection.execute("UPDATE meta SET value = 'other' WHERE name = 'embedding_model'")
    assert live.latest().recipe.model == "other"
    assert before.recipe.model == "hash"
    file = MapFile(memory.storage.path / CACHE, COLLECTION)
    file.save(before)
    assert np.array_equal(large.latest().coordinates, before.coordinates)
    assert large.is_worker_needed()
