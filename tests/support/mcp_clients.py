"""MCP clients as agents have them: of a command, of an address, in either version of the protocol."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TypeVar

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.support.repository import REPOSITORY

T = TypeVar("T")

VERSIONS = {"auto": "2026-07-28", "legacy": "2025-11-25"}
"""The ways to connect, and the version of the protocol that each comes to."""


@dataclass(frozen=True)
class Connection:
    """One way to reach a memory."""

    mode: str
    address: str = ""
    """Of a server; else the command `atlas mcp` is started."""

    key: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, talk: Callable[[Client], Awaitable[T]]) -> T:
        """Connect, talk, and leave, in a thread of its own: a browser's tests have a loop running in theirs."""

        async def talked() -> T:
            async with AsyncExitStack() as stack:
                return await talk(await stack.enter_async_context(await self._client(stack)))

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, talked()).result()

    async def _client(self, stack: AsyncExitStack) -> Client:
        if not self.address:
            path = os.pathsep.join(map(str, [REPOSITORY, *sys.path]))
            environment = {**os.environ, "PYTHONPATH": path, **self.environment}
            command = StdioServerParameters(command=sys.executable, args=["-m", "atlas", "mcp"], env=environment)
            return Client(command, mode=self.mode)
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=60))
        return Client(streamable_http_client(f"{self.address}/mcp/", http_client=http), mode=self.mode)


async def said(client: Client, tool: str, **arguments: object) -> str:
    """What a tool answers; a failure raises."""
    answer = await client.call_tool(tool, arguments)
    text = answer.content[0].text
    assert not answer.is_error, text
    return text


async def refused(client: Client, tool: str, **arguments: object) -> str:
    """What a tool that fails says."""
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    return answer.content[0].text
