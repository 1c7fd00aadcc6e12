"""Libraries of primitives that are installed, and loading one."""

from __future__ import annotations

from importlib.metadata import entry_points

from atlas.core.errors import NotFound
from atlas.memory.system import MemorySystem
from atlas.views.overview import Done
from atlas.views.wording import counted

ENTRY_POINTS = "atlas.primitives"
"""The group under which a package names its classes with a `load()`, as `PrimitiveLoader` says."""


def loader_names() -> tuple[str, ...]:
    """The names of the installed loaders, such as `arc`."""
    return tuple(sorted(found.name for found in entry_points(group=ENTRY_POINTS)))


def load_primitives(memory: MemorySystem, name: str) -> Done | None:
    """Add what a loader brings, as one operation; None where the library has all of it.

    Raises:
        NotFound: It is not installed any more.
    """
    found = next(iter(entry_points(group=ENTRY_POINTS, name=name)), None)
    if found is None:
        raise NotFound(f"there is no loader of primitives called {name!r}; install the package that brings it")
    scoped = memory.concepts.within("store", f"primitives of {name}")
    added = scoped.load_primitives(found.load()())
    return Done(str(scoped.operation_id), f"Loaded {counted(len(added), 'primitive')}") if added else None
