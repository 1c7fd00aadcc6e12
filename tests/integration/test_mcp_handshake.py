"""The first answer of `atlas mcp`: what the MCP libraries would give, once, and sooner."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import jsonrpc_message_adapter
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_MODERN_VERSION

from atlas.server.mcp import handshake
from atlas.server.mcp.relay import make_relay
from atlas.server.mcp.server import TOOLS, make_server

CLIENT = {"name": "client", "version": "1"}


def initialize(version: str) -> dict:
    """The first request of a client that shakes hands."""
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT}
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}


def stateless(method: str) -> dict:
    """A request of a client whose requests each say who asks."""
    asks = {"protocolVersion": LATEST_MODERN_VERSION, "clientInfo": CLIENT, "clientCapabilities": {}}
    meta = {f"io.modelcontextprotocol/{name}": value for name, value in asks.items()}
    return {"jsonrpc": "2.0", "id": "a", "method": method, "params": {"_meta": meta}}


USUAL = [*map(initialize, HANDSHAKE_PROTOCOL_VERSIONS), stateless("server/discover")]


def reply_of_libraries(server, request: dict) -> dict:
    """What a server of the MCP libraries replies to a first message."""

    async def replied() -> dict:
        ask, incoming = anyio.create_memory_object_stream(1)
        outgoing, replies = anyio.create_memory_object_stream(1)
        async with anyio.create_task_group() as tasks, ask, replies:
            tasks.start_soon(server.run, incoming, outgoing, server.create_initialization_options())
            await ask.send(SessionMessage(jsonrpc_message_adapter.validate_python(request, by_name=False)))
            reply = await replies.receive()
            tasks.cancel_scope.cancel()
        return reply.message.model_dump(mode="json", by_alias=True, exclude_unset=True)

    return asyncio.run(replied())


def talk(store, *messages: dict) -> list[dict]:
    """What `atlas mcp` writes to a client that sends messages and leaves when it has as many replies as requests."""
    command = [sys.executable, "-m", "atlas", "--store", str(store), "mcp"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdin.write("".join(f"{json.dumps(message)}\n" for message in messages))
        process.stdin.flush()
        replies = [process.stdout.readline() for message in messages if "id" in message]
        process.stdin.close()
        replies += process.stdout.readlines()
    return [json.loads(reply) for reply in replies]


@pytest.mark.parametrize("request_", USUAL, ids=lambda request: str(request["params"].get("protocolVersion", "modern")))
def test_the_first_answer_is_that_of_the_libraries(request_):
    tools = make_server(lambda: pytest.fail("opened"))._lowlevel_server
    for server, announces_changes in ((tools, True), (make_relay("http://127.0.0.1:9", ""), False)):
        expected = reply_of_libraries(server, request_)
        assert handshake.handshake_reply(json.dumps(request_).encode(), announces_changes=announces_changes) == expected


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[" * 100_000,
        json.dumps(initialize("1999-01-01")),
        json.dumps(initialize("2025-11-25") | {"params": {}}),
        json.dumps({"jsonrpc": "2.0", "method": "initialize"}),
        json.dumps(stateless("tools/list")),
        json.dumps(stateless("server/discover") | {"params": {}}),
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}),
    ],
)
def test_an_unusual_first_message_is_left_to_the_libraries(line):
    assert handshake.handshake_reply(line.encode(), announces_changes=True) is None


def test_a_client_that_shakes_hands_has_one_reply_to_each_request(tmp_path):
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    hello, listed = talk(
        tmp_path / "store",
        initialize("2025-06-18"),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        listing,
    )
    assert (hello["id"], hello["result"]["protocolVersion"]) == (0, "2025-06-18")
    assert (listed["id"], len(listed["result"]["tools"])) == (1, len(TOOLS))


def test_a_client_without_a_handshake_has_one_reply_to_each_request(tmp_path):
    first, second = talk(tmp_path / "store", stateless("server/discover"), stateless("tools/list") | {"id": "b"})
    assert (first["id"], first["result"]["supportedVersions"]) == ("a", [LATEST_MODERN_VERSION])
    assert (second["id"], len(second["result"]["tools"])) == ("b", len(TOOLS))


def test_a_client_of_an_unknown_version_is_offered_the_newest(tmp_path):
    [hello] = talk(tmp_path / "store", initialize("1999-01-01"))
    assert hello["result"]["protocolVersion"] == HANDSHAKE_PROTOCOL_VERSIONS[-1]


def test_the_first_answer_needs_no_library():
    program = "import sys, atlas.cli.server.mcp; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert {"mcp", "pydantic", "numpy", "anyio", "atlas.memory"}.isdisjoint(modules.split())
