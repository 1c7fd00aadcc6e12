"""Async twins, derived from sync methods."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from atlas.infra.bridge import in_thread

S = TypeVar("S")
P = ParamSpec("P")
T = TypeVar("T")


def twin(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Return a coroutine method that runs a sync method in a thread.

    The sync method is looked up at each call, so a subclass that overrides it changes the twin. A cancelled twin stops
    waiting, and cancels the third-party coroutine that it runs, such as a language model's. The thread continues, so
    its writes may still be committed.
    """
    name = method.__name__

    @wraps(method)
    async def run_in_thread(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        bound_method: Callable[P, T] = getattr(self, name)
        return await in_thread(bound_method, *args, **kwargs)

    run_in_thread.__name__ = f"a{name}"
    run_in_thread.__qualname__ = f"{method.__qualname__.removesuffix(name)}a{name}"
    run_in_thread.__doc__ = f"Run `{name}` in a thread. If it is cancelled, its writes may still be committed."
    return run_in_thread
