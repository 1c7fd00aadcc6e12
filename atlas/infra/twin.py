"""The async twin of a sync method, derived from it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from atlas.infra.bridge import in_thread

S = TypeVar("S")
P = ParamSpec("P")
T = TypeVar("T")


def twin(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Return a coroutine method that does in a thread what a sync method does.

    The method is looked up by its name at each call, so a subclass that overrides it overrides both. A twin that is
    cancelled stops waiting and stops the coroutine of others that it runs, such as a language model's. Its thread goes
    on, so what it writes may still be committed.
    """
    name = method.__name__

    @wraps(method)
    async def awaited(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        bound_method: Callable[P, T] = getattr(self, name)
        return await in_thread(bound_method, *args, **kwargs)

    awaited.__name__ = f"a{name}"
    awaited.__qualname__ = f"{method.__qualname__.removesuffix(name)}a{name}"
    awaited.__doc__ = f"Do as `{name}` does, in a thread. If it is cancelled, its writes may still be committed."
    return awaited
