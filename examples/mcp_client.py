"""An MCP client of the memory: it starts `atlas mcp`, as Claude Code and other agents do, and calls its tools.

python mcp_client.py            # writes the store `mcp-memory` into the current directory
"""

import asyncio
import os
import sys

from mcp import Client
from mcp.client.stdio import StdioServerParameters

SERVER = StdioServerParameters(
    command=sys.executable,
    args=["-m", "atlas", "mcp"],  # the same as the command `atlas mcp`
    env={**os.environ, "ATLAS_STORE": "mcp-memory", "ATLAS_ACTOR": "crawler"},  # whose writes the history says it were
)


async def main() -> None:
    """Store an attempt, find it again for another task, and take it back."""
    async with Client(SERVER) as client:
        print("tools:", *sorted(tool.name for tool in (await client.list_tools()).tools))
        await call(
            client,
            "store_attempt",
            task="Rotate the logs of the crawler before the disk is full",
            steps=["logrotate --force /etc/logrotate.d/crawler", "df -h /var/log"],
            success=True,
        )
        await call(client, "recall", task="The disk of the crawler is nearly full")
        await call(client, "history")


async def call(client: Client, tool: str, **arguments: object) -> None:
    """Call a tool, and print what it answers."""
    answer = await client.call_tool(tool, arguments)
    print(f"\n== {tool}", *(block.text for block in answer.content if block.type == "text"), sep="\n")


if __name__ == "__main__":
    asyncio.run(main())
