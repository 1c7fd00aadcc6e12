"""The token of a server: who finds it, if it is sent, and what is left of a server that is gone."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from atlas.access.server_token import (
    Endpoint,
    endpoint,
    make_token,
    publish_token,
    remove_server_entry,
    token_file_name,
)

PORT = 28_501
ADDRESS = f"http://127.0.0.1:{PORT}"


@pytest.fixture
def state(tmp_path, monkeypatch) -> Path:
    """The directory of the files that say which servers run, which is this test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "atlas-memory" / "servers"


@pytest.fixture
def token(state, tmp_path):
    """The token of a server that runs in this process."""
    secret = make_token()
    with publish_token(secret, tmp_path, "127.0.0.1", PORT):
        yield secret


def test_a_token_has_256_random_bits():
    assert re.fullmatch("[0-9a-f]{64}", make_token())
    assert make_token() != make_token()


def test_the_files_are_their_owners_alone_and_go_with_the_server(state, tmp_path):
    secret = make_token()
    with publish_token(secret, tmp_path, "127.0.0.1", PORT) as file:
        assert (file, file.read_text()) == (tmp_path / token_file_name(PORT), secret)
        [entry] = state.iterdir()
        assert [path.stat().st_mode & 0o777 for path in (file, entry, state)] == [0o600, 0o600, 0o700]
        assert secret not in entry.read_text(), "the secret lies in one place"
    assert (file.exists(), list(state.iterdir())) == (False, [])


@pytest.mark.parametrize("address", [ADDRESS, f"{ADDRESS}/", f"http://localhost:{PORT}", f"HTTP://LOCALHOST:{PORT}/"])
def test_requests_to_a_server_of_this_user_carry_its_token_to_where_it_listens(token, address):
    assert endpoint(address) == Endpoint(ADDRESS, token, is_local=True)
    assert endpoint(address).headers == {"Authorization": f"Bearer {token}"}
    assert token not in repr(endpoint(address))


@pytest.mark.parametrize(
    "address",
    [
        f"http://memory.example:{PORT}",
        f"http://10.0.0.7:{PORT}",
        f"http://0.0.0.0:{PORT}",
        f"http://127.0.0.1.evil.example:{PORT}",
        f"http://127.0.0.1:{PORT}@evil.example:{PORT}",
        f"http://evil.example:{PORT}#@127.0.0.1:{PORT}",
        f"http://evil.example:{PORT}\\@127.0.0.1x:{PORT}",
        f"https://127.0.0.1:{PORT}",
        f"http://[::1]:{PORT}",
        f"http://127.0.0.1:{PORT + 1}",
        "http://127.0.0.1",
        "http://127.0.0.1:port",
        "http://[::1",
        "",
    ],
)
def test_the_token_goes_nowhere_else(token, address):
    assert endpoint(address).secret == ""
    assert endpoint(address).address == address
    assert endpoint(address).headers == {}


def test_what_a_parser_may_take_for_this_machine_leads_to_it(token):
    """Whatever a client would have made of the address, the token goes to where the server listens."""
    assert endpoint(f"http://evil.example\\@127.0.0.1:{PORT}").address == ADDRESS


def test_a_key_goes_before_the_token(token):
    assert endpoint(ADDRESS, "atlas_key") == Endpoint(ADDRESS, "atlas_key", is_local=True)
    assert endpoint("https://memory.example", "atlas_key") == Endpoint(
        "https://memory.example", "atlas_key", is_local=False
    )


def test_a_server_on_the_other_loopback_address_has_its_token_sent_there(state, tmp_path):
    with publish_token(make_token(), tmp_path, "::1", PORT):
        assert endpoint(f"http://localhost:{PORT}").address == endpoint(f"http://[::1]:{PORT}").address
        assert endpoint(ADDRESS).secret == ""


def test_a_server_that_was_killed_confuses_nobody_and_the_next_one_takes_its_place(state, tmp_path):
    written = f"""
import os
from pathlib import Path
from atlas.access.server_token import make_token, publish_token
with publish_token(make_token(), Path({str(tmp_path)!r}), "127.0.0.1", {PORT}):
    os._exit(9)
"""
    killed = subprocess.run([sys.executable, "-c", written], check=False)
    assert (killed.returncode, len(list(state.iterdir()))) == (9, 1)
    before = (tmp_path / token_file_name(PORT)).read_text()
    assert endpoint(ADDRESS).secret == ""
    with publish_token(make_token(), tmp_path, "127.0.0.1", PORT):
        assert endpoint(ADDRESS).secret not in ("", before)
    assert list(state.iterdir()) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        "[]",
        "{}",
        json.dumps({"host": "127.0.0.1", "pid": "1", "token_file": "FILE"}),
        json.dumps({"host": "127.0.0.1", "pid": 10**30, "token_file": "FILE"}),
        '{"host": "evil.example", "pid": OWN, "token_file": "FILE"}',
        '{"host": "127.0.0.1", "pid": OWN, "token_file": "/dev/null"}',
        '{"host": "127.0.0.1", "pid": OWN}',
    ],
)
def test_a_file_that_says_nothing_sensible_leads_to_no_token(token, state, tmp_path, text):
    [entry] = state.iterdir()
    entry.write_text(text.replace("OWN", str(os.getpid())).replace("FILE", str(tmp_path / token_file_name(PORT))))
    assert endpoint(ADDRESS).secret == ""


def test_a_file_or_link_that_others_put_in_the_way_has_no_part_in_the_token(state, tmp_path):
    store = tmp_path / "shared"
    store.mkdir()
    store.chmod(0o2777)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("not ours")
    (store / token_file_name(PORT)).symlink_to(elsewhere)
    guessed = store / f".{token_file_name(PORT)}.{os.getpid()}"
    for put in (
        lambda: guessed.symlink_to(elsewhere),
        lambda: (guessed.unlink(), guessed.touch(), guessed.chmod(0o666)),
    ):
        put()
        with publish_token(make_token(), store, "127.0.0.1", PORT) as file:
            assert not file.is_symlink()
            assert file.stat().st_mode & 0o777 == 0o600
            assert file.stat().st_ino != guessed.lstat().st_ino
        assert elsewhere.read_text() == "not ours"


def test_a_server_that_ends_late_leaves_the_files_of_the_one_that_came_after_it(state, tmp_path):
    first, second = make_token(), make_token()
    ending = publish_token(first, tmp_path, "127.0.0.1", PORT)
    ending.__enter__()
    [entry] = state.iterdir()
    with publish_token(second, tmp_path, "127.0.0.1", PORT) as file:
        entry.write_text(json.dumps({**json.loads(entry.read_text()), "pid": os.getppid()}))  # as another process's
        ending.__exit__(None, None, None)
        assert (file.read_text(), entry.exists()) == (second, True)


def test_a_server_without_a_token_takes_away_what_leads_to_one(token):
    remove_server_entry(PORT)
    assert endpoint(ADDRESS).secret == ""
    remove_server_entry(PORT)


@pytest.mark.parametrize("names_no_directory", ["store", "state"])
def test_a_token_that_cannot_be_written_is_an_error_and_leaves_nothing(state, tmp_path, names_no_directory):
    (tmp_path / names_no_directory).write_text("a file")
    store = tmp_path / "store" if names_no_directory == "store" else tmp_path
    with pytest.raises(OSError, match="Not a directory"), publish_token(make_token(), store, "127.0.0.1", PORT):
        pytest.fail("it cannot be written")
    assert not list(tmp_path.glob("token-*"))
