"""A viewer writes through no door: no endpoint, tool, button or upload changes anything."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import streamlit as st
from mcp import Client
from streamlit.testing.v1 import AppTest

import atlas
from atlas.access.keys import KeyRing
from atlas.infra import actor as actors
from atlas.infra.actor import Actor, Finder, Role
from atlas.server.mcp.server import make_server
from tests.support.dashboard import RUN_SECONDS, of_type
from tests.support.everything import Ids, content, make_everything
from tests.support.mcp_clients import Connection, refused, said
from tests.support.repository import REPOSITORY
from tests.support.sample import opened
from tests.support.serving import serving

VIEWER = Actor("vera", Role.VIEWER)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory) -> tuple[Path, Ids]:
    """A store with something of every kind, and its ids."""
    store = tmp_path_factory.mktemp("viewers") / "store"
    return store, make_everything(store)


def test_no_endpoint_writes_with_a_viewers_key(prepared, tmp_path):
    store, ids = prepared
    own = tmp_path / "store"
    shutil.copytree(store, own)
    ring = KeyRing(own)
    headers = {
        role: {"Authorization": f"Bearer {ring.add(f'the {role}', role, created_by='root')[1]}"} for role in Role
    }
    with opened(own) as memory, serving(memory) as address, httpx.Client(base_url=f"{address}/api/v1") as client:
        paths = client.get("/openapi.json", headers=headers[Role.VIEWER]).json()["paths"]
        asked = bodies(memory, ids)
        writing = {(method, path) for path, methods in paths.items() for method in methods if method != "get"}
        assert writing == {(method, path) for method, path, *_ in asked}, "say how each endpoint is asked"
        for method, path, at, body in asked:
            before = content(own)
            answer = client.request(method, path.format(**at), json=body, headers=headers[Role.VIEWER])
            assert content(own) == before, path
            if path in READING_ENDPOINTS:
                assert answer.status_code == 200, answer.text
                continue
            assert answer.status_code == 403, (path, answer.text)
            done = client.request(method, path.format(**at), json=body, headers=headers[Role.ADMIN])
            assert done.is_success, (path, done.text)
            if path != "/traces":  # which is written once its trace is quiet
                assert content(own) != before, path


READING_ENDPOINTS = {"/context", "/{memory}/search"}


def bodies(memory: atlas.MemorySystem, ids: Ids) -> list[tuple[str, str, dict[str, str], Any]]:
    """How each endpoint is asked that takes a body: method, path, what stands in its path, and the body."""
    one = {"memory": "experience", "record_id": ids["experience"]}
    task = {"description": "mend the report of a customer"}
    span = {"traceId": "1" * 32, "spanId": "2" * 16, "name": "run", "startTimeUnixNano": "1", "endTimeUnixNano": "2"}
    return [
        ("post", "/context", {}, {"task": task}),
        ("post", "/{memory}/search", one, {"query": "report"}),
        ("post", "/attempts", {}, {"task": task, "steps": [{"action": "mend"}], "outcome": {"success": True}}),
        ("post", "/traces", {}, {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}),
        ("post", "/{memory}/marks", one, {"ids": [ids["experience"]], "add_tags": ["mine"]}),
        ("post", "/strategies", {}, {"situation": "a page is slow", "suggestion": "cache it"}),
        ("post", "/concepts", {}, {"name": "keep", "description": "Keeps it", "code": "def keep(x):\n    return x"}),
        ("post", "/journal", {}, {"entry_type": "reflection", "content": "caching made pages fast"}),
        ("patch", "/{memory}/{record_id}", one, {"fields": {"feedback": "better"}}),
        ("post", "/{memory}/{record_id}/uses", one, {"success": True}),
        ("post", "/operations/{operation_id}/undo", {"operation_id": memory.history(1)[0].id}, {}),
    ]


def test_no_tool_writes_with_a_viewers_key(prepared, tmp_path):
    store, ids = prepared
    own = tmp_path / "store"
    shutil.copytree(store, own)
    ring = KeyRing(own)
    secrets = {role: ring.add(f"the {role}", role, created_by="root")[1] for role in (Role.VIEWER, Role.ADMIN)}
    calls = {
        "store_attempt": {"task": "rotate the logs", "steps": ["logrotate"]},
        "note": {"entry_type": "reflection", "content": "caching made pages fast"},
        "add_strategy": {"situation": "a page is slow", "suggestion": "cache it"},
        "record_use": {"id": ids["experience"], "success": True},
        "mark": {"ids": [ids["experience"]], "add_tags": ["mine"]},
        "undo": {"operation_id": ""},
    }
    reads = {"recall", "search", "read", "history"}

    async def talk(client: Client) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} == reads
        for name, given in calls.items():
            before = content(own)
            assert "the viewer is a viewer and may not" in await refused(client, name, **given)
            assert content(own) == before, name

    async def write(client: Client) -> None:
        for name, given in calls.items():
            before = content(own)
            await said(client, name, **given)
            assert content(own) != before, name

    with opened(own) as memory, serving(memory) as address:
        calls["undo"]["operation_id"] = memory.history(1)[0].id
        assert set(calls) | reads == {
            tool.name for tool in asyncio.run(make_server(lambda: memory, lambda: True).list_tools())
        }
        Connection("auto", address=address, key=secrets[Role.VIEWER]).run(talk)
        Connection("auto", address=address, key=secrets[Role.ADMIN]).run(write)


PAGES = sorted(path.stem for path in (REPOSITORY / "pages").glob("[a-z]*.py"))
PARTS = {
    "curate": (
        "curate_queue",
        ("duplicates", "failing", "never", "unknown", "buried", "rule", "refine", "compress", "review"),
    ),
    "journal": ("journal_tab", ("Link suggestions", "Contexts", "Forgetting", "Refused", "Conversations")),
    "history": ("history_tab", ("Trash",)),
    "evaluation": ("evaluation_tab", ("Compare profiles", "Judged queries")),
    "settings": (
        "settings_tab",
        ("Import", "Export and backup", "Models", "Primitives", "Keys", "People", "Links", "Audit"),
    ),
}
OPENED = {"experiences": "experience", "concepts": "concepts", "strategies": "strategies", "journal": "journal"}


def addresses(ids: Ids) -> Iterator[tuple[str, dict[str, str]]]:
    """Every page, each of its parts, and a record of each kind that is open."""
    for page in PAGES:
        yield page, {}
        key, parts = PARTS.get(page, ("", ()))
        yield from ((page, {key: part}) for part in parts)
        if page in OPENED:
            yield page, {"id": ids[OPENED[page]]}


@pytest.fixture
def as_viewer() -> Iterator[None]:
    """Pages that are drawn for a viewer."""
    before = dict(os.environ)
    actors.look_up_actors(Finder(present=lambda: VIEWER, choices=lambda: {"store": VIEWER}))
    yield
    actors._finders.clear()
    st.cache_resource.clear()
    os.environ.clear()
    os.environ.update(before)


def test_no_button_of_any_page_writes_for_a_viewer(prepared, tmp_path, as_viewer):
    store, ids = prepared
    own = tmp_path / "store"
    shutil.copytree(store, own)
    os.environ["ATLAS_STORE"] = str(own)
    n_clicked = 0
    for page, address in addresses(ids):
        app = AppTest.from_file(REPOSITORY / "app.py", default_timeout=RUN_SECONDS)
        app.query_params.update(address)
        app.switch_page(f"pages/{page}.py")
        app.run()
        assert not app.exception, (page, address)
        assert not [one for one in of_type(app, "file_uploader") if not one.proto.disabled], (page, address)
        before = content(own)
        for key in [button.key for button in app.button if not button.disabled]:
            found = [button for button in app.button if button.key == key and not button.disabled]
            for button in found:  # one click may take the place of another button
                button.click().run()
                n_clicked += 1
                assert content(own) == before, (page, address, key)
    assert n_clicked > 10, "hardly a button was clicked"
