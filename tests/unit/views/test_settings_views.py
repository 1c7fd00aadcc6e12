"""What the settings page says of a store, of its copies and of what is typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from atlas.core.errors import InvalidInput
from atlas.core.ranking.level import LevelCosts
from atlas.core.settings import Settings
from atlas.infra.actor import Actor, Role, acting
from atlas.storage.maintenance.backup import backup
from atlas.views.settings.copies import (
    Export,
    backup_directory,
    check_place,
    preview_restore,
    recorded_backups,
    restore_from,
)
from atlas.views.settings.doctor import examined
from atlas.views.settings.embedding import why_not
from atlas.views.settings.language_model import problem_of_key
from atlas.views.settings.store import level_text, record_counts
from tests.support.records import attempts, concept
from tests.support.stores import MODEL, opened_store


@pytest.fixture
def memory(tmp_path):
    with opened_store(tmp_path / "mine") as opened:
        opened.experience.store_many(attempts(3))
        opened.concepts.add_many([concept(1)])
        yield opened


def test_an_export_counts_what_it_wrote(memory):
    export = Export(memory)
    assert len(list(export.lines())) == 4
    assert export.sentence == "Exported 3 experiences and 1 concept."


def test_an_export_of_nothing_says_so(tmp_path):
    with opened_store(tmp_path) as empty:
        export = Export(empty)
        assert list(export.lines()) == []
        assert export.sentence == "Exported 0 experiences."


def test_a_preview_counts_both_states_and_changes_neither(memory, tmp_path):
    backup(memory.storage, tmp_path / "old.zip")
    memory.experience.store_many(attempts(2))
    preview = preview_restore(memory, tmp_path / "old.zip", "old.zip")
    rows = {row.kind: (row.now, row.after) for row in preview.rows}
    assert rows == {"Experiences": (5, 3), "Concepts": (1, 1)}
    assert memory.experience.count() == 5


def test_a_preview_names_what_was_purged_since(memory, tmp_path):
    backup(memory.storage, tmp_path / "old.zip")
    gone = memory.experience.ids()[0]
    memory.apply_purge(memory.plan_purge([gone]), reason="leaked")
    preview = preview_restore(memory, tmp_path / "old.zip", "old.zip")
    assert preview.notes[-1] == f"1 purged record would come back. Purge again: {gone}"


def test_a_restore_keeps_the_store_as_it_was(memory, tmp_path):
    backup(memory.storage, tmp_path / "old.zip")
    memory.experience.store_many(attempts(2))
    assert restore_from(memory, tmp_path / "old.zip", keep=tmp_path / "kept.zip") == "Restored 4 records"
    assert memory.experience.count() == 3
    restore_from(memory, tmp_path / "kept.zip", keep=tmp_path / "other.zip")
    assert memory.experience.count() == 5


def test_an_admin_behind_a_door_restores_no_backup_of_a_neighbour(memory, tmp_path):
    neighbours = tmp_path / "neighbours.zip"
    backup(memory.storage, neighbours)
    assert [*recorded_backups(memory)] == [str(neighbours)]
    check_place(memory, neighbours)
    with acting(Actor("root", Role.ADMIN)):
        assert [*recorded_backups(memory)] == []
        own = backup_directory(memory)
        assert own == tmp_path.resolve() / "mine-backups"
        for path in (neighbours, own / ".." / neighbours.name, Path("neighbours.zip")):
            with pytest.raises(InvalidInput, match="upload the file"):
                check_place(memory, path)
        own.mkdir()
        backup(memory.storage, own / "mine.zip")
        assert [*recorded_backups(memory)] == [str(own / "mine.zip")]
        check_place(memory, own / "mine.zip")


def test_a_sound_store_is_said_to_be_sound(memory):
    found = examined(memory)
    assert found.sentence == f"All {len(found.rows)} checks are fine."
    assert {row.verdict for row in found.rows} == {"ok"}


def test_every_collection_is_counted(memory):
    assert sorted(n for n in record_counts(memory).values() if n) == [1, 3]


@pytest.mark.parametrize(
    ("settings", "model", "why"),
    [
        (Settings(), MODEL, "The store uses this model already."),
        (Settings(), " ", "Choose or type the name of a model."),
        (Settings(embedding_model="another"), "third", "ATLAS_EMBEDDING_MODEL sets another"),
    ],
)
def test_why_a_store_cannot_be_embedded_again_is_said(memory, settings, model, why):
    assert why_not(memory, settings, model).startswith(why)


def test_a_store_can_be_embedded_with_another_model(memory):
    assert why_not(memory, Settings(), "BAAI/bge-base-en-v1.5") == ""


@pytest.mark.parametrize("key", ["", "two words", "kéy", "line\nbreak"])
def test_what_cannot_be_a_key_is_refused_without_repeating_it(key):
    problem = problem_of_key(key)
    assert problem
    assert not key or key not in problem


def test_a_key_is_taken_as_it_is():
    assert problem_of_key("sk-ant-0123") == ""


@pytest.mark.parametrize(
    ("foreign_shown", "own_hidden", "overlaps"),
    [(0.03, 0.02, False), (0.4, 0.0, False), (0.05, 0.3, False), (0.38, 0.1, True)],
)
def test_the_level_has_its_cost_on_either_side_and_says_where_they_overlap(foreign_shown, own_hidden, overlaps):
    text = level_text(LevelCosts(level=0.21, foreign_shown=foreign_shown, own_hidden=own_hidden))
    assert text.startswith(f"0.21, with which {foreign_shown * 100:.0f}% of off-topic questions find something")
    assert f"and {own_hidden * 100:.0f}% of the store's own find nothing" in text
    assert ("does not know the language" in text) is overlaps
    assert level_text(None).startswith("the usual one")
