"""Columns that follow a store that others write to."""

from __future__ import annotations

import pytest

import atlas
from atlas.maps import columns
from atlas.maps.columns import LiveColumns
from atlas.storage.maintenance.backup import backup, restore
from atlas.testing import HashEmbedder
from tests.support.records import attempts


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(16), settings=atlas.Settings()) as opened:
        opened.experience.store_many(attempts(20))
        yield opened


@pytest.fixture
def live(memory):
    found = LiveColumns(memory)
    assert found.read("outcome") == memory.experience.column("outcome")
    return found


def change(memory) -> None:
    """Add some, edit one, delete one, and bring another back."""
    first, second, third, *_ = memory.experience.ids()
    memory.experience.store_many(attempts(3))
    memory.experience.edit(first, outcome=atlas.Outcome(success=None))
    memory.experience.delete([second])
    memory.experience.delete([third])
    memory.experience.restore([third])


@pytest.mark.parametrize("most_changed", [0, 5_000])
def test_it_is_what_the_store_says_now(memory, live, monkeypatch, most_changed):
    monkeypatch.setattr(columns, "MAX_CHANGED", most_changed)
    before = live.read("outcome")
    change(memory)
    assert live.read("outcome") == memory.experience.column("outcome")
    assert live.read("outcome") != before


def test_a_key_that_a_record_loses_goes(memory, live):
    record_id = memory.experience.ids()[0]
    assert live.read("source")[record_id]
    memory.experience.edit(record_id, metadata={})
    assert record_id not in live.read("source")


def test_marks_are_read_each_time(memory, live):
    record_id = memory.experience.ids()[0]
    assert live.read("marks.pinned").get(record_id) is not True
    memory.experience.change_marks([record_id], pinned=True)
    assert live.read("marks.pinned") == memory.experience.column("marks.pinned")


def test_after_a_restore_all_is_read_again(memory, live, tmp_path):
    backup(memory.storage, tmp_path / "copy")
    change(memory)
    live.read("outcome")
    restore(memory.storage, tmp_path / "copy")
    assert live.read("outcome") == memory.experience.column("outcome")
