"""Dependencies that routes share, such as the served memory.

Dependencies that do not block are coroutines, because FastAPI runs a plain function in another thread at each request.
`ThreadRoute` opens the memory in the thread of the endpoint, because each change of threads takes processor time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial, wraps
from inspect import iscoroutinefunction
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from atlas.core.errors import InvalidInput
from atlas.infra.secrets import counting_secrets
from atlas.memory.base.memory import Memory
from atlas.memory.kinds.table import known_kinds
from atlas.memory.system import MemorySystem
from atlas.server.names import MemoryName
from atlas.server.operations.requests import record_of
from atlas.server.problems import unknown_names_message
from atlas.server.served import ServedMemory

SCRUBBED_HEADER = "Atlas-Scrubbed"
"""Header with the number of replaced secrets by kind. Absent if there are none."""


T = TypeVar("T")


class LazyArgument(Generic[T]):
    """An argument that `ThreadRoute` computes in the endpoint's thread, by calling `compute`."""

    def __init__(self, compute: Callable[[], T]) -> None:
        self.compute = compute


class ThreadRoute(APIRoute):
    """A route that computes its lazy arguments and runs its endpoint in the same thread.

    A route of FastAPI uses a separate thread for each plain dependency, for the endpoint, and for its response.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint if iscoroutinefunction(endpoint) else _wrap_in_thread(endpoint), **options)


def _wrap_in_thread(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    def call(arguments: Mapping[str, Any]) -> Any:
        return endpoint(
            **{name: value.compute() if isinstance(value, LazyArgument) else value for name, value in arguments.items()}
        )

    @wraps(endpoint)
    async def run_in_thread(**arguments: Any) -> Any:
        return await run_in_threadpool(call, arguments)

    return run_in_thread


def open_served_memory(request: Request) -> ServedMemory:
    """Open the memory that a request is for, and return it."""
    served: ServedMemory = request.state.open_memory()
    return served


def _memory(request: Request) -> MemorySystem:
    return open_served_memory(request).memory


async def _lazy_served_memory(request: Request) -> LazyArgument[ServedMemory]:
    return LazyArgument(partial(open_served_memory, request))


async def _lazy_memory(request: Request) -> LazyArgument[MemorySystem]:
    return LazyArgument(partial(_memory, request))


LazyServedMemory = Annotated[ServedMemory, Depends(_lazy_served_memory)]
"""The served memory and whether its model is ready, for plain endpoints of a `ThreadRoute`."""

LazyMemory = Annotated[MemorySystem, Depends(_lazy_memory)]
"""The memory of the request, for plain endpoints of a `ThreadRoute`."""

LoadedMemory = Annotated[MemorySystem, Depends(_memory)]
"""The memory of the request, for endpoints that are coroutines."""


async def check_query(request: Request) -> None:
    """Raise `InvalidInput` for query parameters that the route does not have."""
    route: APIRoute = request.scope["route"]
    names = [parameter.alias for parameter in route.dependant.query_params]
    if unknown_names := [name for name in dict(request.query_params) if name not in names]:
        raise InvalidInput(unknown_names_message(unknown_names, names, kind="parameter", target="this address"))


async def record_route(request: Request) -> None:
    """Record the route of the request, with parameter names instead of ids."""
    if (record := record_of(request.scope)) is not None:
        record.route = request.scope["root_path"] + request.scope["route"].path


def find_memory(memory: MemorySystem, name: MemoryName) -> Memory[Any]:
    """Return the memory with a name, such as `experience`. The name may be that of a plug-in's memory."""
    records: Memory[Any] = known_kinds()[name].records(memory)
    return records


@contextmanager
def send_secret_counts(response: Response) -> Iterator[Mapping[str, int]]:
    """Count the secrets that are removed in the `with` block, and send the counts as a header of the response.

    Yields the counts, keyed by kind of secret.
    """
    with counting_secrets() as counts:
        yield counts
    if counts:
        response.headers[SCRUBBED_HEADER] = ", ".join(f"{kind}={count}" for kind, count in sorted(counts.items()))
