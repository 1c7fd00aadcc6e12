"""Dependencies that routes share, such as the served memory.

Those that do not wait for anything are coroutines: a plain function would be run in a thread, for each request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute

from atlas.core.errors import InvalidInput
from atlas.infra.secrets import counting_secrets
from atlas.memory.base.memory import Memory
from atlas.memory.kinds.table import known_kinds
from atlas.memory.system import MemorySystem
from atlas.server.names import MemoryName
from atlas.server.operations.requests import record_of
from atlas.server.problems import unknown_names

SCRUBBED = "Atlas-Scrubbed"
"""Header with the number of replaced secrets by kind. Absent if there are none."""


def served(request: Request) -> MemorySystem:
    """Return the served memory, open."""
    memory: MemorySystem = request.app.state.open_memory()
    return memory


def is_warm(request: Request) -> bool:
    """Return whether the embedding model is ready. Until then searches use keywords only, to avoid a wait."""
    answer: bool = request.app.state.is_warm()
    return answer


Served = Annotated[MemorySystem, Depends(served)]
Warm = Annotated[bool, Depends(is_warm)]


async def check_query(request: Request) -> None:
    """Raise `InvalidInput` for query parameters that the route does not have."""
    route: APIRoute = request.scope["route"]
    names = [parameter.alias for parameter in route.dependant.query_params]
    if unknown := [name for name in dict(request.query_params) if name not in names]:
        raise InvalidInput(unknown_names(unknown, names, kind="parameter", of="this address"))


async def name_route(request: Request) -> None:
    """Record the route of the request, with parameter names instead of ids."""
    if (record := record_of(request.scope)) is not None:
        record.route = request.scope["root_path"] + request.scope["route"].path


def memory_named(memory: MemorySystem, name: MemoryName) -> Memory[Any]:
    """Return the memory with a name, built-in or of a plug-in."""
    records: Memory[Any] = known_kinds()[name].records(memory)
    return records


@contextmanager
def counting_secrets_of(response: Response) -> Iterator[Mapping[str, int]]:
    """Yield the number of replaced secrets in the block by kind, and send it as a header."""
    with counting_secrets() as counts:
        yield counts
    if counts:
        response.headers[SCRUBBED] = ", ".join(f"{kind}={n}" for kind, n in sorted(counts.items()))
