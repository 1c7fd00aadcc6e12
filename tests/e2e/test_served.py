"""A memory that others can reach: who sees and changes what, through pages, API and MCP at once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
import websockets
import websockets.exceptions
from playwright.sync_api import Page, expect

from atlas.access.keys import ApiKeys
from atlas.infra.actor import Role
from tests.support.browser.page import settle, shoot
from tests.support.browser.server import ELSEWHERE, atlas_serve, run_atlas
from tests.support.mcp_clients import Connection, said
from tests.support.repository import REPOSITORY
from tests.support.stores import copied
from tests.support.waiting import GIVE_UP_SECONDS

TASK = "rotate the logs of the crawler before its disk is full"


@pytest.fixture(scope="module")
def store(sample_data: Path, tmp_path_factory) -> Path:
    """A store of the sample data."""
    return copied(sample_data, tmp_path_factory.mktemp("served") / "store")


@pytest.fixture(scope="module")
def keys(store) -> dict[str, str]:
    """A key of each role, by its name."""
    api_keys = ApiKeys(store)
    return {role.name.lower(): api_keys.add(f"the {role}", role, created_by="owner")[1] for role in Role}


@pytest.fixture(scope="module")
def address(store, keys) -> Iterator[str]:
    """A server that other machines could reach."""
    with atlas_serve(store, "--allow-host", ELSEWHERE) as server:
        yield server.address


async def connect(address: str, **headers: str) -> None:
    """Open the socket of a page, as a browser does."""
    at = f"{address.replace('http', 'ws')}/_stcore/stream"
    async with websockets.connect(at, additional_headers=headers) as socket:
        await socket.ping()


def enter(page: Page, address: str, key: str) -> None:
    """Enter a key on the form that every address leads to."""
    page.goto(address)
    page.get_by_label("Enter a key").fill(key)
    page.get_by_role("button", name="Enter").click()


def test_without_a_key_nothing_of_the_store_is_seen(page: Page, address):
    page.goto(f"{address}/experiences")
    expect(page.get_by_label("Enter a key")).to_be_visible()
    page.get_by_label("Enter a key").fill("atlas_guessed")
    page.get_by_role("button", name="Enter").click()
    expect(page.get_by_role("alert")).to_contain_text("this key is unknown")
    expect(page.get_by_text("bike")).to_have_count(0)


def test_without_a_key_no_other_door_is_open_either(address):
    with httpx.Client(base_url=address) as client:
        refused = {
            path: client.request(method, path).status_code
            for method, path in [
                ("GET", "/media/nothing.png"),
                ("GET", "/_stcore/host-config"),
                ("PUT", "/_stcore/upload_file/one/two"),
                ("GET", "/api/v1/operations"),
                ("POST", "/mcp/"),
            ]
        }
        assert refused == dict.fromkeys(refused, 401)
        assert client.get("/api/v1/health").status_code == 200
        assert client.get("/", headers={"Host": "evil.example"}).status_code == 400

    with pytest.raises(websockets.exceptions.WebSocketException), ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, connect(address)).result()


def test_a_foreign_page_reaches_no_socket_with_the_cookie_of_somebody_who_entered(address, keys):
    with httpx.Client(base_url=address) as client:
        client.post("/enter", data={"key": keys["admin"]})
        cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, connect(address, Cookie=cookie, Origin=address)).result()
        with pytest.raises(websockets.exceptions.WebSocketException):
            thread.submit(asyncio.run, connect(address, Cookie=cookie, Origin="https://evil.example")).result()


def test_a_viewer_sees_every_page_by_another_name_of_the_server_and_can_change_nothing(page: Page, address, keys):
    there = address.replace("127.0.0.1", ELSEWHERE)
    enter(page, there, keys["viewer"])
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.goto(f"{there}/settings?settings_tab=Import")
    expect(
        page.get_by_text("Nothing can be changed here: the store is open for reading only, or you are a viewer.")
    ).to_be_visible()
    expect(page.locator("input[type=file]")).to_have_count(0)
    page.get_by_role("radio", name="Keys").click()
    expect(page.get_by_text("Only an admin sees the keys of this store.")).to_be_visible()
    page.get_by_role("radio", name="People").click()
    expect(page.get_by_text("Only an admin sees the people of this store.")).to_be_visible()
    page.get_by_role("link", name="History", exact=True).click()
    expect(page.get_by_text("newest first")).to_be_visible()
    shoot(page, "served-viewer", themes=True)


def test_what_an_agent_stores_is_on_the_pages_by_its_name_and_undone_there(page: Page, address, keys):
    writer = {"Authorization": f"Bearer {keys['writer']}"}
    enter(page, address, keys["curator"])
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    stored = Connection("auto", address=address, key=keys["writer"]).run(
        lambda client: said(client, "store_attempt", task=TASK, steps=["logrotate -f"], success=True)
    )
    assert "Stored experience" in stored
    operation = stored.rpartition("undo ")[2].strip(".")
    page.goto(f"{address}/history?operation={operation}")
    expect(page.get_by_text("the writer")).to_be_visible()
    shoot(page, "served-history", themes=True)
    page.get_by_role("button", name="Undo").first.click()
    expect(page.get_by_text("Undone:")).to_be_visible()
    told = httpx.post(f"{address}/api/v1/context", json={"task": {"description": TASK}}, headers=writer, timeout=60)
    assert TASK not in told.json()["text"]


def test_an_admin_makes_a_key_that_works_once_shown_until_it_is_revoked(page: Page, address, keys):
    enter(page, address, keys["admin"])
    page.goto(f"{address}/settings?settings_tab=Keys")
    settle(page)
    page.get_by_label("Name").fill("nightly")
    page.get_by_role("button", name="Make a key").click()
    expect(page.get_by_text("Copy this key now.")).to_be_visible()
    shoot(page, "served-keys", themes=True)
    made = page.locator(".st-key-settings_key_made code").inner_text().strip()
    page.get_by_role("button", name="I have copied it").click()
    expect(page.get_by_text("Copy this key now.")).to_have_count(0)
    history = f"{address}/api/v1/operations"
    assert httpx.get(history, headers={"Authorization": f"Bearer {made}"}).status_code == 200
    page.get_by_label("Key to revoke").click()
    page.get_by_role("option", name="nightly").click()
    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("option", name="nightly")).to_have_count(0)
    settle(page)
    assert httpx.get(history, headers={"Authorization": f"Bearer {made}"}).status_code == 401


def test_a_page_whose_key_is_revoked_shows_nothing_more(page: Page, address, store):
    api_keys = ApiKeys(store)
    enter(page, address, api_keys.add("leaving", Role.CURATOR, created_by="owner")[1])
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    api_keys.revoke("leaving")
    page.get_by_role("link", name="Experiences").first.click()
    expect(page.get_by_text("your access was revoked")).to_be_visible()
    page.goto(f"{address}/experiences")
    expect(page.get_by_label("Enter a key")).to_be_visible()


def test_other_addresses_are_refused_at_start_without_a_key(tmp_path):
    run_atlas(tmp_path, "init")
    command = [sys.executable, "-m", "atlas", "--store", str(tmp_path), "serve", "--host", "0.0.0.0"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=GIVE_UP_SECONDS)
    assert done.returncode == 1
    assert "atlas keys add NAME --role admin" in done.stderr


def test_what_a_key_under_review_writes_waits_on_curate_until_it_is_accepted(page: Page, address, keys, store):
    secret = ApiKeys(store).add("the intern", Role.WRITER, is_reviewed=True, created_by="owner")[1]
    task = "prune the index of the crawler before it is searched"
    told = Connection("auto", address=address, key=secret).run(
        lambda client: said(client, "store_attempt", task=task, steps=["vacuum"], success=True)
    )
    assert "only you find it" in told
    writer = {"Authorization": f"Bearer {keys['writer']}"}
    asked = {"json": {"task": {"description": task}}, "headers": writer, "timeout": 60}
    assert task not in httpx.post(f"{address}/api/v1/context", **asked).json()["text"]
    enter(page, address, keys["curator"])
    page.goto(f"{address}/curate")
    expect(page.get_by_text("The key the intern wrote it under review.")).to_be_visible()
    settle(page)
    page.keyboard.press("a")
    expect(page.get_by_text("Accepted 1 experience")).to_be_visible()
    assert task in httpx.post(f"{address}/api/v1/context", **asked).json()["text"]
    page.get_by_role("button", name="Undo").first.click()
    settle(page)
    page.get_by_role("combobox", name="Cases").click()
    page.get_by_role("option", name="Waiting for review 1").click()
    shoot(page, "served-review", themes=True)
    page.get_by_role("button", name="Reject all 1").click()
    page.get_by_role("dialog").get_by_role("button", name="Reject 1 experience").click()
    expect(page.get_by_text("Rejected 1 experience")).to_be_visible()
    expect(page.get_by_text("Waiting for review 1")).to_have_count(0)
