"""A retrieval model for DSPy.

dspy.configure(rm=AtlasRM(memory))
dspy.Retrieve(k=3)("a query").passages
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from atlas.core.filters import scope_metadata
from atlas.integrations.passages import find_passages
from atlas.memory.context.block import MEMORIES
from atlas.memory.system import MemorySystem
from atlas.remote.system import RemoteMemory


@dataclass(frozen=True, slots=True)
class DSPyPassage:
    """A record as DSPy reads it, with its text in `long_text`."""

    long_text: str


class AtlasRM:
    """A DSPy retrieval model that returns the records of a memory most relevant to a query."""

    def __init__(
        self,
        memory: MemorySystem | RemoteMemory,
        *,
        k: int = 3,
        scope: Mapping[str, str] | None = None,
        memories: Collection[str] = MEMORIES,
    ) -> None:
        """Create a retrieval model.

        Args:
            k: Maximum number of passages, unless a call gives another.
            scope: Scope of the records, such as `{"project": "shop"}`.
            memories: Names of the memories to search.
        """
        self.k = k
        self._memory, self._scope, self._memories = memory, scope_metadata(scope or {}), memories

    def __call__(self, query: str, k: int | None = None, **_: Any) -> list[DSPyPassage]:
        """Return the passages most relevant to a query, best first. Records below the memory's level are left out."""
        passages = find_passages(self._memory, query, k or self.k, where=self._scope, memories=self._memories)
        return [DSPyPassage(passage.text) for passage in passages]
