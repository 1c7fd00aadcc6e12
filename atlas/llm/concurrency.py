"""Questions that do not depend on each other, a few of them under way at once."""

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


def concurrency_of(asker: LLMClient | object) -> int:
    """Return how many questions a model, or what asks it, may have under way at once: 1 unless it names more."""
    return max(1, int(getattr(asker, "concurrency", 1)))


def in_waves(method: Callable[[A], Awaitable[T]], arguments: Iterable[A], at_once: int) -> Iterator[T | AtlasError]:
    """Yield what a method returns for each argument, in their order, or the error that it raised for it.

    `Cancelled` ends all of it.

    As many calls run at once as are allowed, and the next ones begin after all of them. A caller that stops iterating,
    after an error or an interrupt, thus begins no others.

    Args:
        arguments: Read wave by wave, so that the first call waits for no others.
        method: It may be sync where only one call runs at once.
    """
    remaining = iter(arguments)
    while wave := list(islice(remaining, at_once)):
        if at_once > 1:
            yield from run(_wave(method, wave))
        else:
            yield _result(method, wave[0])


def _result(method: Callable[[A], Awaitable[T]], argument: A) -> T | AtlasError:
    try:
        return call(method, argument)
    except Cancelled:
        raise
    except AtlasError as error:
        return error


async def _wave(method: Callable[[A], Awaitable[T]], arguments: Sequence[A]) -> list[T | AtlasError]:
    async def result(argument: A) -> T | AtlasError:
        try:
            return await method(argument)
        except Cancelled:
            raise
        except AtlasError as error:
            return error

    return await asyncio.gather(*map(result, arguments))
