"""Frozen copies, and the links onto them."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta

import pytest

import atlas
from atlas.access.links import Links, remove_ended_copies
from atlas.access.stores import Stores
from atlas.core.errors import InvalidInput, NotAllowed, ReadOnlyStore
from atlas.core.types import Task
from atlas.infra.actor import Actor, Role, acting
from atlas.server.sessions import Sessions
from atlas.storage.frozen import frozen_at, frozen_copy_path
from atlas.storage.location.audit import AuditLog
from atlas.storage.maintenance.backup import backup, restore
from atlas.storage.maintenance.freeze import OMISSION_REASON, freeze
from atlas.storage.store import LEDGER
from atlas.testing import FixedClock, HashEmbedder
from atlas.views.settings.links import end_link, link_rows, make_link
from tests.support.processes.purging import holding
from tests.support.records import attempt


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as opened:
        opened.store(attempt("sort the crates of apples", task_id="apples"))
        yield opened


def open_copy(memory) -> atlas.MemorySystem:
    """Open the copy of the link that was made last."""
    link = Links(memory.storage.path).all()[0]
    return atlas.open_memory(frozen_copy_path(memory.storage.path, link.id), embedder=HashEmbedder())


def test_a_copy_shows_what_was_there_and_nothing_of_what_came_after(memory):
    make_link(memory, "board", 7)
    memory.store(attempt("sort the crates of pears", task_id="pears"))
    with open_copy(memory) as copy:
        assert copy.storage.read_only, "whoever opens it cannot change it"
        assert [one.task.id for one in copy.experience.search(Task("t", "", "sort the crates"), k=5)] == ["apples"]
        with pytest.raises(ReadOnlyStore):
            copy.store(attempt("sort the crates of plums", task_id="plums"))
        assert frozen_at(copy.storage.path) is not None
    assert frozen_at(memory.storage.path) is None


def test_a_copy_holds_nothing_of_what_was_deleted_waits_for_review_or_is_in_quarantine(memory):
    gone = memory.store(attempt("the SECRETDELETED crates"))["experience"]
    memory.experience.edit(gone, feedback="SECRETFEEDBACK")
    memory.experience.delete([gone])
    noted = memory.journal.add("observation", "SECRETNOTED in the log of the pump", generation=1)
    memory.journal.add("reflection", "the pump was mended at noon by two people", generation=1)
    memory.journal.delete([noted])
    memory.undo(memory.history(1)[0].id)
    with acting(Actor("crawler", Role.WRITER, is_reviewed=True)):
        memory.store(attempt("the SECRETHELD crates"))
        memory.journal.add("observation", "SECRETHELD in the log of the valve", generation=1)
    memory.journal.add("observation", "the valve was mended at night by two others", generation=1)
    memory.journal.delete([noted])
    planted = memory.store(attempt("the SECRETPLANTED crates"))["experience"]
    memory.quarantine([planted], reason="it gives orders")
    make_link(memory, "board", 7)
    with open_copy(memory) as copy:
        assert holding(copy.storage.path, b"SECRETPLANTED", b"SECRETDELETED") == {}
        assert holding(copy.storage.path, b"SECRETFEEDBACK", b"SECRETNOTED", b"SECRETHELD") == {}
        assert holding(memory.storage.path, b"SECRETHELD", b"SECRETNOTED"), "the store itself keeps them"
        assert (copy.experience.count_trash(), copy.journal.count_trash()) == (0, 0)
        assert copy.experience.column("marks.held_for") == {}
        assert len(copy.experience) == 1
        assert [one.task.id for one in copy.experience.search(Task("t", "", "sort the crates"), k=5)] == ["apples"]
        assert len(copy.journal) == 2
        latest, *others = copy.history(50)
        assert (latest.kind, latest.reason) == ("purge", OMISSION_REASON)
        assert all("SECRET" not in repr(copy.changes(one.id)) for one in others)
    assert (memory.experience.count_trash(), memory.journal.count_trash()) == (1, 1)
    assert memory.history(1)[0].kind == "quarantine", "the copy alone was purged"


def test_of_a_store_without_such_nothing_is_left_out(memory):
    make_link(memory, "board", 7)
    with open_copy(memory) as copy:
        assert [one.kind for one in copy.history()] == ["store"]
        assert sorted(path.name for path in copy.storage.path.iterdir() if path.suffix == ".sqlite") == [LEDGER]


def test_a_copy_is_made_for_an_admin_who_was_let_into_this_store_alone(memory):
    memory.experience.delete(memory.experience.ids())
    with acting(Actor("root", Role.ADMIN, store=memory.storage.path)):
        make_link(memory, "board", 7)
    with open_copy(memory) as copy:
        assert copy.history(1)[0].actor == "root"


def test_an_ended_link_leaves_no_copy(memory):
    make_link(memory, "board", 7)
    [row] = link_rows(memory)
    assert row.is_live
    end_link(memory, row.id)
    assert not list(memory.storage.path.glob("frozen-*"))
    assert [(row.name, row.is_live) for row in link_rows(memory)] == [("board", False)]


def test_a_purge_takes_every_copy_along_and_says_so_before(memory):
    _, path = make_link(memory, "board", 7)
    [record_id] = memory.experience.ids()
    plan = memory.plan_purge([record_id])
    assert any("frozen-" in copy for copy in plan.copies)
    assert memory.apply_purge(plan).problem == ""
    assert not list(memory.storage.path.glob("frozen-*"))
    [row] = link_rows(memory)
    assert (row.is_live, row.state) == (False, "its copy was removed by a purge, or is on another server")
    assert Links(memory.storage.path).authenticate(path.removeprefix("/link/")).name == "board"


def test_what_has_ended_or_was_left_by_a_killed_process_goes_with_the_next_look(memory):
    now = datetime.now(UTC)
    orphan = frozen_copy_path(memory.storage.path, "orphan")
    young = frozen_copy_path(memory.storage.path, "young")
    for directory in (orphan, young):
        directory.mkdir()
    os.utime(orphan, (time.time() - 7_200, time.time() - 7_200))
    make_link(memory, "board", 7)
    assert not orphan.exists()
    assert young.exists()
    assert link_rows(memory)[0].state.startswith("open until")
    assert now < datetime.now(UTC) + timedelta(days=7)


def test_a_link_and_its_copy_end_when_it_was_said(memory):
    directory, clock = memory.storage.path, FixedClock(datetime.now(UTC))
    link, secret = Links(directory, clock).add("board", clock.now() + timedelta(days=7), made_by="root")
    copy = freeze(memory.storage, link.id)
    sessions = Sessions(Stores({"main": directory}, {}, clock=clock))
    token = sessions.begin_for_link(secret)
    clock.advance(timedelta(days=7) - timedelta(seconds=1))
    remove_ended_copies(directory, clock)
    assert (sessions.has_session(token), copy.is_dir()) == (True, True)
    clock.advance(timedelta(seconds=1))
    assert not sessions.has_session(token)
    with pytest.raises(NotAllowed, match="this link ended on"):
        sessions.begin_for_link(secret)
    remove_ended_copies(directory, clock)
    assert not copy.exists()


@pytest.mark.parametrize("role", [Role.VIEWER, Role.WRITER, Role.CURATOR])
def test_links_are_for_admins(memory, role):
    with acting(Actor("ada", role)):
        for act in (
            lambda: make_link(memory, "board", 7),
            lambda: link_rows(memory),
            lambda: end_link(memory, "any"),
        ):
            with pytest.raises(NotAllowed, match="needs the role admin"):
                act()
    assert not list(memory.storage.path.glob("frozen-*"))


def test_a_link_without_a_name_leaves_nothing(memory):
    with pytest.raises(InvalidInput, match="expected a name of 1 to 64 characters"):
        make_link(memory, " ", 7)
    assert not list(memory.storage.path.glob("frozen-*"))


def test_a_backup_does_not_bring_links_along(memory, tmp_path):
    make_link(memory, "board", 7)
    backup(memory.storage, tmp_path / "kept.zip")
    restore(memory.storage, tmp_path / "kept.zip")
    assert [row.is_live for row in link_rows(memory)] == [True]


def test_what_is_done_about_links_stands_in_the_audit_log(memory):
    with acting(Actor("root", Role.ADMIN)):
        make_link(memory, "board", 7)
        end_link(memory, link_rows(memory)[0].id)
    events = AuditLog(memory.storage.path).events()
    assert [(event.what, event.who) for event in events] == [("link ended", "root"), ("link made", "root")]
