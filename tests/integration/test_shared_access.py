"""Several servers on one store in PostgreSQL let the same ones in, and refuse the same ones."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from atlas.access.keys import ApiKeys
from atlas.access.links import Links, remove_ended_copies
from atlas.access.people import Identity, People
from atlas.access.stores import Stores
from atlas.core.address import local_directory
from atlas.core.errors import NotAllowed, StoreUnavailable
from atlas.infra.actor import Actor, Role, acting
from atlas.protocols.access import AUDIT, KEYS
from atlas.storage.frozen import frozen_copy_path
from atlas.storage.location.audit import AuditLog
from atlas.storage.maintenance.freeze import freeze
from atlas.storage.store import Store
from tests.support.processes.purging import purge
from tests.support.records import attempts
from tests.support.storage.engines import rows_of, run_in
from tests.support.stores import make_store, opened_store

EVE = Identity(issuer="i", subject="eve", name="Eve")


@pytest.fixture
def machine(postgres_address, tmp_path, monkeypatch) -> Callable[[str], Path]:
    """Makes the directory of a machine of some name, which has the store's files that are its own."""

    def made(name: str) -> Path:
        monkeypatch.setenv("ATLAS_LOCAL", str(tmp_path / name))
        Store.open(postgres_address).close()
        return local_directory(postgres_address)

    return made


def test_a_key_of_one_machine_lets_in_on_another_until_it_is_revoked_on_a_third(machine):
    first, second, third = (ApiKeys(machine(name)) for name in ("first", "second", "third"))
    made, secret = first.add("crawler", Role.WRITER, created_by="ada")
    assert second.authenticate(secret) == made
    third.revoke("crawler")
    for api_keys in (first, second, third):
        with pytest.raises(NotAllowed, match="was revoked"):
            api_keys.authenticate(secret)
    assert not list(first.directory.glob(KEYS)), "no machine has it in a file"


def test_somebody_who_is_removed_on_one_machine_is_gone_on_the_others(machine):
    first, second = (People(machine(name), {"*": Role.VIEWER}) for name in ("first", "second"))
    person = first.sign_in(EVE)
    second.set_role(person.id, Role.CURATOR)
    found = first.find(person.id)
    assert found is not None
    assert found.role == Role.CURATOR
    second.remove(person.id)
    assert first.find(person.id) is None
    with pytest.raises(NotAllowed, match="was removed from this memory"):
        first.sign_in(EVE)


def test_the_audit_log_has_what_happened_on_every_machine_in_order(machine):
    first, second = (AuditLog(machine(name)) for name in ("first", "second"))
    with acting(Actor("guest", Role.VIEWER)):  # whatever their role, what they did is noted
        first.add_event("one")
        second.add_event("two", who="who\x00 \ud800 ever")
        first.add_event("three")
    assert [event.what for event in second.events()] == ["three", "two", "one"]
    assert first.events()[1].who == "who\x00 ? ever"


def test_keys_that_two_machines_make_at_once_are_all_there(machine):
    stores_of_keys = [ApiKeys(machine(name)) for name in ("first", "second")]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: stores_of_keys[n % 2].add(f"agent {n}", Role.WRITER, created_by="ada"), range(24)))
    for api_keys in stores_of_keys:
        assert api_keys.names() == {f"agent {n}" for n in range(24)}


def test_a_change_that_fails_leaves_what_was_there_and_keeps_nobody_waiting(machine):
    api_keys = ApiKeys(machine("first"))
    with pytest.raises(RuntimeError), api_keys._values.edit() as held:
        held["x"] = None  # type: ignore[assignment]
        raise RuntimeError
    api_keys.add("crawler", Role.WRITER, created_by="ada")
    assert api_keys.names() == {"crawler"}


@pytest.mark.parametrize("content", ["", "[]", "no JSON", '{"a": 1}'])
def test_damage_lets_nobody_in_and_says_where_it_is(machine, postgres_address, content):
    api_keys = ApiKeys(machine("first"))
    _, secret = api_keys.add("crawler", Role.WRITER, created_by="ada")
    run_in(postgres_address, f"UPDATE access_texts SET content = '{content}', version = version + 1")
    with pytest.raises(StoreUnavailable, match=r"keys.json of postgresql://.*all access is refused"):
        api_keys.authenticate(secret)


def test_files_of_an_older_version_are_taken_over_from_each_machine_once(machine, postgres_address):
    directories = [machine(name) for name in ("first", "second")]
    secrets = []
    for directory in directories:
        old = directory.parent / "old"  # if nothing tells of an address, keys are a file
        old.mkdir()
        secrets.append(ApiKeys(old).add(f"agent of {directory.parent.name}", Role.WRITER, created_by="ada")[1])
        for name in (KEYS, AUDIT):
            (old / name).rename(directory / name)
    from_file = [line.strip() for line in (directories[0] / AUDIT).read_text().splitlines()]
    run_in(postgres_address, f"INSERT INTO audit_lines (line) VALUES ('{from_file[0]}')")  # killed before it was done
    for directory in directories:
        assert ApiKeys(directory).names()
    assert all(ApiKeys(directory).has_secret(secret) for directory in directories for secret in secrets)
    assert [event.about for event in reversed(AuditLog(directories[0]).events())] == [
        "agent of first, writer",
        "agent of second, writer",
    ]
    assert rows_of(postgres_address, "SELECT count(*) FROM audit_lines") == [(2,)]
    assert not [name for directory in directories for name in (KEYS, AUDIT) if (directory / name).exists()]


def test_a_link_whose_copy_is_on_another_machine_says_so(machine, postgres_address):
    make_store(postgres_address, attempts(3))
    here, there = machine("first"), machine("second")
    with Store.open(postgres_address) as store:  # as the second machine has it
        freeze(store, "board")
    _, secret = Links(there).add("board", datetime.now(UTC) + timedelta(days=1), made_by="ada", link_id="board")
    assert Stores({"main": there}, {}).authenticate_link(secret)[1].name == "board"
    with pytest.raises(NotAllowed, match="is on another server"):
        Stores({"main": here}, {}).authenticate_link(secret)


def test_a_purge_on_one_machine_closes_the_copies_on_all(machine, postgres_address):
    ids = make_store(postgres_address, attempts(3))
    there = machine("second")
    with Store.open(postgres_address) as store:
        freeze(store, "board")
    _, secret = Links(there).add("board", datetime.now(UTC) + timedelta(days=1), made_by="ada", link_id="board")
    machine("first")
    with opened_store(postgres_address) as memory:
        purge(memory, ids[0])
    assert frozen_copy_path(there, "board").is_dir(), "the machine that has it was not asked"
    with pytest.raises(NotAllowed, match="removed by a purge"):
        Stores({"main": there}, {}).authenticate_link(secret)
    remove_ended_copies(there)
    assert not frozen_copy_path(there, "board").exists()
