"""Parts that routes share: the memory that is served, and the one of a name."""

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
"""Header with the number of secrets that were replaced in what was written, by kind. Absent without any."""


def served(request: Request) -> MemorySystem:
    """Return the memory that is served, opened."""
    memory: MemorySystem = request.app.state.open_memory()
    return memory


def is_warm(request: Request) -> bool:
    """Return whether the embedding model is ready. Until then searches go by words, to avoid a wait."""
    answer: bool = request.app.state.is_warm()
    return answer


Served = Annotated[MemorySystem, Depends(served)]
Warm = Annotated[bool, Depends(is_warm)]


def check_query(request: Request) -> None:
    """Raise `InvalidInput` where the query has a parameter that the route does not have."""
    route: APIRoute = request.scope["route"]
    names = [parameter.alias for parameter in route.dependant.query_params]
    if unknown := [name for name in dict(request.query_params) if name not in names]:
        raise InvalidInput(unknown_names(unknown, names, kind="parameter", of="this address"))


def name_route(request: Request) -> None:
    """Note the route in the record of the request, with names in place of ids."""
    if (record := record_of(request.scope)) is not None:
        record.route = request.scope["root_path"] + request.scope["route"].path


def memory_named(memory: MemorySystem, name: MemoryName) -> Memory[Any]:
    """Return the memory of a name, of ATLAS or of a plug-in."""
    records: Memory[Any] = known_kinds()[name].records(memory)
    return records


@contextmanager
def counting_secrets_of(response: Response) -> Iterator[Mapping[str, int]]:
    """Yield the number of secrets that the block replaces, by kind. It is also sent as a header."""
    with counting_secrets() as found:
        yield found
    if found:
        response.headers[SCRUBBED] = ", ".join(f"{kind}={n}" for kind, n in sorted(found.items()))
