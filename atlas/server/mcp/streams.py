"""Serving an MCP server over stdio, after the handshake was done without the MCP libraries."""

from __future__ import annotations

from typing import Any

from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse
from mcp_types.jsonrpc import jsonrpc_message_adapter

from atlas.server.mcp.handshake import Handshake


async def serve_after(handshake: Handshake, server: Server[Any]) -> None:
    """Serve a client until it disconnects. The server also gets the first message, which identifies the client."""
    async with stdio_server() as (incoming, outgoing):
        await server.run(
            _Incoming(handshake.line, incoming),
            _Outgoing(handshake.answered_id, outgoing),
            server.create_initialization_options(),
        )


class _Incoming(ObjectReceiveStream[SessionMessage | Exception]):
    """The client's messages, beginning with a replay of the first, which was read during the handshake."""

    def __init__(self, line: bytes, stream: Any) -> None:
        self._line = line
        self._stream = stream

    async def receive(self) -> SessionMessage | Exception:
        line, self._line = self._line, b""
        if not line:
            message: SessionMessage | Exception = await self._stream.receive()
            return message
        try:
            return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValueError as error:
            return error  # to be answered by the server

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Outgoing(ObjectSendStream[SessionMessage]):
    """Messages to the client, without the reply that was sent during the handshake."""

    def __init__(self, answered_id: str | int | None, stream: Any) -> None:
        self._answered_id = answered_id
        self._stream = stream

    async def send(self, item: SessionMessage) -> None:
        message = item.message
        if isinstance(message, JSONRPCResponse) and message.id == self._answered_id:
            self._answered_id = None
            return
        await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()
