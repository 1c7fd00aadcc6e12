"""The memory that a server's requests use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # MCP over stdio opens it after the handshake
    from atlas.memory.system import MemorySystem


@dataclass(frozen=True, slots=True)
class ServedMemory:
    """An open memory, and whether its embedding model is ready."""

    memory: MemorySystem
    is_model_ready: bool = True
    """True once the embedding model is ready. Until then searches use keywords only, to avoid a wait."""


MemoryProvider = Callable[[], ServedMemory]
"""Returns the current actor's memory. It is called for each request, because the store may have been replaced."""
