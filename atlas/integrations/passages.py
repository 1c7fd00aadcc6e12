"""Records of a memory as passages of text, for frameworks that retrieve documents."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from atlas.core.hits import MemoryQueryResult
from atlas.core.types import Task
from atlas.memory.context.block import MEMORIES
from atlas.memory.kinds.sections import known_sections
from atlas.memory.system import MemorySystem
from atlas.protocols.infra import Where
from atlas.remote.system import RemoteMemory


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A record in the form of a context block, which marks stored text so that it cannot pass as instructions."""

    text: str
    memory: str
    """`experience`, `concepts`, `strategies` or `journal`."""

    id: str
    relevance: float
    """In [0, 1]."""


def find_passages(
    memory: MemorySystem | RemoteMemory,
    query: str,
    k: int,
    *,
    where: Where | None = None,
    threshold: float | None = None,
    memories: Collection[str] = MEMORIES,
) -> list[Passage]:
    """Return the k most relevant records of several memories, best first.

    Args:
        threshold: Minimum relevance of a record, in [0, 1], or None for each memory's own level.
        memories: Names of the memories to search.
    """
    result: MemoryQueryResult = memory.query_sync(Task("", "", query), k, where=where, threshold=threshold)
    passages = [
        Passage(text="\n".join(section.text(hit.item).lines), memory=name, id=hit.item.id, relevance=hit.relevance)
        for name, section in known_sections().items()
        if name in memories
        for hit in result.hits[name]
    ]
    return sorted(passages, key=lambda passage: -passage.relevance)[:k]
