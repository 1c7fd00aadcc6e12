"""Names in the history: nobody comes in under one that stands for somebody else, or that looks like it."""

from __future__ import annotations

from pathlib import Path

import pytest

import atlas
from atlas import InvalidInput, Settings
from atlas.access.keys import ApiKeys
from atlas.access.names import is_look_alike, plain_name, unique_name
from atlas.access.people import Identity
from atlas.access.stores import Stores
from atlas.infra.actor import Role
from atlas.testing import HashEmbedder
from tests.support.records import attempt

ROLES = {"team": Role.WRITER}


def identity(name: str, subject: str = "1") -> Identity:
    return Identity(issuer="https://id.example", subject=subject, name=name, groups=("team",))


@pytest.fixture
def store(tmp_path) -> Path:
    """A store that an agent wrote to by the command line, as `build-bot`."""
    directory = tmp_path / "store"
    settings = Settings(actor="build-bot")
    with atlas.open_memory(directory, embedder=HashEmbedder(), settings=settings) as memory:
        memory.experience.store(attempt("a task"))
    return directory


def name_of(stores: Stores, given: Identity) -> str:
    stores.sign_in(given)
    person = stores.first.people.find(given.id)
    assert person is not None
    return person.name


@pytest.mark.parametrize(
    "name",
    ["build-bot", "Build-Bot", "build-bot\u200b", "bui\u202eld-bot", "\uff42uild-bot", " build-bot ", "buíld-bot"],
)  # fmt: skip
def test_nobody_signs_in_under_a_name_of_the_history(store, name):
    stores = Stores({"main": store}, ROLES, owner="root")
    assert name_of(stores, identity(name)).endswith(" (2)")


@pytest.mark.parametrize("name", ["Ada", "ada", "Ada\u200b", "A\u202eda", "\uff21da", "Adá"])
def test_two_people_never_have_names_that_look_alike(store, name):
    stores = Stores({"main": store}, ROLES, owner="root")
    assert name_of(stores, identity("Ada")) == "Ada"
    assert name_of(stores, identity(name, "2")) not in ("Ada", name)


def test_whoever_has_written_keeps_their_name(store):
    stores = Stores({"main": store}, ROLES, owner="root")
    assert name_of(stores, identity("Ada")) == "Ada"
    for name in ("Ada", "build-bot (2)"):
        with atlas.open_memory(store, embedder=HashEmbedder(), settings=Settings(actor=name)) as memory:
            memory.experience.store(attempt(f"of {name}"))
    assert name_of(stores, identity("Ada")) == "Ada"
    assert name_of(stores, identity("build-bot", "2")) == "build-bot (3)"
    assert name_of(stores, identity("build-bot", "2")) == "build-bot (3)"


def test_a_number_stays_after_its_person_has_written(store):
    stores = Stores({"main": store}, ROLES, owner="root")
    assert name_of(stores, identity("build-bot")) == "build-bot (2)"
    with atlas.open_memory(store, embedder=HashEmbedder(), settings=Settings(actor="build-bot (2)")) as memory:
        memory.experience.store(attempt("another"))
    assert name_of(stores, identity("build-bot")) == "build-bot (2)"


def test_people_sign_in_where_there_is_no_store_yet(tmp_path):
    (tmp_path / "store").mkdir()
    assert name_of(Stores({"main": tmp_path / "store"}, ROLES, owner="root"), identity("Ada")) == "Ada"


@pytest.mark.parametrize("name", ["root", "Root", "ada"])
def test_no_key_has_the_name_of_the_owner_or_of_a_person(tmp_path, name):
    api_keys = ApiKeys(tmp_path, owner="root")
    with pytest.raises(InvalidInput, match="the history already has an actor"):
        api_keys.add(name, Role.WRITER, created_by="root", reserved_names=["Ada"])


def test_names_are_shown_without_what_nobody_sees():
    assert plain_name("A\u202ed\u200ba \n Lovelace") == "Ada Lovelace"
    assert plain_name("\u200b") == "somebody"
    assert plain_name("A\x1b[2Jda\x00\x07\tLove\u2028lace\x7f\ud83d") == "A[2Jda Love lace"
    assert len(plain_name("x" * 500)) == 120
    assert plain_name("प्रिया") == "प्रिया"


def test_names_of_other_languages_stay_apart():
    assert not is_look_alike("王芳", "王敏")
    assert is_look_alike("JOSÉ", "Jose\u0301")
    assert unique_name("王芳", ["王敏"]) == "王芳"
