"""`atlas serve` without keys: nobody enters without its token, which programs of the same user find by themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

import atlas
from atlas.access.keys import ApiKeys
from atlas.access.server_token import endpoint, token_file_name
from atlas.infra.actor import Role
from atlas.storage.location.audit import AuditLog
from tests.support.bare_proxy import bare_proxy
from tests.support.browser.server import atlas_serve
from tests.support.mcp_clients import Connection, said
from tests.support.records import attempt
from tests.support.repository import REPOSITORY
from tests.support.stores import MODEL
from tests.support.waiting import GIVE_UP_SECONDS

TASK = "rotate the logs of the crawler before its disk is full"
ATTEMPT = {"task": {"description": TASK}, "steps": [{"action": "logrotate -f"}], "outcome": {"success": True}}
DOORS = (
    ("GET", "/api/v1/experience"),
    ("GET", "/api/v1/operations"),
    ("GET", "/api/v1/changes"),
    ("POST", "/api/v1/attempts"),
    ("POST", "/api/v1/traces"),
    ("POST", "/mcp/"),
    ("GET", "/media/picture.png"),
    ("PUT", "/_stcore/upload_file/one/two"),
    ("GET", "/_stcore/host-config"),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("token") / "store"
    with atlas.open_memory(path, settings=atlas.Settings(embedding_model=MODEL)) as memory:
        memory.store(attempt("mend the report of the shell", True))
    return path


@pytest.fixture(scope="module")
def server(store):
    with atlas_serve(store, ATLAS_ACTOR="root") as running:
        yield running


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def test_behind_a_proxy_that_adds_nothing_all_is_shut_without_the_token(server):
    with bare_proxy(server.port) as address, httpx.Client(base_url=address, timeout=60) as client:
        answers = {
            path: client.request(method, path, json=ATTEMPT if method == "POST" else None) for method, path in DOORS
        }
        assert {path: answer.status_code for path, answer in answers.items()} == dict.fromkeys(answers, 401)
        page = client.get("/experiences", follow_redirects=True)
        assert (page.url.path, "Token or key" in page.text) == ("/enter", True)
        assert client.get("/api/v1/operations", headers=bearer(server.token)).status_code == 200
        assert client.post("/api/v1/attempts", json=ATTEMPT, headers=bearer(server.token)).status_code == 200


def test_the_printed_address_opens_the_pages_and_leads_to_one_without_the_token(server):
    with httpx.Client(base_url=server.address, timeout=60, follow_redirects=True) as client:
        opened = client.get(server.printed_address)
        assert (opened.status_code, str(opened.url)) == (200, f"{server.address}/")
        assert client.get("/_stcore/host-config").status_code == 200
        assert client.get("/api/v1/operations").status_code == 401, "a page of another site could use a cookie"


def test_programs_of_the_same_user_need_no_more_than_the_address(server, store):
    with atlas.connect(server.address.replace("127.0.0.1", "localhost")) as memory:
        memory.store(attempt("count the crawler's pages", True))
        assert memory.history(1)[0].actor == "root"
    command = [sys.executable, "-m", "atlas", "history", "-n", "1"]
    surroundings = {**os.environ, "ATLAS_STORE": server.address, "PYTHONPATH": os.pathsep.join(sys.path)}
    shown = subprocess.run(command, cwd=store.parent, env=surroundings, capture_output=True, text=True, check=True)
    assert "root" in shown.stdout
    relayed = Connection("auto", environment={"ATLAS_STORE": server.address})
    assert "Stored" in relayed.run(lambda client: said(client, "store_attempt", task=TASK, steps=["df"], success=True))


def test_keys_work_as_well_as_the_token(server, store):
    secret = ApiKeys(store).add("crawler", Role.WRITER, created_by="root")[1]
    with atlas.connect(server.address, key=secret) as memory:
        memory.store(attempt("count the crawler's links", True))
        assert memory.history(1)[0].actor == "crawler"
    with atlas.connect(server.address) as memory:
        assert memory.history(1)[0].actor == "crawler"


def test_the_token_is_in_its_file_and_on_the_terminal_and_nowhere_else(server, store):
    file = store / token_file_name(server.port)
    assert (file.read_text(), file.stat().st_mode & 0o777) == (server.token, 0o600)
    httpx.get(f"{server.address}/experiences?token={server.token}")
    httpx.get(f"{server.address}/media/a.png?token={server.token}")
    assert server.output.read_text().count(server.token) == 1
    others = [path for path in store.rglob("*") if path.is_file() and path != file]
    assert [path.name for path in others if server.token.encode() in path.read_bytes()] == []
    for path in ("/api/v1/health", "/api/v1/openapi.json", "/enter", "/_stcore/health"):
        assert server.token not in httpx.get(f"{server.address}{path}").text
    assert server.token not in str(AuditLog(store).events())


def test_a_stopped_server_leaves_no_token_and_a_killed_one_none_that_is_used(tmp_path):
    store = tmp_path / "store"
    with atlas_serve(store) as stopped:
        file = store / token_file_name(stopped.port)
        assert file.exists()
    assert (file.exists(), endpoint(stopped.address).secret) == (False, "")
    with atlas_serve(store, port=stopped.port) as killed:
        assert killed.token != stopped.token
        killed.process.kill()
        killed.process.wait(GIVE_UP_SECONDS)
    assert (file.read_text(), endpoint(killed.address).secret) == (killed.token, "")
    with atlas_serve(store, port=stopped.port) as again:
        assert file.read_text() == again.token == endpoint(again.address).secret
        assert httpx.get(f"{again.address}/api/v1/operations", headers=bearer(killed.token)).status_code == 401
    assert not file.exists()


def test_without_a_token_only_this_machine_is_served_and_the_killed_one_before_confuses_nobody(tmp_path):
    store = tmp_path / "store"
    with atlas_serve(store) as killed:
        killed.process.kill()
        killed.process.wait(GIVE_UP_SECONDS)
    with atlas_serve(store, "--no-token", port=killed.port) as server, httpx.Client(base_url=server.address) as client:
        assert client.get("/api/v1/operations").status_code == 200
        assert client.get("/_stcore/host-config").status_code == 200
        passed_on = client.get("/api/v1/operations", headers={"X-Forwarded-For": "10.0.0.7"})
        assert (passed_on.status_code, "start it without --no-token" in passed_on.json()["detail"]) == (403, True)
        with atlas.connect(server.address) as memory:
            memory.store(attempt("count the pages", True))
        ApiKeys(store).add("crawler", Role.WRITER, created_by="root")
        assert client.get("/api/v1/operations").status_code == 401


@pytest.mark.parametrize("options", [["--host", "0.0.0.0"], ["--allow-host", "memory.example"], ["--ask"]])
def test_no_token_is_refused_where_others_could_reach_the_server_or_are_to_be_asked(store, options):
    command = [sys.executable, "-m", "atlas", "--store", str(store), "serve", "--no-token", *options]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=GIVE_UP_SECONDS)
    assert (done.returncode, "leave out one or the other" in done.stderr) == (1, True)
