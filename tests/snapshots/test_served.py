"""The descriptions that clients of a server read: the HTTP API as OpenAPI, and the tools of MCP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anyio
import httpx
import pytest
from mcp import Client

import atlas
from atlas.server.api.verbs import RESULTS
from atlas.server.mcp.server import make_server
from atlas.server.served import ServedMemory
from atlas.testing import HashEmbedder
from atlas.verbs.table import SYSTEM, VERBS
from tests.support.serving import serving
from tests.support.snapshots import assert_unchanged


@pytest.fixture
def memory(tmp_path) -> Iterator[atlas.MemorySystem]:
    with atlas.open_memory(tmp_path, embedder=HashEmbedder()) as opened:
        yield opened


def test_the_description_of_the_http_api_is_the_same(memory):
    with serving(memory) as address:
        description = httpx.get(f"{address}/api/v1/openapi.json", timeout=60).json()
    paths = description["paths"]
    verbs = {path for path in paths if path.startswith("/verbs/")}
    assert verbs == {
        f"/verbs/{verb.name}" if verb.owners == (SYSTEM,) else f"/verbs/{{memory}}/{verb.name}" for verb in VERBS
    }
    description["paths"] = {path: paths[path] for path in paths if path not in verbs}
    schemas = description["components"]["schemas"]  # those of the verbs' results are made from their signatures
    description["components"]["schemas"] = {
        name: schema for name, schema in schemas.items() if schema != RESULTS.named.get(name)
    }
    assert_unchanged("openapi", lines(description))


def test_the_tools_of_mcp_are_the_same(memory):
    server = make_server(lambda: ServedMemory(memory))

    async def listed() -> list[Any]:
        async with Client(server) as client:
            return (await client.list_tools()).tools

    tools = anyio.run(listed)
    assert_unchanged("mcp_tools", lines([tool.model_dump(mode="json", exclude_none=True) for tool in tools]))


def lines(description: Any) -> list[str]:
    """Return a description as lines of JSON, whatever the order of its names."""
    return json.dumps(description, ensure_ascii=False, indent=1, sort_keys=True).splitlines()
