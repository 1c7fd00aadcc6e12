"""A viewer changes nothing by any call of the library, whatever leads to it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from atlas.core.errors import NotAllowed
from atlas.infra.actor import Actor, Role, acting
from atlas.verbs.table import ROLES
from tests.support.calls import BEGUN, PARTS, READS, WHOLE_STORE, WRITES
from tests.support.everything import Ids, content, make_everything
from tests.support.sample import opened

VIEWER, ADMIN = Actor("vera", Role.VIEWER), Actor("root", Role.ADMIN)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory) -> tuple[Path, Ids]:
    """A store with something of every kind that the calls ask for, and its ids."""
    store = tmp_path_factory.mktemp("viewers") / "store"
    return store, make_everything(store)


def test_every_public_method_is_known_to_write_or_to_read(prepared):
    store, _ = prepared
    with opened(store) as memory:
        for name in PARTS:
            part = memory if name == "memory" else getattr(memory, name)
            public = {one for one in dir(part) if not one.startswith("_") and callable(getattr(part, one))}
            own = {one for one in public if not (one.startswith("a") and one[1:] in public)}
            known = {call.partition(".")[2] for call in (*WRITES, *READS, *BEGUN) if call.startswith(f"{name}.")}
            assert own - known == set(), f"say of these of {name} whether they write"
    assert not WRITES.keys() & READS.keys()


@pytest.mark.parametrize("name", [*WRITES, *WHOLE_STORE])
def test_no_call_writes_for_a_viewer(prepared, tmp_path, name):
    store, ids = prepared
    own = tmp_path / "store"
    shutil.copytree(store, own)
    call = {**WRITES, **WHOLE_STORE}[name]
    with opened(own) as memory:
        before = content(own)
        with acting(VIEWER), pytest.raises(NotAllowed, match="vera is a viewer and may not"):
            call(memory, ids)
        assert content(own) == before
        with acting(ADMIN):
            call(memory, ids)
        assert content(own) != before, "the call does not show that a viewer is refused, as it changes nothing at all"


@pytest.mark.parametrize("part", PARTS)
def test_no_call_that_shows_the_memory_changes_it_for_a_viewer(prepared, tmp_path, part):
    store, ids = prepared
    own = tmp_path / "store"
    shutil.copytree(store, own)
    with opened(own) as memory, acting(VIEWER):
        before = content(own)
        for name, call in READS.items():
            if name.startswith(f"{part}."):
                call(memory, ids)
                assert content(own) == before, name
        memory.close()  # which writes down what was retrieved
        assert content(own) == before


@pytest.mark.parametrize("name", BEGUN)
def test_what_begins_a_change_is_refused_to_a_viewer(prepared, tmp_path, name):
    store, ids = prepared
    own = tmp_path / "store"
    shutil.copytree(store, own)
    with opened(own) as memory:
        before = content(own)
        with acting(VIEWER), pytest.raises(NotAllowed, match="vera is a viewer and may not"):
            BEGUN[name](memory, ids)
        with acting(ADMIN):
            BEGUN[name](memory, ids)
        assert content(own) == before


def test_looking_counts_for_an_admin(prepared, tmp_path):
    store, ids = prepared
    own = tmp_path / "store"
    shutil.copytree(store, own)
    with opened(own) as memory, acting(ADMIN):
        before = content(own)
        READS["experience.retrieve"](memory, ids)
        memory.close()
        assert content(own) != before, "the test above does not show that a viewer's looking leaves no trace"


@pytest.mark.parametrize("name", [name for name in WRITES if ROLES.get(name, Role.VIEWER) > Role.WRITER])
def test_a_call_takes_the_role_that_the_table_of_verbs_gives_it(prepared, tmp_path, name):
    store, ids = prepared
    own = tmp_path / "store"
    shutil.copytree(store, own)
    with opened(own) as memory:
        with acting(Actor("tester", Role(ROLES[name] - 1))), pytest.raises(NotAllowed, match="which needs the role"):
            WRITES[name](memory, ids)
        with acting(Actor("tester", ROLES[name])):
            WRITES[name](memory, ids)


@pytest.mark.parametrize("name", [name for name in WRITES if ROLES.get(name) == Role.WRITER])
def test_a_writer_may_do_what_the_table_of_verbs_says(prepared, tmp_path, name):
    store, ids = prepared
    own = tmp_path / "store"
    shutil.copytree(store, own)
    author = "crawler" if name == "memory.undo" else "tester"  # of the operation that is undone
    with opened(own) as memory, acting(Actor(author, Role.WRITER)):
        WRITES[name](memory, ids)
