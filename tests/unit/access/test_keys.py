"""Keys of a store that is served: made once, recognised by their secret alone, refused as soon as they should be."""

from __future__ import annotations

import resource
import stat
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from atlas.access.keys import ApiKeys
from atlas.core.errors import InvalidInput, NotAllowed, NotFound, StoreUnavailable
from atlas.infra.actor import Actor, Role
from atlas.protocols.access import KEYS
from atlas.storage.store import Store
from atlas.testing import FixedClock
from tests.support.storage.engines import every_engine, of_files


@pytest.fixture
def clock() -> FixedClock:
    """A clock that the test moves."""
    return FixedClock()


engine = every_engine


@pytest.fixture
def api_keys(engine: str, tmp_path: Path, clock: FixedClock, request: pytest.FixtureRequest) -> ApiKeys:
    """No keys yet."""
    if engine == "sqlite":
        return ApiKeys(tmp_path, clock)
    with Store.open(request.getfixturevalue("postgres_address")) as store:
        return ApiKeys(store.path, clock)


def test_a_key_is_recognised_by_its_secret_in_every_process(api_keys: ApiKeys, clock: FixedClock):
    made, secret = api_keys.add("crawler", Role.WRITER, created_by="ada")
    assert ApiKeys(api_keys.directory, clock).authenticate(secret) == made
    assert made.actor == Actor("crawler", Role.WRITER, is_agent=True)


@of_files
def test_nothing_that_is_kept_says_the_secret(api_keys: ApiKeys, tmp_path: Path):
    made, secret = api_keys.add("crawler", Role.WRITER, created_by="ada")
    assert secret.encode() not in (tmp_path / KEYS).read_bytes()
    assert secret not in repr((made, api_keys.keys()))


@of_files
def test_only_its_owner_may_read_the_file(api_keys: ApiKeys, tmp_path: Path):
    api_keys.add("crawler", Role.WRITER, created_by="ada")
    assert stat.S_IMODE((tmp_path / KEYS).stat().st_mode) == 0o600


@pytest.mark.parametrize("secret", ["", "atlas_", "atlas_made-up", "Ünïcode", "\x00", "' OR 1=1 --", "\ud800"])
def test_another_secret_is_refused(api_keys: ApiKeys, secret: str):
    api_keys.add("crawler", Role.WRITER, created_by="ada")
    with pytest.raises(NotAllowed, match="this key is unknown"):
        api_keys.authenticate(secret)


@of_files
def test_before_the_first_key_nothing_is_written(api_keys: ApiKeys, tmp_path: Path):
    assert api_keys.keys() == []
    with pytest.raises(NotAllowed):
        api_keys.authenticate("atlas_made-up")
    assert list(tmp_path.iterdir()) == []


def test_a_revoked_key_is_refused_at_once_elsewhere_too(api_keys: ApiKeys, clock: FixedClock):
    elsewhere = ApiKeys(api_keys.directory, clock)
    _, secret = api_keys.add("crawler", Role.WRITER, created_by="ada")
    elsewhere.authenticate(secret)
    api_keys.revoke("crawler")
    with pytest.raises(NotAllowed, match="the key 'crawler' was revoked"):
        elsewhere.authenticate(secret)
    assert elsewhere.active_keys() == []


def test_a_key_is_refused_from_its_end_on(api_keys: ApiKeys, clock: FixedClock):
    _, secret = api_keys.add("crawler", Role.WRITER, expires_at=clock.now() + timedelta(days=90), created_by="ada")
    clock.advance(timedelta(days=90) - timedelta(seconds=1))
    api_keys.authenticate(secret)
    clock.advance(timedelta(seconds=1))
    with pytest.raises(NotAllowed, match="expired"):
        api_keys.authenticate(secret)


def test_a_name_is_one_live_key_and_free_again_when_that_is_revoked(api_keys: ApiKeys):
    api_keys.add("crawler", Role.WRITER, created_by="ada")
    with pytest.raises(InvalidInput, match="revoke it first"):
        api_keys.add("crawler", Role.ADMIN, created_by="eve")
    api_keys.revoke("crawler")
    api_keys.add("crawler", Role.VIEWER, created_by="ada")
    assert [str(key.role) for key in api_keys.active_keys()] == ["viewer"]


@pytest.mark.parametrize("name", ["", " crawler", "a\nb", "x" * 65, "<b>", "\x1b[2J"])
def test_an_odd_name_is_refused(api_keys: ApiKeys, name: str):
    with pytest.raises(InvalidInput, match="a key's name"):
        api_keys.add(name, Role.WRITER, created_by="ada")


def test_an_end_in_the_past_is_refused(api_keys: ApiKeys, clock: FixedClock):
    with pytest.raises(InvalidInput, match="in the future"):
        api_keys.add("crawler", Role.WRITER, expires_at=clock.now(), created_by="ada")


def test_a_name_that_no_live_key_has_is_not_found(api_keys: ApiKeys):
    with pytest.raises(NotFound, match="atlas keys list"):
        api_keys.revoke("crawler")


@of_files
@pytest.mark.parametrize("text", ["", "[]", "no JSON", '{"a": {}}', '{"a": 1}', "[" * 100_000])
def test_a_damaged_file_lets_nobody_in(api_keys: ApiKeys, tmp_path: Path, text: str):
    (tmp_path / KEYS).write_text(text)
    with pytest.raises(StoreUnavailable, match="all access is refused"):
        api_keys.authenticate("atlas_made-up")
    with pytest.raises(StoreUnavailable):
        api_keys.add("crawler", Role.WRITER, created_by="ada")
    assert (tmp_path / KEYS).read_text() == text


@of_files
def test_a_file_out_of_reach_is_no_damaged_one(api_keys: ApiKeys, tmp_path: Path):
    (tmp_path / KEYS).mkdir()  # as a disk's fault is an OSError
    for ask in (
        lambda: api_keys.authenticate("atlas_made-up"),
        lambda: api_keys.add("crawler", Role.WRITER, created_by="ada"),
    ):
        with pytest.raises(StoreUnavailable, match=r"cannot be reached now .* try again") as error:
            ask()
        assert "begin again" not in str(error.value)


@of_files
def test_a_full_disk_is_told_as_such(api_keys: ApiKeys, tmp_path: Path):
    api_keys.add("crawler", Role.WRITER, created_by="ada")
    before, (_, hard) = (tmp_path / KEYS).read_text(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before), hard))
    try:
        with pytest.raises(StoreUnavailable, match=r"cannot be reached now .* check its disk"):
            api_keys.add("another", Role.WRITER, created_by="ada")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert (tmp_path / KEYS).read_text() == before


def test_many_processes_may_make_keys_at_once(api_keys: ApiKeys):
    with ProcessPoolExecutor(4) as processes:
        made = list(processes.map(make, [api_keys.directory] * 12, range(12)))
    assert sorted(key.name for key in ApiKeys(api_keys.directory).active_keys()) == sorted(made)


def make(directory: Path, number: int) -> str:
    """Make one key, and return its name."""
    key, _ = ApiKeys(directory).add(f"agent {number}", Role.WRITER, created_by="ada")
    return key.name
