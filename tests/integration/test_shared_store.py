"""Several servers on one store in PostgreSQL: one result, one set of names, one job at a time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import atlas
from atlas.core.errors import PlanOutdated
from atlas.jobs import artefact
from atlas.jobs.artefact import CACHE
from atlas.jobs.duplicates import DuplicatesFile
from atlas.jobs.live_map import LiveMap
from atlas.jobs.map import MapFile, load_positions
from atlas.jobs.worker import JobStatus, Worker
from atlas.maps.labels import DomainNames
from atlas.maps.map import make_map
from atlas.maps.snapshot import read_embedded
from atlas.memory.experience.memory import COLLECTION
from atlas.memory.system import MemorySystem
from atlas.storage.maintenance.backup import NAMES, backup, restore
from atlas.storage.maintenance.copying import copy_store
from atlas.storage.maintenance.freeze import freeze
from atlas.storage.store import LABEL, Store
from atlas.testing import HashEmbedder
from tests.support.processes.jobs import SlowSearch, begun
from tests.support.repository import REPOSITORY
from tests.support.waiting import GIVE_UP_SECONDS

WORDS = ("cancel the flight", "sort numbers", "rotate the grid", "mend the pipeline", "draw a chart")

COUNTER = """
import sys, time
from atlas.storage.store import Store
store = Store.open(sys.argv[1])
notes = store.ledger.notes
for _ in range(int(sys.argv[2])):
    with store.locked():
        held = int(notes.read("counted").get("", "0"))
        time.sleep(0.003)
        notes.write({"counted": str(held + 1)})
