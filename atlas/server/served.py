"""The memory that a server's requests use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # MCP over stdio opens it after the handshake
    from atlas.memory.system import MemorySystem


@dataclass(frozen=True, slots=True)
class ServedMemory:
    """The open memory that answers a request."""

    memory: MemorySystem
    is_warm: bool = True
    """True once the embedding model is ready. Until then searches use keywords only, to avoid a wait."""


Open = Callable[[], ServedMemory]
"""Returns the memory of the current actor. It is called for each request, because the store may have been replaced."""
