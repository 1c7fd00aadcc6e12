"""Concurrent calls of a language model."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from atlas.core.errors import AtlasError, Cancelled
from atlas.infra.bridge import call, run
from atlas.protocols.infra import LLMClient

A = TypeVar("A")
T = TypeVar("T")


def concurrency_of(model: LLMClient | object) -> int:
    """Return the maximum number of concurrent requests of a model, or of an object that uses a model. By default 1."""
    return max(1, int(getattr(model, "concurrency", 1)))


def call_concurrently(
    method: Callable[[A], Awaitable[T]], arguments: Iterable[A], n_concurrent: int
) -> Iterator[T | AtlasError]:
    """Call a method for each argument concurrently, and yield the results or errors in order.

    `Cancelled` is raised immediately. Calls run in batches of `n_concurrent`, so a caller that stops iterating starts
    no further calls.

    Args:
        arguments: Consumed lazily, batch by batch.
        method: Sync or async; sync only if `n_concurrent` is 1.
    """
    remaining = iter(arguments)
    while batch := list(islice(remaining, n_concurrent)):
        if n_concurrent > 1:
            yield from run(_call_batch(method, batch))
        else:
            yield _call_or_error(method, batch[0])


def _call_or_error(method: Callable[[A], Awaitable[T]], argument: A) -> T | AtlasError:
    try:
        return call(method, argument)
    except Cancelled:
        raise
    except AtlasError as error:
        return error


async def _call_batch(method: Callable[[A], Awaitable[T]], arguments: Sequence[A]) -> list[T | AtlasError]:
    async def call_or_error(argument: A) -> T | AtlasError:
        try:
            return await method(argument)
        except Cancelled:
            raise
        except AtlasError as error:
            return error

    return await asyncio.gather(*map(call_or_error, arguments))
