"""An MCP proxy for one client, which forwards all requests to a remote server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import httpx2
import mcp_types as types
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel import Server

from atlas.access.server_token import endpoint
from atlas.core.imports.distribution import __version__
from atlas.server.mcp.handshake import INSTRUCTIONS, SERVER_NAME, TITLE

T = TypeVar("T")

TIMEOUT_SECONDS = 120.0


class Relay:
    """A remote server and its key. Each request opens a connection, so the server may be restarted in between."""

    def __init__(self, address: str, key: str) -> None:
        self._address = address.rstrip("/")
        self._key = key

    async def list_tools(self, context: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """Return the tools that the key may use."""
        return await self._request(lambda session: session.list_tools(cursor=_cursor(params)))

    async def call_tool(self, context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Call a remote tool. A failed connection or a refusal by the server is returned as the tool's error."""
        try:
            return await self._request(lambda session: session.call_tool(params.name, params.arguments))
        except MCPError as error:
            return types.CallToolResult(content=[types.TextContent(text=str(error))], is_error=True)

    async def list_resources(
        self, context: Any, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """Return the resources."""
        return await self._request(lambda session: session.list_resources(cursor=_cursor(params)))

    async def list_templates(
        self, context: Any, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Return the templates of resources."""
        return await self._request(lambda session: session.list_resource_templates(cursor=_cursor(params)))

    async def read_resource(self, context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """Read a resource."""
        return await self._request(lambda session: session.read_resource(params.uri))

    async def list_prompts(self, context: Any, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        """Return the prompts."""
        return await self._request(lambda session: session.list_prompts(cursor=_cursor(params)))

    async def get_prompt(self, context: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """Return a prompt with its arguments filled in."""
        return await self._request(lambda session: session.get_prompt(params.name, params.arguments))

    async def _request(self, ask: Callable[[Client], Awaitable[T]]) -> T:
        """Return the server's response, or raise `MCPError` with a message that names the remedy."""
        try:
            async with self._connect() as remote:
                return await ask(remote)
        except BaseExceptionGroup as group:
            raise self._to_mcp_error(_first_error(group)) from group
        except (MCPError, httpx2.HTTPError, OSError) as error:
            raise self._to_mcp_error(error) from error

    @asynccontextmanager
    async def _connect(self) -> AsyncIterator[Client]:
        remote_endpoint = endpoint(self._address, self._key)
        async with (
            httpx2.AsyncClient(
                headers=remote_endpoint.headers, timeout=TIMEOUT_SECONDS, trust_env=not remote_endpoint.is_local
            ) as http,
            Client(streamable_http_client(f"{remote_endpoint.address}/mcp/", http_client=http)) as remote,
        ):
            yield remote

    def _to_mcp_error(self, error: BaseException) -> MCPError:
        if isinstance(error, MCPError):
            return error
        return MCPError(
            types.INTERNAL_ERROR,
            f"the server at {self._address} cannot be reached ({type(error).__name__}: {error}); check that it is "
            "running (atlas serve), and that ATLAS_STORE and ATLAS_KEY are right",
        )


def make_relay(address: str, key: str) -> Server[Any]:
    """Return an MCP server that forwards every request to a remote server.

    Args:
        address: URL of a server that `atlas serve` runs.
        key: A key of that server, or an empty string for the token of this user's server on this machine.
    """
    remote = Relay(address, key)
    return Server(
        SERVER_NAME,
        title=TITLE,
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=remote.list_tools,
        on_call_tool=remote.call_tool,
        on_list_resources=remote.list_resources,
        on_list_resource_templates=remote.list_templates,
        on_read_resource=remote.read_resource,
        on_list_prompts=remote.list_prompts,
        on_get_prompt=remote.get_prompt,
    )


def _cursor(params: types.PaginatedRequestParams | None) -> str | None:
    return params.cursor if params else None


def _first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first error of a nested exception group."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
