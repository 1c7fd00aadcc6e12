"""The MCP server with all tools."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, InputRequiredResult, Tool, ToolAnnotations
from pydantic import ValidationError

from atlas.core.errors import AtlasError
from atlas.core.imports.distribution import __version__
from atlas.infra.actor import Role, has_role
from atlas.infra.secrets import counting_secrets, describe_counts
from atlas.server.mcp import reading, resources, writing
from atlas.server.mcp.handshake import INSTRUCTIONS, SERVER_NAME, TITLE, Handshake
from atlas.server.mcp.parameters import simplify_schema, wrong_arguments_message
from atlas.server.mcp.streams import serve_after
from atlas.server.problems import unknown_names_message
from atlas.server.served import MemoryProvider

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(destructive_hint=False, open_world_hint=False)
CHANGES = ToolAnnotations(destructive_hint=True, open_world_hint=False)
UNDOES = ToolAnnotations(destructive_hint=True, idempotent_hint=True, open_world_hint=False)

KEYWORD_VARIANTS: Mapping[Callable[..., str], Callable[..., str]] = {
    reading.recall: reading.recall_by_words,
    reading.search: reading.search_by_words,
}
"""Keyword-only variants of tools, used while the embedding model is loading."""

TOOLS: tuple[tuple[Callable[..., str], ToolAnnotations], ...] = (
    (reading.recall, READS),
    (reading.search, READS),
    (reading.read, READS),
    (reading.history, READS),
    (writing.store_attempt, ADDS),
    (writing.note, ADDS),
    (writing.add_strategy, ADDS),
    (writing.record_use, ADDS),
    (writing.report_outcomes, ADDS),
    (writing.mark, ADDS),
    (writing.edit, CHANGES),
    (writing.forget, CHANGES),
    (writing.undo, UNDOES),
)


PARAMETERS: Mapping[str, tuple[str, ...]] = {
    tool.__name__: tuple(name for name in inspect.signature(tool).parameters if name != "memory") for tool, _ in TOOLS
}
"""Names of each tool's arguments."""

RESOURCES: Mapping[str, Callable[..., str]] = {
    "atlas://overview": resources.overview,
    "atlas://{name}/{id}": resources.record,
}
"""Resources by URI."""


def make_server(open_memory: MemoryProvider) -> _Server:
    """Return a server with the tools."""
    server = _Server(SERVER_NAME, title=TITLE, version=__version__, instructions=INSTRUCTIONS, log_level="WARNING")
    for tool, hints in TOOLS:
        server.add_tool(_bind_memory(tool, open_memory), annotations=hints, structured_output=False)
    for uri, resource in RESOURCES.items():
        server.resource(uri, mime_type="text/markdown")(_bind_memory(resource, open_memory))
    for prompt in (resources.before_task, resources.after_task):
        server.prompt()(prompt)
    return server


class _Server(MCPServer[Any]):
    """A server that lists only the tools a key may use, and rejects unknown arguments."""

    async def run_after(self, handshake: Handshake) -> None:
        """Serve a client over stdio until it disconnects."""
        await serve_after(handshake, self._lowlevel_server)

    async def list_tools(self) -> list[Tool]:
        tools = [tool for tool in await super().list_tools() if tool.annotations == READS or has_role(Role.WRITER)]
        return [tool.model_copy(update={"input_schema": simplify_schema(tool.input_schema)}) for tool in tools]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        if name not in PARAMETERS:
            raise ToolError(f"{name!r:.80} is not a tool of this server; its tools are {', '.join(PARAMETERS)}")
        if unknown_names := [argument for argument in arguments if argument not in PARAMETERS[name]]:
            raise ToolError(unknown_names_message(unknown_names, PARAMETERS[name], kind="argument", target=f"`{name}`"))
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            raise await self._readable_error(name, arguments, error) from error.__cause__

    async def _readable_error(self, name: str, arguments: dict[str, Any], error: ToolError) -> ToolError:
        """Return the error of a failed call. Errors about wrong arguments get our message instead of pydantic's."""
        match error.__cause__:
            case ToolError() as ours:
                return ours
            case ValidationError() as problems:
                [tool] = [tool for tool in await super().list_tools() if tool.name == name]
                return ToolError(wrong_arguments_message(name, simplify_schema(tool.input_schema), arguments, problems))
        return error


def _bind_memory(tool: Callable[..., str], open_memory: MemoryProvider) -> Callable[..., str]:
    """Return a tool with its first parameter, the memory, bound. ATLAS errors become `ToolError`."""

    @wraps(tool, assigned=("__name__", "__qualname__", "__module__"))
    def bound_tool(**arguments: Any) -> str:
        try:
            served = open_memory()
            available_tool = tool if served.is_model_ready else KEYWORD_VARIANTS.get(tool, tool)
            with counting_secrets() as counts:
                answer = available_tool(served.memory, **arguments)
            return f"{answer} {describe_counts(counts)}" if counts else answer
        except AtlasError as error:
            raise ToolError(str(error)) from error

    # imported when the memory is opened
    signature = inspect.signature(tool, eval_str=True, locals={"MemorySystem": Any})
    parameters = [parameter for name, parameter in signature.parameters.items() if name != "memory"]
    bound_tool.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    bound_tool.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {"return": str}
    bound_tool.__doc__ = inspect.cleandoc(tool.__doc__ or "")
    return bound_tool
