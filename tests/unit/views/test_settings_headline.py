"""The headline of Settings: what is wrong with the store, and what to do first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import atlas
from atlas.infra.actor import Actor, Role, acting
from atlas.testing import FixedClock, HashEmbedder
from atlas.views.settings.copies import make_own_backup
from atlas.views.settings.headline import store_headline
from tests.support.records import attempt

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.fixture
def clock():
    return FixedClock(NOW)


@pytest.fixture
def memory(tmp_path, clock):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(), clock=clock) as opened:
        yield opened


def test_a_store_goes_from_empty_to_without_a_backup_to_nothing_to_do(memory):
    empty = store_headline(memory, NOW, 0)
    assert (empty.sentence, empty.next_step) == ("The store is empty: import runs of an agent.", "import")
    memory.experience.store(attempt("Bake"))
    unsafe = store_headline(memory, NOW, 0)
    assert unsafe.sentence == "No backup: if this disk fails, the store is lost."
    assert unsafe.next_step == "back up"
    make_own_backup(memory)
    safe = store_headline(memory, NOW, 0)
    assert (unsafe.is_well, safe.is_well) == (False, True)
    assert (safe.sentence, safe.next_step) == ("Nothing to do. Last backup: 1 Mar 2026, 09:00 UTC.", "")
    assert store_headline(memory, NOW, 2).sentence == "2 checks found a problem: repair the store."


def test_an_old_backup_is_to_be_made_again_once_the_store_has_changed(memory, clock):
    memory.experience.store(attempt("Bake"))
    make_own_backup(memory)
    later = NOW + timedelta(days=40)
    assert store_headline(memory, later, 0).next_step == ""
    clock.advance(timedelta(days=39))
    memory.experience.store(attempt("Rotate the logs"))
    old = store_headline(memory, later, 0)
    assert old.sentence == "The last backup is 40 days old, and the store has changed since."
    assert old.next_step == "back up"


def test_sample_data_alone_need_no_backup(memory):
    memory.experience.store(attempt("Bake", is_sample=True))
    only_sample = store_headline(memory, NOW, 0)
    assert only_sample.sentence == "Nothing to do: sample data need no backup."
    assert (only_sample.next_step, only_sample.is_well) == ("", True)


@pytest.mark.parametrize("name", ["strategies", "journal"])
def test_own_records_of_any_memory_need_a_backup(memory, name):
    memory.experience.store(attempt("Bake", is_sample=True))
    if name == "strategies":
        memory.strategies.add(atlas.Strategy(title="Wait", situation="It burns", suggestion="Wait"))
    else:
        memory.journal.add_entries([atlas.JournalEntry(entry_type="reflection", content="Wait", generation=1)])
    assert store_headline(memory, NOW, 0).next_step == "back up"


def test_a_store_for_reading_only_is_told_to_do_nothing(memory, tmp_path):
    memory.experience.store(attempt("Bake"))
    memory.close()
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(), read_only=True) as memory:
        headline = store_headline(memory, NOW, 0)
        assert (headline.sentence, headline.next_step, headline.is_well) == ("Last backup: none.", "", False)
        assert store_headline(memory, NOW, 1).sentence == "1 check found a problem."


def test_no_act_is_advised_that_the_visitor_may_not_do(memory):
    with acting(Actor("guest", Role.VIEWER)):
        assert store_headline(memory, NOW, 0).sentence == "The store is empty."
    memory.experience.store(attempt("Bake"))
    with acting(Actor("guest", Role.VIEWER)):
        assert store_headline(memory, NOW, 0).sentence == "Last backup: none."
        assert store_headline(memory, NOW, 1).sentence == "1 check found a problem."
    with acting(Actor("cora", Role.CURATOR)):
        assert store_headline(memory, NOW, 1).sentence == "1 check found a problem: repair the store."
