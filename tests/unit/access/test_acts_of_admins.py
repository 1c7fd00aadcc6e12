"""What only an administrator or a curator may do to a whole store, refused in the library whatever a page shows."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

import atlas
from atlas.core.errors import NotAllowed
from atlas.infra import actor as actors
from atlas.infra.actor import Actor, ActorFinder, Role, acting
from atlas.maps.labels import DomainNames
from atlas.memory.experience.memory import COLLECTION
from atlas.storage.location.audit import MODEL_CHOSEN
from atlas.storage.maintenance.backup import backup, inspect_backup, restore
from atlas.storage.maintenance.doctor import examine
from atlas.testing import HashEmbedder
from atlas.views.settings.language_model import choose_model
from tests.support.records import attempt


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as opened:
        yield opened


@pytest.mark.parametrize("role", [Role.VIEWER, Role.WRITER, Role.CURATOR])
def test_backups_are_for_admins(memory, tmp_path: Path, role):
    kept = tmp_path / "kept.zip"
    backup(memory.storage, kept)
    with acting(Actor("ada", role)):
        for act in (
            lambda: backup(memory.storage, tmp_path / "mine.zip"),
            lambda: inspect_backup(memory.storage, kept),
            lambda: restore(memory.storage, kept),
        ):
            with pytest.raises(NotAllowed, match="needs the role admin"):
                act()
    assert not (tmp_path / "mine.zip").exists()
    with acting(Actor("root", Role.ADMIN)):
        assert restore(memory.storage, kept).n_records == 0


def test_a_writer_looks_for_damage_and_a_curator_repairs_it(memory):
    with acting(Actor("ada", Role.WRITER)):
        examine(memory.storage)
        with pytest.raises(NotAllowed, match="repair the store"):
            examine(memory.storage, fix=True)
    with acting(Actor("eve", Role.CURATOR)):
        examine(memory.storage, fix=True)


@pytest.mark.parametrize(
    ("roles", "may"),
    [((Role.ADMIN, Role.ADMIN), True), ((Role.ADMIN, Role.CURATOR), False), ((Role.ADMIN,), False)],
)
def test_the_language_model_of_the_process_takes_an_admin_of_every_store(memory, roles, may):
    chosen: list[str] = []
    choices = {f"store {number}": Actor("ada", role) for number, role in enumerate(roles)}
    actors.set_actor_finder(ActorFinder(current=lambda: choices["store 0"], choices=lambda: choices, n_stores=2))
    try:
        with nullcontext() if may else pytest.raises(NotAllowed, match="of every store"):
            choose_model(memory, lambda: chosen.append("done"), "claude")
    finally:
        actors._finders.clear()
    assert chosen == (["done"] if may else [])
    assert [event.what for event in memory.storage.audit.events()] == ([MODEL_CHOSEN] if may else [])


def test_an_admin_of_one_store_writes_to_no_other(memory, tmp_path):
    memory.store(attempt("sort the crates"))
    [record_id] = memory.experience.ids()
    own = Actor("ada", Role.ADMIN, store=memory.storage.path)
    with acting(Actor("ada", Role.ADMIN, store=tmp_path / "another")):
        for act in (
            lambda: memory.experience.change_marks([record_id], pinned=True),
            lambda: memory.apply_purge(memory.plan_purge([record_id])),
            lambda: backup(memory.storage, tmp_path / "mine.zip"),
            lambda: DomainNames(memory.storage.path, COLLECTION).restore([]),
        ):
            with pytest.raises(NotAllowed, match="another store"):
                act()
    with acting(own):
        assert memory.experience.change_marks([record_id], pinned=True) == 1
        DomainNames(memory.storage.path, COLLECTION).restore([])


def test_viewers_and_whoever_writes_under_review_name_no_domains(memory):
    for actor in (Actor("vera"), Actor("crawler", Role.WRITER, is_reviewed=True)):
        with acting(actor), pytest.raises(NotAllowed):
            DomainNames(memory.storage.path, COLLECTION).restore([])
