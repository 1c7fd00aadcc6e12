"""Optional members of third-party objects.

Classes that derive from a protocol may inherit methods that are only stubs.
"""

from __future__ import annotations

import inspect
from typing import Any, Protocol


def get_member(instance: object, name: str) -> Any:
    """Return a member of an object, or None if it is missing or a protocol's stub."""
    return None if is_stub(instance, name) else getattr(instance, name, None)


def has_member(instance: object, name: str) -> bool:
    """Return whether an object has a member, without evaluating properties, which may be slow."""
    return inspect.getattr_static(instance, name, None) is not None and not is_stub(instance, name)


def is_stub(instance: object, name: str) -> bool:
    """Return whether a member of an object is only a protocol's stub."""
    kinds = [] if name in getattr(instance, "__dict__", {}) else type(instance).__mro__
    owner = next((kind for kind in kinds if name in vars(kind)), None)
    return owner is not None and Protocol in owner.__bases__


def may_be_awaited(instance: object, name: str) -> bool:
    """Return whether a method is, or may be, a coroutine function.

    Only a plain function under its own name counts as sync, as a decorated one may be async.
    """
    method = get_member(instance, name)
    if not callable(method):
        return False
    function = inspect.unwrap(method)
    return inspect.iscoroutinefunction(function) or getattr(function, "__name__", None) != name
