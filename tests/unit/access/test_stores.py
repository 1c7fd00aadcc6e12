"""Several stores on one server: who may see which, with which role."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from atlas.access.people import Identity, People
from atlas.access.roles import roles_from_environment
from atlas.access.stores import Stores, named_stores
from atlas.core.errors import InvalidInput, NotAllowed, StoreUnavailable
from atlas.infra.actor import Role
from atlas.server.access import RequestAuthenticator

ROLES = {"admins": Role.ADMIN, "research/ml": Role.CURATOR, "support/*": Role.WRITER, "org/ml": Role.WRITER}


@pytest.fixture
def stores(tmp_path: Path) -> Stores:
    directories = {name: tmp_path / name for name in ("main", "research", "support")}
    for directory in directories.values():
        directory.mkdir()
    return Stores(directories, ROLES)


def may_see(stores: Stores, *groups: str, subject: str = "ada") -> dict[str, str]:
    person = stores.sign_in(Identity(issuer="https://id.example", subject=subject, name="Ada", groups=groups))
    return {name: str(actor.role) for name, actor in stores.person_actors(person).items()}


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ((), {"main": "viewer", "support": "writer"}),
        (("ml",), {"main": "viewer", "research": "curator", "support": "writer"}),
        (("admins",), {"main": "admin", "research": "admin", "support": "admin"}),
        (("org/ml",), {"main": "writer", "research": "writer", "support": "writer"}),
    ],
)
def test_groups_give_roles_in_each_store(stores, groups, expected):
    assert may_see(stores, *groups) == expected


def test_whoever_leaves_a_group_no_longer_sees_its_store(stores):
    assert "research" in may_see(stores, "ml")
    assert "research" not in may_see(stores)


def test_an_administrator_of_one_store_lets_in_and_removes_in_that_one_alone(stores):
    person = stores.sign_in(Identity(issuer="https://id.example", subject="ada", name="Ada", groups=("ml",)))
    by_name = {store.name: store for store in stores}
    by_name["main"].people.remove(person)
    by_name["research"].people.set_role(person, Role.WRITER)
    assert {name: str(actor.role) for name, actor in stores.person_actors(person).items()} == {
        "research": "writer",
        "support": "writer",
    }
    assert may_see(stores) == {"research": "writer", "support": "writer"}, "what was given stays without the group"


def test_nobody_gets_a_name_that_somebody_had_before(tmp_path):
    people = People(tmp_path, {"team": Role.WRITER})
    ada = Identity(issuer="https://id.example", subject="1", name="Ada", groups=("team",))
    other = replace(ada, subject="2")
    people.sign_in(ada)
    assert people.sign_in(replace(ada, name="Ada Lovelace")).name == "Ada Lovelace"
    with pytest.raises(NotAllowed, match="in no group"):
        people.sign_in(replace(ada, name="Ada Byron", groups=()))
    assert people.find(ada.id) is None
    assert [people.sign_in(replace(other, name=name)).name for name in ("Ada", "Ada Lovelace", "Ada Byron")] == [
        "Ada (2)",
        "Ada Lovelace (2)",
        "Ada Byron (2)",
    ]
    assert people.sign_in(ada).name == "Ada", "one's own former name is free for oneself"
    assert {"Ada", "Ada Lovelace", "Ada Byron"} <= people.names()


def test_a_role_that_was_given_can_be_left_to_the_groups_again(tmp_path):
    people = People(tmp_path, {"team": Role.WRITER})
    ada = Identity(issuer="https://id.example", subject="1", name="Ada", groups=("team",))
    people.sign_in(ada)
    people.set_role(ada.id, Role.ADMIN)
    assert people.sign_in(ada).role is Role.ADMIN
    people.follow_groups(ada.id)
    assert people.find(ada.id).role is Role.VIEWER, "until they sign in again"
    assert people.sign_in(ada).role is Role.WRITER


def test_whoever_may_see_nothing_is_told_so(tmp_path):
    stores = Stores({"tmp": tmp_path}, {})
    assert may_see(stores) == {"tmp": "viewer"}
    stores.first.people.remove(stores.first.people.all()[0].id)
    with pytest.raises(NotAllowed, match="was removed"):
        may_see(stores)


def test_a_key_is_for_one_store(stores):
    research = next(store for store in stores if store.name == "research")
    key, secret = research.keys.add("crawler", Role.WRITER, created_by="ada")
    store, found = stores.authenticate_key(secret)
    assert (store.name, found) == ("research", key)
    assert store.key_actors(key.id)["research"].store == research.directory
    research.keys.revoke("crawler")
    assert store.key_actors(key.id) == {}
    with pytest.raises(NotAllowed, match="was revoked"):
        stores.authenticate_key(secret)
    with pytest.raises(NotAllowed, match="this key is unknown"):
        stores.authenticate_key("guessed")


def test_a_link_leads_to_its_copy_alone_until_it_ends(stores, tmp_path):
    research = next(store for store in stores if store.name == "research")
    link, secret = research.links.add("board", datetime.now(UTC) + timedelta(days=1), made_by="ada", link_id="abc")
    with pytest.raises(NotAllowed, match="removed by a purge"):
        stores.authenticate_link(secret)
    copy = tmp_path / "research" / "frozen-abc"
    copy.mkdir()
    store, found = stores.authenticate_link(secret)
    assert found == link
    [actor] = store.link_actors(link.id).values()
    assert (actor.store, actor.role, actor.name) == (copy, Role.VIEWER, "link board")
    research.links.end(link.id)
    assert store.link_actors(link.id) == {}
    with pytest.raises(NotAllowed, match="was ended"):
        stores.authenticate_link(secret)


def test_stores_have_names_of_their_own(tmp_path):
    assert named_stores(tmp_path / ".atlas", [f"research={tmp_path}"]) == {
        "atlas": tmp_path / ".atlas",
        "research": tmp_path,
    }
    for wrong in (["research"], ["=x"], ["a b=/x"], [f"atlas={tmp_path}"], [f"a={tmp_path}", f"b={tmp_path}"]):
        with pytest.raises(InvalidInput):
            named_stores(tmp_path / ".atlas", wrong)


def test_a_server_whose_keys_cannot_be_read_is_not_taken_for_one_without_keys(stores):
    assert not stores.has_key()
    (list(stores)[1].directory / "keys.json").write_text("no JSON")
    with pytest.raises(StoreUnavailable, match="cannot be read"):
        stores.has_key()
    with pytest.raises(StoreUnavailable, match="cannot be read"):
        RequestAuthenticator(stores, is_open=True).authenticate("")
    stores.first.keys.add("crawler", Role.WRITER, created_by="root")
    assert stores.has_key(), "one that can be read is enough to ask for one"


def test_roles_come_from_the_environment():
    given = {"ATLAS_ROLES": "cn=admins,dc=example=admin research/*=viewer"}
    assert roles_from_environment(given) == {"cn=admins,dc=example": Role.ADMIN, "research/*": Role.VIEWER}
    with pytest.raises(InvalidInput, match="admins=admin"):
        roles_from_environment({"ATLAS_ROLES": "admins=king"})


@pytest.mark.parametrize(
    ("said", "group"),
    [
        ('"ML Team"=curator', "ML Team"),
        ("'research/ML Team=curator'", "research/ML Team"),
        ("LAB\\team=curator", "LAB\\team"),
        ("team#1=curator", "team#1"),
    ],
)
def test_a_group_of_several_words_stands_in_quotes(said, group):
    given = {"ATLAS_ROLES": f"admins=admin {said}"}
    assert roles_from_environment(given) == {"admins": Role.ADMIN, group: Role.CURATOR}


def test_a_quotation_mark_without_a_second_one_is_refused():
    with pytest.raises(InvalidInput, match="unclosed quotation mark"):
        roles_from_environment({"ATLAS_ROLES": 'admins=admin "ML Team=curator'})


def test_a_person_and_a_key_never_have_one_name_in_the_history(stores):
    stores.first.keys.add("Ada", Role.WRITER, created_by="root")
    may_see(stores)
    assert stores.first.people.names() == {"Ada (2)"}
    with pytest.raises(InvalidInput, match="the history already has an actor named"):
        stores.first.keys.add("Eve", Role.WRITER, created_by="root", reserved_names={"Eve"})
