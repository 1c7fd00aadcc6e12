"""What agents do to the memory while a person looks at its map."""

from __future__ import annotations

import json
import struct
from datetime import timedelta

import pytest

import atlas
from atlas.maps.map import make_map
from atlas.maps.snapshot import read_embedded
from atlas.memory.experience.memory import COLLECTION
from atlas.testing import FixedClock
from atlas.views.map.points import points_of
from atlas.views.map.pulse import MAX_LINES, pulse_after, pulse_packet
from tests.support.records import attempt, kinds
from tests.support.sample import EMBEDDER, NOW


@pytest.fixture
def clock():
    return FixedClock(NOW)


@pytest.fixture
def opened(tmp_path, clock):
    """Opens the store, as the dashboard and an agent do it, each in a process of its own."""
    settings = atlas.Settings(actor="fred")
    return lambda: atlas.open_memory(tmp_path, embedder=EMBEDDER, settings=settings, clock=clock)


@pytest.fixture
def memory(opened):
    with opened() as memory:
        memory.experience.store_many(kinds(12))
        yield memory


@pytest.fixture
def search(opened, clock):
    """An agent's search; the ids of what it found, of which the store knows once the agent is done."""

    def search(*, count_retrieval: bool = True) -> set[str]:
        clock.advance(timedelta(seconds=1))
        with opened() as memory:
            found = memory.experience.retrieve("database query with a join", 3, count_retrieval=count_retrieval)
        return {hit.item.id for hit in found.hits}

    return search


def test_at_the_first_look_nothing_has_happened(memory, search):
    search()
    first = pulse_after(memory, None)
    assert (first.turn, first.retrieved, first.stored, first.lines) == (0, (), (), ())
    assert pulse_after(memory, first) == first


def test_what_a_search_returned_pulses_once(memory, search):
    first = pulse_after(memory, None)
    found = search()
    second = pulse_after(memory, first)
    assert set(second.retrieved) == found
    assert second.turn == 1
    assert f"Retrieved {len(found)} experience" in second.lines[0]
    assert pulse_after(memory, second) == second


def test_what_is_stored_pulses_with_who_did_it(memory):
    first = pulse_after(memory, None)
    stored = memory.experience.store(attempt("Water the garden"))
    second = pulse_after(memory, first)
    assert second.stored == (stored,)
    assert second.lines[0].endswith("fred stored 1 experience: Water the garden")


def test_only_the_latest_lines_are_kept(memory):
    pulse = pulse_after(memory, None)
    for number in range(MAX_LINES + 2):
        memory.experience.store(attempt(f"Water the garden {number}"))
        pulse = pulse_after(memory, pulse)
    assert len(pulse.lines) == MAX_LINES
    assert pulse.lines[0].endswith(f"Water the garden {MAX_LINES + 1}")


def test_what_a_person_looks_at_does_not_pulse(memory, search):
    first = pulse_after(memory, None)
    assert search(count_retrieval=False)
    assert pulse_after(memory, first) == first


def test_the_browser_is_told_the_points_that_are_drawn(memory, search):
    embedded = read_embedded(memory.storage, COLLECTION)
    points = points_of(make_map(embedded), {"outcome": {}, "created_at": {}})
    first = pulse_after(memory, None)
    memory.experience.store(attempt("Water the garden"))
    found = search()
    packet = pulse_packet(points, pulse_after(memory, first))
    (length,) = struct.unpack_from("<I", packet)
    told = json.loads(packet[4 : 4 + length])
    assert told["stored"] == []
    assert {points.ids[place] for place in told["retrieved"]} == found & set(points.ids)
    assert (told["points"], told["turn"], len(told["lines"])) == (points.key, 1, 2)


def test_what_is_stored_is_told_of_the_agent_and_not_of_who_is_logged_in(tmp_path):
    logged_in = atlas.Settings()
    with atlas.open_memory(tmp_path, embedder=EMBEDDER, settings=logged_in) as memory:
        first = pulse_after(memory, None)
        memory.experience.store(attempt("Mend a shoe", agent="cobbler-2"))
        second = pulse_after(memory, first)
        memory.experience.store(attempt("Mend a sock"))
        third = pulse_after(memory, second)
        memory.experience.store_many([attempt("Mend a cup", agent="a"), attempt("Mend a jug", agent="b")])
        fourth = pulse_after(memory, third)
    said = [look.lines[0].split(" · ")[1] for look in (second, third, fourth)]
    assert said[:2] == ["cobbler-2 stored 1 experience: Mend a shoe", "An agent stored 1 experience: Mend a sock"]
    assert said[2].startswith("2 agents stored 2 experiences")