"""


def attempt(number: int) -> atlas.Trajectory:
    description = f"{WORDS[number % 5]} of customer {number // 10}"
    return atlas.Trajectory(
        task=atlas.Task(id=str(number), domain="", description=description), steps=(), outcome=atlas.Outcome(True)
    )


Open = Callable[[str], MemorySystem]


@pytest.fixture
def server(postgres_address, tmp_path, monkeypatch) -> Iterator[Open]:
    """Opens the store as a machine of some name has it."""
    held: list[MemorySystem] = []

    def opened(name: str) -> MemorySystem:
        monkeypatch.setenv("ATLAS_LOCAL", str(tmp_path / name))
        held.append(atlas.open_memory(postgres_address, embedder=HashEmbedder(32), settings=atlas.Settings()))
        return held[-1]

    yield opened
    for memory in held:
        memory.close()


@pytest.fixture
def two(server) -> tuple[MemorySystem, MemorySystem]:
    """The same 120 experiences, as two machines have them."""
    first = server("first")
    first.experience.store_many([attempt(number) for number in range(120)])
    return first, server("second")


@pytest.fixture
def worker() -> Iterator[Callable[[], Worker]]:
    """Makes workers, which are ended after the test."""
    made: list[Worker] = []

    def one() -> Worker:
        made.append(Worker())
        return made[-1]

    yield one
    for each in made:
        each.close()


def live(memory: MemorySystem) -> LiveMap:
    return LiveMap(memory, Worker())


def map_file(memory: MemorySystem) -> MapFile:
    return MapFile(memory.storage.path / CACHE, COLLECTION).with_shared_state(memory.storage.ledger.shared)


def slow_search(memory: MemorySystem, gate: Path) -> SlowSearch:
    path = memory.storage.path
    return SlowSearch(store=str(path), output=str(path / CACHE), collection=COLLECTION, gate=str(gate))


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + GIVE_UP_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.02)


def state(worker: Worker, job: SlowSearch) -> JobStatus:
    status = worker.status(job.key)
    assert status is not None
    return status


def found_by(memory: MemorySystem) -> DuplicatesFile:
    return DuplicatesFile(memory.storage.path / CACHE, COLLECTION).with_shared_state(memory.storage.ledger.shared)


def rows(memory: MemorySystem) -> list[str]:
    with memory.storage.ledger.database.read() as connection:  # type: ignore[attr-defined]
        return [row[0] for row in connection.execute("SELECT name FROM artefacts").fetchall()]


def begin_on_both(two, worker, gate) -> tuple[Worker, Worker, SlowSearch, SlowSearch]:
    """Two servers that are asked for the same: one is at it, the other waits."""
    jobs = [slow_search(memory, gate) for memory in two]
    first, second = worker(), worker()
    first.submit(jobs[0])
    wait_for(lambda: len(begun(gate)) == 1)
    second.submit(jobs[1])
    wait_for(lambda: state(second, jobs[1]).message == "another server is computing it")
    return first, second, *jobs


def test_a_job_is_done_once_and_every_server_shows_what_it_made(two, worker, tmp_path):
    gate = tmp_path / "gate"
    first, second, job, same = begin_on_both(two, worker, gate)
    gate.touch()
    wait_for(lambda: state(first, job).state == state(second, same).state == "done")
    assert len(begun(gate)) == 1
    made, shown = (found_by(memory).load() for memory in two)
    assert made == shown
    assert made is not None
    assert len(made.groups) > 0
    assert found_by(two[1]).path.read_bytes() == found_by(two[0]).path.read_bytes()


def test_a_server_that_is_killed_in_the_middle_of_a_job_leaves_it_to_another(two, worker, tmp_path):
    gate = tmp_path / "gate"
    first, second, job, same = begin_on_both(two, worker, gate)
    (pid,) = begun(gate)
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: len(begun(gate)) == 2)
    assert state(second, same).message == "waiting at the gate"
    gate.touch()
    wait_for(lambda: state(second, same).state == "done")
    assert "by signal 9" in state(first, job).message
    assert found_by(two[0]).load() == found_by(two[1]).load() is not None


def test_the_map_that_one_server_made_is_the_map_of_all(two):
    first, second = two
    made, shown = live(first).latest(), live(second).latest()
    assert made is not None
    assert shown is not None
    assert (made.ids, made.domains) == (shown.ids, shown.domains)
    assert made.coordinates.tolist() == shown.coordinates.tolist()
    assert map_file(first).written_at == map_file(second).written_at > 0


def test_a_map_that_a_worker_makes_later_replaces_the_one_that_another_server_shows(two, worker):
    first, second = two
    shows = live(second)
    before = shows.latest()
    asks = LiveMap(first, worker())
    asks.latest()
    asks.refit(min_domain_size=40)
    wait_for(lambda: asks.status().state == "done")
    after = shows.latest()
    assert after.recipe.min_domain_size == 40 != before.recipe.min_domain_size
    assert after.coordinates.tolist() == asks.latest().coordinates.tolist()


def test_a_domain_that_is_named_on_one_server_has_its_name_on_another(two):
    first, second = live(two[0]), live(two[1])
    shown = first.latest()
    number = shown.domains[0].number
    assert second.latest().domain(number).name != "Trips"
    first.names.rename(shown, number, "Trips")
    assert second.latest().domain(number).name == first.latest().domain(number).name == "Trips"
    second.names.rename(second.latest(), number, "")
    assert first.latest().domain(number).name == shown.domain(number).name
    first.names.rename(shown, number, "Journeys")
    assert "Journeys" in {place.domain for place in load_positions(two[1].storage.path, COLLECTION).values()}
    assert not (two[0].storage.path / NAMES).exists()


def test_names_that_were_given_before_they_were_shared_are_shared(two):
    first, second = two
    shown = live(first).latest()
    DomainNames(first.storage.path, COLLECTION).rename(shown, shown.domains[0].number, "Trips")
    assert live(first).latest().domains[0].name == "Trips"
    assert live(second).latest().domains[0].name == "Trips"
    assert not (first.storage.path / NAMES).exists()


def test_names_go_with_a_backup_and_with_a_copy(two, tmp_path):
    first, second = two
    named = live(first)
    shown = named.latest()
    backup(first.storage, tmp_path / "without.zip")
    named.names.rename(shown, shown.domains[0].number, "Trips ü")
    backup(first.storage, tmp_path / "with.zip")
    names = DomainNames.of(second.storage, COLLECTION)
    restore(first.storage, tmp_path / "without.zip")
    assert names.load() == ()
    restore(first.storage, tmp_path / "with.zip")
    assert [one.name for one in names.load()] == ["Trips ü"]
    with Store.open(tmp_path / "restored") as restored, Store.open(tmp_path / "copied") as copied:
        restore(restored, tmp_path / "with.zip")
        copy_store(second.storage, copied)
        for store in (restored, copied):
            assert DomainNames(store.path, COLLECTION).load() == names.load()
            assert store.ledger.notes.read("domain") == {}


def test_a_frozen_copy_is_of_its_moment_and_names_no_address(two):
    first, _ = two
    named = live(first)
    shown = named.latest()
    named.names.rename(shown, shown.domains[0].number, "Trips")
    copy = freeze(first.storage, "abc")
    first.experience.store(attempt(500))
    assert not (copy / LABEL).exists()
    with Store.open(copy) as frozen:
        assert frozen.ledger.count(COLLECTION) == 120
        assert [one.name for one in DomainNames.of(frozen, COLLECTION).load()] == ["Trips"]


def test_a_purge_on_one_server_takes_what_was_made_from_all(two):
    first, second = two
    shows = live(second)
    assert shows.latest() is not None
    old = make_map(read_embedded(first.storage, COLLECTION))
    assert map_file(first).load() is not None
    assert map_file(second).path.exists()
    first.apply_purge(first.plan_purge([first.experience.ids()[0]]))
    assert rows(first) == []
    with pytest.raises(PlanOutdated, match="re-embedded or purged during the computation"):
        map_file(first).save(old)
    assert rows(first) == []
    assert map_file(first).load() is None
    assert map_file(second).load() is None
    assert not map_file(second).path.exists()
    assert set(shows.latest().ids) == set(first.experience.ids())


def test_what_was_worked_out_before_a_restore_is_not_kept(two, tmp_path):
    first, second = two
    old = make_map(read_embedded(first.storage, COLLECTION))
    backup(first.storage, tmp_path / "backup.zip")
    restore(second.storage, tmp_path / "backup.zip")
    with pytest.raises(PlanOutdated, match="so the result was discarded; run it again"):
        map_file(first).save(old)
    assert map_file(second).load() is None


def test_a_result_that_is_too_large_stays_where_it_was_made(two, monkeypatch, caplog):
    first, second = two
    made = make_map(read_embedded(first.storage, COLLECTION))
    monkeypatch.setattr(artefact, "MAX_BYTES", 100)
    map_file(first).save(made)
    assert "so other servers keep the previous version" in caplog.text
    assert map_file(first).load() is not None
    assert map_file(second).load() is None
    monkeypatch.setattr(artefact, "MAX_BYTES", 10**6)
    map_file(second).save(made)
    assert map_file(first).written_at == map_file(second).written_at
    assert map_file(first).load() is not None


def test_a_file_of_before_results_were_shared_is_shared(two):
    first, second = two
    MapFile(first.storage.path / CACHE, COLLECTION).save(make_map(read_embedded(first.storage, COLLECTION)))
    assert map_file(second).load() is None
    made = map_file(first).load()
    assert made is not None
    shown = map_file(second).load()
    assert shown is not None
    assert shown.coordinates.tolist() == made.coordinates.tolist()


def test_what_is_looked_up_and_then_written_is_not_mixed_up_by_another_machine(two, postgres_address, tmp_path):
    counting = [
        subprocess.Popen(
            [sys.executable, "-c", COUNTER, postgres_address, "40"],
            cwd=REPOSITORY,
            env={**os.environ, "ATLAS_LOCAL": str(tmp_path / f"machine {number}")},
        )
        for number in range(3)
    ]
    assert [process.wait(GIVE_UP_SECONDS) for process in counting] == [0, 0, 0]
    assert two[0].storage.ledger.notes.read("counted") == {"": "120"}
