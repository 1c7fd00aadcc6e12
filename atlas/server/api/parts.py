"""Parts that routes share: the memory that is served, and the one of a name."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Request

from atlas.memory.base.memory import Memory
from atlas.memory.system import MemorySystem
from atlas.server.api.shapes import MemoryName


def served(request: Request) -> MemorySystem:
    """Return the memory that is served, opened."""
    memory: MemorySystem = request.app.state.open_memory()
    return memory


def is_warm(request: Request) -> bool:
    """Return whether the embedding model is ready. Until then searches go by words, so that nobody waits for it."""
    answer: bool = request.app.state.is_warm()
    return answer


Served = Annotated[MemorySystem, Depends(served)]
Warm = Annotated[bool, Depends(is_warm)]


def memory_named(memory: MemorySystem, name: MemoryName) -> Memory[Any]:
    """Return one of the four memories."""
    held: Memory[Any] = getattr(memory, name)
    return held
