"""What is worked out from a store belongs to one state of it."""

from __future__ import annotations

import pytest

import atlas
from atlas.storage.maintenance.backup import backup, restore
from atlas.testing import HashEmbedder
from atlas.views.shared.live import changes_since, page_state
from atlas.views.shared.state import store_state
from tests.support.records import attempts


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(16), settings=atlas.Settings()) as opened:
        yield opened


def other_at_the_same_revision(memory, tmp_path):
    """Put a store back as it was and write as much again, so that its revision is the one it had."""
    backup(memory.storage, tmp_path / "copy")
    memory.experience.store_many([*attempts(5)][3:])
    before = memory.revision()
    yield
    restore(memory.storage, tmp_path / "copy")
    memory.experience.store_many([*attempts(9)][7:])
    assert memory.revision() == before


def test_a_state_stays_until_something_is_written(memory):
    memory.experience.store_many(attempts(3))
    was = store_state(memory)
    assert store_state(memory) == was
    memory.experience.change_marks(memory.experience.ids()[:1], pinned=True)
    assert store_state(memory) != was


def test_a_store_that_was_put_back_is_another_state_at_the_same_revision(memory, tmp_path):
    memory.experience.store_many(attempts(3))
    steps = other_at_the_same_revision(memory, tmp_path)
    next(steps)
    was, drawn = store_state(memory), page_state(memory, store_state(memory))
    assert next(steps, None) is None
    assert store_state(memory).revision == was.revision
    assert store_state(memory) != was
    assert changes_since(drawn, memory) == "Changed elsewhere"
