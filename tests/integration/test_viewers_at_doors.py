"""A viewer writes through no door: no endpoint and no tool changes anything."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client

import atlas
from atlas.access.keys import ApiKeys
from atlas.infra.actor import Actor, Role, acting
from atlas.server.mcp.server import make_server
from atlas.server.served import ServedMemory
from atlas.verbs.table import SYSTEM, VERBS
from tests.support.everything import Ids, content, make_everything
from tests.support.mcp_clients import Connection, refused, said
from tests.support.sample import opened
from tests.support.serving import serving


@pytest.fixture(scope="module")
def prepared(tmp_path_factory) -> tuple[Path, Ids]:
    """A store with something of every kind, and its ids."""
    store = tmp_path_factory.mktemp("viewers") / "store"
    return store, make_everything(store)


def test_no_endpoint_writes_with_a_viewers_key(prepared, tmp_path):
    store, ids = prepared
    own = tmp_path / "store"
    shutil.copytree(store, own)
    api_keys = ApiKeys(own)
    headers = {
        role: {"Authorization": f"Bearer {api_keys.add(f'the {role}', role, created_by='root')[1]}"} for role in Role
    }
    with opened(own) as memory, serving(memory) as address, httpx.Client(base_url=f"{address}/api/v1") as client:
        paths = client.get("/openapi.json", headers=headers[Role.VIEWER]).json()["paths"]
        asked = bodies(memory, ids)
        writing = {
            (method, path)
            for path, methods in paths.items()
            for method in methods
            if method != "get" and not path.startswith("/verbs/")
        }
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
        ("post", "/experience/outcomes", {}, {"outcomes": {ids["experience"]: None}}),
        ("post", "/strategies", {}, {"situation": "a page is slow", "suggestion": "cache it"}),
        ("post", "/concepts", {}, {"name": "keep", "description": "Keeps it", "code": "def keep(x):\n    return x"}),
        ("post", "/journal", {}, {"entry_type": "reflection", "content": "caching made pages fast"}),
        ("patch", "/{memory}/{record_id}", one, {"fields": {"feedback": "better"}}),
        ("post", "/{memory}/{record_id}/uses", one, {"success": True}),
        ("post", "/operations/{operation_id}/undo", {"operation_id": memory.history(1)[0].id}, {}),
        ("post", "/review/accept", {}, {"ids": [ids["held experience"]]}),
        ("post", "/review/reject", {}, {"all": True}),
        ("post", "/access/keys", {}, {"name": "mine"}),
        ("post", "/access/keys/{name_or_id}/revoke", {"name_or_id": ids["key"]}, {}),
        ("post", "/access/people/{person_id}/role", {"person_id": ids["person"]}, {"role": "curator"}),
        ("post", "/access/people/{person_id}/remove", {"person_id": ids["person"]}, {}),
        ("post", "/access/people/{person_id}/readmit", {"person_id": ids["person"]}, {}),
        ("post", "/access/links", {}, {"name": "mine"}),
        ("post", "/access/links/{link_id}/end", {"link_id": ids["link"]}, {}),
        ("post", "/access/backups", {}, {}),
    ]


def test_every_verb_is_refused_to_the_roles_below_its_own(prepared, tmp_path):
    own = tmp_path / "store"
    shutil.copytree(prepared[0], own)
    api_keys = ApiKeys(own)
    keys = {role: api_keys.add(f"the {role}", role, created_by="root")[1] for role in Role}
    with opened(own) as memory, serving(memory) as address, httpx.Client(base_url=f"{address}/api/v1/verbs/") as client:
        before = content(own)
        for verb in VERBS:
            for owner in verb.owners:
                path = verb.name if owner == SYSTEM else f"{owner}/{verb.name}"
                for role in (role for role in Role if role < verb.role):
                    answer = client.post(path, json={}, headers={"Authorization": f"Bearer {keys[role]}"})
                    assert answer.status_code == 403, (path, role, answer.text)
        assert content(own) == before


@pytest.mark.parametrize(
    ("path", "body", "needed"),
    [
        ("journal/plan_compact", {}, Role.WRITER),
        ("concepts/compose", {"concept_ids": []}, Role.WRITER),
        ("experience/refine", {"experiences": []}, Role.WRITER),
        ("journal/switch_gate", {"name": "noise", "is_on": False}, Role.CURATOR),
        ("journal/register_type", {"name": "decision", "importance": 0.5}, Role.CURATOR),
    ],
)
def test_a_verb_that_may_cost_money_or_changes_settings_is_refused_to_lower_roles(
    prepared, tmp_path, path, body, needed
):
    own = tmp_path / "store"
    shutil.copytree(prepared[0], own)
    api_keys = ApiKeys(own)
    keys = {role: api_keys.add(f"the {role}", role, created_by="root")[1] for role in Role}
    with opened(own) as memory, serving(memory) as address, httpx.Client(base_url=f"{address}/api/v1/verbs/") as client:
        allowed = {
            role
            for role, key in keys.items()
            if client.post(path, json=body, headers={"Authorization": f"Bearer {key}"}).is_success
        }
    assert allowed == {role for role in Role if role >= needed}


def test_no_verb_imports_what_was_exported(prepared, tmp_path):
    own = tmp_path / "store"
    shutil.copytree(prepared[0], own)
    key = ApiKeys(own).add("root", Role.ADMIN, created_by="root")[1]
    with opened(own) as memory, serving(memory) as address:
        headers = {"Authorization": f"Bearer {key}"}
        for name in ("experience", "strategies", "concepts"):
            url = f"{address}/api/v1/verbs/{name}/restore_many"
            assert httpx.post(url, json={"exported": []}, headers=headers).status_code in (404, 405), name


def test_no_tool_writes_with_a_viewers_key(prepared, tmp_path):
    store, ids = prepared
    own = tmp_path / "store"
    shutil.copytree(store, own)
    api_keys = ApiKeys(own)
    secrets = {role: api_keys.add(f"the {role}", role, created_by="root")[1] for role in (Role.VIEWER, Role.ADMIN)}
    calls = {
        "store_attempt": {"task": "rotate the logs", "steps": ["logrotate"]},
        "note": {"entry_type": "reflection", "content": "caching made pages fast"},
        "add_strategy": {"situation": "a page is slow", "suggestion": "cache it"},
        "record_use": {"id": ids["experience"], "success": True},
        "report_outcomes": {"outcomes": {ids["experience"]: None}},
        "mark": {"ids": [ids["experience"]], "add_tags": ["mine"]},
        "edit": {"id": "", "changes": {"content": "caching made pages slow"}},
        "forget": {"ids": []},
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
        with acting(Actor("the admin", Role.ADMIN)):
            own_id = memory.journal.add("observation", "the crawler writes 2 GB a day", generation=1)
        calls["edit"]["id"], calls["forget"]["ids"] = own_id, [own_id]
        assert set(calls) | reads == {
            tool.name for tool in asyncio.run(make_server(lambda: ServedMemory(memory)).list_tools())
        }
        Connection("auto", address=address, key=secrets[Role.VIEWER]).run(talk)
        Connection("auto", address=address, key=secrets[Role.ADMIN]).run(write)
