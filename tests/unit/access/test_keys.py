"""Keys of a store that is served: made once, recognised by their secret alone, refused as soon as they should be."""

from __future__ import annotations

import resource
import stat
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from atlas.access.keys import KeyRing
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
def ring(engine: str, tmp_path: Path, clock: FixedClock, request: pytest.FixtureRequest) -> KeyRing:
    """No keys yet."""
    if engine == "sqlite":
        return KeyRing(tmp_path, clock)
    with Store.open(request.getfixturevalue("postgres_address")) as store:
        return KeyRing(store.path, clock)


def test_a_key_is_recognised_by_its_secret_in_every_process(ring: KeyRing, clock: FixedClock):
    made, secret = ring.add("crawler", Role.WRITER, created_by="ada")
    assert KeyRing(ring.directory, clock).recognise(secret) == made
    assert made.actor == Actor("crawler", Role.WRITER, is_agent=True)


@of_files
def test_nothing_that_is_kept_says_the_secret(ring: KeyRing, tmp_path: Path):
    made, secret = ring.add("crawler", Role.WRITER, created_by="ada")
    assert secret.encode() not in (tmp_path / KEYS).read_bytes()
    assert secret not in repr((made, ring.keys()))


@of_files
def test_only_its_owner_may_read_the_file(ring: KeyRing, tmp_path: Path):
    ring.add("crawler", Role.WRITER, created_by="ada")
    assert stat.S_IMODE((tmp_path / KEYS).stat().st_mode) == 0o600


@pytest.mark.parametrize("secret", ["", "atlas_", "atlas_made-up", "Ünïcode", "\x00", "' OR 1=1 --", "\ud800"])
def test_another_secret_is_refused(ring: KeyRing, secret: str):
    ring.add("crawler", Role.WRITER, created_by="ada")
    with pytest.raises(NotAllowed, match="this key is unknown"):
        ring.recognise(secret)


@of_files
def test_before_the_first_key_nothing_is_written(ring: KeyRing, tmp_path: Path):
    assert ring.keys() == []
    with pytest.raises(NotAllowed):
        ring.recognise("atlas_made-up")
    assert list(tmp_path.iterdir()) == []


def test_a_revoked_key_is_refused_at_once_elsewhere_too(ring: KeyRing, clock: FixedClock):
    elsewhere = KeyRing(ring.directory, clock)
    _, secret = ring.add("crawler", Role.WRITER, created_by="ada")
    elsewhere.recognise(secret)
    ring.revoke("crawler")
    with pytest.raises(NotAllowed, match="the key 'crawler' was revoked"):
        elsewhere.recognise(secret)
    assert elsewhere.active_keys() == []


def test_a_key_is_refused_from_its_end_on(ring: KeyRing, clock: FixedClock):
    _, secret = ring.add("crawler", Role.WRITER, expires_at=clock.now() + timedelta(days=90), created_by="ada")
    clock.advance(timedelta(days=90) - timedelta(seconds=1))
    ring.recognise(secret)
    clock.advance(timedelta(seconds=1))
    with pytest.raises(NotAllowed, match="expired"):
        ring.recognise(secret)


def test_a_name_is_one_live_key_and_free_again_when_that_is_revoked(ring: KeyRing):
    ring.add("crawler", Role.WRITER, created_by="ada")
    with pytest.raises(InvalidInput, match="revoke it first"):
        ring.add("crawler", Role.ADMIN, created_by="eve")
    ring.revoke("crawler")
    ring.add("crawler", Role.VIEWER, created_by="ada")
    assert [str(key.role) for key in ring.active_keys()] == ["viewer"]


@pytest.mark.parametrize("name", ["", " crawler", "a\nb", "x" * 65, "<b>", "\x1b[2J"])
def test_an_odd_name_is_refused(ring: KeyRing, name: str):
    with pytest.raises(InvalidInput, match="a key's name"):
        ring.add(name, Role.WRITER, created_by="ada")


def test_an_end_in_the_past_is_refused(ring: KeyRing, clock: FixedClock):
    with pytest.raises(InvalidInput, match="in the future"):
        ring.add("crawler", Role.WRITER, expires_at=clock.now(), created_by="ada")


def test_a_name_that_no_live_key_has_is_not_found(ring: KeyRing):
    with pytest.raises(NotFound, match="atlas keys list"):
        ring.revoke("crawler")


@of_files
@pytest.mark.parametrize("text", ["", "[]", "no JSON", '{"a": {}}', '{"a": 1}', "[" * 100_000])
def test_a_damaged_file_lets_nobody_in(ring: KeyRing, tmp_path: Path, text: str):
    (tmp_path / KEYS).write_text(text)
    with pytest.raises(StoreUnavailable, match="all access is refused"):
        ring.recognise("atlas_made-up")
    with pytest.raises(StoreUnavailable):
        ring.add("crawler", Role.WRITER, created_by="ada")
    assert (tmp_path / KEYS).read_text() == text


@of_files
def test_a_file_out_of_reach_is_no_damaged_one(ring: KeyRing, tmp_path: Path):
    (tmp_path / KEYS).mkdir()  # as a disk's fault is an OSError
    for ask in (
        lambda: ring.recognise("atlas_made-up"),
        lambda: ring.add("crawler", Role.WRITER, created_by="ada"),
    ):
        with pytest.raises(StoreUnavailable, match=r"cannot be reached now .* try again") as error:
            ask()
        assert "begin again" not in str(error.value)


@of_files
def test_a_full_disk_is_told_as_such(ring: KeyRing, tmp_path: Path):
    ring.add("crawler", Role.WRITER, created_by="ada")
    before, (_, hard) = (tmp_path / KEYS).read_text(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before), hard))
    try:
        with pytest.raises(StoreUnavailable, match=r"cannot be reached now .* check its disk"):
            ring.add("another", Role.WRITER, created_by="ada")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert (tmp_path / KEYS).read_text() == before


def test_many_processes_may_make_keys_at_once(ring: KeyRing):
    with ProcessPoolExecutor(4) as processes:
        made = list(processes.map(make, [ring.directory] * 12, range(12)))
    assert sorted(key.name for key in KeyRing(ring.directory).active_keys()) == sorted(made)


def make(directory: Path, number: int) -> str:
    """Make one key, and return its name."""
    key, _ = KeyRing(directory).add(f"agent {number}", Role.WRITER, created_by="ada")
    return key.name
