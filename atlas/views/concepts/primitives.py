"""Installed libraries of primitives: preview, loading and updating."""

from __future__ import annotations

from dataclasses import dataclass

from atlas.core.errors import NotFound
from atlas.memory.system import MemorySystem
from atlas.primitives.discovery import discover
from atlas.protocols.strategies import PrimitiveLoader
from atlas.views.shared.plans import CompletedAct
from atlas.views.shared.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class PrimitiveRow:
    """One primitive that a loader brings."""

    state: str
    """`NEW`, `NEWER` or `LOADED`."""

    name: str
    signature: str
    description: str


NEW, NEWER, LOADED = "new", "update available", "loaded"
"""The states of a primitive in the library: missing, outdated but not edited, or current."""


_TITLES = {"arc": "ARC grid puzzles", "swe": "software engineering"}


def loader_title(name: str) -> str:
    """Return what the functions of a loader are for, which is the name of a plug-in's loader."""
    return _TITLES.get(name, name)


def loader_names() -> tuple[str, ...]:
    """Return the names of the installed loaders, such as `arc`."""
    return tuple(discover())


def load_primitives(memory: MemorySystem, name: str) -> CompletedAct | None:
    """Add a loader's primitives as one operation, or return None if the library already contains all of them.

    Raises:
        NotFound: There is no loader of this name, or its plug-in was removed.
    """
    loader = _loader(name)
    scoped = memory.concepts.as_operation("store", f"primitives of {name}")
    added = scoped.load_primitives(loader)
    return (
        CompletedAct(str(scoped.operation_id), f"Added {counted(len(added), 'ready-made function')}") if added else None
    )


def update_primitives(memory: MemorySystem, name: str) -> CompletedAct | None:
    """Update the primitives that `n_updates` counts as one operation, or return None if there are no updates.

    Raises:
        NotFound: There is no loader of this name, or its plug-in was removed.
    """
    loader = _loader(name)
    scoped = memory.concepts.as_operation("edit", f"primitives of {name}")
    updated = scoped.update_primitives(loader)
    return (
        CompletedAct(str(scoped.operation_id), f"Updated {counted(len(updated), 'ready-made function')}")
        if updated
        else None
    )


def primitive_rows(memory: MemorySystem, name: str) -> tuple[PrimitiveRow, ...]:
    """Return the primitives of a loader: new primitives first, then outdated ones, then current ones.

    Raises:
        NotFound: There is no such loader.
    """
    loader = _loader(name)
    offered = {concept.id: concept for concept in loader.load().values()}
    stored = memory.concepts.titles(list(offered))
    newer = {update.id for update in memory.concepts.primitive_updates(loader)}
    rows = list[PrimitiveRow]()
    for record_id, concept in offered.items():
        state = LOADED if record_id in stored else NEW
        if record_id in newer:
            state = NEWER
        rows.append(
            PrimitiveRow(state=state, name=concept.name, signature=concept.signature, description=concept.description)
        )
    return tuple(sorted(rows, key=lambda row: (NEW, NEWER, LOADED).index(row.state)))


def n_missing(memory: MemorySystem, name: str) -> int:
    """Return the number of a loader's primitives that are not in the library.

    Raises:
        NotFound: There is no such loader.
    """
    offered = [concept.id for concept in _loader(name).load().values()]
    return len(set(offered) - memory.concepts.titles(offered).keys())


def n_updates(memory: MemorySystem, name: str) -> int:
    """Return the number of primitives that a loader would update. Edited primitives are not updated.

    Raises:
        NotFound: There is no such loader.
    """
    return len(memory.concepts.primitive_updates(_loader(name)))


def _loader(name: str) -> PrimitiveLoader:
    loaders = discover()
    if name not in loaders:
        raise NotFound(
            f"there is no loader of primitives called {name!r}, only {', '.join(loaders)}; "
            "install the package that provides it"
        )
    return loaders[name]
