"""What somebody else's object can do, where a class may be derived from a protocol and leave its methods as stubs."""

from __future__ import annotations

import inspect
from typing import Any, Protocol


def offered(given: object, name: str) -> Any:
    """Return a member of an object; None where it has none, or none but what a protocol above its class says of it."""
    return None if is_stub(given, name) else getattr(given, name, None)


def offers(given: object, name: str) -> bool:
    """Whether an object has a member, told without asking for it: a property may take long."""
    return inspect.getattr_static(given, name, None) is not None and not is_stub(given, name)


def is_stub(given: object, name: str) -> bool:
    """Whether what an object has under a name is the body that a protocol gives a member, which does nothing."""
    kinds = [] if name in getattr(given, "__dict__", {}) else type(given).__mro__
    owner = next((kind for kind in kinds if name in vars(kind)), None)
    return owner is not None and Protocol in owner.__bases__
