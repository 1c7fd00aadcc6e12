"""Whoever removes a person sees which doors that person has opened for others, and shuts them in the same act."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import atlas
from atlas.access.keys import ApiKeys
from atlas.access.people import Identity, People
from atlas.core.errors import NotAllowed
from atlas.infra.actor import Actor, Role, acting
from atlas.storage.location.audit import AuditLog
from atlas.testing import HashEmbedder
from atlas.views.settings.keys import key_rows, make_key, revoke_key
from atlas.views.settings.links import end_link, link_rows, make_link
from atlas.views.settings.people import grants_of, remove_person

EVE = Actor("Eve", Role.ADMIN)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[atlas.MemorySystem]:
    settings = atlas.Settings(store=tmp_path / "store", actor="owner")
    with atlas.open_memory(settings=settings, embedder=HashEmbedder()) as opened:
        yield opened


@pytest.fixture
def eve(memory) -> str:
    return signed_in(memory, "Eve")


def signed_in(memory, name: str) -> str:
    people = People(memory.storage.path, {"*": Role.ADMIN})
    return people.sign_in(Identity(issuer="https://id.example", subject="eve", name=name)).id


def test_live_keys_and_links_that_they_made_are_listed_under_each_of_their_names(memory, eve):
    with acting(EVE):
        for name in ("crawler", "revoked"):
            make_key(memory, name, "writer", 30)
        make_link(memory, "board", 7)
        make_link(memory, "ended", 7)
    revoke_key(memory, ApiKeys(memory.storage.path).keys()[0].id)
    end_link(memory, next(row.id for row in link_rows(memory) if row.name == "ended"))
    signed_in(memory, "Eve Miller")
    with acting(Actor("Eve Miller", Role.ADMIN)):
        make_key(memory, "nightly", "writer", 30)
    make_key(memory, "own", "writer", 30)
    assert grants_of(memory, eve).sentence == (
        "They made 2 keys that are in use: nightly, crawler. They made 1 link that is open: board."
    )
    with acting(Actor("root", Role.CURATOR)), pytest.raises(NotAllowed, match="needs the role admin"):
        grants_of(memory, eve)


def test_removing_them_revokes_and_ends_these_and_the_audit_log_has_a_line_for_each(memory, eve):
    with acting(EVE):
        make_key(memory, "crawler", "writer", 30)
        make_link(memory, "board", 7)
    make_key(memory, "own", "writer", 30)
    remove_person(memory, eve, revoke_grants=True)
    assert [row.name for row in key_rows(memory) if row.is_live] == ["own"]
    assert [row.is_live for row in link_rows(memory)] == [False]
    assert not list(memory.storage.path.glob("frozen-*")), "nobody sees the copy any more"
    said = [(event.what, event.who, event.about) for event in AuditLog(memory.storage.path).events()[:3]]
    assert said == [("link ended", "owner", "board"), ("key revoked", "owner", "crawler"), ("removed", "owner", "Eve")]


def test_removing_them_alone_leaves_these(memory, eve):
    with acting(EVE):
        make_key(memory, "crawler", "writer", 30)
        make_link(memory, "board", 7)
    remove_person(memory, eve)
    assert [row.is_live for row in (*key_rows(memory), *link_rows(memory))] == [True, True]
    assert grants_of(memory, eve).keys, "they are still told once the person is gone"
