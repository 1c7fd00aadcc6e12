"""Members of other libraries' objects, whose classes may derive from a protocol and leave its methods as stubs."""

from __future__ import annotations

import inspect
from typing import Any, Protocol


def offered(given: object, name: str) -> Any:
    """Return a member of an object, or None if it has none, or only the stub of a protocol above its class."""
    return None if is_stub(given, name) else getattr(given, name, None)


def offers(given: object, name: str) -> bool:
    """Return whether an object has a member, without reading it, because a property may take long."""
    return inspect.getattr_static(given, name, None) is not None and not is_stub(given, name)


def is_stub(given: object, name: str) -> bool:
    """Return whether a member of an object is the body that a protocol gives it, which does nothing."""
    kinds = [] if name in getattr(given, "__dict__", {}) else type(given).__mro__
    owner = next((kind for kind in kinds if name in vars(kind)), None)
    return owner is not None and Protocol in owner.__bases__


def may_be_awaited(given: object, name: str) -> bool:
    """Return whether an object has a method that is a coroutine, or a decorated one, which may be.

    An ordinary function under its own name is taken for a sync one.
    """
    method = offered(given, name)
    if not callable(method):
        return False
    function = inspect.unwrap(method)
    return inspect.iscoroutinefunction(function) or getattr(function, "__name__", None) != name
